"""Some hundred hostile command lines; ``performance/command_fuzz.py`` has ten thousand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "performance"))

from command_fuzz import CLEAR, commands, fuzz


@pytest.mark.slow
@pytest.mark.long
def test_every_hostile_command_line_ends_in_a_clear_answer(capsys: pytest.CaptureFixture[str]) -> None:
    found = fuzz(range(150), seed=20)
    assert [one for one in found if one.end not in CLEAR] == [], capsys.readouterr().out
    assert len({one.command for one in found}) > 30
    assert {"0", "2"} <= {one.end for one in found}, "some are right, and some are not"


def test_all_commands_are_tried() -> None:
    known = commands()
    assert {"build", "run", "report", "board serve", "compress study", "analyze judge"} <= set(known)
    assert all(parameter.words for parameters in known.values() for parameter in parameters)
