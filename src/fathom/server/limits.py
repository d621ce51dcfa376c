"""Limits of a server, for each person, each address and in all."""

import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio

HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits of connections.

    Attributes:
        connections: Open at once.
        per_address: Connections, and running requests, of one address; 0 for no limit.
        header_seconds: For all headers of a request.
        write_seconds: For a client that does not read.
    """

    connections: int = 512
    per_address: int = 64
    header_seconds: float = 10
    write_seconds: float = 60


class Rate:
    """Counts actions of each person in the last hour, in memory; each server counts separately.

    Args:
        per_hour: Maximum number.
        clock: Monotonic seconds.
    """

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_hour = per_hour
        self._clock = clock
        self._times: defaultdict[str, deque[float]] = defaultdict(deque)

    def take(self, name: str) -> int:
        """Counts one more action.

        Returns:
            0; or the seconds to wait, if it was not counted.
        """
        times, present = self._times[name], self._clock()
        while times and times[0] <= present - HOUR:
            times.popleft()
        if len(times) >= self.per_hour:
            return max(1, math.ceil(times[0] + HOUR - present)) if times else math.ceil(HOUR)
        times.append(present)
        return 0


class Shares:
    """Counts concurrent actions of each person, up to a maximum.

    Args:
        most: The maximum; 0 for no limit.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: Counter[str] = Counter()

    @property
    def in_use(self) -> int:
        """Number of running actions of all."""
        return self._held.total()

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Counts one more action within this context; False if it is too many."""
        if self.most and self._held[name] >= self.most:
            yield False
            return
        self._held[name] += 1
        try:
            yield True
        finally:
            self._held[name] -= 1
            if not self._held[name]:
                del self._held[name]


class Turns:
    """Places for work, one at a time for each person, so that nobody delays others."""

    def __init__(self, places: int) -> None:
        self._places = anyio.CapacityLimiter(places)
        self._mine: dict[str, anyio.Lock] = {}

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Waits for a place and holds it within this context."""
        mine = self._mine.setdefault(name, anyio.Lock())
        try:
            # A person's further work waits here instead of in the queue for the places.
            async with mine:
                await self._places.acquire_on_behalf_of(mine)
                try:
                    yield
                finally:
                    self._places.release_on_behalf_of(mine)
        finally:
            if not mine.statistics().locked and not mine.statistics().tasks_waiting:
                self._mine.pop(name, None)
