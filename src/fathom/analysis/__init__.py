"""Analyses: pure functions from a rows table to numbers with intervals.

What several of them have is said here. Arguments: ``rows`` is a rows table, which may be empty; ``unanswered`` says how
unanswered replies count (``fathom.stats.outcomes``); ``replicates`` is the number of replicates of intervals and
p-values, and ``seed`` their seed. Fields of results: ``model`` and ``variant`` are names, the variant "" if there is
only one; ``other`` is the mean under the other choice of ``unanswered``, None without one; ``unanswered``, ``cut``,
``overflow``, ``missing`` and ``scorer_error`` are numbers of replies: unanswered ones, those truncated at the output
cap, prompts that did not fit the window, missing ones, and those on which the scorer raised an exception.
"""

from fathom.analysis.agreement import Agreement as Agreement
from fathom.analysis.agreement import agreement as agreement
from fathom.analysis.answers import AnswerPoint as AnswerPoint
from fathom.analysis.answers import Third as Third
from fathom.analysis.answers import answers as answers
from fathom.analysis.average import AverageScore as AverageScore
from fathom.analysis.average import average_scores as average_scores
from fathom.analysis.average import average_scores_of as average_scores_of
from fathom.analysis.average import comparable as comparable
from fathom.analysis.base import BASE_RULES as BASE_RULES
from fathom.analysis.base import BaseRule as BaseRule
from fathom.analysis.breakdown import DIMENSIONS as DIMENSIONS
from fathom.analysis.breakdown import MEASURES as MEASURES
from fathom.analysis.breakdown import GroupScore as GroupScore
from fathom.analysis.breakdown import breakdown as breakdown
from fathom.analysis.categories import CategoryScore as CategoryScore
from fathom.analysis.categories import categories as categories
from fathom.analysis.compare import Comparison as Comparison
from fathom.analysis.compare import compare as compare
from fathom.analysis.counts import Counts as Counts
from fathom.analysis.counts import cell_counts as cell_counts
from fathom.analysis.counts import counts as counts
from fathom.analysis.curve import CurvePoint as CurvePoint
from fathom.analysis.curve import curve as curve
from fathom.analysis.curve import curve_of as curve_of
from fathom.analysis.difficulty import CORRECT as CORRECT
from fathom.analysis.difficulty import LABELS as LABELS
from fathom.analysis.difficulty import TIERS as TIERS
from fathom.analysis.difficulty import Correct as Correct
from fathom.analysis.difficulty import Difficulty as Difficulty
from fathom.analysis.difficulty import Label as Label
from fathom.analysis.difficulty import difficulty as difficulty
from fathom.analysis.difficulty import label_table as label_table
from fathom.analysis.difficulty import read_tiers as read_tiers
from fathom.analysis.effective import DEFINITIONS as DEFINITIONS
from fathom.analysis.effective import Censored as Censored
from fathom.analysis.effective import Definition as Definition
from fathom.analysis.effective import EffectiveLength as EffectiveLength
from fathom.analysis.effective import effective_length as effective_length
from fathom.analysis.effective import effective_length_of as effective_length_of
from fathom.analysis.judge import JudgeAgreement as JudgeAgreement
from fathom.analysis.judge import judge_agreement as judge_agreement
from fathom.analysis.known import POLICIES as POLICIES
from fathom.analysis.known import Filtered as Filtered
from fathom.analysis.known import Known as Known
from fathom.analysis.known import Policy as Policy
from fathom.analysis.known import known_filter as known_filter
from fathom.analysis.longscore import LongScore as LongScore
from fathom.analysis.longscore import LongScorePoint as LongScorePoint
from fathom.analysis.longscore import longscore as longscore
from fathom.analysis.longscore import longscore_of as longscore_of
from fathom.analysis.longscore import longscore_of_means as longscore_of_means
from fathom.analysis.neighbours import Neighbour as Neighbour
from fathom.analysis.neighbours import neighbours as neighbours
from fathom.analysis.position import DepthCell as DepthCell
from fathom.analysis.position import PositionContrast as PositionContrast
from fathom.analysis.position import PositionPoint as PositionPoint
from fathom.analysis.position import depth_grid as depth_grid
from fathom.analysis.position import position as position
from fathom.analysis.position import position_contrasts as position_contrasts
from fathom.analysis.profile import Profile as Profile
from fathom.analysis.profile import profiles as profiles
from fathom.analysis.repeats import Repeats as Repeats
from fathom.analysis.repeats import Trend as Trend
from fathom.analysis.repeats import repeats as repeats
from fathom.analysis.scores_table import ScoreCell as ScoreCell
from fathom.analysis.scores_table import ScoreTable as ScoreTable
from fathom.analysis.scores_table import is_score_table as is_score_table
from fathom.analysis.scores_table import read_scores as read_scores
from fathom.analysis.scores_table import score_profiles as score_profiles
from fathom.analysis.setup_costs import Amount as Amount
from fathom.analysis.setup_costs import Spent as Spent
from fathom.analysis.setup_costs import frontier as frontier
from fathom.analysis.setups import VERDICTS as VERDICTS
from fathom.analysis.setups import Difference as Difference
from fathom.analysis.setups import Limit as Limit
from fathom.analysis.setups import Setup as Setup
from fathom.analysis.setups import SetupPoint as SetupPoint
from fathom.analysis.setups import SetupResult as SetupResult
from fathom.analysis.setups import Timing as Timing
from fathom.analysis.setups import Trial as Trial
from fathom.analysis.setups import Tuned as Tuned
from fathom.analysis.setups import Verdict as Verdict
from fathom.analysis.setups import compare_setups as compare_setups
from fathom.analysis.shared_lengths import at_lengths as at_lengths
from fathom.analysis.steady import Estimate as Estimate
from fathom.analysis.steady import Steady as Steady
from fathom.analysis.steady import SteadyPoint as SteadyPoint
from fathom.analysis.steady import steady as steady
from fathom.analysis.steady import steady_of as steady_of
from fathom.analysis.thinking import ThinkingGain as ThinkingGain
from fathom.analysis.thinking import thinking_gain as thinking_gain
from fathom.analysis.truncation import Truncation as Truncation
from fathom.analysis.truncation import truncation as truncation
from fathom.stats.intervals import Interval as Interval
from fathom.stats.outcomes import Unanswered as Unanswered
from fathom.stats.side_rows import is_side_row as is_side_row
