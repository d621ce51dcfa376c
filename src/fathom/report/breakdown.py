"""Scores by groups of questions: language, difficulty, length, how much of the context is needed, task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fathom.analysis import GroupScore
from fathom.analysis.groups import place
from fathom.report import words
from fathom.report.by_question import OVERALL, ByQuestion, order
from fathom.report.colours import heat_step
from fathom.report.labels import label, legend, title
from fathom.report.results import ALL, Results, System
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import beneath_mean

ABOUT = (
    "Mean score in percent over the questions of a group. Every question counts alike, whatever its task and length; "
    "its repeats are averaged first. A dash is a score that is absent, which is not a score of zero."
)
INTERVALS = (
    "Ranges are 95% intervals over questions. They draw questions from all tasks together, while those under "
    "“Scores” and “At a glance” of a report draw them within each task and weigh tasks alike, so that the two differ "
    "a little."
)
PUBLISHED = (
    "Scores without an interval are averages as they were published, without the replies behind them; a reply that "
    "failed counts as 0 in them."
)
REQUIREMENT = ("Full", "Partial")
WHAT = {"mean": "Score", "best_of": "Best of {n}", "pass_at": "Pass at {n}"}


def breakdown_tables(results: Results) -> list[Table]:
    """One table a dimension: models down, the highest overall score first, groups to the right."""
    found = results.by_question
    return [
        _table(found, dimension, results.systems, about(found) if number == 0 else "")
        for number, dimension in enumerate(found.dimensions)
    ]


def score_tables(scores: Sequence[GroupScore]) -> list[Table]:
    """Tables of any scores of groups, for a terminal: one for each measure and dimension, best of 2 and of 3 apart.

    Args:
        scores: What ``fathom.analysis.breakdown`` gave, the whole (``overall``) among them.
    """
    tables: list[Table] = []
    for measure, n in dict.fromkeys((one.measure, 0 if one.measure == "mean" else one.n) for one in scores):
        part = tuple(one for one in scores if one.measure == measure and n in (0, one.n))
        found = ByQuestion(systems=order(part), scores=part)
        for dimension in dict.fromkeys(one.dimension for one in part if one.dimension != OVERALL) or (OVERALL,):
            table = _table(found, dimension, (), about(found) if not tables else "")
            heading = title(dimension, WHAT[measure].format(n=n)) if dimension != OVERALL else WHAT[measure].format(n=n)
            tables.append(replace(table, title=heading, detail=False))
    return tables


def cells_of(found: ByQuestion, dimension: str) -> dict[tuple[str, str], dict[str, GroupScore]]:
    """Mean scores of a dimension by system and group, ``all`` among them."""
    cells: dict[tuple[str, str], dict[str, GroupScore]] = {system: {} for system in found.systems}
    for one in found.scores:
        if one.dimension in (dimension, OVERALL) and (one.model, one.variant) in cells:
            cells[one.model, one.variant][one.group if one.dimension == dimension else ALL] = one
    return {system: groups for system, groups in cells.items() if set(groups) - {ALL} or dimension == OVERALL}


def groups_of(found: ByQuestion, dimension: str) -> list[str]:
    """The groups of a dimension, in the order of the papers."""
    return sorted({one.group for one in found.scores if one.dimension == dimension != OVERALL}, key=place)


def about(found: ByQuestion) -> str:
    """What is to be said of these scores."""
    said = [ABOUT]
    if any(one.interval is not None for one in found.scores):
        said.append(INTERVALS)
    if found.published:
        said.append(PUBLISHED)
    return " ".join(said)


def _table(found: ByQuestion, dimension: str, systems: Sequence[System], first: str) -> Table:
    groups = groups_of(found, dimension)
    numbers = {System(*system): number for number, system in enumerate(systems)}
    differing = tuple(groups) == REQUIREMENT
    columns = (
        Column("Model", number=False),
        Column("All", help="Mean over all questions"),
        *(Column(label(dimension, group), help=_help(dimension, group)) for group in groups),
        *([Column("Partial − Full", help="Difference in percentage points")] if differing else []),
    )
    rows = tuple(
        (
            Cell(System(*system).name, series=numbers.get(System(*system))),
            _cell(scores.get(ALL), counts=True),
            *(_cell(scores.get(group)) for group in groups),
            *([_difference(scores)] if differing else []),
        )
        for system, scores in cells_of(found, dimension).items()
    )
    name = f"breakdown-{dimension.replace('_', '-')}"
    names = "; ".join(legend(groups))
    said = " ".join(filter(None, (first, f"{names}." if names else "")))
    folded = dimension == "secondary_task"
    return Table(name, "breakdown", title(dimension), said, columns, rows, detail=folded)


def _help(dimension: str, group: str) -> str:
    short = label(dimension, group)
    return next((name.removeprefix(f"{short} ") for name in legend([group])), "")


def _cell(one: GroupScore | None, counts: bool = False) -> Cell:
    if one is None:
        return Cell()
    beneath = beneath_mean(one) if counts else ()
    note = words.sentence(one.note)
    return Cell(words.percent(one.score), words.bounds(one.interval), note, heat_step(one.score), beneath=beneath)


def _difference(scores: Mapping[str, GroupScore]) -> Cell:
    full, partial = (scores.get(group) for group in REQUIREMENT)
    return Cell(words.change(partial.score - full.score)) if full and partial else Cell()
