"""Area under the curve: mean ability from the base to the longest length, each doubling of the length counting once.

Ability is ``(score - chance) / (1 - chance)``, so that 0 is guessing and 1 is perfect. The curve is straight between
tested lengths on a log axis. Unlike LongScore it is no ratio: nothing is divided by the base, so it is defined for
every model, and it says how much a model can do on long texts, not how much of its own ability it keeps.
"""

from __future__ import annotations

import numpy as np

from fathom.analysis.corrected import Corrected
from fathom.stats.intervals import Floats


def area(one: Corrected) -> tuple[float, Floats]:
    """The area, at most 1: the figure and its replicates."""
    weights = doublings(one.lengths) / (1 - np.minimum(one.chance, 0.999))
    draws: Floats = one.shared @ weights
    return float(one.ability @ weights), draws


def doublings(lengths: Floats) -> Floats:
    """Weight of each length in the area (trapezoids over log2 length); they add up to 1."""
    steps = np.diff(np.log2(lengths))
    weights: Floats = (np.append(steps, 0.0) + np.append(0.0, steps)) / 2 / steps.sum()
    return weights
