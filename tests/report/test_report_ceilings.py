"""A report shows how much of the references of summaries the excerpts in prompts can support."""

from __future__ import annotations

import json

import polars as pl
import pytest
from report_rows import make_rows

from fathom.report.measure import measure
from fathom.report.sections.ceilings import CEILINGS, ceilings
from fathom.report.tables import tables_of


def rows(coverages: dict[str, float]) -> pl.DataFrame:
    """Rows of two models, whose samples of each task have such a coverage and a support of .9."""
    made = make_rows(models=2, tasks=2, items=4, failures=False)
    names = dict(zip(sorted(made["task"].unique()), coverages.values(), strict=True))
    texts = {name: json.dumps({"coverage": share, "support": 0.9}) for name, share in names.items()}
    return made.with_columns(facets=pl.col("task").replace_strict(texts))


def test_tasks_whose_excerpts_lack_words_have_a_ceiling_and_the_others_none() -> None:
    made = rows({"first": 0.6, "second": 1.0})
    first = sorted(made["task"].unique())[0]
    results = measure(made)
    (ceiling,) = results[CEILINGS]
    samples = made.filter(task=first)["sample"].n_unique()
    assert (ceiling.task, ceiling.items) == (first, samples)
    assert (ceiling.mean, ceiling.kept) == pytest.approx((0.6, 0.9))  # the last bit depends on the version of polars
    (table,) = [table for table in tables_of(results) if table.section == "ceilings"]
    assert [cell.text for cell in table.rows[0][1:]] == [str(samples), "60.0", "60.0", "90.0"]


def test_rows_without_these_facets_have_no_ceilings() -> None:
    results = measure(make_rows(models=1, tasks=1, items=4))
    assert results[CEILINGS] == ()
    assert [table for table in tables_of(results) if table.section == "ceilings"] == []
    assert ceilings(make_rows(models=1, tasks=1, items=4)) == []
