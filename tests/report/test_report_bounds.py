"""Reports of runs with missing replies: bounds in place of blanks, and the cause of each gap."""

from __future__ import annotations

import json

import polars as pl
import pytest

from fathom.report.made import Report, measured
from fathom.report.sections.lengths import curve_tables
from fathom.report.table import Cell, Table
from fathom.report.tables import tables_of
from fathom.rows import to_frame
from fathom.types import Row

LENGTHS = (2048, 4096, 8192)


def rows_with(*, detail: str = "", status: str = "ok", model: str = "lab/a") -> pl.DataFrame:
    """Two tasks with 15 items, right in 12 of them; one reply to ``b`` at 4k is missing."""
    found = []
    for task in ("a", "b"):
        for item in range(15):
            for length in LENGTHS:
                lost = (task, item, length) == ("b", 0, 4096)
                value = None if lost else float(item % 5 != 1)
                name = f"{task}-{item}"
                found.append(Row("s", task, name, f"{name}@{length}", model, length, value, valid=True, chance=0.0))
    gone = pl.col("value").is_null()
    return to_frame(found).with_columns(
        status=pl.when(gone).then(pl.lit(status)).otherwise("status"),
        detail=pl.when(gone).then(pl.lit(detail)).otherwise("detail"),
    )


@pytest.fixture(scope="module")
def report() -> Report:
    return measured(rows_with(detail="judgement unreadable: no number"))


def table_of(report: Report, name: str) -> Table:
    (only,) = [one for one in tables_of(report.results) if one.name == name]
    return only


def cell(table: Table, row: str, label: str) -> Cell:
    place = [column.label for column in table.columns].index(label)
    (only,) = [cells[place] for cells in table.rows if cells[0].text == row]
    return only


def test_an_unreadable_judgement_leaves_bounds_and_its_task_in_sight(report: Report) -> None:
    scores = table_of(report, "scores-1")
    own = cell(scores, "b", "4k")
    assert (own.text, own.interval) == ("73.3 to 80.0", "(bounds)")
    assert own.note == "1 of 15 replies is missing: between 73.3 with all wrong and 80.0 with all right."
    assert cell(scores, "b", "All lengths").text == "77.8 to 80.0"
    assert cell(scores, "all tasks", "4k").text == "76.7 to 80.0"
    assert cell(scores, "all tasks", "All lengths").text == "78.9 to 80.0"
    # The lengths and tasks without a missing reply keep their scores.
    assert cell(scores, "b", "8k").text == cell(scores, "a", "All lengths").text == "80.0"
    for name in ("longscore-1", "effective-1"):
        assert "b" in [cells[0].text for cells in table_of(report, name).rows]
    assert cell(table_of(report, "longscore-1"), "b", "Base").text == "76.7 to 80.0"
    assert cell(table_of(report, "longscore-1"), "b", "Mean").text == "0.0 to +4.3"


def test_the_headline_has_bounds_without_a_rank(report: Report) -> None:
    headline = table_of(report, "headline")
    own = cell(headline, "lab/a", "Average score")
    assert (own.text, own.interval) == ("78.9 to 80.0", "(bounds)")
    assert "without a rank: between 78.9 with all wrong and 80.0 with all right" in own.note
    assert "78.9 to 80.0" in report.markdown()
    numbers = json.loads(report.text("json"))
    assert numbers["ranking"][0]["score"] is None
    assert numbers["ranking"][0]["bounds"] == pytest.approx({"low": 71 / 90, "high": 0.8})
    scores = {(one["task"], one["length"]): one for one in numbers["scores"]}
    assert scores["b", 4096]["bounds"] == pytest.approx({"low": 11 / 15, "high": 0.8})
    assert scores["b", 8192]["bounds"] is None


def test_a_model_with_bounds_is_not_ranked() -> None:
    rows = pl.concat([rows_with(), *(filled(rows_with(model=name)) for name in ("lab/b", "lab/c"))])
    found = measured(rows)
    headline = table_of(found, "headline")
    assert cell(headline, "lab/a", "Rank").text == "–"
    assert cell(headline, "lab/a", "Average score").text == "78.9 to 80.0"
    assert cell(headline, "lab/b", "Rank").text == cell(headline, "lab/c", "Rank").text == "1–2"


def filled(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.col("value").fill_null(0.0), status=pl.lit("ok"))


@pytest.mark.parametrize(
    ("status", "detail", "sentence"),
    [
        ("error", "timed out", "1 request failed: resume the run"),
        ("error", "not asked yet; run the same command again", "1 prompt was not asked: resume the run"),
        ("ok", "not judged yet by lab/judge: run `fathom judge`", "1 reply is not judged: run `fathom judge`"),
        ("ok", "judgement unreadable: no number", "1 reply has no score: the column `detail` of `fathom rows`"),
    ],
)
def test_each_cause_has_its_own_words_and_remedy(status: str, detail: str, sentence: str) -> None:
    found = measured(rows_with(status=status, detail=detail))
    said = [str(one) for one in found.summary.unmeasured]
    assert any(one.startswith(sentence) for one in said)
    assert sum("1 of 90" in one for one in said) == 1
    assert not any("failed or not judged" in one for one in said)


@pytest.mark.slow
def test_what_was_never_asked_is_not_asked() -> None:
    rows = filled(rows_with())
    never = (pl.col("task") == "b") & (pl.col("length") == 8192)
    unfinished = rows.with_columns(
        value=pl.when(~never).then("value"),
        status=pl.when(never).then(pl.lit("error")).otherwise("status"),
        detail=pl.when(never).then(pl.lit("not asked yet; run the same command again")).otherwise("detail"),
    )
    other = filled(rows_with(model="lab/b"))
    for own in (unfinished, rows.filter(~never)):
        found = measured(pl.concat([own, other]))
        number = [one.model for one in found.results.systems].index("lab/a") + 1
        assert cell(table_of(found, f"scores-{number}"), "b", "8k").text == "not asked"
        assert "lab/a was not asked: b at 8k." in map(str, found.summary.unmeasured)
    counts = table_of(measured(unfinished), "counts")
    assert cell(counts, "b", "Not asked").text == "15"
    assert cell(counts, "b", "Missing").text == "0"


def test_the_curve_of_a_study_has_bounds_too(report: Report) -> None:
    (_, own) = curve_tables(list(report.results.curve.values()))
    assert cell(own, "b", "4k").text == "73.3 to 80.0"
    assert cell(own, "b", "8k").text == "80.0"
