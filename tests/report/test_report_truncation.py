"""Cut prompts and places in the context on the page, in tables and in figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from report_rows import make_rows, with_cuts

from fathom.analysis import position_contrasts, truncation
from fathom.cli import main
from fathom.report.measure import measure
from fathom.report.page import page
from fathom.report.plot import plot
from fathom.report.results import ALL
from fathom.report.sections.position import (
    POSITION,
    by_system,
    contrast_tables,
    length_styles,
    lengths_of,
    line_figures,
)
from fathom.report.sections.truncation import points_of, truncation_tables
from fathom.report.tables import tables
from fathom.rows import write_rows
from fathom.types import FathomError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return with_cuts(make_rows(models=2, tasks=3, lengths=(2048, 8192, 16384), items=12, failures=False))


def test_tasks_that_lose_most_stand_first_and_their_mean_last(rows: pl.DataFrame) -> None:
    found = truncation(rows)
    first, second = truncation_tables(found)
    assert (first.title, second.title) == ("acme/long-1 · thinking", "fathom/lexical?window=8k")
    names = [line[0].text for line in first.rows]
    lost = {one.task: one.difference for one in found if one.model == "acme/long-1" and one.length == 1024}
    assert names[-1] == "all tasks"
    assert [lost[name] for name in names[:-1]] == sorted((lost[name] for name in names[:-1]), reverse=True)
    for line in first.rows:
        (one,) = [
            each
            for each in found
            if (each.model, each.task.replace(ALL, "all tasks"), each.length) == ("acme/long-1", line[0].text, 4096)
        ]
        assert line[3].text == f"{100 * one.score:.1f}"
        assert line[3].below == (f"keeps {100 * (one.share or 0):.0f}%",)
        assert line[6].text == f"{100 * one.difference:+.1f}".replace("+0.0", "0.0").replace("-", "−")


def test_lines_end_at_the_whole_prompt(rows: pl.DataFrame) -> None:
    cuts = [one for one in truncation(rows) if one.task == ALL and one.model == "acme/long-1"]
    points = points_of(cuts)
    assert [point.length for point in points] == [1024, 4096, 16384]
    assert [point.mean for point in points] == [*(one.score for one in cuts), cuts[-1].full]


def test_the_page_has_a_part_of_its_own_where_prompts_were_cut(rows: pl.DataFrame) -> None:
    text = page(measure(rows))
    assert 'id="section-truncation"' in text
    assert text.count("Score of truncated prompts, ") == 4
    without = page(measure(make_rows(models=1, tasks=2, lengths=(2048, 8192), items=6)))
    assert 'id="truncation"' not in without


def test_names_of_tasks_are_escaped_in_it(rows: pl.DataFrame) -> None:
    text = page(measure(rows.with_columns(task=pl.col("task") + "<b>&")))
    assert "<b>" not in text.partition('id="section-truncation"')[2].partition("</section>")[0]


def test_places_are_on_the_page_with_their_lines(rows: pl.DataFrame) -> None:
    results = measure(rows)
    text = page(results)
    lengths = lengths_of(results[POSITION])
    figures = [
        one for system, tasks in by_system(results[POSITION]).items() for one in line_figures(system, tasks, lengths)
    ]
    assert text.count("by depth, one line per length") == len(figures) == 4
    for system in results.systems:
        assert f"{system.name}: positions" in text.replace("<wbr>", "")
    found = position_contrasts(rows)
    lines = [line for table in contrast_tables(found) for line in table.rows]
    assert all(cell.below[0].startswith("p ") and cell.below[-1] == "unpaired" for line in lines for cell in line[3:])
    assert {table.section for table in tables(rows)} >= {"position", "truncation"}


@pytest.mark.parametrize("lengths", [1, 3, 8])
def test_lines_of_all_lengths_are_told_apart(lengths: int) -> None:
    styles = length_styles([1024 * 2**power for power in range(lengths)])
    assert len({colour for _, colour, _ in styles}) == len({shape for _, _, shape in styles}) == lengths


def test_figures_hold_the_numbers(rows: pl.DataFrame, tmp_path: Path) -> None:
    drawn = json.dumps(json.loads(plot(rows, "truncation", tmp_path / "t.json").read_text()))
    for one in truncation(rows):
        assert f'"mean": {json.dumps(one.score)}' in drawn
        assert f'"mean": {json.dumps(one.full)}' in drawn
    results = measure(rows)
    drawn = json.dumps(json.loads(plot(rows, "position-lines", tmp_path / "p.json").read_text()))
    assert all(f'"mean": {json.dumps(point.mean)}, "low": ' in drawn for point in results[POSITION])


def test_without_cut_prompts_it_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="--truncate"):
        plot(make_rows(models=1, tasks=1, items=3), "truncation", tmp_path / "t.svg")


def test_commands_print_both_studies(
    rows: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    write_rows(rows, path)

    def said(study: str, *options: str) -> str:
        monkeypatch.setattr(sys, "argv", ["fathom", "analyze", study, str(path), *options])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code in (0, 2)
        shown = capsys.readouterr()
        return shown.err if stopped.value.code else shown.out

    monkeypatch.setenv("COLUMNS", "200")
    assert "keeps" in said("truncation")
    assert {one["length"] for one in json.loads(said("truncation", "--json"))} == {1024, 4096}
    assert "front − middle" in said("position", "--bins", "2")
    found = json.loads(said("position", "--bins", "2", "--json"))
    assert {one["depth_high"] for one in found if "mean" in one} == {0.5, 1.0}
    assert {one["paired"] for one in found if "first" in one} == {False}
    assert "bins" in said("position", "--bins", "0")
    write_rows(rows.filter(~pl.col("facets").str.contains("cut_from")), path)
    assert "--truncate" in said("truncation")
