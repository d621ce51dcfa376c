"""Metrics of NoLiMa: whether a reply names the character in question.

Written from a description of the rules, as the licence of the released code does not allow its use here. ``contains``,
which its paper uses, looks for a gold name anywhere in the reply, in its case: naming every character, or "not Yuki",
scores 1, and a short name counts inside other words. ``EM`` wants nothing else in the reply; ``lastline_*`` look at the
last line. Any other name of a metric stops the code, which ``other`` stands for.

``strict`` ignores thoughts and case, wants whole words, and wants that no other name of the sample's set is named.
"""

import json
from typing import Any

from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, Released, metric, texts
from fathom.score.text import stands_in

NAMES = "character_set"
"""The input with all names of the set, a JSON list."""


def _official(*, last_line: bool, whole: bool) -> Released:
    def compute(reply: Any, gold: Any, row: ScoringRow) -> Answer:
        text = reply.strip() if last_line or whole else reply
        text = text.split("\n")[-1] if last_line else text
        right = text in gold if whole else any(name in text for name in gold)
        return right, bool(text), text

    return compute


def _other(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    raise ValueError("the released code knows no such metric")


def _strict(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    golds = texts(gold)
    if not golds:
        return None
    given = row.extra.get(NAMES)
    names = json.loads(given) if isinstance(given, str) else given if isinstance(given, list) else []
    named = [name for name in dict.fromkeys([*golds, *map(str, names)]) if stands_in(reply, name)]
    right = any(name in golds for name in named) and all(name in golds for name in named)
    return right, bool(reply.strip()) and bool(named or not names), ", ".join(named) or None


METRICS = tuple(
    metric("nolima", name, official, _strict, description)
    for name, official, description in (
        ("contains", _official(last_line=False, whole=False), "whether the reply contains a gold name"),
        ("EM", _official(last_line=False, whole=True), "whether the reply is a gold name"),
        ("lastline_contains", _official(last_line=True, whole=False), "whether its last line contains one"),
        ("lastline_EM", _official(last_line=True, whole=True), "whether its last line is one"),
        ("other", _other, "what the released code does with any other metric: it stops"),
    )
)
