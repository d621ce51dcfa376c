"""The application: routes, permissions, responses, and metrics beyond those of requests."""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import anyio
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import Gauge, Histogram
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from fathom.board.serve.checking import Check, CheckResult
from fathom.board.serve.desk import Desk
from fathom.board.serve.limits import Limits
from fathom.board.serve.publishing import INCOMING, Publisher, living, settle
from fathom.board.serve.schema import submissions
from fathom.board.serve.store import State, Store
from fathom.board.serve.submitting import router
from fathom.printing import printable
from fathom.server.answers import AnswerError, file_answer
from fathom.server.database import FullStoreError
from fathom.server.health import Health
from fathom.server.limits import Rate, Shares, Turns
from fathom.server.metrics import SECONDS, Metrics
from fathom.server.requests import Logged
from fathom.types import FathomError

log = logging.getLogger("fathom.board")
PAGES = Path(__file__).parent / "pages"
_SOON = "<!doctype html><meta charset=utf-8><title>Soon</title><p>The site is being built. Try again in a minute.</p>"


def make_app(
    store: Store,
    publisher: Publisher,
    check: Check,
    limits: Limits,
    metrics: Metrics | None = None,
    *,
    proxied: bool = False,
) -> ASGIApp:
    """The server as an ASGI application.

    Args:
        store: Submissions and tokens; stays open.
        publisher: Started and stopped with the application.
        check: Checks a bundle.
        limits: Limits for each person and address.
        metrics: Where requests and checks are counted.
        proxied: Whether a reverse proxy is in front.

    Raises:
        FathomError: The folder of sites cannot be created, or has other content.
    """
    settle(publisher.out)
    metrics = metrics or Metrics("board")
    folders = {"site": publisher.out / INCOMING} | ({"store": store.folder} if store.folder else {})
    _watch_store(metrics, store, folders)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        with living(publisher.out):
            publisher.start()
            yield
            await anyio.to_thread.run_sync(publisher.stop)

    # No API documentation pages: they would load scripts from other sites.
    app = FastAPI(title="fathom board", lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    counts = Rate(limits.per_hour), Shares(limits.under_way), Turns(limits.checks)
    _watch_work(metrics, publisher, counts[1])
    app.state.desk = Desk(store, publisher, _timed(check, metrics), limits, *counts)
    app.include_router(router)
    Health(store, folders).add_to(app)
    app.add_api_route("/moderate", _moderate, methods=["GET", "HEAD"])
    app.add_api_route("/moderate/{name}", _moderate, methods=["GET", "HEAD"])
    app.add_api_route("/{path:path}", _site, methods=["GET", "HEAD"])
    app.add_exception_handler(AnswerError, _answer)
    app.add_exception_handler(ClientDisconnect, _answer)
    app.add_exception_handler(RequestValidationError, _answer)
    app.add_exception_handler(HTTPException, _answer)
    app.add_exception_handler(FathomError, _answer)
    app.add_exception_handler(Exception, _answer)
    # Outermost, so that it sees error responses too.
    return Logged(app, limits.per_address, metrics=metrics, proxied=proxied)


def _moderate(request: Request, name: str = "moderate.html") -> Response:
    return file_answer(PAGES, name, request)


def _site(request: Request, path: str) -> Response:
    desk: Desk = request.app.state.desk
    if path == "api" or path.startswith("api/"):
        raise AnswerError(404, "there is no such page")
    if not desk.site.exists():
        # The first site is being built.
        return HTMLResponse(_SOON, 503, {"Retry-After": "30", "Cache-Control": "no-store"})
    return file_answer(desk.site, path, request)


def _answer(_: Request, error: Exception) -> Response:
    """Error responses, which do not repeat the request."""
    match error:
        case AnswerError():
            return error.response()
        case ClientDisconnect():
            return Response(status_code=400)  # the client is gone
        case RequestValidationError():
            fields = ", ".join(sorted({str(problem["loc"][-1]) for problem in error.errors()}))
            return AnswerError(400, f"cannot be read: {fields}").response()
        case HTTPException():
            headers = dict(error.headers or {})
            return AnswerError(error.status_code, str(error.detail), headers=headers).response()
        case FullStoreError():
            log.error("%s", printable(str(error)))
            return AnswerError(507, f"{error}; try again later").response()
        case FathomError():  # its message is for the operator: it names folders and machines
            log.error("%s", printable(str(error)))
            words = "the server cannot do this now; the reason is in its log; try again later"
            return AnswerError(503, words, headers={"Retry-After": "60"}).response()
    return AnswerError(500, "internal error; the reason is in the server's log").response()


# Metrics: submissions, checks, and the site


def _watch_store(metrics: Metrics, store: Store, folders: dict[str, Path]) -> None:
    """Adds the submissions by state, the connections to the store and the free space of folders."""
    states = get_args(State)
    metrics.watch(store, folders, lambda: {"submissions": dict.fromkeys(states, 0) | store.by_state(submissions)})


def _watch_work(metrics: Metrics, publisher: Publisher, under_way: Shares) -> None:
    """Adds the bundles in progress, and whether the site is up to date."""
    progress = Gauge(
        "fathom_board_bundles_in_progress",
        "Bundles that are being received, wait for their check, or are being checked.",
        registry=metrics.registry,
    )
    progress.set_function(lambda: under_way.in_use)
    failed = Gauge("fathom_board_site_failed", "Whether the last build of the site failed.", registry=metrics.registry)
    failed.set_function(lambda: float(publisher.failed))
    built = Gauge(
        "fathom_board_site_built_timestamp_seconds",
        "When this process last had the site of the accepted submissions; 0 before.",
        registry=metrics.registry,
    )
    built.set_function(lambda: publisher.built)


def _timed(check: Check, metrics: Metrics) -> Check:
    """A check of bundles that is timed: ``valid``, ``refused``, or ``failed`` if the server could not check it."""
    seconds = Histogram(
        "fathom_board_validation_seconds",
        "Duration of checks of bundles.",
        ["result"],
        buckets=SECONDS,
        registry=metrics.registry,
    )

    def check_timed(path: Path) -> CheckResult:
        began, result = time.monotonic(), "failed"
        try:
            checked = check(path)
            result = "refused" if checked.reasons else "valid"
            return checked
        finally:
            seconds.labels(result).observe(time.monotonic() - began)

    return check_timed
