"""Sends one prompt, with retries: backoff, ``Retry-After``, and when to give up.

A failed prompt alone does not end a run: it may be the only one that is denied, or too large for the server. Before a
run gives up, a prompt that worked before, or a tiny one, is sent as a probe; if that is answered, the run continues.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from random import Random
from time import perf_counter, time
from typing import TypeAlias

from fathom.models.failures import Failure, ServerError, classify
from fathom.models.protocol import PROBE, TINY_PROMPT, Call, Client, RequestError
from fathom.models.usage import with_counts
from fathom.types import Attempt, FathomError, Reply
from fathom.types.choices import RETRIES, TIMEOUT

Sending: TypeAlias = Callable[[], Awaitable[Reply]]
"""Sends one request; raises as ``Client.complete``."""

DENIED_IN_A_ROW = 5
ERRORS_BEFORE_ANY_REPLY = 20
FIRST_ALONE = 5.0
"""Seconds for which the first request of a process is the only one: parameters are refused at once."""


@dataclass(frozen=True)
class Retry:
    """When failed requests are repeated.

    Attributes:
        retries: Attempts after the first.
        timeout: Seconds per attempt.
        first: Seconds before the first retry; the wait doubles from there, with a jitter of a quarter.
        longest: The maximum wait in seconds by backoff.
        obeyed: The maximum ``Retry-After`` in seconds that is obeyed; a longer one fails the request.
        sleep: Waits.
        rng: Draws the jitter.
    """

    retries: int = RETRIES
    timeout: float = TIMEOUT
    first: float = 1.0
    longest: float = 60.0
    obeyed: float = 900.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: Random = field(default_factory=Random)

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait after failed attempt number ``attempt``, from 1; ``asked`` is the server's ``Retry-After``.

        The wait is never shorter than the server asks for; jitter keeps many requests from being repeated at once.
        """
        jitter = self.rng.uniform(0.75, 1.25)
        backoff = min(self.longest, self.first * 2 ** (attempt - 1)) * jitter
        return backoff if asked is None else asked + self.first * (jitter - 0.75)

    def asked_too_much(self, failure: Failure) -> Failure:
        """The failure, changed to kind ``later`` if the server asks to wait longer than is obeyed."""
        if failure.wait is None or failure.wait <= self.obeyed:
            return failure
        asked, most = in_words(failure.wait), in_words(self.obeyed)
        reason = f"the server asks to wait {asked} (Retry-After), more than the maximum of {most}"
        return Failure("later", f"{reason}: {failure.message}")


@dataclass
class Health:
    """What the requests of this process show about the server.

    Attributes:
        before: Whether an earlier process of the run received a reply.
        replies: Requests of this process that were answered.
        silent: Consecutive requests without any answer.
        denied: Consecutive requests that were denied, or postponed beyond the maximum wait.
        errors: Samples that failed.
        last: Message of the last one.
        worked: The shortest prompt that was answered, with its call.
        probes: Probes that were answered.
        probing: Held during a probe: only one is sent at a time, and nothing else meanwhile.
        alone: Whether the first request goes alone.
        begun: Set when it has ended, or takes long; None before it is sent.
    """

    before: bool = False
    replies: int = 0
    silent: int = 0
    denied: int = 0
    errors: int = 0
    last: str = ""
    worked: tuple[str, Call] | None = None
    probes: int = 0
    probing: asyncio.Lock = field(default_factory=asyncio.Lock)
    alone: bool = False
    begun: asyncio.Event | None = None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One request's turn: others wait for the first, so that what it is refused for is not refused many times."""
        if self.alone and self.begun is None:
            self.begun = asyncio.Event()
            try:
                yield
            finally:
                self.begun.set()
            return
        if self.begun is not None and not self.begun.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(FIRST_ALONE):
                    await self.begun.wait()
            self.begun.set()
        async with self.probing:
            pass
        yield

    def note(self, failure: Failure) -> None:
        """Count a failed request."""
        self.silent = self.silent + 1 if failure.kind == "silent" else 0
        self.denied = self.denied + 1 if failure.kind in ("denied", "later") else 0

    def note_reply(self) -> None:
        """Count an answered request."""
        self.replies, self.silent, self.denied = self.replies + 1, 0, 0

    def note_worked(self, prompt: str, call: Call) -> None:
        """Count a reply, and remember the shortest answered prompt."""
        self.note_reply()
        if self.worked is None or len(prompt) < len(self.worked[0]):
            self.worked = prompt, call


Noting: TypeAlias = Callable[[Call, Attempt], None]
"""Takes down a request, whatever became of it."""
_END = 2000
"""Characters at both ends of a prompt that tell it from others of its sample."""


def not_noted(call: Call, attempt: Attempt) -> None:
    """The ``Noting`` of requests that nobody counts."""


