"""Agreement of two scores about the order of models."""

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
        estimate: Name of the estimate, for example ``direct``.
        models: Group of the models, for example ``all`` or ``test``.
        count: Number of models.
        spearman: The correlation; NaN with fewer than two models, or if all have one score.
        error: Mean absolute error.
        bias: Mean of estimate minus truth.
    """

    estimate: str
    models: str
    count: int
    spearman: float
    error: float
    bias: float


def spearman(first: Iterable[float], second: Iterable[float]) -> float:
    """Spearman's rank correlation, ties sharing their mean rank; NaN if undefined.

    Values that differ by less than 1e-12 are ties, because sums in another order may differ so much.
    """
    from scipy.stats import rankdata

    ranks = [rankdata(np.array(list(values), dtype=np.float64).round(12)) for values in (first, second)]
    if any(len(rank) < 2 or np.ptp(rank) == 0 for rank in ranks):
        return math.nan
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def agreement(
    truth: Floats, estimates: Mapping[str, Floats], groups: Mapping[str, Sequence[int]]
) -> list[RankCorrelation]:
    """Agreement of estimates with the true scores, in each group of models.

    Args:
        truth: True scores, shape (M,); models without one (NaN) are left out.
        estimates: Estimated scores by name, each of shape (M,).
        groups: Numbers of models by the name of their group.
    """
    correlations = []
    for name, values in estimates.items():
        for group, models in groups.items():
            known = [model for model in models if not math.isnan(truth[model])]
            apart = values[known] - truth[known]
            correlations.append(
                RankCorrelation(
                    estimate=name,
                    models=group,
                    count=len(known),
                    spearman=spearman(values[known], truth[known]),
                    error=float(np.abs(apart).mean()) if known else math.nan,
                    bias=float(apart.mean()) if known else math.nan,
                )
            )
    return correlations
