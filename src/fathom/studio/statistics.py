"""Time and cost of samples by state, sample, task or origin."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fathom.stats.intervals import Interval
from fathom.studio.histories import History, Spent
from fathom.studio.types import STATES

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

    @property
    def minutes_each(self) -> float | None:
        """Minutes of an action; None without actions."""
        return 60 * self.hours / self.actions if self.actions else None

    def as_record(self) -> dict[str, object]:
        """The effort for a table."""
        return {
            "group": self.group,
            "samples": self.samples,
            "actions": self.actions,
            "hours": round(self.hours, 3),
            "minutes_each": None if self.minutes_each is None else round(self.minutes_each, 2),
            "model_cost": round(self.model_cost, 4),
            "people_cost": round(self.people_cost, 2),
        }


def efforts(histories: Iterable[History], by: By = "state", hourly: float = 0.0) -> list[Effort]:
    """Time and cost by state, sample or task.

    Args:
        histories: The samples.
        by: How to group: the time of an action counts for the state in which it was done.
        hourly: Price of an hour of people's time, in US dollars.
    """
    spent: defaultdict[str, list[Spent]] = defaultdict(list)
    now: Counter[str] = Counter()
    for one in histories:
        for part in one.spent:
            spent[_group(by, one, part.state)].append(part)
        now[_group(by, one, one.state)] += 1
    return [_effort(name, now[name], spent[name], hourly) for name in _order(by, {*spent, *now})]


def total(found: Iterable[Effort]) -> Effort:
    """The sum of efforts."""
    all_ = list(found)
    names = ("samples", "actions", "hours", "model_cost", "people_cost")
    return Effort("total", *(sum(getattr(one, name) for one in all_) for name in names))


def _effort(name: str, samples: int, spent: Iterable[Spent], hourly: float) -> Effort:
    parts = list(spent)
    hours = sum(one.seconds for one in parts) / HOUR
    actions, cost = sum(one.actions for one in parts), sum(one.cost for one in parts)
    return Effort(name, samples, actions, hours, cost, hours * hourly)


def _group(by: By, one: History, state: str) -> str:
    return {"state": state, "sample": one.id, "task": one.task}[by]


def _order(by: By, names: set[str]) -> Iterator[str]:
    if by == "state":
        yield from STATES
    else:
        yield from sorted(names)


def with_interval(name: str, value: float | None, interval: Interval | None) -> dict[str, object]:
    """A value and the ends of its interval for a table; None for what there is not."""
    ends = (None, None) if interval is None else (interval.low, interval.high)
    values = zip((name, f"{name}_low", f"{name}_high"), (value, *ends), strict=True)
    return {key: None if one is None or not math.isfinite(one) else round(one, 4) for key, one in values}
