"""HTTP requests about submissions: sending, listing, deciding, withdrawing."""

import asyncio
import errno
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from fathom.board.serve.checking import prints_path
from fathom.board.serve.desk import Desk
from fathom.board.serve.limits import Limits
from fathom.board.serve.store import Alike, Decision, KnownError, LostError, State, Submission, WaitingError
from fathom.board.serve.tokens import ExpiredError, Holder, holder_of
from fathom.printing import printable
from fathom.server.answers import AnswerError
from fathom.server.database import now
from fathom.types import FathomError, Json

router = APIRouter(prefix="/api")
REASON = 2000
"""Characters of the longest reason."""
CLOSE = {"Connection": "close"}
BODY = 16 << 10
"""Bytes of the largest JSON body."""


def holder(request: Request) -> Holder:
    """The holder of the token in the header ``Authorization``.

    Raises:
        AnswerError: The token is missing, invalid or expired.
    """
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    words = "missing or invalid token; send it as Authorization: Bearer TOKEN"
    try:
        owner = holder_of(_desk(request).store, token.strip()) if kind.lower() == "bearer" else None
    except ExpiredError as expired:
        owner, words = None, f"this token expired at {expired}; ask the operator of this server for a new one"
    if owner is None:
        raise AnswerError(401, words, headers={"WWW-Authenticate": "Bearer"})
    request.state.holder = owner.name
    return owner


def _still(request: Request) -> None:
    """Checks the token again after the body was received: it may have expired or been revoked during a slow upload."""
    holder(request)


def moderator(someone: Annotated[Holder, Depends(holder)]) -> Holder:
    """The holder of the token, if it is a moderator's.

    Raises:
        AnswerError: It is not.
    """
    if someone.role != "moderate":
        raise AnswerError(403, "only moderators may do this; this token allows only submitting")
    return someone


Anyone = Annotated[Holder, Depends(holder)]
Moderator = Annotated[Holder, Depends(moderator)]


@router.post("/submissions")
async def submit(request: Request, someone: Anyone) -> Response:
    """Accepts a bundle: the body is the file that ``fathom board bundle`` wrote.

    Raises:
        AnswerError: There are too many at once or in this hour, or it is refused.
    """
    desk = _desk(request)
    with desk.under_way.hold(someone.name) as admitted:
        if not admitted:
            words = f"{desk.limits.under_way} bundles of one person can be processed at once; wait until one is done"
            raise AnswerError(429, words, headers={"Retry-After": "30"})
        if wait := desk.rate.take(someone.name):
            words = f"{desk.limits.per_hour} bundles per hour is the limit for one person; wait {wait} seconds"
            raise AnswerError(429, words, headers={"Retry-After": str(wait)})
        return await _receive(request, desk, someone)


async def _receive(request: Request, desk: Desk, someone: Holder) -> Response:
    path = desk.incoming / f"{secrets.token_hex(16)}.zip"
    try:
        id, size = await receive_bundle(request, path, desk.limits)
        async with desk.turns.turn(someone.name):
            await anyio.to_thread.run_sync(_still, request)
            return await anyio.to_thread.run_sync(_take, desk, someone, path, id, size)
    finally:
        path.unlink(missing_ok=True)
        prints_path(path).unlink(missing_ok=True)


def _take(desk: Desk, someone: Holder, path: Path, id: str, size: int) -> Response:
    """Checks a received bundle, stores the result, and only then responds."""
    earlier = desk.store.find(id)
    if earlier is not None and earlier.stands:
        return _already(earlier, someone)
    verdict = desk.check(path)
    reasons = list(verdict.reasons)
    state: State = "refused" if reasons else "pending"
    submission = Submission(
        id, someone.name, now(), size, state, asdict(verdict), "; ".join(reasons), decided=now() if reasons else ""
    )
    try:
        desk.store.add(submission, None if reasons else path, desk.limits.waiting, _prints(path))
        with suppress(FathomError):  # the bundle is stored; the next comparison includes it
            desk.store.compare()
    except KnownError as known:
        if known.submission.stands or not reasons:
            return _already(known.submission, someone)
    except WaitingError as error:
        raise AnswerError(429, f"{error}; wait until some are decided") from error
    if reasons:
        more: dict[str, Json] = {"id": id, "state": state, "reasons": list(reasons), "findings": _findings(submission)}
        raise AnswerError(422, f"the bundle is refused: {submission.reason}", more=more)
    return JSONResponse(_record(submission, someone), 201, {"Location": f"/api/submissions/{id}"})


