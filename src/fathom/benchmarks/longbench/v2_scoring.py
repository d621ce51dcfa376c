"""Metrics of LongBench v2: which of four choices a reply selects.

``official`` equals ``pred.py`` of the paper's repository: asterisks are removed, then ``The correct answer is (X)`` is
searched anywhere, then the same without brackets; the first match counts, and a reply without one is wrong. The letter
need not be separate, so that "The correct answer is Apple" selects A. The compensation in ``result.py``, a quarter of a
point for every reply without a choice, is a separate metric, ``mcq_compensated``.

``strict`` corrects that: thoughts are ignored, the letter must be separate, the last cue counts in any case and bracket
and in Chinese, and a reply with two choices selects none (``fathom.score.answers``).
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from fathom.score.answers import choice_letter
from fathom.score.registry import Metric, ScoringRow, crash, unscored
from fathom.types import Score

COMPENSATION = 0.25
_RELEASED = (re.compile(r"The correct answer is \(([A-D])\)"), re.compile(r"The correct answer is ([A-D])"))


def compensated(value: float | None, valid: bool) -> float | None:
    """A score in which a reply without a choice counts as much as a random choice does on average.

    Source: ``result.py`` of the paper's repository with ``compensated`` on.

    Args:
        value: Score in [0, 1], or None.
        valid: Whether the reply selects a choice.
    """
    return value if value is None or valid else COMPENSATION


def _official(row: ScoringRow) -> Score:
    if not isinstance(row.prediction, str):
        return crash("AttributeError", "the released code cannot look for a choice in a non-string")
    text = row.prediction.replace("*", "")
    letter = next((match[1] for pattern in _RELEASED if (match := pattern.search(text))), None)
    return Score(_is_gold(letter, row), letter is not None, letter, "official")


def _strict(row: ScoringRow) -> Score:
    if not isinstance(row.prediction, str):
        return unscored("strict")
    letter = choice_letter(row.prediction)
    return Score(_is_gold(letter, row), letter is not None, letter, "strict")


def _compensated(rule: Callable[[ScoringRow], Score], row: ScoringRow) -> Score:
    score = rule(row)
    return replace(score, value=compensated(score.value, score.valid))


def _is_gold(letter: str | None, row: ScoringRow) -> float:
    gold = row.answers if isinstance(row.answers, list) else [row.answers]
    return float(letter is not None and letter in gold)


METRICS = (
    Metric.of(
        "longbench_v2",
        "mcq",
        _official,
        _strict,
        "is the choice from A to D the gold one",
    ),
    Metric.of(
        "longbench_v2",
        "mcq_compensated",
        partial(_compensated, _official),
        partial(_compensated, _strict),
        "the same, and a quarter of a point for a reply without a choice",
    ),
)
