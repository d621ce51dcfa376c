"""The prior-knowledge filter on the command line: options, notes on standard error, and tables of scores in figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from command_line import Call
from fathom import api
from fathom.analysis.known import POLICY, THRESHOLD
from fathom.rows import to_frame
from fathom.types import Facet, FathomError, Row

KNOWS = {"a": (1.0, 0.0, 0.0, 0.0), "b": (0.0, 1.0, 0.0, 0.0)}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    made = []
    for model, known in KNOWS.items():
        for item, value in enumerate(known):
            for length in (0, 2048, 8192):
                facets: dict[str, Facet] = {} if length else {"context": "none"}
                score = max(value, 0.5 * bool(length) * (item % 2))
                name = f"qa/{item}"
                made.append(Row("s", "qa", name, f"{name}@{length}", model, length, score, facets=facets, answer="x"))
    path = tmp_path / "rows.parquet"
    to_frame(made).write_parquet(path)
    return path


Fathom = Callable[..., tuple[str, str]]


@pytest.fixture
def fathom(call: Call) -> Fathom:
    def fathom(*arguments: str | Path) -> tuple[str, str]:
        code, out, err = call(*arguments)
        assert code == 0, err
        return out, err

    return fathom


def test_a_comparison_says_on_what_it_rests(rows: Path, fathom: Fathom) -> None:
    _, notes = fathom("analyze", "compare", rows, "--filter", "own")
    assert "a and b are averaged over different questions: 2 of 4 count for one of them only" in notes
    assert "of 4 questions of a and" in notes
    out, notes = fathom("analyze", "compare", rows, "--json")
    assert "excluded 2 of 4 questions for all models" in notes
    assert "different questions" not in notes
    assert {record["items"] for record in json.loads(out)} == {2}


@pytest.mark.slow
def test_policies_and_panels_reach_the_filter(rows: Path, fathom: Fathom) -> None:
    def items(*options: str) -> list[int]:
        out, _ = fathom("analyze", "known", rows, "--json", *options)
        return [record["removed"] for record in json.loads(out)]

    assert items() == [2, 2]
    assert items("--filter", "own") == [1, 1]
    assert items("--filter", "none") == [0, 0]
    assert items("--panel", "a") == [1, 1]
    assert items("--panel", str(rows)) == [2, 2]
    assert items("--threshold", "1") == [2, 2]


def test_rows_stay_whole_unless_a_filter_is_named(rows: Path, tmp_path: Path) -> None:
    assert len(api.rows([rows], tmp_path / "all.csv")) == 24
    kept = api.rows([rows], tmp_path / "own.csv", filter="own")
    assert len(kept.filter(pl.col("length") > 0)) == 12
    assert (api.THRESHOLD, "intersection") == (THRESHOLD, POLICY)


def test_a_panel_is_runs_or_models(rows: Path) -> None:
    with pytest.raises(FathomError, match="either runs or models, not both; no such run: a"):
        api.filtered([rows], panel=[rows, "a"])


@pytest.mark.slow
def test_a_report_prints_what_was_removed(rows: Path, tmp_path: Path, fathom: Fathom) -> None:
    out, _ = fathom("report", rows, "-o", tmp_path / "r.html")
    assert "The closed-book filter excluded" in out
    out, _ = fathom("report", rows, "-o", tmp_path / "r.html", "--tables")
    assert "Closed-book questions" in out
    assert "Excluded" in out


@pytest.mark.slow
def test_figures_of_a_table_of_scores(tmp_path: Path, fathom: Fathom) -> None:
    table = tmp_path / "scores.csv"
    lines = [f"{model},qa,{k},{60 - k / 4 - 5 * n}" for n, model in enumerate("ab") for k in (0, 8, 16, 32)]
    table.write_text("\n".join(["model,task,length_k,score", *lines]))
    for kind in ("curve", "tasks", "longscore", "longscore-heatmap"):
        fathom("plot", kind, table, "-o", tmp_path / f"{kind}.svg", "--models", "b,a")
        assert (tmp_path / f"{kind}.svg").read_text().startswith("<svg")
