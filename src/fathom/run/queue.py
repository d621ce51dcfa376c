"""The order in which the requests of a run are sent: the first one of a prefix before all others that begin alike.

A cache holds what a request has computed when that has been answered. Requests that are sent together with the first
one compute, and cost, the whole prompt again, so they wait for it, while other prefixes keep the connections busy.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeVar

from fathom.tokens.length import question_part
from fathom.types import Sample, Span

Job = TypeVar("Job")

AHEAD = 8
"""Requests that may wait for others, for each connection; more connections than that find nothing to send."""


@dataclass(frozen=True, slots=True)
class Queued(Generic[Job]):
    """A request that can be sent.

    Attributes:
        job: What is asked.
        key: Its prefix.
        first: Whether it is the first request of its prefix.
        shared: Whether others of its prefix come next, or have come before.
    """

    job: Job
    key: str
    first: bool
    shared: bool


class Queue(Generic[Job]):
    """Hands out requests, in their order but for those that wait.

    Args:
        jobs: All requests; those of one prefix are adjacent.
        key: The prefix of a request (``prefix_key``).
        held: How many requests may wait for others at once; 0 to hand out all in their order.
    """

    def __init__(self, jobs: Iterable[Job], key: Callable[[Job], str], held: int) -> None:
        self._rest: Iterator[tuple[Job, str]] = ((job, key(job)) for job in jobs)
        self._held = held
        self._coming: tuple[Job, str] | None = None
        self._last = ""
        self._waiting: dict[str, list[Queued[Job]]] = {}  # by prefix whose first request is on its way
        self._ready: deque[Queued[Job]] = deque()

    @property
    def waiting(self) -> bool:
        """Whether requests wait for others, so that some will follow though ``take`` has none now."""
        return any(self._waiting.values())

    def take(self) -> Queued[Job] | None:
        """The next request that can be sent; None if there is none, or none before ``done``."""
        if self._ready:
            # While those of one prefix are sent, the first one of the next is on its way.
            if not self._waiting and (queued := self._pull()) is not None:
                if queued.first and queued.shared:
                    return self._begin(queued)
                self._ready.append(queued)
            return self._ready.popleft()
        while not self._held or sum(map(len, self._waiting.values())) < self._held:
            queued = self._pull()
            if queued is None or not self._held:
                return queued
            if queued.key not in self._waiting:
                return self._begin(queued) if queued.first and queued.shared else queued
            self._waiting[queued.key].append(queued)
        return None

    def done(self, queued: Queued[Job]) -> None:
        """A request has been answered, or has failed: those that wait for it can be sent."""
        if queued.first:
            self._ready += self._waiting.pop(queued.key, ())

    def _begin(self, queued: Queued[Job]) -> Queued[Job]:
        self._waiting[queued.key] = []
        return queued

    def _pull(self) -> Queued[Job] | None:
        here = self._coming or next(self._rest, None)
        if here is None:
            return None
        self._coming = next(self._rest, None)
        (job, key), before = here, self._last
        after = self._coming[1] if self._coming else None
        self._last = key
        return Queued(job, key, key != before, key in (before, after))


def prefix_key(sample: Sample) -> str:
    """What tells apart the beginnings of prompts, up to their questions.

    Args:
        sample: A sample with its recipe.
    """
    parts, question = sample.parts, question_part(sample)
    last = parts[-1] if parts else ""
    if question and isinstance(last, str):
        parts = (*parts[:-1], last[: len(last) - len(question)])
    digest = sha256()
    for part in parts:
        words = f"\x01{part.doc}\x02{part.start}\x02{part.end}" if isinstance(part, Span) else f"\x03{part}"
        digest.update(words.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
