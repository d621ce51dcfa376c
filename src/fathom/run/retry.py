"""One prompt, as many requests as it takes: backoff, ``Retry-After``, and when to give up.

A prompt that fails is no reason to end a run: it may be the only one that is denied, or too much for the server. Before
a run gives up, a prompt that has worked is tried again, or a tiny one; if that is answered, the run goes on.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from time import perf_counter

from fathom.run.failures import Failure, understand
from fathom.run.model import PROBE, TINY_PROMPT, Call, Client, RequestError
from fathom.run.usage import with_counts
from fathom.types import FathomError, Reply

DENIED_IN_A_ROW = 5
ERRORS_BEFORE_ANY_REPLY = 20


@dataclass(frozen=True)
class Retry:
    """How often and how patiently to ask again.

    Attributes:
        retries: Requests after the first.
        timeout: Seconds given to each request.
        first: Seconds to wait before the first retry; the wait doubles from there, with a jitter of a quarter.
        longest: The longest wait in seconds that backoff comes to.
        obeyed: The longest ``Retry-After`` in seconds that is obeyed; a request that should wait longer has failed.
        sleep: Waits.
        rng: Draws the jitter.
    """

    retries: int = 5
    timeout: float = 600.0
    first: float = 1.0
    longest: float = 60.0
    obeyed: float = 900.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: Random = field(default_factory=Random)

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait after failed attempt number ``attempt``, from 1; ``asked`` is the server's ``Retry-After``.

        The wait is never shorter than what the server asks for; jitter keeps many requests from coming back at once.
        """
        jitter = self.rng.uniform(0.75, 1.25)
        backoff = min(self.longest, self.first * 2 ** (attempt - 1)) * jitter
        return backoff if asked is None else asked + self.first * (jitter - 0.75)

    def asked_too_much(self, failure: Failure) -> Failure:
        """The failure, as one of kind ``later`` where the server asks to wait longer than is obeyed."""
        if failure.wait is None or failure.wait <= self.obeyed:
            return failure
        asked, most = in_words(failure.wait), in_words(self.obeyed)
        reason = f"the server asks to wait {asked} (Retry-After), and {most} is the longest wait that is obeyed"
        return Failure("later", f"{reason}: {failure.message}")


