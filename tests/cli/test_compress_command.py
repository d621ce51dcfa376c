"""``fathom compress``: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import Call
from fathom.compress.matrix import ScoreMatrix, checked_matrix
from fathom.compress.minilongbench import select, write_mini
from fathom.compress.tables import write_matrix
from fathom.suites.subsetfile import write_subset
from fathom.types import Member, Subset


@pytest.fixture(scope="module")
def matrix() -> ScoreMatrix:
    rng = np.random.default_rng(0)
    ease, skill = rng.normal(size=60), rng.normal(size=8)
    scores = 1 / (1 + np.exp(-skill[:, None] - ease))
    tasks = [f"t{number % 3}" for number in range(60)]
    items = [f"{task}/{number:04d}" for number, task in enumerate(tasks)]
    models = [f"model {number}" for number in range(8)]
    return checked_matrix("made", models, items, scores, tasks=tasks, categories=tasks)


@pytest.mark.slow
def test_estimates_from_a_subset(call: Call, matrix: ScoreMatrix, tmp_path: Path) -> None:
    write_mini(select(matrix.of_models(range(5)), 12, dimensions=1), tmp_path / "small.json")
    write_matrix(matrix, tmp_path / "scores.csv")
    code, out, err = call("compress", "estimate", "scores.csv", "--subset", "small.json", "--out", "found.csv")
    assert code == 0
    assert err == "note: minilongbench: 12 items, minilongbench\n"
    assert "model 7" in out
    assert "Spearman" in out
    code, out, _ = call("compress", "estimate", "scores.csv", "--subset", "small.json", "--json")
    found = json.loads(out)
    assert (code, found["method"], found["items"]) == (0, "minilongbench", 12)
    models = found["models"]
    full = dict(zip(matrix.models, matrix.totals(), strict=True))
    assert {one["model"]: one["full"] for one in models} == pytest.approx(full)
    values = [one["overall"]["value"] for one in models]
    assert values == sorted(values, reverse=True)
    # The method has no intervals, and so neither ranks nor tie groups.
    assert {(one["overall"]["low"], one["overall"]["high"], one["ranks"], one["group"]) for one in models} == {
        (None, None, None, 0)
    }
    assert {tuple(one["others"]) for one in models} == {("direct", "weighted")}
    assert {tuple(one["categories"]) for one in models} == {("t0", "t1", "t2")}
    errors = [abs(one["overall"]["value"] - one["full"]) for one in models]
    assert max(errors) < 0.06
    written = pl.read_csv(tmp_path / "found.csv")
    assert written["estimate"].to_list() == pytest.approx(values)
    assert written["t1"].to_list() == pytest.approx([one["categories"]["t1"]["value"] for one in models])
    (own,) = (one for one in found["agreement"] if one["estimate"] == "estimate")
    assert own["count"] == 8
    assert own["error"] == pytest.approx(np.mean(errors))


@pytest.mark.slow
def test_one_model_has_no_rank_correlation(call: Call, matrix: ScoreMatrix, tmp_path: Path) -> None:
    write_mini(select(matrix, 12, dimensions=1), tmp_path / "small.json")
    write_matrix(matrix.of_models([3]), tmp_path / "one.parquet")
    code, out, _ = call("compress", "estimate", "one.parquet", "--subset", "small.json", "--json")
    assert code == 0
    assert json.loads(out)["agreement"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name one subset: its file with --subset FILE, or with --published FOLDER"),
        (["--subset", "plain.json", "--published", "x"], "name one subset: its file with --subset FILE, or with"),
        (["--subset", "plain.json", "--method", "magic"], "--method magic: this subset was chosen by 'random'"),
        (["--subset", "bare.json"], "a subset of method 'minilongbench' has no parameters"),
        (["--subset", "other.json"], "no item of the subset 'other' has a score, for example 'x/0001'"),
        (["--published", "nowhere"], "nowhere/tasks.json: no such file; it is part of MiniLongBench's released data"),
    ],
)
def test_what_cannot_be_estimated(
    call: Call, matrix: ScoreMatrix, tmp_path: Path, words: list[str], message: str
) -> None:
    write_matrix(matrix, tmp_path / "scores.csv")
    member = Member(matrix.items[0], 1.0)
    write_subset(Subset("plain", (member,), "random"), tmp_path / "plain.json")
    write_subset(Subset("bare", (member,), "minilongbench"), tmp_path / "bare.json")
    write_subset(Subset("other", (Member("x/0001", 1.0),), "random"), tmp_path / "other.json")
    code, out, err = call("compress", "estimate", "scores.csv", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_any_subset_is_estimated_by_its_weights(call: Call, matrix: ScoreMatrix, tmp_path: Path) -> None:
    write_matrix(matrix, tmp_path / "scores.csv")
    members = tuple(Member(item, weight) for item, weight in zip(matrix.items[:2], (3.0, 1.0), strict=True))
    write_subset(Subset("plain", members, "by hand"), tmp_path / "plain.json")
    code, out, _ = call("compress", "estimate", "scores.csv", "--subset", "plain.json", "--json")
    found = {one["model"]: one["overall"]["value"] for one in json.loads(out)["models"]}
    assert code == 0
    assert found == pytest.approx(dict(zip(matrix.models, matrix.scores[:, :2] @ [0.75, 0.25], strict=True)))


@pytest.mark.slow
def test_the_published_rank_correlations(call: Call, shared: Path) -> None:
    folder = shared / "data" / "minilongbench"
    words = ["compress", "estimate", folder, "--method", "minilongbench", "--published", folder]
    code, out, err = call(*words)
    assert code == 0
    lines = [line.split()[:4] for line in out.splitlines() if line.startswith(("estimate  ", "direct"))]
    assert lines[1:] == [
        ["estimate", "all", "40", "0.9668"],
        ["estimate", "test", "20", "0.9624"],
        ["estimate", "train", "20", "0.9850"],
        ["direct", "all", "40", "0.9486"],
        ["direct", "test", "20", "0.9368"],
        ["direct", "train", "20", "0.9459"],
    ]
    assert "237 items, minilongbench" in err
