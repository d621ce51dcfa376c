"""A few cases of every fault in docs/explanation/reliability.md; ``performance/reliability.py`` has all of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "performance"))

import interrupted
import reliability
from interrupted import COMMANDS, Command, Counts, Reference, finish


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")
def test_nothing_is_repeated_lost_changed_or_crashed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "counts.json"
    assert reliability.main(["--quick", "--json", str(file)]) == 0, capsys.readouterr().out
    counts = json.loads(file.read_text())
    del counts["all"]
    assert set(counts) == set(reliability.PARTS) - set(reliability.LEFT_OUT_OF_QUICK)
    assert all(one["cases"] or one["skipped"] for one in counts.values())


def test_a_name_of_no_part_is_said() -> None:
    with pytest.raises(SystemExit, match="no part begins with 'relable'"):
        reliability.chosen_parts("kill,relable", False)


def test_every_part_is_chosen_by_its_name() -> None:
    assert reliability.chosen_parts("", False) == reliability.PARTS
    for name in reliability.PARTS:
        assert name in reliability.chosen_parts(name, False)
        assert name in reliability.chosen_parts(name, True)
    assert not set(reliability.LEFT_OUT_OF_QUICK) & set(reliability.chosen_parts("kill,two", True))


@pytest.mark.slow
def test_what_is_wrong_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that forgets a reply, asks again and leaves something else."""
    forgetful = Command(
        lambda url: ("--version",), "", "", lambda place: "other", lambda place: {"b": 2}, lambda *counts: 3
    )
    monkeypatch.setattr(interrupted, "COMMANDS", {**COMMANDS, "forgetful": forgetful})
    place, counts = tmp_path / "place", Counts()
    place.mkdir()
    finish(counts, "forgetful", place, None, Reference("same", 1.0), {"a": 1, "b": 2})
    assert (counts.repeated, counts.lost, counts.silent, counts.tracebacks) == (3, 1, 1, 0)
    wrong = Command(lambda url: ("no-such-command",), "", "", lambda place: "same")
    monkeypatch.setattr(interrupted, "COMMANDS", {"wrong": wrong})
    finish(counts, "wrong", place, None, Reference("same", 1.0), {})
    assert counts.silent == 2
    assert counts.wrong == 6 + counts.tracebacks


def test_a_part_that_breaks_is_a_traceback_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(given: reliability.Surroundings) -> Counts:
        raise OSError("no such disk")

    parts = {"broken": broken, "well": lambda given: Counts(cases=3)}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(interrupted, "make_inputs", lambda world: None)
        found = reliability.run_parts(parts, 0, True, 1.0)
    assert (found["broken"].tracebacks, found["well"].cases) == (1, 3)
    assert "no such disk" in capsys.readouterr().out
