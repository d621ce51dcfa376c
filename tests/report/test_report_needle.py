"""The heat map of a needle in a haystack: what it holds, and where the page shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from needle_rows import WINDOW, make_needle
from pro_rows import make_pro

from fathom.report import words
from fathom.report.measure import measure
from fathom.report.page import page
from fathom.report.plot import plot
from fathom.report.sections.position import FIGURES, grids, needle_charts
from fathom.types import FathomError

LONG = tuple(range(2000, 128_001, 2000))


def layers(rows: pl.DataFrame, number: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The records of one chart, and its specification."""
    chart = needle_charts(measure(rows))[number].to_dict()
    return chart["datasets"][chart["data"]["name"]], chart


@pytest.mark.slow
def test_each_cell_says_its_score_where_there_is_room() -> None:
    records, chart = layers(make_needle(), 1)
    assert len(records) == 16 * 11
    assert {(one["length"], one["depth"]) for one in records} == {
        (f"{length}k", f"{depth}%") for length in range(2, 33, 2) for depth in range(0, 101, 10)
    }
    assert {one["said"] for one in records} == {"100", "20"}
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rect", "text"]


@pytest.mark.slow
def test_many_lengths_have_no_figures_and_lengths_beyond_a_window_stay_blank() -> None:
    records, chart = layers(make_needle(lengths=LONG), 1)
    assert len(LONG) > FIGURES
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rect"]
    across = chart["layer"][0]["encoding"]["x"]
    assert across["scale"]["domain"] == [words.tokens(length) for length in LONG]
    assert across["axis"]["values"][0] == "128k"
    assert {one["length"] for one in records} == {words.tokens(length) for length in LONG if length <= WINDOW}


@pytest.mark.slow
def test_there_is_one_panel_for_each_model_and_task() -> None:
    rows = make_needle()
    both = pl.concat([rows, rows.with_columns(task=pl.lit("passkey"))])
    assert list(grids(measure(both))) == [
        (system, task) for system in measure(both).systems for task in ("needle", "passkey")
    ]


@pytest.mark.slow
def test_the_figure_is_a_file_and_says_what_it_lacks(tmp_path: Path) -> None:
    plot(make_needle(), "needle", tmp_path / "needle.json")
    drawn = json.loads((tmp_path / "needle.json").read_text())
    assert [chart["title"] for chart in drawn["concat"]] == ["lab/model-0", "lab/model-1"]
    with pytest.raises(FathomError, match="evenly spaced depths"):
        plot(make_pro(questions=20), "needle", tmp_path / "none.svg")


@pytest.mark.slow
def test_the_page_draws_long_grids_as_they_are_and_pools_short_ones() -> None:
    shown = page(measure(make_needle(lengths=LONG)))
    assert shown.count("on needle by depth and length") == 2
    assert "with intervals" not in shown
    pooled = page(measure(make_needle(lengths=(2000, 4000))))
    assert "with intervals" in pooled


def test_lengths_with_the_same_short_name_have_columns_of_their_own() -> None:
    lengths = (6000, 7000, 7168)
    records, _ = layers(make_needle(lengths=lengths, models=1), 0)
    assert {one["length"] for one in records} == {"6,000", "7,000", "7,168"}
    assert len(records) == len(lengths) * 11


@pytest.mark.slow
def test_notes_stay_short_where_there_are_many_lengths() -> None:
    found = measure(make_needle(lengths=LONG))
    notes = [text for result in found.longscore.values() for text in (result.note, result.undefined)]
    assert any("2000, 4000, 6000, ..., 128000 (64 lengths)" in text for text in notes)
    assert max(map(len, notes)) < 300