@dataclass
class Health:
    """What the requests of this process tell about the server.

    Attributes:
        before: Whether an earlier process of the run had a reply.
        replies: Requests of this process that brought a reply.
        silent: Requests in a row that brought no answer at all.
        denied: Requests in a row that were denied, or put off for longer than is waited.
        errors: Samples that failed.
        last: Message of the last one.
        worked: The shortest prompt that brought a reply, and what went with it.
        probes: Probes that were answered.
        probing: Held while a probe is on its way: one at a time, and nothing else is sent meanwhile.
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

    def note(self, failure: Failure) -> None:
        """Count a failed request."""
        self.silent = self.silent + 1 if failure.kind == "silent" else 0
        self.denied = self.denied + 1 if failure.kind in ("denied", "later") else 0

    def note_reply(self) -> None:
        """Count a request that brought a reply."""
        self.replies, self.silent, self.denied = self.replies + 1, 0, 0

    def note_worked(self, prompt: str, call: Call) -> None:
        """Count a reply, and remember its prompt where it is the shortest."""
        self.note_reply()
        if self.worked is None or len(prompt) < len(self.worked[0]):
            self.worked = prompt, call


async def ask(client: Client, prompt: str, call: Call, retry: Retry, health: Health) -> Reply:
    """Ask until there is a reply or no hope of one.

    Args:
        client: The model.
        prompt: The whole prompt.
        call: What goes with it.
        retry: Patience.
        health: Shared by all requests of the process; updated.

    Returns:
        The reply, or one with status ``overflow``, ``refused`` or ``error``; never raises for this sample alone.

    Raises:
        FathomError: The server is gone, or denies everything: going on would only waste the samples.
    """
    for attempt in range(1, retry.retries + 2):
        async with health.probing:
            pass
        started, seen = perf_counter(), health.probes
        answer = await _request(client, prompt, call, retry)
        seconds = perf_counter() - started
        if isinstance(answer, Reply):
            health.note_worked(prompt, call)
            return replace(with_counts(answer), attempts=attempt, seconds=seconds)
        health.note(answer)
        if answer.kind in ("busy", "silent") and attempt <= retry.retries:
            await retry.sleep(retry.wait(attempt, answer.wait))
            continue
        reply = _ended(answer)
        if reply.status != "error":
            health.note_reply()  # The server is well and the model is there.
        else:
            health.errors, health.last = health.errors + 1, answer.message
            if reason := _hopeless(answer, retry, health):
                await _make_sure(client, call, retry, health, reason, seen)
        return replace(reply, attempts=attempt, seconds=seconds)
    raise AssertionError("unreachable: the last attempt gives up")


async def _request(client: Client, prompt: str, call: Call, retry: Retry) -> Reply | Failure:
    """One request: what came back, or what failed, whatever the client library makes of it."""
    try:
        async with asyncio.timeout(retry.timeout):
            return await client.complete(prompt, call)
    except RequestError as error:
        failure = error.failure
    except FathomError:
        raise
    except TimeoutError:
        failure = Failure("silent", f"no reply within {retry.timeout:g} seconds (--timeout)")
    except Exception as error:
        failure = understand(error)
    return retry.asked_too_much(failure)


def _ended(failure: Failure) -> Reply:
    """The reply that ends the attempts."""
    if failure.kind == "overflow":
        return Reply(status="overflow", stop="model_length", error=failure.message)
    if failure.kind == "refused":
        return Reply(status="refused", stop="content_filter", error=failure.message)
    return Reply(status="error", stop="error", error=failure.message)


def _hopeless(failure: Failure, retry: Retry, health: Health) -> str:
    """Why going on makes no sense, as far as failures tell; "" where it may."""
    again = "then run the same command again, which goes on from here"
    message = failure.message.rstrip(".")
    if failure.kind in ("denied", "later") and (health.replies == 0 or health.denied >= DENIED_IN_A_ROW):
        if failure.kind == "later":
            return f"{message}. Wait so long, {again}"
        return f"the server denies the requests: {message}. Check the model's name, the key and the address; {again}"
    if failure.kind == "silent" and health.silent >= 3 * (retry.retries + 1):
        return (
            f"the server does not answer ({health.silent} requests in a row): {message}. Check that it runs and "
            f"--model-base-url; {again}"
        )
    if not (health.replies or health.before) and health.errors >= ERRORS_BEFORE_ANY_REPLY:
        return (
            f"the first {health.errors} samples all failed, the last one with: {message}. Mend that, then run the same "
            "command again, which asks for them again"
        )
    return ""


async def _make_sure(client: Client, call: Call, retry: Retry, health: Health, reason: str, seen: int) -> None:
    """Go on where the server answers a probe; all that come to this point at once share one.

    Args:
        client: The model.
        call: That of the prompt that failed.
        retry: Patience.
        health: Updated.
        reason: Why the run would end.
        seen: Probes that had been answered when the request was sent: a later one has told what is asked here.

    Raises:
        FathomError: It does not answer.
    """
    async with health.probing:
        if health.probes > seen:
            return
        if not await _answers(client, call, retry, health):
            raise FathomError(reason)
        health.probes += 1
        health.note_reply()


async def _answers(client: Client, call: Call, retry: Retry, health: Health) -> bool:
    """Whether the server answers a prompt that has worked, or a tiny one, within the time of one request."""
    prompt, call = health.worked or (TINY_PROMPT, call)
    with suppress(TimeoutError):
        async with asyncio.timeout(retry.timeout):
            for attempt in range(1, retry.retries + 2):
                answer = await _request(client, prompt, replace(call, sample=PROBE), retry)
                if isinstance(answer, Reply) or answer.kind in ("overflow", "refused"):
                    return True
                if answer.kind not in ("busy", "silent") or attempt > retry.retries:
                    return False
                await retry.sleep(retry.wait(attempt, answer.wait))
    return False


def in_words(seconds: float) -> str:
    """A time for people: ``45 seconds``, ``15 minutes``, ``2.5 hours``."""
    units = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))
    unit, size = next(((unit, size) for unit, size in units if seconds >= size), units[-1])
    number = f"{round(seconds / size, 1):,g}"
    return f"{number} {unit if number != '1' else unit[:-1]}"
