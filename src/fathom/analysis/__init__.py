"""From rows to numbers with intervals: pure functions over a rows table, one idea a file."""

from fathom.analysis.compare import Comparison, compare
from fathom.analysis.counts import Counts, cell_counts, counts
from fathom.analysis.curve import CurvePoint, curve
from fathom.analysis.effective import DEFINITIONS, Censored, Definition, EffectiveLength, effective_length
from fathom.analysis.interval import Interval
from fathom.analysis.longscore import LongScore, LongScorePoint, longscore, longscore_of_means
from fathom.analysis.position import PositionPoint, position
from fathom.analysis.profile import Unscored

__all__ = [
    "DEFINITIONS",
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
    "Unscored",
    "cell_counts",
    "compare",
    "counts",
    "curve",
    "effective_length",
    "longscore",
    "longscore_of_means",
    "position",
]
