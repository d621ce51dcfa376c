"""One prompt, as many requests as it takes: backoff, ``Retry-After``, and when to give up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from random import Random
from time import perf_counter

from fathom.run.failures import Failure
from fathom.run.model import Call, Client, RequestError
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
        obeyed: The longest ``Retry-After`` in seconds that is obeyed.
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
        return backoff if asked is None else min(asked, self.obeyed) + self.first * (jitter - 0.75)


@dataclass
class Health:
    """What the requests of this process tell about the server.

    Attributes:
        replies: Requests that brought a reply.
        silent: Requests in a row that brought no answer at all.
        denied: Requests in a row that were denied.
        errors: Samples that failed.
        last: Message of the last one.
    """

    replies: int = 0
    silent: int = 0
    denied: int = 0
    errors: int = 0
    last: str = ""

    def note(self, failure: Failure) -> None:
        """Count a failed request."""
        self.silent = self.silent + 1 if failure.kind == "silent" else 0
        self.denied = self.denied + 1 if failure.kind == "denied" else 0

    def note_reply(self) -> None:
        """Count a request that brought a reply."""
        self.replies, self.silent, self.denied = self.replies + 1, 0, 0


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
        started = perf_counter()
        failure = None
        try:
            async with asyncio.timeout(retry.timeout):
                reply = await client.complete(prompt, call)
        except RequestError as error:
            failure = error.failure
        except TimeoutError:
            failure = Failure("silent", f"no reply within {retry.timeout:g} seconds (--timeout)")
        seconds = perf_counter() - started
        if failure is None:
            health.note_reply()
            return replace(reply, attempts=attempt, seconds=seconds)
        health.note(failure)
        verdict = _give_up(failure, attempt, retry, health)
        if verdict is not None:
            return replace(verdict, attempts=attempt, seconds=seconds)
        await retry.sleep(retry.wait(attempt, failure.wait))
    raise AssertionError("unreachable: the last attempt gives up")


def _give_up(failure: Failure, attempt: int, retry: Retry, health: Health) -> Reply | None:
    """The reply that ends the attempts, or None to try again."""
    match failure.kind:
        case "overflow":
            health.note_reply()  # The server is well and the model is there.
            return Reply(status="overflow", stop="model_length", error=failure.message)
        case "refused":
            health.note_reply()
            return Reply(status="refused", stop="content_filter", error=failure.message)
        case "busy" | "silent" if attempt <= retry.retries:
            return None
        case "denied" if health.replies == 0 or health.denied >= DENIED_IN_A_ROW:
            raise FathomError(
                f"the server denies the requests: {failure.message}. Check the model's name, the key and the address; "
                "then run the same command again, which goes on from here"
            )
        case "silent" if health.silent >= 3 * (retry.retries + 1):
            raise FathomError(
                f"the server does not answer ({health.silent} requests in a row): {failure.message.rstrip('.')}. "
                "Check that it runs and --model-base-url; then run the same command again, which goes on from here"
            )
    health.errors, health.last = health.errors + 1, failure.message
    if health.replies == 0 and health.errors >= ERRORS_BEFORE_ANY_REPLY:
        raise FathomError(
            f"the first {health.errors} samples all failed, the last one with: {failure.message}. Mend that, then run "
            "the same command again, which asks for them again"
        )
    return Reply(status="error", stop="error", error=failure.message)
