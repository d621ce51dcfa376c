"""How far a run is: for its own caller, and for anyone who looks from another terminal."""

import time
from dataclasses import dataclass
from pathlib import Path

from fathom.printing import readable
from fathom.run.manifest import read_manifest
from fathom.run.store import peek
from fathom.run.worker import is_alive
from fathom.types import Status


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands, told after every reply.

    Attributes:
        finished: Replies in the store.
        total: Replies that the store will hold at the end.
        counts: Finished replies by status.
        tokens_in: Prompt tokens so far, as providers count them.
        tokens_out: Completion tokens so far.
        cost: US dollars so far, as far as prices are known; None where none is.
        seconds: Time since this process began to ask.
        asked: Replies that this process brought.
        unpriced: Replies that no price is known for.
    """

    finished: int
    total: int
    counts: dict[Status, int]
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float
    asked: int
    unpriced: int = 0


@readable
@dataclass(frozen=True, slots=True)
class RunSummary:
    """What ``run`` did.

    Attributes:
        folder: The run folder.
        progress: The state at the end; None if nothing was started.
        stopped: Why the run ended before all was done; "" if it did not.
        hints: What the user may want to change, in words.
    """

    folder: Path
    progress: Progress | None
    stopped: str = ""
    hints: tuple[str, ...] = ()


@readable
@dataclass(frozen=True, slots=True)
class RunStatus:
    """A run as seen from outside.

    Attributes:
        folder: The run folder.
        model: The model's name.
        suite: The suite's name.
        alive: Processes that work on it now.
        finished: Replies in the store, errors among them.
        total: Replies that it will hold at the end.
        counts: Finished replies by status.
        tokens_in: Prompt tokens so far.
        tokens_out: Completion tokens so far.
        cost: US dollars so far, as far as prices are known; None where none is.
        rate: Replies per second since the living processes joined; None if none lives or none has finished.
        eta: Seconds to the end at that rate; None if unknown.
        last: Seconds since the epoch of the last reply; None if there is none.
        unpriced: Replies that no price is known for.
    """

    folder: Path
    model: str
    suite: str
    alive: int
    finished: int
    total: int
    counts: dict[Status, int]
    tokens_in: int
    tokens_out: int
    cost: float | None
    rate: float | None
    eta: float | None
    last: float | None
    unpriced: int = 0


def status(folder: Path) -> RunStatus:
    """Look at a run from any process, while it goes on or after.

    Args:
        folder: The run folder.

    Raises:
        FathomError: No run is there.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    now = time.time()
    # A run that is just starting has its run.json and no store yet.
    with peek(folder) as store:
        totals = store.totals()
        rows = store.workers()
        living = [row for row in rows if is_alive(row.worker, beat=row.beat, now=now)]
        since = min((row.worker.started for row in living), default=now)
        recent = store.finished_since(since)
    finished = totals.finished
    total = max([finished, *(row.planned for row in rows)])
    rate = recent / max(now - since, 1e-3) if living and recent else None
    return RunStatus(
        folder=folder,
        model=manifest["model"],
        suite=manifest["suite"]["name"],
        alive=len(living),
        finished=finished,
        total=total,
        counts=dict(totals.counts),
        tokens_in=totals.tokens_in,
        tokens_out=totals.tokens_out,
        cost=totals.cost,
        rate=rate,
        eta=(total - finished) / rate if rate else None,
        last=totals.last,
        unpriced=totals.unpriced,
    )
