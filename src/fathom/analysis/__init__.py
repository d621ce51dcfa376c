"""From rows to numbers with intervals: pure functions over a rows table, one idea a file."""

from fathom.analysis.agreement import Agreement, agreement
from fathom.analysis.answers import AnswerPoint, Third, answers
from fathom.analysis.average import AverageScore, average_scores, average_scores_of, comparable
from fathom.analysis.base import BASE_RULES, BaseRule
from fathom.analysis.categories import CategoryScore, categories
from fathom.analysis.closed_book import Known
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
from fathom.analysis.grid import Unscored
from fathom.analysis.interval import Interval
from fathom.analysis.judge import JudgeAgreement, judge_agreement
from fathom.analysis.known import POLICIES, Filtered, Policy, known_filter
from fathom.analysis.longscore import LongScore, LongScorePoint, longscore, longscore_of, longscore_of_means
from fathom.analysis.position import PositionPoint, position
from fathom.analysis.position_contrasts import PositionContrast, position_contrasts
from fathom.analysis.profile import Profile, profiles
from fathom.analysis.score_profiles import score_profiles
from fathom.analysis.scores_table import ScoreCell, ScoreTable, is_score_table, read_scores
from fathom.analysis.shared_lengths import at_lengths
from fathom.analysis.side_rows import is_side_row
from fathom.analysis.steady import Estimate, Steady, SteadyPoint, steady, steady_of
from fathom.analysis.truncation import Truncation, truncation

__all__ = [
    "BASE_RULES",
    "DEFINITIONS",
    "POLICIES",
    "Agreement",
    "AnswerPoint",
    "AverageScore",
    "BaseRule",
    "CategoryScore",
    "Censored",
    "Comparison",
    "Counts",
    "CurvePoint",
    "Definition",
    "EffectiveLength",
    "Estimate",
    "Filtered",
    "Interval",
    "JudgeAgreement",
    "Known",
    "LongScore",
    "LongScorePoint",
    "Policy",
    "PositionContrast",
    "PositionPoint",
    "Profile",
    "ScoreCell",
    "ScoreTable",
    "Steady",
    "SteadyPoint",
    "Third",
    "Truncation",
    "Unscored",
    "agreement",
    "answers",
    "at_lengths",
    "average_scores",
    "average_scores_of",
    "categories",
    "cell_counts",
    "comparable",
    "compare",
    "counts",
    "curve",
    "curve_of",
    "effective_length",
    "effective_length_of",
    "is_score_table",
    "is_side_row",
    "judge_agreement",
    "known_filter",
    "longscore",
    "longscore_of",
    "longscore_of_means",
    "position",
    "position_contrasts",
    "profiles",
    "read_scores",
    "score_profiles",
    "steady",
    "steady_of",
    "truncation",
]
