"""Names in the code say what they name: ``performance/banned_names.py`` refuses those that do not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "performance"))

from banned_names import messages, refused

EXAMPLE = """
def _named(tasks, said=None):
    for one in tasks:
        one.found = True
    task = found = 1

class Told:
    there: bool
    held: bool
    found: int  # banned-name: it stands in stored files

    def put(self):
        self.told = 1
"""


@pytest.mark.slow
def test_no_name_is_banned() -> None:
    assert messages() == []


def test_a_banned_name_is_refused_with_what_to_write_instead() -> None:
    assert list(refused(EXAMPLE)) == [
        (2, "function `_named`: write what is returned: display_name, by_name"),
        (2, "parameter `said`: write message, replies or judge_replies"),
        (3, "variable `one`: write what it is: task, row, option, path"),
        (5, "variable `found`: write what it has: matches, files, result"),
        (7, "class `Told`: write ScoredReply"),
        (8, "variable `there`: write measured, present or exists"),
        (13, "attribute `told`: write what it is: reported, message, outcome"),
    ]
