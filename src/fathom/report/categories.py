"""Means of categories, as LongBench makes them: tasks count alike in a category, categories alike in the whole."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis import CategoryScore
from fathom.report import words
from fathom.report.colours import heat_step
from fathom.report.results import ALL, System, system_of
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import beneath_mean

ABOUT = (
    "Mean score in percent of each category, with its 95% interval. Items count alike in a task, tasks in their "
    "category and categories in the whole, whatever their lengths. A dash is a score that is absent, which is not a "
    "score of zero."
)


def category_tables(found: Sequence[CategoryScore], systems: Sequence[System]) -> list[Table]:
    """One table, models down and categories to the right; none where there are no categories."""
    means = {(system_of(one), one.group): one for one in found if one.task == ALL}
    groups = [group for group in dict.fromkeys(group for _, group in means) if group != ALL]
    if not groups:
        return []
    columns = (
        Column("Model", number=False),
        Column("All", help="Mean over categories"),
        *(Column(group.replace("_", " ")) for group in groups),
    )
    rows = tuple(
        (
            Cell(system.name, series=number),
            *(_cell(means.get((system, group)), counts=group == ALL) for group in (ALL, *groups)),
        )
        for number, system in enumerate(systems)
    )
    return [Table("categories", "categories", "Categories", ABOUT, columns, rows)]


def _cell(one: CategoryScore | None, counts: bool) -> Cell:
    if one is None:
        return Cell()
    beneath = beneath_mean(one) if counts else ()
    heat = heat_step(one.score)
    return Cell(words.percent(one.score), words.bounds(one.interval), one.note, heat=heat, beneath=beneath)
