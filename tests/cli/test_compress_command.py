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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["redundancy", "--values", "0.9,0.5", "--draws", "50"], "0.9000"),
        (["categories"], "weighted"),
        (["dimensions", "--values", "1,2"], "setting"),
        (["ratios", "--values", "0.8"], "0.8"),
        (["embeddings", "--embeddings", "vectors.npz"], "given"),
        (["components", "--embeddings", "vectors.npz"], "all 5 dimensions"),
        (["bias", "--known", "model 0,model 2,model 5"], "uniform"),
        (["choices", "--draws", "2"], "draws"),
        (["numbers", "--values", "3", "--draws", "2"], "high"),
        (["rankings", "--draws", "1"], "model 7"),
        (["neighbours", "--tasks", "t1"], "t1/0001"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_study_prints_and_writes_a_table(
    call: Call, matrix: ScoreMatrix, tmp_path: Path, words: list[str], said: str
) -> None:
    write_matrix(matrix, tmp_path / "scores.parquet")
    np.savez(tmp_path / "vectors.npz", embeddings=np.random.default_rng(0).normal(size=(60, 5)))
    more = ["--budget", "12", "--dimensions", "1", "--use", "prior", "--out", "table.csv"]
    command = ["compress", "study", words[0], "scores.parquet", *words[1:], *more]
    code, out, err = call(*command)
    assert code == 0
    assert said in out
    assert ("estimates of the whole score" in err) == ("setting" in out)
    records = json.loads(call(*command, "--json")[1])
    written = pl.read_csv(tmp_path / "table.csv")
    assert len(written) == len(records)
    assert written.columns == list(records[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cooking"], "unknown study 'cooking': choose redundancy, categories"),
        (["bias", "--values", "1"], "the study bias has no values to try"),
        (["dimensions", "--values", "1.5"], "dimensions 1.5: expected a whole number"),
        (["dimensions", "--values", "few"], "--values 'few': expected numbers separated by commas"),
        (["bias", "--known", "nobody"], "unknown model 'nobody'"),
        (["bias", "--use", "end"], "choose start or prior"),
        (["embeddings"], "name them with --embeddings FILE.npz"),
        (["bias", "--budget", "2"], "a budget of 2 for 60 items in 3 categories: expected 3 to 60"),
    ],
)
def test_what_cannot_be_studied(
    call: Call, matrix: ScoreMatrix, tmp_path: Path, words: list[str], message: str
) -> None:
    write_matrix(matrix, tmp_path / "scores.parquet")
    code, out, err = call("compress", "study", words[0], "scores.parquet", *words[1:])
    assert (code, out) == (2, "")
    assert message in err
