"""From rows to numbers with intervals: pure functions over a rows table, one idea a file."""

from fathom.analysis.average import AverageScore, average_scores, average_scores_of, comparable
from fathom.analysis.compare import Comparison, compare
from fathom.analysis.counts import Counts, cell_counts, counts
from fathom.analysis.curve import CurvePoint, curve, curve_of
from fathom.analysis.effective import (
    DEFINITIONS,
    Censored,
    Definition,
    EffectiveLength,
    effective_length,
    effective_length_of,
)
from fathom.analysis.interval import Interval
from fathom.analysis.longscore import LongScore, LongScorePoint, longscore, longscore_of, longscore_of_means
from fathom.analysis.position import PositionPoint, position
from fathom.analysis.profile import Profile, Unscored, profiles

__all__ = [
    "DEFINITIONS",
    "AverageScore",
    "Censored",
    "Comparison",
    "Counts",
    "CurvePoint",
    "Definition",
    "EffectiveLength",
    "Interval",
    "LongScore",
    "LongScorePoint",
    "PositionPoint",
    "Profile",
    "Unscored",
    "average_scores",
    "average_scores_of",
    "cell_counts",
    "comparable",
    "compare",
    "counts",
    "curve",
    "curve_of",
    "effective_length",
    "effective_length_of",
    "longscore",
    "longscore_of",
    "longscore_of_means",
    "position",
    "profiles",
]
