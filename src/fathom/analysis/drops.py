"""Where models lose most: for every model and task, its largest loss between the shortest length and a longer one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fathom.analysis.grid import ALL
from fathom.analysis.profile import Profile
from fathom.stats.intervals import LEVEL, Interval, interval_of
from fathom.stats.ranks import holm
from fathom.stats.student import lower_tail


@dataclass(frozen=True, slots=True)
class Drop:
    """The largest loss of a model on a task.

    Attributes:
        shortest: The shortest length with a score, in tokens.
        length: The length at which the score is lowest; the shortest such length.
        before: Mean score at ``shortest``, in [0, 1].
        after: Mean score at ``length``.
        interval: 95% interval of ``after - before``, paired by item.
        p_value: Adjusted by Holm's method for all models, tasks and lengths.
    """

    model: str
    variant: str
    task: str
    shortest: int
    length: int
    before: float
    after: float
    interval: Interval
    p_value: float

    @property
    def difference(self) -> float:
        """Score at ``length`` minus that at ``shortest``."""
        return self.after - self.before


def drops_of(ready: Sequence[Profile]) -> list[Drop]:
    """The significant losses, the largest first.

    Args:
        ready: Profiles; those of ``all`` are left out.
    """
    losses = [drop for profile in ready if profile.task != ALL for drop in _losses(profile)]
    adjusted = holm(np.array([loss.p_value for loss in losses]), tests=len(losses)).tolist()
    largest: dict[tuple[str, str, str], Drop] = {}
    for loss, p_value in sorted(zip(losses, adjusted, strict=True), key=lambda pair: pair[0].difference):
        if p_value <= 1 - LEVEL and loss.interval.high < 0:
            largest.setdefault((loss.model, loss.variant, loss.task), replace(loss, p_value=p_value))
    return list(largest.values())


def _losses(profile: Profile) -> list[Drop]:
    """The loss at each length but the first, with its p-value by itself: one-sided, from Student's distribution."""
    columns = np.flatnonzero(profile.complete)
    if len(columns) < 2:
        return []
    before_draws, after_draws = profile.draws[:, columns[0]], profile.compared[:, columns]
    first = int(columns[0])
    made = []
    for place, column in enumerate(columns[1:].tolist(), start=1):
        lost = after_draws[:, place] - before_draws
        before, after = float(profile.means[first]), float(profile.means[column])
        items = int(min(_clusters(profile, first), _clusters(profile, column)))
        p_value = lower_tail((after - before) / max(float(lost.std()), 1e-12), max(1, items - 1))
        lengths = int(profile.lengths[first]), int(profile.lengths[column])
        interval = interval_of(lost, after - before)
        made.append(Drop(profile.model, profile.variant, profile.task, *lengths, before, after, interval, p_value))
    return made


def _clusters(profile: Profile, column: int) -> int:
    """Number of clusters with a score at a length."""
    if profile.clusters is None:
        return int(profile.scored[column])
    return int((profile.clusters.counts[:, column] > 0).sum())
