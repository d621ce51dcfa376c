"""``fathom compress``: what it prints, and what it refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fathom.cli import main
from fathom.compress.checking import checked_matrix
from fathom.compress.matrix import ScoreMatrix
from fathom.compress.minifile import write_mini
from fathom.compress.minilongbench import select
from fathom.compress.tables import write_matrix
from fathom.subsetfile import write_subset
from fathom.types import Member, Subset

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fathom", *map(str, words)])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        return int(str(code or 0)), printed.out, printed.err

    return call


@pytest.fixture(scope="module")
def matrix() -> ScoreMatrix:
    rng = np.random.default_rng(0)
    ease, skill = rng.normal(size=60), rng.normal(size=8)
    scores = 1 / (1 + np.exp(-skill[:, None] - ease))
    tasks = [f"t{number % 3}" for number in range(60)]
    items = [f"{task}/{number:04d}" for number, task in enumerate(tasks)]
    models = [f"model {number}" for number in range(8)]
    return checked_matrix("made", models, items, scores, tasks=tasks, categories=tasks)


def test_estimates_from_a_subset(call: Call, matrix: ScoreMatrix, tmp_path: Path) -> None:
    write_mini(select(matrix.of_models(range(5)), 12, dimensions=1), tmp_path / "small.json")
    write_matrix(matrix, tmp_path / "scores.csv")
    code, out, err = call("compress", "estimate", "scores.csv", "--subset", "small.json", "--out", "found.csv")
    assert code == 0
    assert err == "note: minilongbench: 12 of 60 items\n"
    assert "model 7" in out
    assert "Spearman" in out
    code, out, _ = call("compress", "estimate", "scores.csv", "--subset", "small.json", "--json")
    found = json.loads(out)
    assert (code, found["method"], found["items"], found["of"]) == (0, "minilongbench", 12, 60)
    assert [one["full"] for one in found["scores"]] == pytest.approx(matrix.totals())
    errors = [abs(one["predicted"] - one["full"]) for one in found["scores"]]
    assert max(errors) < 0.06
    written = pl.read_csv(tmp_path / "found.csv")
    assert written["predicted"].to_list() == pytest.approx([one["predicted"] for one in found["scores"]])
    (predicted,) = (one for one in found["agreement"] if one["estimate"] == "predicted")
    assert predicted["count"] == 8
    assert predicted["error"] == pytest.approx(np.mean(errors))


def test_one_model_has_no_rank_correlation(call: Call, matrix: ScoreMatrix, tmp_path: Path) -> None:
    write_mini(select(matrix, 12, dimensions=1), tmp_path / "small.json")
    write_matrix(matrix.of_models([3]), tmp_path / "one.parquet")
    code, out, _ = call("compress", "estimate", "one.parquet", "--subset", "small.json", "--json")
    assert code == 0
    assert json.loads(out)["agreement"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no subset: name its file with --subset FILE, or with --published FOLDER"),
        (["--subset", "plain.json", "--published", "x"], "--subset and --published both name a subset"),
        (["--subset", "plain.json"], "unknown method 'random' of estimates: choose minilongbench"),
        (["--subset", "plain.json", "--method", "magic"], "unknown method 'magic' of estimates"),
        (["--subset", "plain.json", "--method", "minilongbench"], "a subset of method 'random' without parameters"),
        (["--published", "nowhere"], "nowhere/tasks.json: no such file; it is part of MiniLongBench's released data"),
    ],
)
def test_what_cannot_be_estimated(
    call: Call, matrix: ScoreMatrix, tmp_path: Path, words: list[str], message: str
) -> None:
    write_matrix(matrix, tmp_path / "scores.csv")
    write_subset(Subset("plain", (Member(matrix.items[0], 1.0),), "random"), tmp_path / "plain.json")
    code, out, err = call("compress", "estimate", "scores.csv", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_the_published_rank_correlations(call: Call, shared: Path) -> None:
    folder = shared / "data" / "minilongbench"
    words = ["compress", "estimate", folder, "--method", "minilongbench", "--published", folder]
    code, out, err = call(*words)
    assert code == 0
    lines = [line.split()[:4] for line in out.splitlines() if line.startswith(("predicted", "direct"))]
    assert lines == [
        ["predicted", "all", "40", "0.9668"],
        ["predicted", "test", "20", "0.9624"],
        ["predicted", "train", "20", "0.9850"],
        ["direct", "all", "40", "0.9486"],
        ["direct", "test", "20", "0.9368"],
        ["direct", "train", "20", "0.9459"],
    ]
    assert "237 of 4,750 items" in err