async def ask(
    client: Client,
    prompt: str,
    call: Call,
    retry: Retry,
    health: Health,
    send: Sending | None = None,
    note: Noting = not_noted,
) -> Reply:
    """Send a prompt until it is answered or cannot be.

    Args:
        client: The model.
        prompt: The whole prompt; of a conversation a name of the turn.
        call: Its other parameters.
        retry: When to retry.
        health: Shared by all requests of the process; updated.
        send: Sends the request, if it is a conversation and no prompt.
        note: Called after each request, also if it was cancelled.

    Returns:
        The reply, or one with status ``overflow``, ``refused`` or ``error``; never raises for this sample alone.

    Raises:
        ServerError: The server is unreachable or denies all requests, so that going on would waste the samples.
    """
    for attempt in range(1, retry.retries + 2):
        async with health.turn():
            started, seen, began = perf_counter(), health.probes, time()
            answer: Reply | Failure | None = None
            try:
                answer = await _once(send or partial(client.complete, prompt, call), retry)
            finally:
                seconds = perf_counter() - started
                note(call, _attempt(prompt, began, seconds, answer))
        if isinstance(answer, Reply):
            if send is None:
                health.note_worked(prompt, call)
            else:
                health.note_reply()
            return replace(with_counts(answer), attempts=attempt, seconds=seconds)
        health.note(answer)
        if answer.kind in ("busy", "silent") and attempt <= retry.retries:
            await retry.sleep(retry.wait(attempt, answer.wait))
            continue
        reply = ended_by(answer)
        if reply.status != "error":
            health.note_reply()  # the server works and the model exists
        else:
            health.errors, health.last = health.errors + 1, answer.message
            if reason := _hopeless(answer, retry, health):
                await _make_sure(client, call, retry, health, reason, seen)
        return replace(reply, attempts=attempt, seconds=seconds)
    raise AssertionError("unreachable: the last attempt gives up")


def _attempt(prompt: str, started: float, seconds: float, answer: Reply | Failure | None) -> Attempt:
    """A request as it is noted; without an answer it was cancelled."""
    ends = prompt if len(prompt) <= 2 * _END else prompt[:_END] + prompt[-_END:]
    name = sha256(f"{len(prompt)} {ends}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if isinstance(answer, Reply):
        counted = with_counts(answer)
        return Attempt(name, answer.status, started, seconds, counted.tokens_in, counted.tokens_out)
    if answer is None:
        return Attempt(name, "cancelled", started, seconds)
    return Attempt(name, answer.kind, started, seconds, reached=answer.reached)


async def request_once(client: Client, prompt: str, call: Call, retry: Retry) -> Reply | Failure:
    """One request: its reply, or its failure, whatever exception the client library raises."""
    return await _once(partial(client.complete, prompt, call), retry)


async def _once(send: Sending, retry: Retry) -> Reply | Failure:
    try:
        async with asyncio.timeout(retry.timeout):
            return await send()
    except RequestError as error:
        failure = error.failure
    except FathomError:
        raise
    except TimeoutError:
        failure = Failure("silent", f"no reply within {retry.timeout:g} seconds (--timeout)")
    except Exception as error:
        failure = classify(error)
    return retry.asked_too_much(failure)


def ended_by(failure: Failure) -> Reply:
    """The reply after the last attempt."""
    if failure.kind == "overflow":
        return Reply(status="overflow", stop="model_length", error=failure.message)
    if failure.kind == "refused":
        return Reply(status="refused", stop="content_filter", error=failure.message)
    return Reply(status="error", stop="error", error=failure.message)


def _hopeless(failure: Failure, retry: Retry, health: Health) -> str:
    """Why the run cannot continue, judging by the failures; "" if it can."""
    again = "then run the same command again to resume"
    message = failure.message.rstrip(".")
    if failure.kind in ("denied", "later") and (health.replies == 0 or health.denied >= DENIED_IN_A_ROW):
        if failure.kind == "later":
            return f"{message}. Wait so long, {again}"
        return (
            f"the server denies the requests: {message}. Check the model's name, the key and the address (`fathom "
            f"doctor MODEL` says more); {again}"
        )
    if failure.kind == "silent" and health.silent >= 3 * (retry.retries + 1):
        return (
            f"the server does not answer ({health.silent} requests in a row): {message}. Check that it runs and "
            f"`model_base_url` (`fathom doctor MODEL` says more); {again}"
        )
    if not (health.replies or health.before) and health.errors >= ERRORS_BEFORE_ANY_REPLY:
        return (
            f"the first {health.errors} samples all failed, the last one with: {message}. Fix the cause and run the "
            "same command again to retry them"
        )
    return ""


async def _make_sure(client: Client, call: Call, retry: Retry, health: Health, reason: str, seen: int) -> None:
    """Return if the server answers a probe; concurrent callers share one.

    Args:
        client: The model.
        call: That of the prompt that failed.
        retry: When to retry.
        health: Updated.
        reason: Why the run would stop.
        seen: Number of answered probes when the request was sent: a later one needs no repetition.

    Raises:
        ServerError: It does not answer.
    """
    async with health.probing:
        if health.probes > seen:
            return
        if not await _answers(client, call, retry, health):
            raise ServerError(reason)
        health.probes += 1
        health.note_reply()


async def _answers(client: Client, call: Call, retry: Retry, health: Health) -> bool:
    """Whether the server answers a prompt that worked before, or a tiny one, within the time of one request."""
    prompt, call = health.worked or (TINY_PROMPT, call)
    with suppress(TimeoutError):
        async with asyncio.timeout(retry.timeout):
            for attempt in range(1, retry.retries + 2):
                answer = await request_once(client, prompt, replace(call, sample=PROBE), retry)
                if isinstance(answer, Reply) or answer.kind in ("overflow", "refused"):
                    return True
                if answer.kind not in ("busy", "silent") or attempt > retry.retries:
                    return False
                await retry.sleep(retry.wait(attempt, answer.wait))
    return False


def in_words(seconds: float) -> str:
    """A duration as text: ``45 seconds``, ``15 minutes``, ``2.5 hours``."""
    units = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))
    unit, size = next(((unit, size) for unit, size in units if seconds >= size), units[-1])
    number = f"{round(seconds / size, 1):,g}"
    return f"{number} {unit if number != '1' else unit[:-1]}"
