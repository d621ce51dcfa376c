"""The section on categories of tasks: their means, as in LongBench."""

from collections.abc import Sequence

from fathom.analysis import CategoryScore
from fathom.analysis.categories import category_groups, category_scores
from fathom.printing import printable
from fathom.report import words
from fathom.report.colours import heat_step
from fathom.report.results import ALL, Measurement, Results, System, grouped, system_of
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Fields, Table, table_of
from fathom.report.tally import below_mean

ABOUT = (
    "Mean score in percent of each category, with its 95% interval. Items have the same weight in a task, tasks in "
    "their category and categories in the overall score, whatever their lengths. A dash means that there is no score, "
    "which is different from 0."
)
CATEGORIES = Measurement(
    "categories",
    lambda rows, groups: category_scores(rows.scored, groups, seed=rows.seed),
    common=lambda rows: category_groups(rows.scored),
)
TASKS: Fields[CategoryScore] = (
    (Column("Task", number=False), lambda score: Cell(printable(score.task))),
    (Column("Category", number=False), lambda score: Cell(printable(score.group))),
    (Column("Score"), lambda score: Cell(words.percent(score.score), words.bounds(score.interval), score.note)),
    (Column("Items"), lambda score: Cell(words.count(score.items))),
)


def category_tables(scores: Sequence[CategoryScore], systems: Sequence[System]) -> list[Table]:
    """One table with a row per model and a column per category; no table without categories."""
    means = {(system_of(score), score.group): score for score in scores if score.task == ALL}
    groups = [group for group in dict.fromkeys(group for _, group in means) if group != ALL]
    if not groups:
        return []
    columns = (
        Column("Model", number=False),
        Column("Mean over categories", help="Not the average of the ranking: categories have the same weight"),
        *(Column(group.replace("_", " ")) for group in groups),
    )
    rows = tuple(
        (
            Cell(system.name, series=number),
            *(_cell(means.get((system, group)), counts=group == ALL) for group in (ALL, *groups)),
        )
        for number, system in enumerate(systems)
    )
    return [Table("categories", "categories", "Categories", ABOUT, columns, rows, denominator="scored")]


def _cell(score: CategoryScore | None, counts: bool) -> Cell:
    if score is None:
        return Cell()
    below, heat = below_mean(score) if counts else (), heat_step(score.score)
    return Cell(words.percent(score.score), words.bounds(score.interval), score.note, heat=heat, below=below)


def _study_tables(scores: Sequence[CategoryScore]) -> list[Table]:
    """A row per model and a column per category; if tasks are among the results, then each model task by task."""
    systems = list(dict.fromkeys(map(system_of, scores)))
    tables = category_tables(scores, systems)
    tasks = grouped((score for score in scores if score.task != ALL), system_of)
    for system in systems:
        if system in tasks:
            name = f"categories-{len(tables)}"
            tables.append(table_of(name, system.name, TASKS, tasks[system], denominator="scored"))
    return tables


def _finding(results: Results) -> str:
    scored = [
        score for score in results[CATEGORIES] if score.task == ALL and score.group != ALL and score.score is not None
    ]
    if not scored:
        return ""
    low, high = (pick(scored, key=lambda score: score.score or 0.0) for pick in (min, max))
    ends = [
        f"{words.percent(score.score)} on {score.group}{results.of_system(system_of(score))}" for score in (low, high)
    ]
    return f"From {ends[0]} to {ends[1]}."


SECTION = Section(
    name="categories",
    title="Categories",
    finding=_finding,
    tables=lambda results: category_tables(results[CATEGORIES], results.systems),
    tables_class="heat",
    measurements=(CATEGORIES,),
    studies={CategoryScore: _study_tables},
)
