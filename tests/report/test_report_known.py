"""Prior knowledge and graders in the report: what was removed, what it means, and no length 0 anywhere."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hundred_rows import JUDGE, make_hundred

from fathom.analysis import known_filter
from fathom.report.measure import measure
from fathom.report.page import page
from fathom.report.results import ALL, Results, System
from fathom.report.summary import summary
from fathom.report.table import Table
from fathom.report.tables import tables_of
from fathom.types import FathomError

TASKS = ("kv_retrieval", "single_doc_qa", "multi_doc_qa")
LARGE = System("lab/large", "")


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    # Three tasks under another name draw few figures.
    return make_hundred(items=8).filter(pl.col("task").is_in(TASKS)).with_columns(suite=pl.lit("mine"))


@pytest.fixture(scope="module")
def results(rows: pl.DataFrame) -> Results:
    return measure(rows)


def table_of(results: Results, name: str) -> Table:
    (found,) = [table for table in tables_of(results) if table.name == name]
    return found


def said(results: Results) -> str:
    return str(summary(results))


@pytest.mark.slow
def test_the_table_says_what_was_removed_for_whom(results: Results) -> None:
    table = table_of(results, "known")
    assert results.filtered is not None
    shown = {(row[0].text, row[1].text): [cell.text for cell in row[2:]] for row in table.rows}
    for one in results.filtered.removed:
        cells = shown[one.model, one.task]
        assert cells[0] == str(one.questions)
        assert cells[2:7] == [str(n) for n in (one.asked, one.known, one.abstained, one.unscored, one.removed)]
        assert cells[7] == f"{100 * one.removed / one.questions:.1f}"
    assert len(shown) == 6
    assert "Policy intersection" in table.about
    assert "50.0% or more" in table.about
    assert "in the paper each excludes its own (policy own)" in table.about
    gone, questions = results.filtered.distinct
    assert f"excluded {gone} of {questions} questions for all models" in said(results)


@pytest.mark.slow
def test_a_mean_is_over_the_questions_that_are_left(rows: pl.DataFrame, results: Results) -> None:
    kept = known_filter(rows).rows.filter(
        (pl.col("model") == LARGE.model) & (pl.col("task") == "single_doc_qa") & (pl.col("length") == 2048)
    )
    mean = kept.group_by("item").agg(pl.col("value").mean())["value"].mean()
    assert results.curve[LARGE, "single_doc_qa", 2048].mean == pytest.approx(mean)
    assert results.by_task[LARGE, "single_doc_qa"].replies == len(kept) * len(results.lengths)
    every = results.every(LARGE, "single_doc_qa")
    assert every is not None
    assert every.replies == 8 * 3 * len(results.lengths)
    assert "Excluded closed-book questions are counted here" in table_of(results, "counts").about


@pytest.mark.slow
def test_a_warning_stands_on_the_page_and_in_the_first_paragraph(rows: pl.DataFrame) -> None:
    own = measure(known_filter(rows, "own"))
    warning = "are averaged over different questions"
    assert warning in said(own)
    assert warning in table_of(own, "known").about
    assert warning in page(own)


@pytest.mark.slow
def test_what_is_not_filtered_is_said_too(rows: pl.DataFrame) -> None:
    unfiltered = measure(known_filter(rows, "none"))
    assert "No closed-book questions are excluded, although" in said(unfiltered)
    assert {row[8].text for row in table_of(unfiltered, "known").rows} == {"0"}


@pytest.mark.slow
def test_length_0_is_no_length(results: Results) -> None:
    assert 0 not in results.lengths
    assert {length for _, length in results.by_length} == set(results.lengths)
    for table in tables_of(results):
        assert "0" not in [column.label for column in table.columns]
        assert "0" not in [row[0].text for row in table.rows], table.name
    assert "from 2k to 64k" in said(results)
    assert not re.search(r">0k?</text>", page(results))


@pytest.mark.slow
def test_rows_without_closed_book_questions_have_no_such_section(rows: pl.DataFrame) -> None:
    bare = measure(rows.filter(pl.col("length") > 0))
    assert not [table for table in tables_of(bare) if table.section == "known"]
    assert "prior-knowledge" not in page(bare)
    assert "prior-knowledge filter" not in said(bare)


def test_rows_that_are_all_closed_book_are_refused(rows: pl.DataFrame) -> None:
    with pytest.raises(FathomError, match="closed-book or have truncated prompts"):
        measure(rows.filter(pl.col("length") == 0))


@pytest.mark.slow
def test_a_task_whose_questions_are_all_known_says_so(rows: pl.DataFrame) -> None:
    known = (pl.col("task") == "multi_doc_qa") & (pl.col("length") == 0)
    certain = rows.with_columns(
        value=pl.when(known).then(1.0).otherwise("value"),
        answer=pl.when(known).then(pl.lit("7")).otherwise("answer"),
    )
    results = measure(certain)
    table = table_of(results, "scores-1")
    assert "Every question here was excluded as answered closed-book." in table.notes
    assert (
        "Leaves out multi_doc_qa, where every question was excluded as answered closed-book."
        in table_of(results, "headline").notes
    )
    assert "No question of multi_doc_qa is left for lab/large" in table_of(results, "known").about
    assert results.curve[LARGE, ALL, 2048].mean is not None


def test_failed_judgements_are_counted_apart(rows: pl.DataFrame, results: Results) -> None:
    judged = rows.filter(pl.col("grader") == JUDGE)
    failed = judged["value"].null_count()
    assert failed > 0
    table = table_of(results, "graders")
    assert sum(int(row[4].text) for row in table.rows if row[2].text == JUDGE) == failed
    assert f"{failed} of {len(judged):,} replies for a judge have no judgement" in table.about
    assert "without a judge" not in table.about


@pytest.mark.slow
def test_scores_without_a_judge_are_called_so() -> None:
    table = table_of(measure(make_hundred(models=1, items=4, judged=False)), "graders")
    assert "single_doc_qa and multi_doc_qa were scored by token F1, without a judge" in table.about
    assert "single_doc_summary and multi_doc_summary were scored by ROUGE-L, without a judge" in table.about
    assert "have no judgement" not in table.about


@pytest.mark.slow
def test_scores_of_different_graders_are_not_compared(rows: pl.DataFrame) -> None:
    plain = rows.with_columns(model=pl.lit("lab/other"), grader=pl.lit("token F1"))
    table = table_of(measure(pl.concat([rows, plain])), "graders")
    assert "The scores of single_doc_qa come from different graders" in table.about
    assert "The scores of kv_retrieval come from" not in table.about


def test_questions_and_items_are_told_apart(results: Results) -> None:
    settings = dict(results.settings)
    assert settings["Items of single_doc_qa"].startswith("8 with 24 questions")
    assert "Items of multi_doc_qa" not in settings


@pytest.mark.slow
def test_names_from_outside_stay_text(rows: pl.DataFrame) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m"
    rows = rows.with_columns(
        model=pl.lit(hostile) + pl.col("model"),
        task=pl.lit(hostile) + pl.col("task"),
        grader=pl.lit(f"judge {hostile}"),
    )
    text = page(measure(known_filter(rows, "own")))
    assert text.count("<script") == 1
    assert "\x1b" not in text
