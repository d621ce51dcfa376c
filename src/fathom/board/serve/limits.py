"""What one person and one address may ask of the server, and how much of it at once."""

import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the server.

    Attributes:
        bundle_bytes: Of one bundle.
        upload_seconds: For all bytes of one bundle to come.
        check_seconds: For the check of one bundle.
        checks: Checks at once; others wait.
        per_hour: Bundles that one person may send in an hour.
        waiting: Undecided submissions that one person may have.
        under_way: Bundles of one person that may be coming, waiting for their check, or in it.
        connections: Open at once.
        per_address: Connections, and requests under way, of one address; 0 for no limit.
        header_seconds: For all headers of a request to come.
        idle_seconds: Between two pieces of a body.
        write_seconds: For a reader that does not read.
    """

    bundle_bytes: int = 64 << 20
    upload_seconds: float = 600
    check_seconds: float = 600
    checks: int = 2
    per_hour: int = 60
    waiting: int = 100
    under_way: int = 4
    connections: int = 512
    per_address: int = 64
    header_seconds: float = 10
    idle_seconds: float = 30
    write_seconds: float = 60


class Rate:
    """Counts what each person did in the last hour, in memory; each server counts for itself.

    Args:
        per_hour: How often one may.
        clock: Seconds, never going back.
    """

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_hour = per_hour
        self._clock = clock
        self._times: defaultdict[str, deque[float]] = defaultdict(deque)

    def take(self, name: str) -> int:
        """Count once more for somebody.

        Returns:
            0; or the seconds to wait, and nothing was counted.
        """
        times, present = self._times[name], self._clock()
        while times and times[0] <= present - HOUR:
            times.popleft()
        if len(times) >= self.per_hour:
            return max(1, math.ceil(times[0] + HOUR - present)) if times else math.ceil(HOUR)
        times.append(present)
        return 0


class Shares:
    """Counts what each has under way, and lets nobody have more than so much.

    Args:
        most: How much; 0 for no limit.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: Counter[str] = Counter()

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Count once more for somebody, for as long as this is entered; False where it is too much."""
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
    """Places for work, one at a time for each person: whoever has much waiting does not delay others.

    Args:
        places: How many work at once.
    """

    def __init__(self, places: int) -> None:
        self._places = anyio.CapacityLimiter(places)
        self._mine: dict[str, anyio.Lock] = {}

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Wait for somebody's turn, and hold a place for as long as this is entered."""
        mine = self._mine.setdefault(name, anyio.Lock())
        try:
            # Who has one at work waits here, not in the queue for the places: that has one of each person.
            async with mine:
                await self._places.acquire_on_behalf_of(mine)
                try:
                    yield
                finally:
                    self._places.release_on_behalf_of(mine)
        finally:
            if not mine.statistics().locked and not mine.statistics().tasks_waiting:
                self._mine.pop(name, None)
