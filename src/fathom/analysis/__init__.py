"""Analyses: pure functions from a rows table to numbers with intervals."""

from fathom.analysis.agreement import Agreement, agreement
from fathom.analysis.answers import AnswerPoint, Third, answers
from fathom.analysis.average import AverageScore, average_scores, average_scores_of, comparable
from fathom.analysis.base import BASE_RULES, BaseRule
from fathom.analysis.breakdown import DIMENSIONS, MEASURES, GroupScore, breakdown
from fathom.analysis.categories import CategoryScore, categories
from fathom.analysis.compare import Comparison, compare
from fathom.analysis.counts import Counts, cell_counts, counts
from fathom.analysis.curve import CurvePoint, curve, curve_of
from fathom.analysis.difficulty import (
    CORRECT,
    LABELS,
    TIERS,
    Correct,
    Difficulty,
    Label,
    difficulty,
    label_table,
    read_tiers,
)
from fathom.analysis.effective import (
    DEFINITIONS,
    Censored,
    Definition,
    EffectiveLength,
    effective_length,
    effective_length_of,
)
from fathom.analysis.judge import JudgeAgreement, judge_agreement
from fathom.analysis.known import POLICIES, Filtered, Known, Policy, known_filter
from fathom.analysis.longscore import LongScore, LongScorePoint, longscore, longscore_of, longscore_of_means
from fathom.analysis.neighbours import Neighbour, neighbours
from fathom.analysis.position import (
    DepthCell,
    PositionContrast,
    PositionPoint,
    depth_grid,
    position,
    position_contrasts,
)
from fathom.analysis.profile import Profile, profiles
from fathom.analysis.repeats import Repeats, Trend, repeats
from fathom.analysis.scores_table import ScoreCell, ScoreTable, is_score_table, read_scores, score_profiles
from fathom.analysis.setup_costs import Amount, Spent, frontier
from fathom.analysis.setups import (
    VERDICTS,
    Difference,
    Limit,
    Setup,
    SetupPoint,
    SetupResult,
    Timing,
    Trial,
    Tuned,
    Verdict,
    compare_setups,
)
from fathom.analysis.shared_lengths import at_lengths
from fathom.analysis.steady import Estimate, Steady, SteadyPoint, steady, steady_of
from fathom.analysis.thinking import ThinkingGain, thinking_gain
from fathom.analysis.truncation import Truncation, truncation
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Unanswered
from fathom.stats.side_rows import is_side_row

__all__ = [
    "BASE_RULES",
    "CORRECT",
    "DEFINITIONS",
    "DIMENSIONS",
    "LABELS",
    "MEASURES",
    "POLICIES",
    "TIERS",
    "VERDICTS",
    "Agreement",
    "Amount",
    "AnswerPoint",
    "AverageScore",
    "BaseRule",
    "CategoryScore",
    "Censored",
    "Comparison",
    "Correct",
    "Counts",
    "CurvePoint",
    "Definition",
    "DepthCell",
    "Difference",
    "Difficulty",
    "EffectiveLength",
    "Estimate",
    "Filtered",
    "GroupScore",
    "Interval",
    "JudgeAgreement",
    "Known",
    "Label",
    "Limit",
    "LongScore",
    "LongScorePoint",
    "Neighbour",
    "Policy",
    "PositionContrast",
    "PositionPoint",
    "Profile",
    "Repeats",
    "ScoreCell",
    "ScoreTable",
    "Setup",
    "SetupPoint",
    "SetupResult",
    "Spent",
    "Steady",
    "SteadyPoint",
    "ThinkingGain",
    "Third",
    "Timing",
    "Trend",
    "Trial",
    "Truncation",
    "Tuned",
    "Unanswered",
    "Verdict",
    "agreement",
    "answers",
    "at_lengths",
    "average_scores",
    "average_scores_of",
    "breakdown",
    "categories",
    "cell_counts",
    "comparable",
    "compare",
    "compare_setups",
    "counts",
    "curve",
    "curve_of",
    "depth_grid",
    "difficulty",
    "effective_length",
    "effective_length_of",
    "frontier",
    "is_score_table",
    "is_side_row",
    "judge_agreement",
    "known_filter",
    "label_table",
    "longscore",
    "longscore_of",
    "longscore_of_means",
    "neighbours",
    "position",
    "position_contrasts",
    "profiles",
    "read_scores",
    "read_tiers",
    "repeats",
    "score_profiles",
    "steady",
    "steady_of",
    "thinking_gain",
    "truncation",
]
