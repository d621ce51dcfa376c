"""Leases: a shard is asked by one process at a time, which says every few seconds that it is still at work.

A lease is a file of the store, ``shard-03-of-64.lease``. It holds who has it and how often that was renewed; whether it
still is, is judged by the clock of the process that waits, so the clocks of machines may differ.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256

from fathom.run.shards.cutting import Shard
from fathom.run.shards.store import Store
from fathom.runfile.worker import BEAT_SECONDS, SILENCE_SECONDS, Worker, is_alive, retire, this_worker
from fathom.types import FathomError


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Times of a lease, in seconds.

    Attributes:
        ends: After so long without a renewal it ends.
        renewed: How often it is renewed.
        looked_at: How often a process that waits looks at it.
    """

    ends: float = SILENCE_SECONDS
    renewed: float = BEAT_SECONDS
    looked_at: float = 1.0


TIMES = LeaseTimes()


class Lease:
    """The lease of a shard, held by this process.

    Attributes:
        lost: Whether another process has it, because this one could not renew it in time.
    """

    def __init__(self, store: Store, shard: Shard, worker: Worker) -> None:
        self.lost = False
        self._store = store
        self._shard = shard
        self._file = f"{shard.name}.lease"
        self._worker = worker
        self._renewals = 0

    def check(self) -> None:
        """Check that this process still has the lease.

        Raises:
            FathomError: Another one has it.
        """
        if self.lost:
            raise FathomError(
                f"{self._store.where}: another process has taken over {self._shard.name}, because this one gave no "
                f"sign for {TIMES.ends:g} seconds; what it has replied is kept. Run the same command again to resume"
            )

    def take(self, tell: Callable[[str], None]) -> None:
        """Wait until no other process has the lease, and take it."""
        seen, since, reported = None, time.monotonic(), False
        while not self._store.create(self._file, self._content()):
            held = self._store.read(self._file)
            if held is None:  # released meanwhile
                continue
            if held != seen:
                seen, since = held, time.monotonic()
            holder = _worker_in(held)
            ended = holder is not None and not is_alive(holder, beat=time.time(), now=time.time())
            if ended or time.monotonic() - since >= TIMES.ends:
                if self._take_over(held):
                    return
                if time.monotonic() - since >= 2 * TIMES.ends:  # who was taking it over is gone too
                    self._store.remove(self._claim(held))
            if not reported:
                reported = True
                whose = f"process {holder.pid} on {holder.host.partition('/')[0]}" if holder else "another process"
                tell(
                    f"{self._shard.name}: {whose} works on it, and renews its lease every {TIMES.renewed:g} seconds; "
                    f"waiting until it ends, or has given no sign for {TIMES.ends:g} seconds"
                )
            time.sleep(TIMES.looked_at)

    def _take_over(self, ended: bytes) -> bool:
        """Take an ended lease, unless another process does: one at a time may, and only while it is the same lease."""
        claim = self._claim(ended)
        if not self._store.create(claim, self._content()):
            return False
        try:
            same = self._store.read(self._file) == ended
            if same:
                self._store.write(self._file, self._content())
        finally:
            self._store.remove(claim)
        return same

    def _claim(self, ended: bytes) -> str:
        return f"{self._file}.{sha256(ended).hexdigest()[:12]}"

    def renew(self) -> None:
        """Say that this process is still at work, unless another one has the lease."""
        holder = _worker_in(self._store.read(self._file) or b"")
        if holder is not None and holder.id != self._worker.id:
            self.lost = True
            return
        self._renewals += 1
        self._store.write(self._file, self._content())

    def release(self) -> None:
        """Let others have it."""
        holder = _worker_in(self._store.read(self._file) or b"")
        if holder is not None and holder.id == self._worker.id:
            self._store.remove(self._file)

    def _content(self) -> bytes:
        return json.dumps({**asdict(self._worker), "renewals": self._renewals}).encode()


def _worker_in(content: bytes) -> Worker | None:
    try:
        values = json.loads(content)
        start = float(values["started"])
        return Worker(str(values["id"]), int(values["pid"]), str(values["host"]), str(values["born"]), start)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # of another version, or damaged: it ends when its time is over


@contextmanager
def leased(store: Store, shard: Shard, tell: Callable[[str], None]) -> Iterator[Lease]:
    """Hold the lease of a shard; wait for it first if another process has it.

    Args:
        tell: Called with a line about the process that is waited for.

    Raises:
        FathomError: The store cannot be used.
    """
    worker = this_worker()
    lease, ended = Lease(store, shard, worker), threading.Event()

    def renew() -> None:
        while not ended.wait(TIMES.renewed):
            with suppress(FathomError):  # a store that is out of reach for a moment
                lease.renew()

    try:
        lease.take(tell)
        renewing = threading.Thread(target=renew, daemon=True)
        renewing.start()
        try:
            yield lease
        finally:
            ended.set()
            renewing.join()
            with suppress(FathomError):
                lease.release()
    finally:
        retire(worker)
