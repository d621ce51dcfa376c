"""The application: routes with the role that each needs, and responses."""

import logging
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import anyio
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from fathom.printing import printable
from fathom.server.answers import AnswerError, file_answer
from fathom.server.database import FullStoreError, StoreError
from fathom.server.health import Health
from fathom.server.limits import Rate, Shares
from fathom.server.metrics import Metrics
from fathom.server.requests import Logged
from fathom.studio import schema
from fathom.studio.histories import Histories
from fathom.studio.people import LoginError, People, ThrottledError
from fathom.studio.states import RefusedError
from fathom.studio.store import MissingError, Store
from fathom.studio.types import DOCUMENT_STATES, STATES, Role
from fathom.studio.web import accounts, desk, documents, progress, ratings, samples
from fathom.studio.web.receiving import close
from fathom.studio.web.visit import HTTPS_ONLY, POLICY, STATIC, Settings, Visit, known, with_form
from fathom.types import FathomError

log = logging.getLogger("fathom.studio")
Handler: TypeAlias = Callable[[Visit], Response]
_LATER = {"Retry-After": "10"}


@dataclass(frozen=True)
class Route:
    """A page or form.

    Attributes:
        method: ``GET`` or ``POST``.
        least: The role it needs; None for none.
        handler: Makes the response, in a thread.
        files: Whether its form may have files, which are read one form after the other.
    """

    method: str
    path: str
    least: Role | None
    handler: Handler
    files: bool = False


ROUTES = (
    Route("GET", "/login", None, accounts.login_page),
    Route("POST", "/login", None, accounts.login),
    Route("POST", "/logout", "reader", accounts.logout),
    Route("GET", "/account", "reader", accounts.account_page),
    Route("POST", "/account/password", "reader", accounts.change_password),
    Route("POST", "/account/confirm", "reader", accounts.confirm),
    Route("POST", "/account/sessions", "reader", accounts.end_sessions),
    Route("POST", "/account/profile", "reader", desk.change_profile),
    Route("GET", "/annotators", "annotator", desk.annotators_page),
    Route("GET", "/users", "administrator", accounts.users_page),
    Route("POST", "/users", "administrator", accounts.add_user),
    Route("POST", "/users/{name}", "administrator", accounts.change_user),
    Route("POST", "/policy", "administrator", accounts.set_policy),
    Route("GET", "/log", "administrator", accounts.log_page),
    Route("GET", "/", "reader", samples.queue),
    Route("GET", "/samples/{id}", "reader", samples.sample_page),
    Route("GET", "/samples/{id}/history", "reader", samples.history),
    Route("POST", "/samples", "annotator", samples.create),
    Route("POST", "/samples/{id}/claims", "annotator", samples.decide_on_claim),
    Route("POST", "/samples/{id}/assigned", "annotator", desk.take),
    Route("POST", "/samples/{id}/comments", "annotator", desk.write_comment),
    Route("POST", "/samples/{id}/merge", "annotator", samples.merge_draft),
    Route("POST", "/samples/{id}/open", "annotator", desk.note_open),
    Route("POST", "/samples/{id}/{form}", "annotator", samples.act),
    Route("POST", "/drafts/{subject}/{form}", "annotator", samples.save_draft),
    Route("GET", "/documents", "reader", documents.listed),
    Route("POST", "/documents", "annotator", documents.add, files=True),
    Route("GET", "/compliance", "expert", documents.compliance),
    Route("GET", "/documents/{id}", "reader", documents.document_page),
    Route("GET", "/documents/{id}/text", "reader", documents.text),
    Route("POST", "/documents/{id}", "annotator", documents.review),
    Route("GET", "/progress", "reader", progress.progress_page),
    Route("GET", "/quality", "reader", ratings.quality_page),
    Route("GET", "/quality/{id}", "expert", ratings.rating_page),
    Route("POST", "/quality/{id}", "expert", ratings.rate),
)
"""All pages and forms. Rights to act on one sample or document are checked again by the workflow."""


