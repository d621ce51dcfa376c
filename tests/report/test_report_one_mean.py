"""A number of a report stands with one interval, and a chance level is either known or not."""

from __future__ import annotations

import polars as pl
import pytest
from pro_rows import make_pro
from report_rows import make_rows

from fathom.report.measure import measure
from fathom.report.results import ALL
from fathom.report.summary import summary
from fathom.report.tables import headline, tables_of

BOTH_MEANS = ("Average score", "Mean over questions", "Best of 1", "All lengths", "8k", "16k", "32k")


@pytest.mark.slow
def test_a_mean_over_tasks_that_is_one_over_questions_too_has_one_interval() -> None:
    """Two questions of each of 25 tasks at each of three lengths: both kinds of mean are the same number."""
    results = measure(make_pro({("deep-1", "thinking"): 0.5}, questions=150))
    shown: dict[str, set[str]] = {}
    for table in tables_of(results):
        for row in table.rows:
            if row[0].text in (results.systems[0].name, "all tasks"):
                for column, cell in zip(table.columns, row, strict=True):
                    if column.label in BOTH_MEANS and cell.interval:
                        shown.setdefault(cell.text, set()).add(cell.interval)
    assert len(shown) == 4  # one over all questions, three by length
    assert {text: len(intervals) for text, intervals in shown.items()} == dict.fromkeys(shown, 1)


def test_a_chance_level_that_is_shown_is_not_called_unknown() -> None:
    """No length has every task, so that no average score has a chance level, but lengths have one."""
    rows = make_rows(models=1, tasks=2, failures=False, items=4).with_columns(chance=pl.lit(0.058))
    first = rows["task"].sort()[0]
    apart = rows.filter((pl.col("task") == first) == (pl.col("length") == rows["length"].min()))
    results = measure(apart)
    assert results.average[results.systems[0], ALL].chance is None
    chance = [cell for cell, column in zip(headline(results).rows[0], headline(results).columns, strict=True)
              if column.label == "Chance"]  # fmt: skip
    assert [cell.text for cell in chance] == ["5.8"]
    assert "unknown" not in " ".join(summary(results).notes)
