"""Time and cost of samples by state, from the log."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fathom.studio.log import steps, verified
from fathom.studio.store import Store
from fathom.studio.types import STATES, AddCandidates, AddPredictions, Create, Sample

By: TypeAlias = Literal["state", "sample", "task"]
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Effort:
    """What samples cost.

    Attributes:
        group: A state, the id of a sample, or a task.
        samples: Samples that are in it now.
        actions: What people did there.
        hours: Their time, as measured by the pages.
        model_cost: Price of drafts and predictions in US dollars, as far as known.
        people_cost: Price of the time; 0 without a wage.
    """

    group: str
    samples: int
    actions: int
    hours: float
    model_cost: float
    people_cost: float

    def as_record(self) -> dict[str, object]:
        """The effort for a table."""
        return {
            "group": self.group,
            "samples": self.samples,
            "actions": self.actions,
            "hours": round(self.hours, 3),
            "minutes_each": round(60 * self.hours / self.actions, 2) if self.actions else None,
            "model_cost": round(self.model_cost, 4),
            "people_cost": round(self.people_cost, 2),
        }


def efforts(store: Store, by: By = "state", hourly: float = 0.0) -> list[Effort]:
    """Time and cost by state, sample or task.

    Args:
        store: The store.
        by: How to group: the time of an action counts for the state in which it was done.
        hourly: Price of an hour of people's time, in US dollars.

    Raises:
        BrokenLogError: The log is damaged.
    """
    actions: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    costs: defaultdict[str, float] = defaultdict(float)
    last: dict[str, Sample] = {}
    for entry, action, before, after in steps(verified(store.entries())):
        group = _group(by, before or after)
        actions[group] += entry.person != "operator"
        seconds[group] += action.seconds
        if isinstance(action, Create | AddCandidates):
            costs[group] += sum(one.cost or 0 for one in action.candidates)
        if isinstance(action, AddPredictions):
            costs[group] += sum(one.cost or 0 for one in action.predictions)
        last[after.id] = after
    now = Counter(_group(by, one) for one in last.values())
    return [
        Effort(name, now[name], actions[name], seconds[name] / HOUR, costs[name], seconds[name] / HOUR * hourly)
        for name in _order(by, {*actions, *now})
    ]


def _group(by: By, sample: Sample) -> str:
    return {"state": sample.state, "sample": sample.id, "task": sample.task}[by]


def _order(by: By, names: set[str]) -> Iterator[str]:
    if by == "state":
        yield from STATES
    else:
        yield from sorted(names)