def make_app(
    store: Store,
    people: People,
    settings: Settings = Settings(),  # noqa: B008 - a frozen value
    metrics: Metrics | None = None,
    *,
    proxied: bool = False,
) -> ASGIApp:
    """The studio as an ASGI application.

    Args:
        store: The store; stays open.
        settings: Title, tasks, limits.
        metrics: Where requests are counted.
        proxied: Whether a reverse proxy is in front.
    """
    metrics = metrics or Metrics("studio")
    store.tasks = settings.tasks
    folders = {"uploads": Path(tempfile.gettempdir())} | ({"store": store.folder} if store.folder else {})
    watch_store(metrics, store, folders)
    # No API documentation pages: they would load scripts from other sites.
    # Redirections of "/users/" would lead to the host that the request names.
    app = FastAPI(title="fathom studio", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.rate = Rate(settings.per_hour)
    app.state.hashing = anyio.CapacityLimiter(settings.hashes)
    app.state.reading = anyio.CapacityLimiter(1)
    app.state.uploads = Shares(1)
    Health(store, folders).add_to(app)
    app.add_api_route("/static/{name}", _static, methods=["GET"], response_model=None)
    app.state.common = Visit(Request({"type": "http"}), settings, store, people, Histories(store))
    for route in ROUTES:
        app.add_api_route(route.path, _endpoint(route), methods=[route.method], response_model=None)
    for kind in (AnswerError, ClientDisconnect, HTTPException, FathomError, Exception):
        app.add_exception_handler(kind, _answer)
    headers = POLICY | (HTTPS_ONLY if settings.secure else {})
    # Outermost, so that it sees error responses too.
    return Logged(app, settings.per_address, headers, metrics=metrics, proxied=proxied)


def _endpoint(route: Route) -> Callable[[Request], Awaitable[Response]]:
    slow = route.path in ("/login", "/account/password", "/account/confirm", "/users", "/users/{name}")

    def look(visit: Visit) -> Response:
        with visit.store.one_state():
            return route.handler(known(visit, route.least))

    async def endpoint(request: Request) -> Response:
        visit = replace(request.app.state.common, request=request)
        request.state.visit = visit
        if route.method == "GET":
            return await anyio.to_thread.run_sync(look, visit)
        visit = await anyio.to_thread.run_sync(known, visit, route.least)
        if not route.files:
            visit = await with_form(visit, route.least)
        if visit.session and (wait := request.app.state.rate.take(visit.me.name)):
            words = "you sent too many forms in the last hour; wait, and send it again"
            raise AnswerError(429, words, headers={"Retry-After": str(wait)})
        if route.files:
            return await _with_files(route, visit)
        limiter = request.app.state.hashing if slow else None
        return await anyio.to_thread.run_sync(route.handler, visit, limiter=limiter)

    return endpoint


async def _with_files(route: Route, visit: Visit) -> Response:
    """The response to a form with files: one at a time for each person, so that nobody fills the disk."""
    state = visit.request.app.state
    with state.uploads.hold(visit.me.name) as free:
        if not free:
            raise AnswerError(429, "your other files are still being read; wait until that is done", headers=_LATER)
        visit = await with_form(visit, route.least, files=True)
        try:
            return await anyio.to_thread.run_sync(route.handler, visit, limiter=state.reading)
        finally:
            close(visit.files)


def _static(request: Request, name: str) -> Response:
    return file_answer(STATIC, name, request)


async def _answer(request: Request, error: Exception) -> Response:
    """Error responses: a page for people, JSON for scripts."""
    status, words, headers = _words(error)
    visit: Visit = getattr(request.state, "visit", None) or replace(request.app.state.common, request=request)
    if status == 401 and request.method == "GET" and _wants_page(request):
        return RedirectResponse("/login", 303)
    if not _wants_page(request):
        return JSONResponse({"error": words}, status, headers)
    answer = await anyio.to_thread.run_sync(lambda: visit.page("error", status, words=words, status=status))
    answer.headers.update(headers)
    return answer


def _wants_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") and "authorization" not in request.headers


def _words(error: Exception) -> tuple[int, str, dict[str, str]]:
    match error:
        case AnswerError():
            return error.status, str(error), error.headers
        case ClientDisconnect():
            return 400, "the client is gone", {}
        case HTTPException(status_code=404):
            return 404, "there is no such page", {}
        case HTTPException():
            return error.status_code, str(error.detail), dict(error.headers or {})
        case ThrottledError():
            return 429, str(error), {"Retry-After": str(error.seconds)}
        case LoginError():
            return 401, str(error), {}
        case MissingError():
            return 404, str(error), {}
        case RefusedError():
            return 409, str(error), {}
        case FullStoreError():
            log.error("%s", printable(str(error)))
            return 507, f"{error}; try again later", {}
        case StoreError():  # its message is for the operator
            log.error("%s", printable(str(error)))
            words = "the server cannot do this now; the reason is in its log; what you typed is kept; try again"
            return 503, words, _LATER
        case FathomError():
            return 400, str(error), {}
    log.error("internal error", exc_info=error)
    return 500, "internal error; the reason is in the server's log", {}


def watch_store(metrics: Metrics, store: Store, folders: dict[str, Path]) -> None:
    """Adds samples and documents by state, the connections to the store and the free space of folders."""
    tables = {"samples": (schema.samples, STATES), "documents": (schema.documents, DOCUMENT_STATES)}

    def census() -> dict[str, dict[str, int]]:
        none = {name: dict.fromkeys(states, 0) for name, (_, states) in tables.items()}
        return {name: none[name] | store.by_state(table) for name, (table, _) in tables.items()}

    metrics.watch(store, folders, census)
