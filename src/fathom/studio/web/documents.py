"""Pages of documents: list, text, compliance review, and the beginning of a sample."""

from starlette.responses import PlainTextResponse, Response

from fathom.server.answers import AnswerError
from fathom.studio.types import DOCUMENT_STATES, ReviewDocument
from fathom.studio.web.visit import Visit

SHOWN = 100
EXCERPT = 4000


def listed(visit: Visit) -> Response:
    """Documents, filtered by state and language."""
    state, language, offset = visit.query("state"), visit.query("language"), visit.number("offset")
    found = visit.store.documents(state=state, language=language, offset=offset, limit=SHOWN + 1)
    return visit.page(
        "documents",
        documents=found[:SHOWN],
        states=DOCUMENT_STATES,
        state=state,
        language=language,
        offset=offset,
        more=offset + SHOWN if len(found) > SHOWN else 0,
    )


def document_page(visit: Visit) -> Response:
    """A document with its beginning, and what can be done with it."""
    document = visit.store.document(visit.path("id"))
    content = visit.store.text(document.id)
    return visit.page(
        "document",
        document=document,
        excerpt=content[:EXCERPT],
        characters=len(content),
        tasks=visit.settings.tasks,
        states=("available", "excluded", "exhausted"),
    )


def text(visit: Visit) -> Response:
    """The text of a document, for the reading pane."""
    id = visit.path("id")
    tag = f'"{visit.store.document(id).id}"'
    headers = {"Cache-Control": "private, no-cache", "ETag": tag}
    if visit.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return PlainTextResponse(visit.store.text(id), headers=headers)


def review(visit: Visit) -> Response:
    """The compliance review of a document."""
    id, state = visit.path("id"), visit.form.text("state")
    if state not in DOCUMENT_STATES:
        raise AnswerError(400, f"expected a state: {', '.join(DOCUMENT_STATES)}; reload the page")
    action = ReviewDocument(id, state, visit.form.text("reason"), visit.form.seconds)
    visit.store.review_document(action, visit.me)
    return visit.to(f"/documents/{id}", "saved")
