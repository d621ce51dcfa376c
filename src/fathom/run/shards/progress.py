"""The progress of a run in shards, as their files show it."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from fathom.printing import readable, several
from fathom.run.shards.files import COLUMNS, PLAN, Row, read_plan, state_of, stored_rows
from fathom.run.shards.store import open_store
from fathom.runfile.progress import Progress
from fathom.types import STATUSES, FathomError

READERS = 16
NOTHING = Progress(0, 0, dict.fromkeys(STATUSES, 0), 0, 0, 0.0, 0.0, 0)


@readable
@dataclass(frozen=True, slots=True)
class ShardsStatus:
    """The state of a run in shards.

    Attributes:
        place: The folder or object store, without secrets.
        model: The model's name.
        suite: The suite's name.
        shards: Number of shards.
        finished: Those with all replies.
        unfinished: Those with some.
        replies: Replies of all shards: how many there are and will be, by status, with their tokens and cost.
        last: Seconds since the epoch of the last reply; None if there is none.
    """

    place: str
    model: str
    suite: str
    shards: int
    finished: int
    unfinished: int
    replies: Progress
    last: float | None

    def facts(self) -> dict[str, str]:
        """What the command prints: each fact by its name."""
        state = self.replies
        counts = ", ".join(f"{count} {name}" for name, count in state.counts.items() if count) or "none yet"
        unknown = f", and {several(state.unpriced, 'reply')} of unknown price" if state.unpriced else ""
        missing = self.shards - self.finished - self.unfinished
        return {
            "model": self.model,
            "suite": self.suite,
            "shards": f"{self.finished:,} of {self.shards:,} finished, {self.unfinished:,} begun, {missing:,} missing",
            "replies": f"{state.finished:,} of {state.total:,} ({counts})",
            "tokens": f"{state.tokens_in:,} in, {state.tokens_out:,} out",
            "cost": "unknown" if state.cost is None else f"${state.cost:,.4f}{unknown}",
        }


def holds_shards(place: str | Path) -> bool:
    """Whether a folder or an object store holds a run in shards.

    Raises:
        FathomError: It cannot be read.
    """
    return open_store(place).read(PLAN) is not None


def shards_status(place: str | Path) -> ShardsStatus:
    """The state of a run in shards, from any machine, during the run or after it.

    Args:
        place: The folder or object store of all shards.

    Raises:
        FathomError: It holds no shards, or a file is damaged.
    """
    store = open_store(place)
    plan = read_plan(store)
    if plan is None:
        raise FathomError(f"{store.where}: no run here: {PLAN} is missing")
    shards = state_of(store, plan.shards)
    with ThreadPoolExecutor(READERS) as readers:
        begun = (*shards.finished, *shards.unfinished)
        states = list(readers.map(lambda shard: _of(stored_rows(store, shard, plan.digest)[0]), begun))
    total = reduce(together, (state for state, _ in states), replace(NOTHING, total=plan.samples * plan.epochs))
    return ShardsStatus(
        place=store.where,
        model=plan.run["model"],
        suite=plan.run["suite"]["name"],
        shards=plan.shards,
        finished=len(shards.finished),
        unfinished=len(shards.unfinished),
        replies=total,
        last=max((last for _, last in states if last is not None), default=None),
    )


def _of(rows: Sequence[Row]) -> tuple[Progress, float | None]:
    at = COLUMNS.index("finished_at")
    return counted(rows), max((row[at] for row in rows), default=None)


def counted(rows: Iterable[Row]) -> Progress:
    """Replies by status, their tokens and their cost; without ``total``."""
    values = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    costs = [reply["cost"] for reply in values if reply["cost"] is not None]
    return Progress(
        finished=len(values),
        total=0,
        counts={name: sum(reply["status"] == name for reply in values) for name in STATUSES},
        tokens_in=sum(reply["tokens_in"] or 0 for reply in values),
        tokens_out=sum(reply["tokens_out"] or 0 for reply in values),
        cost=sum(costs),
        seconds=0.0,
        asked=0,
        unpriced=len(values) - len(costs),
    )


def together(first: Progress, second: Progress) -> Progress:
    """The sum of both, with the total and the seconds of the first."""
    return replace(
        first,
        finished=first.finished + second.finished,
        counts={name: first.counts[name] + second.counts[name] for name in first.counts},
        tokens_in=first.tokens_in + second.tokens_in,
        tokens_out=first.tokens_out + second.tokens_out,
        cost=None if first.cost is None or second.cost is None else first.cost + second.cost,
        asked=first.asked + second.asked,
        unpriced=first.unpriced + second.unpriced,
    )
