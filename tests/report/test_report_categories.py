"""Categories in a report: LongBench's averages, also where no length has all tasks."""

from __future__ import annotations

import polars as pl
import pytest

from fathom.report.measure import measure
from fathom.report.page import page
from fathom.report.sections.categories import CATEGORIES
from fathom.report.tables import headline, tables_of
from fathom.rows import to_frame
from fathom.types import Row


def rows_of(scores: dict[tuple[str, str, int], float], *, categories: bool = True) -> pl.DataFrame:
    """Ten items a task, each at its one length: scores by (category, task, length), for two models."""
    return to_frame(
        [
            Row(
                suite="natural",
                task=task,
                item=f"{task}/{number}",
                sample=f"{task}/{number}@{length}",
                model=model,
                length=length,
                value=value if model == "one" else value / 2,
                valid=True,
                facets={"category": category} if categories else {},
            )
            for model in ("one", "other")
            for (category, task, length), value in scores.items()
            for number in range(10)
        ]
    )


SCORES = {
    ("code", "lcc", 2048): 0.5,
    ("single_doc_qa", "qasper", 4096): 0.2,
    ("single_doc_qa", "narrativeqa", 8192): 0.4,
}


@pytest.mark.slow
def test_a_report_shows_categories_and_their_mean() -> None:
    (table,) = (one for one in tables_of(measure(rows_of(SCORES))) if one.section == "categories")
    assert [column.label for column in table.columns] == ["Model", "Mean over categories", "single doc qa", "code"]
    assert [cell.text for cell in table.rows[0]] == ["one", "40.0", "30.0", "50.0"]
    assert [cell.text for cell in table.rows[1]] == ["other", "20.0", "15.0", "25.0"]
    assert all(cell.interval for row in table.rows for cell in row[1:])
    text = page(measure(rows_of(SCORES)))
    assert 'id="section-categories"' in text


@pytest.mark.slow
def test_a_report_without_categories_has_no_such_section() -> None:
    results = measure(rows_of(SCORES, categories=False))
    assert not [one for one in tables_of(results) if one.section == "categories"]
    assert "section-categories" not in page(results)


@pytest.mark.parametrize("models", [("one", "other"), ("one",)])
def test_the_one_score_is_the_mean_over_questions_where_no_length_has_all_tasks(models: tuple[str, ...]) -> None:
    rows = rows_of(SCORES)
    table = headline(measure(rows.filter(rows["model"].is_in(models))))
    (score,) = [number for number, column in enumerate(table.columns) if column.label == "Mean over questions"]
    assert [(row[0].text, row[score].text) for row in table.rows][:1] == [("one", "36.7")]
    assert table.rows[0][score].interval
    assert "Average score" not in [column.label for column in table.columns]


@pytest.mark.slow
@pytest.mark.parametrize("one", [{("code", "lcc", 2048): 0.5}, {("code", "a", 2048): 0.5, ("code", "b", 2048): 0.1}])
def test_one_category_is_no_breakdown(one: dict[tuple[str, str, int], float]) -> None:
    assert not measure(rows_of(one))[CATEGORIES]
