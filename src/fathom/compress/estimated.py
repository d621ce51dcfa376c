"""Scores on a whole benchmark, estimated from files: a subset of it, and scores on the subset's items."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from fathom.compress import minilongbench
from fathom.compress.estimates import ModelEstimate, Unestimated, of_subset
from fathom.compress.minilongbench import MiniBenchmark
from fathom.compress.ranks import RankCorrelation, agreement
from fathom.compress.released import MODELS, read_models, read_split
from fathom.compress.tables import read_matrix, read_sampled
from fathom.printing import readable
from fathom.stats.outcomes import Unanswered
from fathom.suites.subsetfile import read_subset
from fathom.types import Subset

OWN = "estimate"
"""Name of a method's own estimate, beside its others."""


@readable
@dataclass(frozen=True)
class Estimated:
    """Estimates of a benchmark's scores from those of a subset.

    Attributes:
        subset: Name of the subset.
        method: Method by which it was chosen.
        items: Items of the subset.
        models: One for each model, the best first.
        agreement: How the estimates agree with the scores themselves, where they are known.
        left_out: Models that have no estimate, because too many of the subset's items are missing.
        unanswered: How replies count that were not answered.
    """

    subset: str
    method: str
    items: int
    models: Sequence[ModelEstimate]
    agreement: Sequence[RankCorrelation]
    left_out: Sequence[Unestimated] = ()
    unanswered: Unanswered = "zero"

    def table(self) -> pl.DataFrame:
        """One row for each model, with the ends of the intervals and with every category."""
        ends = (("", "value"), (" low", "low"), (" high", "high"))
        rows = [
            {
                "model": one.model,
                OWN: one.overall.value,
                "low": one.overall.low,
                "high": one.overall.high,
                **one.others,
                "full": one.full,
                "items": one.items,
                "other": one.other,
                **one.ended,
                **{f"{name}{end}": getattr(part, side) for name, part in one.categories.items() for end, side in ends},
            }
            for one in self.models
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def read_chosen(subset: Path | None, published: Path | None) -> tuple[Subset, MiniBenchmark | None]:
    """The subset of a file or of MiniLongBench's released data, with its parameters where that method chose it."""
    if published is not None:
        mini = minilongbench.published(published)
        return mini.subset, mini
    assert subset is not None
    chosen = read_subset(subset)
    return chosen, minilongbench.read_mini(subset) if chosen.method == minilongbench.METHOD else None


def estimated(
    sources: Sequence[Path],
    subset: Path | None,
    published: Path | None = None,
    *,
    known: Path | None = None,
    unanswered: Unanswered = "zero",
) -> Estimated:
    """Estimate the scores of models on a whole benchmark.

    Args:
        sources: Scores on the subset's items, see ``read_matrix``.
        subset: File of the subset; None for the published one.
        published: Folder of MiniLongBench's released data.
        known: The scores that the subset was chosen by, where they are not beside it.
        unanswered: How replies count that were not answered.

    Raises:
        FathomError: A file cannot be read, or too much is missing of every model.
    """
    chosen, mini = read_chosen(subset, published)
    wanted = set() if published is not None else {member.item for member in chosen.members}
    scores = read_matrix(sources, wanted=wanted, unanswered=unanswered)
    by = None
    if mini is None and subset is not None:
        by = read_sampled(subset)[1] if known is None else read_matrix(known)
    models, left_out = of_subset(chosen, scores, by, mini, unanswered)
    agreed = _agreement(models, _groups(models, published))
    return Estimated(chosen.name, chosen.method, len(chosen.members), models, agreed, left_out, unanswered)


def _groups(models: Sequence[ModelEstimate], published: Path | None) -> dict[str, list[int]]:
    """All models; and those that the published benchmark was made with and tested with, where these are they."""
    groups = {"all": list(range(len(models)))}
    if published is None or not (published / MODELS).is_file():
        return groups
    names = read_models(published)
    places = {one.model: place for place, one in enumerate(models)}
    for group, numbers in zip(("test", "train"), reversed(read_split(published)), strict=True):
        if all(names[number] in places for number in numbers):
            groups[group] = [places[names[number]] for number in numbers]
    return groups


def _agreement(models: Sequence[ModelEstimate], groups: Mapping[str, Sequence[int]]) -> list[RankCorrelation]:
    truth = np.array([math.nan if one.full is None else one.full for one in models])
    estimates = {OWN: np.array([one.overall.value for one in models])}
    for name in models[0].others if models else ():
        estimates[name] = np.array([one.others[name] for one in models])
    known = {name: group for name, group in groups.items() if (~np.isnan(truth[list(group)])).sum() > 1}
    return agreement(truth, estimates, known)