def _prints(bundle: Path) -> bytes:
    """The prints that the check wrote, if it did."""
    path = prints_path(bundle)
    return path.read_bytes() if path.exists() else b""


def _already(submission: Submission, someone: Holder) -> Response:
    words = f"this bundle was submitted before and is {submission.state}"
    more = (
        _record(submission, someone)
        if _may_see(someone, submission)
        else {"id": submission.id, "state": submission.state}
    )
    return AnswerError(409, words, more=more).response()


@router.get("/submissions")
def listed(request: Request, someone: Anyone, state: State | None = None) -> Response:
    """Submissions, the newest first: all for a moderator, the own ones for a submitter."""
    submitter = None if someone.role == "moderate" else someone.name
    submissions = _desk(request).store.listed(submitter=submitter, state=state)
    return JSONResponse({"submissions": _records(_desk(request), submissions, someone)})


@router.get("/submissions/{id}")
def one(request: Request, id: str, someone: Anyone) -> Response:  # banned-name: the name of the operation in the API
    """One submission."""
    return _answer(request, id, someone)


@router.get("/submissions/{id}/bundle")
def bundle(request: Request, id: str, someone: Moderator) -> Response:
    """The bundle as received, for a moderator.

    Raises:
        AnswerError: There is none, or its bytes are deleted.
    """
    submission = _submission_of(request, id, someone)
    if submission.state not in ("pending", "accepted"):
        raise AnswerError(404, f"the bundle is {submission.state}; it can no longer be downloaded")
    headers = {"Content-Disposition": f'attachment; filename="{submission.id}.zip"'}
    return StreamingResponse(_desk(request).store.content(submission.id), media_type="application/zip", headers=headers)


@router.post("/submissions/{id}/accept")
async def accept(request: Request, id: str, someone: Moderator) -> Response:
    """Accepts a submission; the site is rebuilt."""
    return await _decide(request, id, someone, ("pending",), "accepted")


@router.post("/submissions/{id}/refuse")
async def refuse(request: Request, id: str, someone: Moderator) -> Response:
    """Refuses a submission, or removes an accepted one from the site."""
    return await _decide(request, id, someone, ("pending", "accepted"), "refused")


@router.post("/submissions/{id}/withdraw")
async def withdraw(request: Request, id: str, someone: Anyone) -> Response:
    """Withdraws one's own pending submission."""
    return await _decide(request, id, someone, ("pending",), "withdrawn")


@router.post("/submissions/{id}/undo")
async def undo(request: Request, id: str, someone: Anyone) -> Response:
    """Undoes the last decision on a submission, given by its number.

    Raises:
        AnswerError: It is not the last decision, or not theirs to undo.
    """
    body = await receive_json(request, _desk(request).limits)
    number = body.get("decision")
    if type(number) is not int:
        raise AnswerError(422, "decision: expected the number of the decision to undo, from the history")
    return await anyio.to_thread.run_sync(_undone, request, id, someone, number, _reason(body, needed=True))


@router.get("/decisions")
def decisions(request: Request, _: Moderator) -> Response:
    """Decisions, with who, when and why, the newest first."""
    desk = _desk(request)
    latest = desk.store.decisions()
    models = {
        submission.id: submission.model for submission in desk.store.some({decision.submission for decision in latest})
    }
    shown = [asdict(decision) | {"model": models.get(decision.submission, "")} for decision in latest]
    return JSONResponse({"decisions": shown})


