"""Metrics of RULER: the share of the gold texts that occur in a reply, and whether any does.

``official`` equals ``string_match_all`` and ``string_match_part`` of the paper's repository with its preprocessing:
control characters become newlines, gold texts match in any case, also as parts of words. A gold answer that is a single
text is treated as a list of its letters.

``strict`` ignores thoughts, matches gold texts only as whole words (1234567 is not found in 71234567, nor "pine" in
"pineapple"), normalises full-width forms, accents in two characters and kinds of spaces, and counts equal gold texts
once.
"""

import re
from collections.abc import Callable, Sequence

from fathom.score.dialects import without_reasoning
from fathom.score.registry import Metric, Scorer, ScoringRow, crash, unscored
from fathom.score.released import gold_of
from fathom.score.text import caseless, stands_in
from fathom.types import Score

_CONTROL = re.compile(r"[\x00-\x1f]")


def cleaned(reply: str) -> str:
    """A reply as preprocessed by the released code: control characters become newlines."""
    return _CONTROL.sub("\n", reply.strip()).strip()


def _official(share: Callable[[int, int], float], on_none: str) -> Scorer:
    def score(row: ScoringRow) -> Score:
        if not isinstance(row.prediction, str):
            return crash("AttributeError", "the released code cannot search a non-string")
        given = gold_of(row)
        if not isinstance(given, str | list):
            return crash("TypeError", "the gold answers are not a list")
        golds = list(given)  # Known fault: one text is read letter by letter.
        if not golds:
            return crash(on_none, "there is no gold text")
        if not all(isinstance(gold, str) for gold in golds):
            return crash("AttributeError", "a gold answer is not a string")
        text = cleaned(row.prediction)
        return _verdict(text, golds, [gold for gold in golds if gold.lower() in text.lower()], share, "official")

    return score


def _strict(share: Callable[[int, int], float]) -> Scorer:
    def score(row: ScoringRow) -> Score:
        if not isinstance(row.prediction, str):
            return unscored("strict")
        given = gold_of(row)
        given = given if isinstance(given, list) else [given]
        golds = list(dict.fromkeys(str(gold) for gold in given if gold is not None and caseless(str(gold))))
        if not golds:
            return unscored("strict", "there is no gold text")
        text = cleaned(without_reasoning(row.prediction))
        return _verdict(text, golds, [gold for gold in golds if stands_in(text, gold)], share, "strict")

    return score


def _verdict(
    text: str, golds: Sequence[str], contained: Sequence[str], share: Callable[[int, int], float], rule: str
) -> Score:
    return Score(share(len(contained), len(golds)), bool(text), ", ".join(contained) or None, rule)


def _all(contained: int, golds: int) -> float:
    return contained / golds


def _part(contained: int, golds: int) -> float:
    return float(contained > 0)


METRICS = (
    Metric.of(
        "ruler",
        "string_match_all",
        _official(_all, "ZeroDivisionError"),
        _strict(_all),
        "share of the gold texts that occur in the reply",
    ),
    Metric.of(
        "ruler",
        "string_match_part",
        _official(_part, "ValueError"),
        _strict(_part),
        "whether any gold text occurs in the reply",
    ),
)
