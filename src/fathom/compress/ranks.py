"""How well two scores agree about the order of models."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman correlation of estimated and true scores.

    Attributes:
        estimate: Which estimate, for instance ``direct``.
        models: Which models, for instance ``all`` or ``test``.
        count: How many.
        spearman: The correlation; NaN where there are fewer than two models, or all have one score.
        error: Mean absolute error.
        bias: Mean of estimate less truth.
    """

    estimate: str
    models: str
    count: int
    spearman: float
    error: float
    bias: float


def spearman(first: Iterable[float], second: Iterable[float]) -> float:
    """Spearman's rank correlation, ties sharing their mean rank; NaN where it is not defined.

    Values that differ by less than 1e-12 are ties: sums of the same numbers in another order are.
    """
    from scipy.stats import rankdata

    ranks = [rankdata(np.array(list(values), dtype=np.float64).round(12)) for values in (first, second)]
    if any(len(one) < 2 or np.ptp(one) == 0 for one in ranks):
        return math.nan
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def agreement(
    truth: Floats, estimates: Mapping[str, Floats], groups: Mapping[str, Sequence[int]]
) -> list[RankCorrelation]:
    """How estimates agree with the true scores, in each group of models.

    Args:
        truth: True scores, shape (M,); models without one (NaN) are left out.
        estimates: Estimated scores by name, each of shape (M,).
        groups: Numbers of models by the name of their group.
    """
    found = []
    for name, values in estimates.items():
        for group, models in groups.items():
            known = [model for model in models if not math.isnan(truth[model])]
            apart = values[known] - truth[known]
            found.append(
                RankCorrelation(
                    estimate=name,
                    models=group,
                    count=len(known),
                    spearman=spearman(values[known], truth[known]),
                    error=float(np.abs(apart).mean()) if known else math.nan,
                    bias=float(apart.mean()) if known else math.nan,
                )
            )
    return found
