"""Tables of repeats, ranks and gains that the page and the commands share."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import polars as pl
import pytest
from pro_rows import make_pro
from rich.console import Console

from fathom.analysis import neighbours
from fathom.report.measure import measure
from fathom.report.results import Results
from fathom.report.sections.breakdown import gain_tables
from fathom.report.sections.repeats import run_tables
from fathom.report.studies import neighbour_tables
from fathom.report.table import Table
from fathom.report.tables import tables_of
from fathom.report.terminal import show


@pytest.fixture(scope="module")
def own() -> Results:
    return measure(make_pro())


def named(results: Results, name: str) -> Table:
    return next(table for table in tables_of(results) if table.name == name)


@pytest.mark.slow
def test_a_command_prints_what_the_page_shows(own: Results) -> None:
    found = own.by_question
    assert run_tables(found.repeats, own.systems) == [
        replace(named(own, name), section="") for name in ("repeats", "repeats-best")
    ]
    assert [run_tables([]), neighbour_tables([]), gain_tables([])] == [[], [], []]
    whole, *groups = gain_tables(found.gains)
    page = named(own, "thinking")
    assert [cell.text for cell in whole.rows[0]] == [cell.text for cell in page.rows[0]][:7]
    assert [table.title for table in groups] == ["Gain by difficulty", "Gain by length"]
    shown = [(cell.text, cell.interval) for table in groups for cell in table.rows[0][1:]]
    assert shown == [(cell.text, cell.interval) for cell in page.rows[0][7:]]


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80, 120])
def test_every_figure_stands_whole_in_a_terminal(own: Results, width: int) -> None:
    found = own.by_question
    tables = [*run_tables(found.repeats), *neighbour_tables(neighbours(make_pro())), *gain_tables(found.gains)]
    for table in tables:
        out = StringIO()
        show([table], Console(file=out, width=width))
        text = out.getvalue()
        cells = [cell for row in table.rows for cell in row[1:]]
        assert [line for cell in cells for line in (cell.text, *cell.small) if line not in text] == []


def test_models_without_shared_questions_have_no_gap_and_a_note() -> None:
    alone = [replace(one, gap=None, gap_interval=None, tied=None) for one in neighbours(make_pro())]
    (table,) = neighbour_tables(alone)
    assert table.notes == ("Nothing was asked of both this model and the next one below.",)
    assert [row[5].text for row in table.rows] == ["–"] * 3


@pytest.mark.slow
def test_repeats_without_any_score_have_a_dash() -> None:
    rows = make_pro({("m", ""): 0.5}, questions=20)
    none = pl.when(pl.col("epoch") == 2).then(None).otherwise("value")
    (found,) = measure(rows.with_columns(value=none), unanswered="drop").by_question.repeats
    runs, _ = run_tables([found])
    assert [cell.text == "–" for cell in runs.rows[0][3:7]] == [False, True, False, False]
    assert runs.rows[0][1].below == ("20 uneven",)
    assert "Uneven" in runs.about
    once = replace(found, run_means=(found.mean,), uneven=0)
    assert run_tables([once])[0].rows[0][4].text == "–"
    assert "Uneven" not in run_tables([once])[0].about
