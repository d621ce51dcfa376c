"""Counts have their plural, by one function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fathom.printing import several

SOURCE = Path(__file__).parents[1] / "src" / "fathom"
BY_HAND = re.compile(r"""\(s\)["' ]|'s' if |"s" if |else 's'|else "s"|"1 \w+" if """)


@pytest.mark.parametrize(
    ("number", "noun", "plural", "text"),
    [
        (1, "sample", "", "1 sample"),
        (0, "sample", "", "0 samples"),
        (4608, "reply", "", "4,608 replies"),
        (1, "reply", "", "1 reply"),
        (3, "day", "", "3 days"),
        (2, "process", "processes", "2 processes"),
        (1, "prompt exceeds", "prompts exceed", "1 prompt exceeds"),
    ],
)
def test_a_count_has_its_plural(number: int, noun: str, plural: str, text: str) -> None:
    assert several(number, noun, plural) == text


def test_no_message_makes_its_plurals_by_hand() -> None:
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        if "world" not in path.parts  # whose sentences have rules of their own
        for line in path.read_text("utf-8").splitlines()
        if BY_HAND.search(line)
    ]
    assert found == []