@router.get("/site")
def site(request: Request, _: Moderator) -> Response:
    """The state of the site."""
    return JSONResponse(asdict(_desk(request).publisher.state()))


async def _decide(request: Request, id: str, someone: Holder, before: tuple[State, ...], after: State) -> Response:
    reason = _reason(await receive_json(request, _desk(request).limits), needed=after != "withdrawn")
    return await anyio.to_thread.run_sync(_decided, request, id, someone, before, after, reason)


def _reason(body: dict[str, Json], *, needed: bool) -> str:
    reason = body.get("reason", "")
    if not isinstance(reason, str) or len(reason) > REASON:
        raise AnswerError(422, f"reason: expected text of at most {REASON:,} characters")
    if needed and not reason.strip():
        raise AnswerError(422, "reason: enter a reason, for the submitter and for later review")
    return printable(reason.strip())


def _decided(
    request: Request, id: str, someone: Holder, before: tuple[State, ...], after: State, reason: str
) -> Response:
    _still(request)
    desk, submission = _desk(request), _submission_of(request, id, someone)
    own = _is_own(submission, someone)
    if after == "withdrawn" and not own:
        raise AnswerError(403, "only the submitter can withdraw it; a moderator can refuse it")
    if after != "withdrawn" and own:
        raise AnswerError(403, "this is your own submission: another moderator must decide on it; you can withdraw it")
    if not desk.store.decide(submission.id, before, after, by=someone.name, reason=reason):
        present = _submission_of(request, id, someone)
        more = _records(desk, [present], someone)[0]
        raise AnswerError(409, f"it is {present.state} and cannot become {after}", more=more)
    if after != "withdrawn":
        desk.publisher.nudge()
    return _answer(request, id, someone)


def _undone(request: Request, id: str, someone: Holder, number: int, reason: str) -> Response:
    _still(request)
    desk, submission = _desk(request), _submission_of(request, id, someone)
    own = _is_own(submission, someone)
    if own != (submission.state == "withdrawn") or not (own or someone.role == "moderate"):
        raise AnswerError(403, "moderators can undo decisions on other submissions, submitters their own withdrawals")
    try:
        if not desk.store.undo(submission.id, number, by=someone.name, reason=reason):
            more = _records(desk, [_submission_of(request, id, someone)], someone)[0]
            raise AnswerError(409, "this is not the last decision on it, or it was already undone", more=more)
    except LostError as error:
        raise AnswerError(409, str(error)) from error
    desk.publisher.nudge()
    return _answer(request, id, someone)


def _is_own(submission: Submission, someone: Holder) -> bool:
    return submission.submitter.casefold() == someone.name.casefold()


def _submission_of(request: Request, id: str, someone: Holder) -> Submission:
    submission = _desk(request).store.find(id) if id.isascii() and id.isalnum() else None
    if submission is None or not _may_see(someone, submission):
        raise AnswerError(404, "there is no such submission")
    return submission


def _may_see(someone: Holder, submission: Submission) -> bool:
    return someone.role == "moderate" or someone.name == submission.submitter


def _findings(submission: Submission) -> Json:
    return submission.verdict.get("findings", []) if isinstance(submission.verdict, dict) else []


def _answer(request: Request, id: str, someone: Holder) -> Response:
    """The present state of a submission."""
    return JSONResponse(_records(_desk(request), [_submission_of(request, id, someone)], someone)[0])


def _records(desk: Desk, submissions: Sequence[Submission], someone: Holder) -> list[dict[str, Json]]:
    """Submissions with their decisions; for moderators also with similar submissions."""
    history: dict[str, list[Decision]] = {}
    for decision in desk.store.decisions([submission.id for submission in submissions]):
        history.setdefault(decision.submission, []).append(decision)
    alike = desk.store.alike(submissions) if someone.role == "moderate" else {}
    return [
        _record(submission, someone, history.get(submission.id, ()), alike.get(submission.id, ()))
        for submission in submissions
    ]


