"""What tables of differences say: plain and adjusted p-values, shared cells, and what clusters count as."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from report_rows import make_rows

from fathom import analysis
from fathom.report import words
from fathom.report.measure import measure
from fathom.report.sections import position
from fathom.report.sections.position import CONTRASTS
from fathom.report.studies import tables_of
from fathom.report.tables import tables
from fathom.rows import to_frame
from fathom.types import Row


def reply(value: float, item: int, *, model: str = "a", task: str = "kv", length: int = 2048, **facets: str) -> Row:
    name = f"{task}/{item}"
    return Row(
        "s", task, name, f"{name}@{length}", model, length, value, variant="", epoch=1, status="ok", valid=True,
        chance=0.0, facets=facets,
    )  # fmt: skip


def test_p_values_are_adjusted_beside_the_plain_ones() -> None:
    assert words.chances_of(0.012, 0.048) == ("p 0.012", "adjusted 0.048")
    assert words.chances_of(0.0001, 0.0002) == ("p < 0.001",)
    assert words.chances_of(1.0, 1.0) == ("p 1.000",)
    rows = [
        reply(float(item < right), item, model=model, length=length)
        for model, right in (("a", 18), ("b", 8))
        for length in (2048, 8192)
        for item in range(20)
    ]
    (table,) = tables_of(analysis.compare(to_frame(rows), "a", "b"))
    below = [cell.below for row in table.rows for cell in row[1:4]]
    assert all(len(lines) == 2 and lines[1].startswith("adjusted 0.0") for lines in below)
    assert "for all 6 differences together" in table.about
    assert "cells" not in " ".join(map(str, table.rows[0]))


def test_runs_of_other_lengths_and_tasks_are_compared_on_what_they_share() -> None:
    rows = [reply(float(item < 9), item, length=length) for length in (2048, 8192) for item in range(12)]
    rows += [reply(1.0, item, task="qa") for item in range(12)]
    rows += [reply(float(item < 9), item, model="b", length=length) for length in (2048, 32768) for item in range(12)]
    found = {(one.task, one.length): one for one in analysis.compare(to_frame(rows), "a", "b")}
    whole = found["all", None]
    assert (whole.difference, whole.p_value, whole.cells, whole.cells_of) == (0.0, 1.0, 1, 4)
    (table,) = tables_of(list(found.values()))
    assert table.rows[-1][0].text == "all tasks"
    assert table.rows[-1][2].below == ("p 1.000", "on 1 of 4 cells")
    assert analysis.compare(to_frame(rows), "a", "b")[0].p_adjusted == 1.0
    assert "A cell is a task at a length" in table.about


def test_groups_that_differ_say_so_and_others_do_not() -> None:
    rows = [
        reply(float(group == "x" or item % 2 == 0), item + 40 * (group == "x"), kind=group)
        for group in "xy"
        for item in range(40)
    ]
    (table,) = tables_of(analysis.breakdown(to_frame(rows), by=("overall", "kind")))
    x, y = table.rows[0][2:]
    assert x.below == ("+50.0 to the rest", "adjusted < 0.001")
    assert y.below == ("−50.0 to the rest", "adjusted < 0.001")
    even = [reply(float(item % 2), item, kind="xy"[item // 2 % 2]) for item in range(40)]
    (table,) = tables_of(analysis.breakdown(to_frame(even), by=("overall", "kind")))
    assert all(cell.below == () for cell in table.rows[0])


def test_an_average_says_what_its_clusters_count_as() -> None:
    rng = np.random.default_rng(0)
    rows = [
        reply(float(rng.random() < luck), 5 * book + item, length=length, cluster=f"book-{book}")
        for book, luck in enumerate((0.95, 0.1, 0.9, 0.2, 0.8, 0.1))
        for item in range(5)
        for length in (2048, 8192)
    ]
    (average,) = [one for one in analysis.average_scores(to_frame(rows)) if one.task == "kv"]
    assert (average.items, average.clusters) == (30, 6)
    assert average.design_effect is not None
    assert average.effective_items is not None
    assert average.design_effect > 1.5
    assert average.effective_items == pytest.approx(30 / average.design_effect)
    (headline,) = [table for table in tables(to_frame(rows)) if table.name == "headline"]
    said = f"count as {average.effective_items:.1f} independent ones (design effect {average.design_effect:.1f})."
    assert f"30 items in 6 clusters, which are resampled together, {said}" in headline.notes
    (adjacent,) = tables_of(analysis.neighbours(to_frame(rows)))
    assert adjacent.rows[0][3].below == ("60 questions in 6 clusters",)
    alone = [dataclasses.replace(row, facets={}) for row in rows]
    (headline,) = [table for table in tables(to_frame(alone)) if table.name == "headline"]
    assert not any("clusters" in note for note in headline.notes)
    assert words.independent(5, 5, 1.0, 5.0) == words.independent(None, None, None, None) == ""
    assert words.independent(5, 2, None, None) == "5 items in 2 clusters, which are resampled together."


@pytest.mark.slow
def test_the_finding_on_positions_is_on_significant_differences_alone() -> None:
    results = measure(make_rows(models=1, tasks=3, lengths=(2048, 8192), items=20))
    first = dataclasses.replace(results[CONTRASTS][0], difference=0.3, p_value=0.001, p_adjusted=0.2)
    apart = dataclasses.replace(results, of_sections={CONTRASTS.name: (first,)})
    assert position.SECTION.finding(apart) == "No difference between positions is significant after adjustment."
    apart = dataclasses.replace(results, of_sections={CONTRASTS.name: (dataclasses.replace(first, p_adjusted=0.01),)})
    assert position.SECTION.finding(apart).startswith("Largest difference: front − middle +30.0 points")
