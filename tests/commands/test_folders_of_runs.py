"""A folder of runs stands for all runs in it, wherever results are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import Call
from fathom.commands.shared import sources_of

pytestmark = pytest.mark.slow
MODELS = ("fathom/guess", "fathom/lexical")


@pytest.fixture
def runs(call: Call, tmp_path: Path) -> Path:
    """Two runs, one folder deeper than the one that is named."""
    for model in MODELS:
        words = ("--items", "2", "--lengths", "1k,2k", "--model", model, "-y", "-q")
        assert call("run", "passkey", *words)[0] == 0
    return tmp_path / "runs"


def test_reports_rows_and_analyses_read_all_runs_of_a_folder(call: Call, runs: Path) -> None:
    code, out, err = call("report", runs, "--format", "json")
    assert code == 0, err
    assert sorted(one["model"] for one in json.loads(out)["ranking"]) == sorted(MODELS)
    code, out, err = call("analyze", "counts", runs, "--json")
    assert code == 0, err
    assert {one["model"] for one in json.loads(out)} == set(MODELS)
    code, _, err = call("rows", runs, "--out", "rows.parquet")
    assert code == 0, err
    assert Path("rows.parquet").is_file()


def test_a_run_is_itself_and_a_folder_without_runs_stays_what_it_was(call: Call, runs: Path, tmp_path: Path) -> None:
    one, other = sorted(path.parent for path in runs.rglob("run.json"))
    assert sources_of([one]) == (one,)
    assert sources_of(runs) == sources_of([runs, one])[:2] == (one, other)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert sources_of(empty) == (empty,)
    assert "no run here" in call("report", empty)[2]
