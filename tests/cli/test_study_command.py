"""``fathom compress study`` and ``embed``: what they print, write and draw, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import Call
from fathom.compress.embedding import write_vectors
from fathom.compress.matrix import ScoreMatrix, checked_matrix
from fathom.compress.tables import write_matrix

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def matrix() -> ScoreMatrix:
    rng = np.random.default_rng(0)
    ease, skill = rng.normal(size=60), rng.normal(size=8)
    scores = 1 / (1 + np.exp(-skill[:, None] - ease))
    tasks = [f"t{number % 3}" for number in range(60)]
    items = [f"{task}/{number:04d}" for number, task in enumerate(tasks)]
    models = [f"model {number}" for number in range(8)]
    return checked_matrix("made", models, items, scores, tasks=tasks, categories=tasks)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["redundancy", "--values", "0.9,0.5", "--draws", "50"], "0.9000"),
        (["categories"], "weighted"),
        (["dimensions", "--values", "1,2"], "setting"),
        (["ratios", "--values", "0.8"], "0.8"),
        (["embeddings", "--embeddings", "vectors.npz"], "vectors"),
        (["components", "--embeddings", "vectors.npz"], "all 5 dimensions"),
        (["bias", "--known", "model 0,model 2,model 5", "--draws", "2"], "uniform"),
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
        (["cooking"], "STUDY cooking: expected redundancy, categories"),
        (["bias", "--values", "1"], "the study bias has no values to try"),
        (["dimensions", "--values", "1.5"], "dimensions 1.5: expected a whole number"),
        (["dimensions", "--values", "few"], "--values few: expected numbers separated by commas"),
        (["bias", "--known", "nobody"], "unknown model 'nobody'"),
        (["bias", "--use", "end"], "--use end: expected start, prior"),
        (["embeddings"], "name them with --embeddings FILE.npz"),
        (["bias", "--embeddings", "a=x.npz", "--embeddings", "a=y.npz"], "each with a name of its own"),
        (["bias", "--embeddings", "x.npz"], "x.npz: no such file; make one with `fathom compress embed`"),
        (["bias", "--draws", "0"], "--draws 0: expected a positive number"),
        (["categories", "--draws", "2"], "the study categories draws nothing: leave out --draws"),
        (["bias", "--published", "folder"], "the study bias chooses items itself"),
        (["bias", "--plot", "figure.txt"], "figure.txt: a figure must end in one of .svg, .png, .pdf, .html, .json"),
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


def test_a_study_is_drawn(call: Call, matrix: ScoreMatrix, tmp_path: Path) -> None:
    write_matrix(matrix, tmp_path / "scores.parquet")
    small = ["scores.parquet", "--budget", "12", "--dimensions", "1", "--quiet"]
    code, _, _ = call("compress", "study", "categories", *small, "--plot", "figure.html")
    assert code == 0
    page = (tmp_path / "figure.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "known models" in page
    assert "<script" not in page


def test_kinds_of_embeddings_stand_beside_none(call: Call, matrix: ScoreMatrix, tmp_path: Path) -> None:
    write_matrix(matrix, tmp_path / "scores.parquet")
    vectors = np.random.default_rng(0).normal(size=(60, 5))
    write_vectors(matrix.items[::-1], vectors[::-1], tmp_path / "turned.npz")
    np.savez(tmp_path / "plain.npz", embeddings=vectors)
    kinds = ["--embeddings", "mine=turned.npz", "--embeddings", "plain.npz"]
    words = ["compress", "study", "embeddings", "scores.parquet", "--budget", "12", "--dimensions", "1", *kinds]
    code, out, _ = call(*words, "--use", "prior", "--json")
    assert code == 0
    found = pl.DataFrame(json.loads(out))
    assert found["setting"].unique(maintain_order=True).to_list() == ["none", "mine", "plain"]
    # Rows are matched by name where they have names: both files say the same of every item.
    mine, plain = (found.filter(setting=name).drop("setting") for name in ("mine", "plain"))
    assert mine.equals(plain)
    code, _, err = call(*[word if word != "embeddings" else "bias" for word in words])
    assert code == 2
    assert "the study bias takes one kind of embeddings; got mine, plain" in err


def test_embeddings_that_do_not_fit(call: Call, matrix: ScoreMatrix, tmp_path: Path) -> None:
    write_matrix(matrix, tmp_path / "scores.parquet")
    write_vectors(matrix.items[:4], np.eye(4), tmp_path / "few.npz")
    np.savez(tmp_path / "plain.npz", embeddings=np.eye(4))
    for file, message in (
        ("few.npz", "few.npz: 56 of 60 items have no embedding, for example 't1/0004'; it has 4"),
        ("plain.npz", "plain.npz: 4 embeddings without names for 60 items"),
    ):
        code, _, err = call("compress", "study", "bias", "scores.parquet", "--embeddings", file)
        assert code == 2
        assert message in err


def test_items_are_embedded(call: Call, matrix: ScoreMatrix, tmp_path: Path) -> None:
    write_matrix(matrix, tmp_path / "scores.parquet")
    lines = [{"item": item, "text": f"{item} reads {number}"} for number, item in enumerate(matrix.items)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    code, out, err = call("compress", "embed", "texts.jsonl", "--out", "texts.npz")
    assert (code, out) == (0, "")
    assert err.startswith("note: texts.npz: 60 items, ")
    small = ["scores.parquet", "--budget", "12", "--dimensions", "1", "--embeddings", "texts.npz"]
    code, out, _ = call("compress", "study", "embeddings", *small)
    assert code == 0
    assert "texts" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["texts.jsonl", "--out", "texts.csv"], "texts.csv: a file of embeddings must end in .npz"),
        (["texts.jsonl", "--out", "t.npz", "--model", "magic"], "unknown embedding 'magic': choose tfidf"),
        (["absent.jsonl", "--out", "t.npz"], "absent.jsonl"),
    ],
)
def test_what_cannot_be_embedded(call: Call, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "texts.jsonl").write_text('{"item": "a", "text": "the sea"}\n', "utf-8")
    code, out, err = call("compress", "embed", *words)
    assert (code, out) == (2, "")
    assert message in err
