"""Answers in the report: validity, copying, shortcuts, orders and positions, on the page, in figures and terminals."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import polars as pl
import pytest
from answer_rows import LENGTHS, make_answers
from report_rows import make_rows
from rich.console import Console

from command_line import Call
from fathom.analysis import AnswerPoint
from fathom.report.measure import measure
from fathom.report.page import page
from fathom.report.plot import plot
from fathom.report.results import Results, system_of
from fathom.report.sections.answers import ANSWERS, answers_tables
from fathom.report.table import Table
from fathom.report.tables import tables_of
from fathom.report.terminal import show
from fathom.report.words import bounds, percent
from fathom.rows import write_rows
from fathom.types import FathomError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return make_answers(items=20)


@pytest.fixture(scope="module")
def results(rows: pl.DataFrame) -> Results:
    return measure(rows)


def tables(results: Results) -> dict[str, Table]:
    return {table.title: table for table in tables_of(results) if table.section == "answers"}


def points(results: Results, task: str) -> list[AnswerPoint]:
    """In the order of the tables: models as the report has them, lengths ascending."""
    return [
        one for system in results.systems for one in results[ANSWERS] if (system_of(one), one.task) == (system, task)
    ]


def test_each_task_has_its_tables(results: Results) -> None:
    assert list(tables(results)) == [
        *("bestanswer: accuracy", "bestanswer: instructions"),
        *("bestanswer: accuracy by position", "bestanswer: choices by position"),
        *("tsort: accuracy", "tsort: instructions", "tsort: order"),
    ]
    names = [table.name for table in tables(results).values()]
    assert len(set(names)) == len(names)


def test_tables_say_what_was_measured(results: Results) -> None:
    shown = tables(results)
    for one, row in zip(points(results, "bestanswer"), shown["bestanswer: accuracy"].rows, strict=True):
        assert one.accuracy_valid is None or row[3].text == percent(one.accuracy_valid.value)
        assert (row[2].text, row[2].interval) == (percent(one.accuracy.value), bounds(one.accuracy.interval))
        assert [cell.text for cell in row[4:]] == [percent(one.chance), percent(one.longest), percent(one.first)]
    for one, row in zip(points(results, "tsort"), shown["tsort: instructions"].rows, strict=True):
        assert row[2].text == f"{one.valid} of {one.scored}"
        assert row[3].text == percent(one.followed.value)
        assert row[4].text == (percent(one.copied.value) if one.copied else "–")
        assert row[5].text == percent(one.copied_expected)
    for one, row in zip(points(results, "tsort"), shown["tsort: order"].rows, strict=True):
        assert row[5].text == "25.0"
        if one.tau:
            assert float(row[3].text.replace("−", "-")) == pytest.approx(one.tau.value, abs=0.005)
    for one, row in zip(points(results, "bestanswer"), shown["bestanswer: choices by position"].rows, strict=True):
        for third, cell in zip(one.thirds, row[2:], strict=True):
            assert cell.text == (percent(third.chosen.value) if third.chosen else "–")
            assert cell.below == ((f"at random {percent(third.chosen_chance)}",) if third.chosen else ())


def test_columns_that_say_nothing_are_left_out(results: Results) -> None:
    labels = [column.label for column in tables(results)["tsort: accuracy"].columns]
    assert labels == ["Model", "Length", "All replies", "Valid only", "Chance"]


def test_tables_fit_a_terminal_of_80_columns(results: Results) -> None:
    out = io.StringIO()
    show(tables(results).values(), Console(file=out, width=80))
    text = out.getvalue()
    # A table that does not fit is continued beneath, where its lengths would be missing.
    assert text.count("Model") == len(tables(results))
    assert text.count("Length") == len(tables(results))


def test_the_page_has_a_section_with_figures(results: Results) -> None:
    text = page(results)
    section = text.split('id="section-answers"')[1].split('<details class="section"')[0]
    assert section.count("<figure>") == 2 * 3
    for heading in ("Accuracy", "Follows the instructions", "Copies the example"):
        assert section.count(f'<p class="title">{heading}</p>') == 2
    assert section.count("<span>longest answer</span>") == section.count("<span>first answer</span>") == 1
    assert all(f'<table id="{table.name}"' in section for table in tables(results).values())


def test_tasks_with_nothing_more_to_tell_are_not_on_the_page() -> None:
    rows = make_rows(models=1, items=4, lengths=(2048, 4096))
    plain = measure(rows)
    assert list(tables(plain)) == ["single_doc_qa: gold answers in replies"]
    titles = [table.title for table in answers_tables(plain[ANSWERS])]
    assert titles[:2] == ["counting_stars: accuracy", "counting_stars: instructions"]
    assert not any(title.startswith("passkey") for title in titles)
    text = page(measure(rows.filter(pl.col("task") != "single_doc_qa")))
    assert 'aria-labelledby="answers"' not in text
    assert 'href="#answers"' not in text


def test_only_one_length_and_no_valid_reply(rows: pl.DataFrame) -> None:
    silent = rows.filter(pl.col("length") == LENGTHS[0]).with_columns(
        valid=pl.lit(False), value=pl.lit(0.0), answer=pl.lit(None, dtype=pl.String)
    )
    results = measure(silent)
    shown = tables(results)
    assert {row[3].text for row in shown["tsort: instructions"].rows} == {"0.0"}
    assert [column.label for column in shown["tsort: instructions"].columns[2:]] == ["Valid", "Follows", "Expected"]
    assert "Copies the example" not in page(results)


def test_the_figure_is_drawn(rows: pl.DataFrame, tmp_path: Path) -> None:
    chart = json.loads(plot(rows, "answers", tmp_path / "a.json").read_text())
    titles = [one["title"] for one in chart["concat"]]
    assert titles[0] == "bestanswer: accuracy"
    assert len(titles) == 6
    one = json.loads(plot(rows, "answers", tmp_path / "b.json", models=["lab/copies-7b"]).read_text())
    assert "acme/long-1" not in json.dumps(one)
    others = make_rows(models=1, items=4, lengths=(2048, 4096))
    plain = json.loads(plot(others, "answers", tmp_path / "c.json").read_text())
    assert "counting_stars: follows the instructions" in [one["title"] for one in plain["concat"]]
    with pytest.raises(FathomError, match="no task has a chance level"):
        plot(others.filter(pl.col("task") == "passkey"), "answers", tmp_path / "d.json")


def test_figures_hold_chance_and_shortcuts(rows: pl.DataFrame, results: Results, tmp_path: Path) -> None:
    chart = json.loads(plot(rows, "answers", tmp_path / "a.json").read_text())
    drawn = [
        layer["data"].get("values") or chart["datasets"][layer["data"]["name"]] for layer in chart["concat"][0]["layer"]
    ]
    lines = [records for records in drawn if "level" in records[0] and len(records) > 1]
    levels = [{record["length"]: record["level"] for record in records} for records in lines]
    assert len(levels) == 3
    (one, *_) = points(results, "bestanswer")
    of_all = [point for point in results[ANSWERS] if (point.task, point.length) == (one.task, one.length)]
    for level, name in zip(levels, ("chance", "longest", "first"), strict=True):
        assert level[one.length] == pytest.approx(sum(getattr(point, name) for point in of_all) / len(of_all))


def test_names_from_outside_stay_text(rows: pl.DataFrame) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m"
    text = page(
        measure(
            rows.filter(pl.col("length") <= LENGTHS[1]).with_columns(
                model=pl.lit(hostile) + pl.col("model"), task=pl.lit(hostile) + pl.col("task")
            )
        )
    )
    assert text.count("<script") == 1
    assert "\x1b" not in text
    assert not re.search(r"<h[34]><script", text)


def test_the_command_prints_tables_or_json(rows: pl.DataFrame, tmp_path: Path, call: Call) -> None:
    write_rows(rows, tmp_path / "rows.parquet")
    code, told, _ = call("analyze", "answers", "rows.parquet")
    assert code == 0
    assert "bestanswer: instructions" in told
    assert "tsort: order" in told
    found = json.loads(call("analyze", "answers", "rows.parquet", "--json")[1])
    assert len(found) == 3 * 2 * len(LENGTHS)
    assert {"followed", "copied", "copied_expected", "tau", "thirds"} <= set(found[0])
    assert [third["name"] for third in found[0]["thirds"]] == ["front", "middle", "rear"]


def test_the_command_says_where_there_is_nothing_to_tell(tmp_path: Path, call: Call) -> None:
    plain = make_rows(models=1, items=4, lengths=(2048,)).filter(pl.col("task") == "passkey")
    write_rows(plain, tmp_path / "rows.parquet")
    code, told, notes = call("analyze", "answers", "rows.parquet")
    assert code == 0
    assert "no task in these rows has a chance level above 0" in told + notes
