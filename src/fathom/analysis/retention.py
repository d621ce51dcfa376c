"""Retention: the share of its own base ability that a model keeps, after both are corrected for chance.

``R_l = (S_l - c_l) / (B - c_B)``, 1 where nothing is lost. With a chance level of 0 it is LongScore + 1. Correction for
chance matters where guessing scores points: from 0.6 down to 0.4 among five options is a loss of half of what the model
could do, and LongScore calls it a third.
"""

from __future__ import annotations

from fathom.analysis.corrected import Corrected
from fathom.stats.intervals import Floats


def retentions(one: Corrected) -> tuple[Floats, Floats]:
    """Retention at each length beyond a base above chance: the figures, and replicates x lengths."""
    return one.ability[1:] / one.ability[0], one.draws[:, 1:] / one.draws[:, :1]


def mean_retention(one: Corrected) -> tuple[float, Floats]:
    """Its mean over the lengths beyond the base: the figure and its replicates."""
    draws: Floats = one.shared[:, 1:].mean(axis=1) / one.shared[:, 0]
    return float(one.ability[1:].mean() / one.ability[0]), draws
