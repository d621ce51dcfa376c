"""Metrics of LongBench v2: which of four choices a reply takes.

``official`` equals ``pred.py`` of the paper's repository: asterisks go, then ``The correct answer is (X)`` is looked
for anywhere, then the same without brackets; the first counts, and a reply that has neither is wrong. The letter need
not stand alone, so that "The correct answer is Apple" takes A. The compensation that ``result.py`` offers, a quarter of
a point for every reply without a choice, is a metric of its own, ``mcq_compensated``.

``strict`` mends that: thoughts are left aside, the letter has to stand alone, the last cue counts in any case and
bracket and in Chinese, and a reply that takes two choices takes none (``fathom.score.answers``).
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from fathom.score.answers import choice_letter
from fathom.score.registry import Metric, ScoringRow, crash
from fathom.types import Verdict

COMPENSATION = 0.25
_RELEASED = (re.compile(r"The correct answer is \(([A-D])\)"), re.compile(r"The correct answer is ([A-D])"))


def compensated(value: float | None, valid: bool) -> float | None:
    """A score in which a reply without a choice counts as much as a random choice does on average.

    Source: ``result.py`` of the paper's repository with its switch ``compensated`` on.

    Args:
        value: Score in [0, 1]; None where there is none.
        valid: Whether the reply takes a choice.
    """
    return value if value is None or valid else COMPENSATION


def _official(row: ScoringRow) -> Verdict:
    if not isinstance(row.prediction, str):
        return crash("AttributeError", "the released code cannot look for a choice in what is no text")
    text = row.prediction.replace("*", "")
    found = next((match[1] for pattern in _RELEASED if (match := pattern.search(text))), None)
    return Verdict(_is_gold(found, row), found is not None, found, "official")


def _strict(row: ScoringRow) -> Verdict:
    if not isinstance(row.prediction, str):
        return Verdict(None, False, grader="strict", detail="no reply: the prediction is no text")
    found = choice_letter(row.prediction)
    return Verdict(_is_gold(found, row), found is not None, found, "strict")


def _compensated(rule: Callable[[ScoringRow], Verdict], row: ScoringRow) -> Verdict:
    verdict = rule(row)
    return replace(verdict, value=compensated(verdict.value, verdict.valid))


def _is_gold(found: str | None, row: ScoringRow) -> float:
    gold = row.answers if isinstance(row.answers, list) else [row.answers]
    return float(found is not None and found in gold)


METRICS = (
    Metric(
        "longbench_v2",
        "mcq",
        MappingProxyType({"official": _official, "strict": _strict}),
        "is the choice from A to D the gold one",
    ),
    Metric(
        "longbench_v2",
        "mcq_compensated",
        MappingProxyType(
            {"official": partial(_compensated, _official), "strict": partial(_compensated, _strict)},
        ),
        "the same, and a quarter of a point for a reply without a choice",
    ),
)
