"""Replicates of many means over the same questions: models that were asked the same ones share their random weights.

Drawing the weights is most of the work of the bootstrap. Since they depend on the stratum and the seed alone, sharing
them changes no interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.analysis.interval import Floats, generator, means_of_sums, resampled_sums


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Scores of some questions.

    Attributes:
        stratum: What the questions have in common.
        names: Names of the questions, in an order that is the same for all tables of them.
        values: Their scores, questions x columns; NaN where there is none.
    """

    stratum: str
    names: tuple[str, ...]
    values: Floats


def resampled_together(tables: Sequence[Scored], seed: int) -> Iterator[tuple[int, Floats]]:
    """Bayesian bootstrap replicates of the means of all columns of several tables, with one pseudo-item each.

    Args:
        tables: The tables.
        seed: Seed of the analysis.

    Yields:
        The number of a table and its replicates, replicates x columns; tables of the same questions together.
    """
    alike: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, table in enumerate(tables):
        alike.setdefault((table.stratum, table.names), []).append(number)
    for (stratum, _), numbers in alike.items():
        values = np.concatenate([tables[number].values for number in numbers], axis=1)
        weighted, mass = resampled_sums(values, generator(seed, stratum))
        start = 0
        for number in numbers:
            part = slice(start, start := start + tables[number].values.shape[1])
            rng = generator(seed, f"{stratum} prior")
            yield number, means_of_sums((weighted[:, part], mass[:, part]), rng, prior=1.0)
