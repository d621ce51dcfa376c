"""Pages of documents: list, upload, text, compliance review, and the beginning of a sample."""

from bisect import bisect_right

from starlette.responses import PlainTextResponse, Response

from fathom.benchmarks.pro.secondary_tasks import LANGUAGES
from fathom.documents.records import FORMATS
from fathom.server.answers import AnswerError
from fathom.studio.compliance import findings
from fathom.studio.intake import rules_of
from fathom.studio.store import NEARLY_EQUAL, MissingError
from fathom.studio.types import DOCUMENT_STATES, ReviewDocument, StudioDocument
from fathom.studio.uploads import Upload, add_uploads
from fathom.studio.web.receiving import MOST_FILES, MOST_OF_ALL, MOST_OF_FILE
from fathom.studio.web.visit import Visit

SHOWN = 100
LISTED_STATES = ("collected", "available", NEARLY_EQUAL, "excluded", "exhausted")
EXCERPT = 4000
MOST_FACT = 500
"""Characters of a field of an upload, such as the licence."""


def listed(visit: Visit) -> Response:
    """Documents, filtered by state and language."""
    return _documents_page(visit)


def _documents_page(visit: Visit, wrong: str = "") -> Response:
    state, language, offset = visit.query("state"), visit.query("language"), visit.number("offset")
    documents = visit.store.documents(state=state, language=language, offset=offset, limit=SHOWN + 1)
    return visit.page(
        "documents",
        400 if wrong else 200,
        wrong=wrong,
        documents=documents[:SHOWN],
        counts={state: len(visit.store.document_ids(state=state)) for state in LISTED_STATES},
        states=LISTED_STATES,
        state=state,
        language=language,
        offset=offset,
        more=offset + SHOWN if len(documents) > SHOWN else 0,
        waiting=len(visit.store.document_ids(state="collected")),
        tokenizer=visit.store.intake().tokenizer,
        tasks=visit.settings.tasks,
        formats=FORMATS,
        limits={"files": MOST_FILES, "file": MOST_OF_FILE >> 20, "all": MOST_OF_ALL >> 20},
    )


def add(visit: Visit) -> Response:
    """Adds uploaded files, and says what became of each."""
    facts = {name: visit.form.text(name).strip() for name in ("source", "licence", "domain", "format", "language")}
    if long := [name for name, value in facts.items() if len(value) > MOST_FACT]:
        return _documents_page(visit, f"{long[0]}: more than {MOST_FACT} characters; shorten it")
    if facts["language"] not in ("", *LANGUAGES.values()):
        return _documents_page(visit, f"language: expected {' or '.join(LANGUAGES.values())}; reload the page")
    if not visit.files:
        return _documents_page(visit, "no file was chosen; choose at least one")
    uploads = [Upload(file.filename or "", file.file) for file in visit.files]
    outcome = add_uploads(visit.store, uploads, rules_of(visit.store.intake(), **facts), visit.me)
    originals = {document.duplicate_of for file in outcome.added for document in file.documents}
    titles = {id: _title(visit, id) for id in originals}
    return visit.page("added", 507 if outcome.full else 200, added=outcome.added, titles=titles)


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
        original=_title(visit, document.duplicate_of),
    )


def compliance(visit: Visit) -> Response:
    """One document after the other of those that wait for their compliance review."""
    waiting = visit.store.document_ids(state="collected")
    decided = _document_of(visit, visit.query("after"))
    wanted = visit.query("at")
    if not waiting or (wanted and wanted not in waiting):
        return visit.page(
            "compliance", document=None, decided=decided, wanted=_document_of(visit, wanted), count=len(waiting)
        )
    place = waiting.index(wanted) if wanted else bisect_right(waiting, visit.query("after")) % len(waiting)
    document = visit.store.document(waiting[place])
    content = visit.store.text(document.id)
    entries = visit.store.log(subject=document.id)
    return visit.page(
        "compliance",
        document=document,
        original=_document_of(visit, document.duplicate_of),
        characters=len(content),
        findings=findings(content),
        place=place + 1,
        count=len(waiting),
        following=waiting[(place + 1) % len(waiting)],
        before=waiting[place - 1],
        added=next((entry for entry in reversed(entries) if entry.kind == "AddDocument"), None),
        decided=decided,
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
    """The compliance review of a document; in the list of those that wait, the next one follows.

    Raises:
        AnswerError: The state is not one of a document.
    """
    id, state, form = visit.path("id"), visit.form.text("state"), visit.form
    if state not in DOCUMENT_STATES:
        raise AnswerError(400, f"expected a state: {', '.join(DOCUMENT_STATES)}; reload the page")
    action = ReviewDocument(id, state, form.text("reason"), form.seconds)
    listed = form.text("then") == "compliance"
    visit.store.review_document(action, visit.me, was="collected" if listed else None)
    return visit.to(f"/compliance?after={id}" if listed else f"/documents/{id}?done=saved")


def _document_of(visit: Visit, id: str) -> StudioDocument | None:
    try:
        return visit.store.document(id) if id else None
    except MissingError:
        return None


def _title(visit: Visit, id: str) -> str:
    document = _document_of(visit, id)
    return document.title or document.id if document else ""
