"""The quality study: experts rate accepted samples in five dimensions (LongBench Pro, section 5.7).

Every dimension is rated at three levels. Its mean has an interval over samples, and raters' agreement is Fleiss' kappa
and Krippendorff's alpha (``fathom.stats.agreement``).
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from fathom.stats.agreement import Agreement, agreement
from fathom.stats.intervals import Interval, generator, mean_interval
from fathom.studio.records import from_record
from fathom.types import FathomError

Dimension: TypeAlias = Literal["task", "requirement", "authenticity", "difficulty", "correctness"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
TITLES: Mapping[Dimension, str] = {
    "task": "fits the task",
    "requirement": "needs the context that it claims to need",
    "authenticity": "could be a real question",
    "difficulty": "is hard enough",
    "correctness": "the answer is right and complete",
}
Level: TypeAlias = Literal["no", "partly", "yes"]
LEVELS: Mapping[Level, float] = {"no": 0.0, "partly": 0.5, "yes": 1.0}
RATING = "rating"
"""Topic of the notes that hold ratings."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One person's rating of one sample: a level for each dimension."""

    task: Level
    requirement: Level
    authenticity: Level
    difficulty: Level
    correctness: Level


@dataclass(frozen=True, slots=True)
class Rated:
    """A rating with who gave it.

    Attributes:
        sample: Id of the sample.
        rater: Who rated it.
        rating: The rating; of several by one person, the last one counts.
    """

    sample: str
    rater: str
    rating: Rating


@dataclass(frozen=True, slots=True)
class Quality:
    """Ratings of all samples in one dimension.

    Attributes:
        dimension: The dimension.
        mean: Mean level in [0, 1], each sample's ratings averaged first.
        interval: Its interval over samples.
        kappa: Fleiss' kappa; None if samples have different numbers of ratings, or fewer than two.
        alpha: Krippendorff's alpha for ordered levels; None if no sample has two ratings.
        samples: Number of samples.
        raters: Number of raters.
    """

    dimension: Dimension
    mean: float
    interval: Interval
    kappa: Agreement | None
    alpha: Agreement | None
    samples: int
    raters: int


def read_rating(body: str) -> Rating:
    """The rating in the body of a note.

    Raises:
        FathomError: It is not a rating.
    """
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        raise FathomError(f"rating: expected an object with {', '.join(DIMENSIONS)}") from None
    return from_record(Rating, record)


def quality(ratings: Iterable[Rated], *, seed: int = 0) -> tuple[Quality, ...]:
    """What ratings say about each dimension.

    Args:
        ratings: All ratings.
        seed: Seed of the intervals.

    Raises:
        FathomError: There are none.
    """
    last = {(one.sample, one.rater): one.rating for one in ratings}
    if not last:
        raise FathomError("no sample is rated yet; experts rate accepted samples in the quality study")
    samples = sorted({sample for sample, _ in last})
    raters = sorted({rater for _, rater in last})
    found = []
    for dimension in DIMENSIONS:
        table = np.full((len(samples), len(raters)), math.nan)
        for (sample, rater), rating in last.items():
            table[samples.index(sample), raters.index(rater)] = LEVELS[getattr(rating, dimension)]
        mean, interval = mean_interval(np.nanmean(table, axis=1), generator(seed, dimension))
        counts = (~np.isnan(table)).sum(axis=1)
        several = bool((counts >= 2).any())
        even = several and len(set(counts.tolist())) == 1
        found.append(
            Quality(
                dimension,
                mean,
                interval,
                agreement(table, generator(seed, f"{dimension} kappa"), measure="kappa") if even else None,
                agreement(table, generator(seed, f"{dimension} alpha"), scale="ordinal") if several else None,
                len(samples),
                len(raters),
            )
        )
    return tuple(found)


def as_records(found: Sequence[Quality]) -> list[dict[str, object]]:
    """The study as records, for a table."""

    def shown(one: Agreement | None) -> str | None:
        if one is None or one.value is None:
            return None
        return f"{one.value:.2f} [{one.interval.low:.2f}, {one.interval.high:.2f}]"

    return [
        {
            "dimension": one.dimension,
            "mean": f"{one.mean:.3f} [{one.interval.low:.3f}, {one.interval.high:.3f}]",
            "kappa": shown(one.kappa),
            "alpha": shown(one.alpha),
            "samples": one.samples,
            "raters": one.raters,
        }
        for one in found
    ]
