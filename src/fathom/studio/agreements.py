"""Agreement of the two blind reviewers of an answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from fathom.stats.agreement import Agreement, agreement
from fathom.stats.intervals import Interval, generator, mean_interval
from fathom.studio.histories import History, Pair
from fathom.studio.statistics import with_interval

Judged: TypeAlias = Literal["review", "component"]
MARKS = ("right", "wrong", "unsure")
VERDICTS = ("pass", "problem")


@dataclass(frozen=True, slots=True)
class Agreed:
    """How far two reviewers agree.

    Attributes:
        judged: ``review`` for the verdicts (pass or problem), ``component`` for the marks (right, wrong, unsure).
        pairs: Pairs of verdicts or marks.
        differ: Share of answers whose reviews differ, in the verdict or in the mark of any component.
        interval: Its interval.
        kappa: Fleiss' kappa.
        alpha: Krippendorff's alpha.
    """

    judged: Judged
    pairs: int
    differ: float
    interval: Interval
    kappa: Agreement
    alpha: Agreement

    def as_record(self) -> dict[str, object]:
        """The agreement for a table."""
        return {
            "judged": self.judged,
            "pairs": self.pairs,
            **with_interval("differ", self.differ, self.interval),
            **with_interval("kappa", self.kappa.value, self.kappa.interval),
            **with_interval("alpha", self.alpha.value, self.alpha.interval),
        }


def pairs_of(histories: Iterable[History]) -> tuple[Pair, ...]:
    """The blind reviews of all samples."""
    return tuple(pair for one in histories for pair in one.pairs)


@lru_cache(maxsize=4)  # takes a second for thousands of reviews, and most actions add none
def agreements(pairs: tuple[Pair, ...], seed: int = 0) -> tuple[Agreed, ...]:
    """Agreement of reviewers on verdicts and on components; answers are resampled with all their components.

    Args:
        pairs: Reviews of answers.
        seed: Seed of the intervals.

    Returns:
        The agreement on reviews and on components; nothing without reviews.
    """
    verdicts = [(one.verdicts,) for one in pairs]
    marks = [one.marks for one in pairs if one.marks]
    found = [_agreed("review", verdicts, VERDICTS, seed), _agreed("component", marks, MARKS, seed)]
    return tuple(one for one in found if one is not None)


def _agreed(
    judged: Judged, answers: Sequence[Sequence[tuple[str, str]]], names: Sequence[str], seed: int
) -> Agreed | None:
    if not answers:
        return None
    table = np.array([[names.index(mark) for mark in pair] for pairs in answers for pair in pairs], dtype=np.float64)
    groups = np.repeat(np.arange(len(answers)), [len(pairs) for pairs in answers])
    differ = np.array([any(one != other for one, other in pairs) for pairs in answers], dtype=np.float64)
    rng = generator(seed, f"reviews {judged}")
    share, interval = mean_interval(differ, seed)
    kappa = agreement(table, rng, measure="kappa", groups=groups)
    return Agreed(judged, len(table), share, interval, kappa, agreement(table, rng, groups=groups))
