"""How groups of questions and modes are called: one place, so that tables and figures say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fathom.printing import printable

NAMES = {
    "language": "language",
    "difficulty": "difficulty",
    "length": "length",
    "contextual_requirement": "context that the question needs",
    "primary_task": "primary task",
    "secondary_task": "secondary task",
}
"""Dimensions as they stand in a sentence, in the order of the report."""
LANGUAGES = {"en": "English", "zh": "Chinese"}
_NUMBERED = re.compile(r"(T\d+(?:\.\d+)?)\.? +(.+)")


def title(dimension: str, what: str = "Score") -> str:
    """The heading of scores by a dimension."""
    return f"{what} by {NAMES.get(dimension, printable(dimension).replace('_', ' '))}"


def label(dimension: str, group: str) -> str:
    """What a group of questions is called: in full, but for tasks with a number, which is enough."""
    if dimension == "language":
        return LANGUAGES.get(group, printable(group))
    if dimension.endswith("_task") and (numbered := _NUMBERED.fullmatch(group)):
        return numbered[1]
    return printable(group).replace("_", " ")


def legend(groups: Iterable[str]) -> tuple[str, ...]:
    """What the numbers of tasks stand for: "T1 Retrieval & Ranking"; nothing for groups without a number."""
    numbered = [_NUMBERED.fullmatch(group) for group in groups]
    return tuple(f"{one[1]} {printable(one[2])}" for one in numbered if one)
