"""The engine that asks models: requests in flight at once, their retries, and the limits at which a process stops.

What is asked, and where replies are kept, is for its users: samples of a suite (``session``), conversations about
replies and documents (``cases``), and prompts of the studio (``fathom.studio.asking``).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from fathom.models.clients import connections_of, settings_of, timeout_of
from fathom.models.failures import shorten
from fathom.models.prices import Price
from fathom.models.protocol import Call, Client
from fathom.models.retry import Health, Noting, Retry, Sending, ask, not_noted
from fathom.models.settings import AskSettings, Limits
from fathom.run.queue import Queue, Queued
from fathom.runfile.settings import JudgeSettings, LikelihoodSettings, RunSettings
from fathom.types import FathomError, Reply, StoppedError

Job = TypeVar("Job")


@dataclass(frozen=True)
class Terms:
    """How requests are sent, and up to which limits.

    Attributes:
        price: The model's prices.
        max_connections: Requests in flight at once.
        retry: When failed requests are repeated.
        max_tokens_total: Tokens, prompts and replies, at which the process stops; None for no limit.
        max_cost: US dollars at which it stops; None for no limit.
    """

    price: Price
    max_connections: int
    retry: Retry
    max_tokens_total: int | None = None
    max_cost: float | None = None


def terms_of(
    settings: RunSettings | JudgeSettings | LikelihoodSettings | AskSettings, client: Client, price: Price
) -> Terms:
    """The terms of requests to a model.

    Args:
        settings: What the user wants.
        client: The model's client; it may take fewer requests at once, or need more time.
        price: The model's prices.
    """
    retry = Retry(retries=settings.retries, timeout=timeout_of(client, settings.timeout), first=settings.backoff)
    tokens = settings.max_tokens_total if isinstance(settings, Limits) else None
    return Terms(price, connections_of(client, settings.max_connections), retry, tokens, settings.max_cost)


class Engine:
    """The requests of one process to one model.

    Args:
        client: The model.
        terms: How it is asked.
        replied: Whether the model has replied to an earlier process.
        note: Takes down each request.

    Attributes:
        health: What the requests show about the server.
        stop: The limit that is exceeded, in words; "" while there is none.
    """

    def __init__(self, client: Client, terms: Terms, *, replied: bool = False, note: Noting = not_noted) -> None:
        self.client = client
        self._note = note
        self.terms = terms
        self.health = Health(before=replied, alone=settings_of(client) is not None)
        self.stop = ""

    async def ask(self, prompt: str, call: Call, send: Sending | None = None) -> Reply:
        """Send a prompt until it is answered or cannot be; see ``fathom.models.retry.ask``."""
        return await ask(self.client, prompt, call, self.terms.retry, self.health, send, self._note)

    def check_limits(self, tokens: int, paid: float) -> None:
        """Stop if more is used than the limits allow.

        Args:
            tokens: Tokens used so far, by all processes.
            paid: US dollars paid so far.
        """
        most, dollars = self.terms.max_tokens_total, self.terms.max_cost
        if most is not None and tokens > most:
            self.stop = f"stopped: {tokens:,} tokens used, `max_tokens_total` is {most:,}"
        if dollars is not None and paid > dollars:
            self.stop = f"stopped: ${paid:,.2f} spent, `max_cost` is ${dollars:,.2f}"

    async def work_through(self, queue: Queue[Job], do: Callable[[Queued[Job]], Awaitable[None]]) -> None:
        """Process all jobs, as many at once as there are connections, until a limit is exceeded.

        Args:
            do: Does one of them.

        Raises:
            FathomError: The server is unreachable or denies all requests, or a job cannot go on.
        """
        answered = asyncio.Event()

        async def work() -> None:
            while not self.stop:
                queued = queue.take()
                if queued is not None:
                    await do(queued)
                    queue.done(queued)
                    answered.set()
                elif queue.waiting:
                    answered.clear()
                    await answered.wait()
                else:
                    return

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.terms.max_connections):
                    group.create_task(work())
        except* FathomError as errors:
            raise _first(errors) from None


def ignore(_: object) -> None:
    """The callback of a caller that has none."""


def unexpected_error_message(error: Exception) -> str:
    """The error message for an unexpected exception."""
    return shorten(f"unexpected, please report it: {type(error).__name__}: {error}")


def check_limit(limit: int | None, needed: int, used: str, advice: str = "") -> None:
    """Check that work stays within the user's limit of tokens before anything is sent.

    Args:
        limit: ``max_tokens_total``; None for no limit.
        needed: Tokens that it needs, with those used already.
        used: The same in words, without the limit.
        advice: What else helps than a higher limit.

    Raises:
        StoppedError: It does not.
    """
    if limit is not None and needed > limit:
        raise StoppedError(f"{used}, more than `max_tokens_total` {limit:,}; nothing was sent. Raise the limit{advice}")


def check_cost(limit: float | None, cost: float | None, model: str, words: str, advice: str = "") -> None:
    """Check that work stays within the user's limit of cost before anything is sent.

    Args:
        limit: ``max_cost``; None for no limit.
        cost: US dollars, with those spent already; None if the price is unknown.
        model: Name of the model.
        words: The cost in words, without the limit.
        advice: What else helps than a higher limit.

    Raises:
        StoppedError: It does not, or the price is unknown, so that the limit cannot be enforced.
    """
    if limit is None:
        return
    if cost is None:
        raise StoppedError(
            f"`max_cost` {limit:g}: the price of {model!r} is unknown, so the limit cannot be enforced; nothing was "
            "sent. Add the model to ~/.config/fathom/prices.toml, or use `max_tokens_total`"
        )
    if cost > limit:
        raise StoppedError(f"{words}, more than `max_cost` ${limit:,.2f}; nothing was sent. Raise the limit{advice}")


def _first(errors: BaseExceptionGroup[FathomError]) -> FathomError:
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