def _record(
    submission: Submission, someone: Holder, history: Sequence[Decision] = (), alike: Sequence[Alike] = ()
) -> dict[str, Json]:
    verdict = submission.verdict if isinstance(submission.verdict, dict) else {}
    flags: dict[str, Json] = {"alike": [_flag(other) for other in alike], "own": _is_own(submission, someone)}
    return {
        "id": submission.id,
        "state": submission.state,
        "submitter": submission.submitter,
        "received": submission.received,
        "size": submission.size,
        **{name: verdict.get(name) for name in ("model", "variant", "created", "suites", "findings")},
        "reason": submission.reason,
        "decided_by": submission.decided_by,
        "decided": submission.decided,
        "history": [asdict(decision) for decision in history],
        **(flags if someone.role == "moderate" else {}),
    }


def _flag(similar: Alike) -> dict[str, Json]:
    other = similar.other
    about: dict[str, Json] = {"id": other.id, "model": other.model, "submitter": other.submitter, "state": other.state}
    return about | {"received": other.received, "words": similar.words}


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


async def receive_bundle(request: Request, path: Path, limits: Limits) -> tuple[str, int]:
    """Writes the body of a request to a file.

    Args:
        request: Its body is the bundle.
        limits: Maximum size and times.

    Returns:
        The SHA-256 of the bytes, and their number.

    Raises:
        AnswerError: The type is wrong, it is too large, too slow or empty, or the disk is full.
        FathomError: The folder cannot be written for another reason.
        starlette.requests.ClientDisconnect: The sender disconnected.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/zip" or "content-encoding" in request.headers:
        raise AnswerError(415, "send the bundle as the body, with Content-Type: application/zip")
    most = limits.bundle_bytes
    _expect(request, most)
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("wb") as stream:
            async for content in _timely(request, limits.upload_seconds, limits.idle_seconds):
                size += len(content)
                if size > most:
                    raise _too_large(most)
                digest.update(content)
                stream.write(content)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise FathomError(f"{path.parent}: bundles cannot be written into it: {error.strerror or error}") from error
        raise AnswerError(507, "no space is left on the server; nothing was stored; try again later") from None
    if size == 0:
        raise AnswerError(422, "the body is empty; send a bundle that `fathom board bundle` wrote")
    return digest.hexdigest(), size


async def receive_json(request: Request, limits: Limits) -> dict[str, Json]:
    """The body of a request, a JSON object; empty without a body.

    Args:
        limits: Time for receiving it.

    Raises:
        AnswerError: It is not a JSON object, too large or too slow.
    """
    _expect(request, BODY)
    body = b""
    async for content in _timely(request, limits.idle_seconds, limits.idle_seconds):
        body += content
        if len(body) > BODY:
            raise _too_large(BODY)
    try:
        record = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise AnswerError(400, 'the body is invalid; expected a JSON object such as {"reason": "..."}')
    return record


async def _timely(request: Request, seconds: float, idle: float) -> AsyncIterator[bytes]:
    """The pieces of a body: all within ``seconds``, and each within ``idle`` seconds after the last."""
    until, stream = asyncio.get_running_loop().time() + seconds, aiter(request.stream())
    while True:
        left = until - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(left, idle)):
                content = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            how = f"within {seconds:g} seconds" if left <= idle else f"completely: nothing came for {idle:g} seconds"
            raise AnswerError(408, f"the body did not arrive {how}; send it again", headers=CLOSE) from None
        yield content


def _expect(request: Request, most: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise AnswerError(400, "Content-Length is not a number")
    if len(length) > 18 or int(length) > most:
        raise _too_large(most)


def _too_large(most: int) -> AnswerError:
    shown = f"{most / (1 << 20):.4g} MiB" if most >= 1 << 20 else f"{most:,} bytes"
    return AnswerError(413, f"the body is larger than {shown}, the maximum of this server")
