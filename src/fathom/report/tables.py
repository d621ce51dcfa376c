"""The tables of a report."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from fathom.analysis import AverageScore, CategoryScore, Counts, CurvePoint, Filtered, LongScore, Neighbour
from fathom.analysis.ranking import Ranked
from fathom.report import words
from fathom.report.answers import answers_tables, telling_points
from fathom.report.breakdown import breakdown_tables, clusters_of, repeats_tables, thinking_tables
from fathom.report.colours import heat_step
from fathom.report.known import graders_tables, known_tables
from fathom.report.lengths import BOUNDS, DEFINITIONS, effective_cell, effective_lengths, longscore_cells, longscores
from fathom.report.position import contrast_tables
from fathom.report.results import ALL, Results, System, measure, system_of
from fathom.report.setup_tables import setup_tables
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import (
    CHANCE,
    RULES,
    SCORED,
    below_mean,
    bounds_note,
    chance_cell,
    counts_tables,
    failed,
    other_score,
    replies_of,
    scored_cell,
)
from fathom.report.truncation import truncation_tables
from fathom.stats.outcomes import Unanswered
from fathom.stats.shared import Overlap

MANY = 0.9
"""Share of the items of another length below which scores are over noticeably different questions."""
ABOUT = (
    "Mean score in percent of each category, with its 95% interval. Items have the same weight in a task, tasks in "
    "their category and categories in the overall score, whatever their lengths. A dash means that there is no score, "
    "which is different from 0."
)
SCORES = {
    "Average score": "Percent; tasks averaged, then lengths",
    "Mean over questions": "Percent; every question with the same weight, its repeats averaged first: these models "
    "have no average scores over tasks and lengths that can be compared",
}
"""The one average of a report, and what it is."""
BY_QUESTION = (
    "Mean score in percent over a model's questions, every question with the same weight and its repeats averaged "
    "first, with 95% intervals. The difference is to the next model below, in percentage points, over the questions "
    "that both have, paired by item. Ranks, and whether two models are distinguishable, come from one test of all "
    "differences."
)
BASE = "Base: mean at 2k, 4k and 6k; LongScore: mean change from it beyond."
NOT_ASKED = "not asked"
APART = "Nothing was asked of both this model and the next one below."


def tables(rows: pl.DataFrame | Filtered, *, seed: int = 0, unanswered: Unanswered = "zero") -> tuple[Table, ...]:
    """All tables of a report on ``rows``, in reading order.

    Args:
        rows: A rows table (``fathom.rows``), or the result of the closed-book filter.
        seed: Seed of the bootstrap.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).

    Returns:
        The tables as text; the page and the terminal show them and compute nothing.

    Raises:
        FathomError: There are no rows.
    """
    return tables_of(measure(rows, seed=seed, unanswered=unanswered))


def tables_of(results: Results) -> tuple[Table, ...]:
    """All tables of a report on measured results.

    Published averages without replies have only the tables of questions and the settings.
    """
    replies = bool(results.systems)
    return (
        *([headline(results)] if replies else []),
        *setup_tables(results.setups),
        *category_tables(results.categories, results.systems),
        *breakdown_tables(results),
        *thinking_tables(results),
        *(scores(results, system) for system in results.systems),
        *repeats_tables(results),
        *(_of_replies(results) if replies else []),
        Table(
            name="settings",
            section="settings",
            title="Settings",
            about="How the rows were made.",
            columns=(Column("Setting", number=False), Column("Value", number=False)),
            rows=tuple((Cell(label), Cell(value)) for label, value in (*results.settings, *results.made)),
            denominator="none",
        ),
    )


def _of_replies(results: Results) -> tuple[Table, ...]:
    """The tables that need replies, after the scores."""
    broken_down = results.systems if len(results.tasks) > 1 else ()
    # Task by task, a model without any LongScore would fill a page with dashes.
    defined = {system for (system, _), one in results.longscore.items() if not one.undefined}
    return (
        longscores(results, None),
        *(longscores(results, system) for system in broken_down if system in defined),
        effective_lengths(results, None),
        *(effective_lengths(results, system) for system in broken_down),
        *contrast_tables(results.contrasts, results.systems),
        *answers_tables(telling_points(results), results.systems),
        *truncation_tables(results.truncation, results.systems),
        *known_tables(results),
        *graders_tables(results),
        *counts_tables(results),
    )


# Headline


def headline(results: Results) -> Table:
    """One row per model: rank, score, lengths up to which it keeps a level, LongScore, difference, replies."""
    score = "Average score" if results.by_average else "Mean over questions"
    columns = (
        Column("Model", number=False),
        Column("Rank", help="Range of ranks at 95% confidence: models of one range are not distinguishable"),
        Column(score, help=SCORES[score]),
        Column("Keeps 85% of base up to", help=f"In tokens. {DEFINITIONS['own_base'][1]}"),
        Column("Keeps 85.6 (RULER) up to", help=f"In tokens. {DEFINITIONS['ruler'][1]}"),
        Column(
            "LongScore",
            help="How much of its base score a model loses beyond it: mean change from the mean at 2k, 4k and 6k over "
            "the longer lengths that all models have, percent",
        ),
        Column(
            "Difference", help="To the next model below, in percentage points, paired by item", denominator="shared"
        ),
        CHANCE,
        Column(
            "Scored", help="Replies with a score, of all; prompts that were truncated; the cost", denominator="asked"
        ),
    )
    rows = [_headline_row(results, system) for system in results.systems]
    # A single model is not compared.
    kept = [number for number in range(len(columns)) if len(rows) > 1 or number not in (1, 6)]
    about = f"Scores in percent and lengths in tokens, with 95% intervals. {BASE} {RULES[results.unanswered]}"
    return Table(
        name="headline",
        section="headline",
        title="At a glance",
        about=about,
        columns=tuple(columns[number] for number in kept),
        rows=tuple(tuple(row[number] for number in kept) for row in rows),
        denominator="scored",
    )


def _headline_row(results: Results, system: System) -> tuple[Cell, ...]:
    places = {system_of(one): place for place, one in enumerate(results.ranked)}
    one = results.ranked[places[system]] if system in places else None
    compared = one if len(places) > 1 else None
    relative, absolute = (results.effective.get((system, ALL, name)) for name in ("own_base", "ruler"))
    return (
        Cell(system.name, series=results.systems.index(system)),
        Cell(rank_of(compared)) if compared else Cell(),
        _ranked_cell(results, one) if one and not results.by_average else _headline_average(results, system),
        effective_cell(results, relative) if relative else Cell(),
        effective_cell(results, absolute) if absolute else Cell(),
        _longscore_cell(results.longscore.get((system, ALL))),
        _next_below(compared, places[system] + 1) if compared else Cell(),
        chance_cell(results, system, ALL),
        _scored_of(results, system),
    )


def _headline_average(results: Results, system: System) -> Cell:
    """The average score of a system; none if the report's score is another one."""
    if not results.by_average:
        return Cell()
    return _average_cell(results, results.average.get((system, ALL)), _gaps(results, system))


def _scored_of(results: Results, system: System) -> Cell:
    one = results.every(system)
    if one is None:
        return Cell()
    cut = (f"{words.several(one.truncated, 'prompt')} truncated",) if one.truncated else ()
    cost = (words.money(one.cost),) if one.cost else ()
    said = f"{words.count(one.scored)} of {words.count(one.replies)}"
    return Cell(said, below=(*cut, *cost), replies=replies_of(system))


def _ranked_cell(results: Results, one: Ranked) -> Cell:
    return Cell(words.percent(one.mean), words.bounds(one.interval), below=other_score(results, one.mean, one.other))


def _average_cell(results: Results, average: AverageScore | None, note: str) -> Cell:
    if average is None:
        return Cell()
    blank = average.bounds if average.mean is None else None
    why = bounds_note(blank, "Bounds for the missing replies, without a rank")
    together = words.independent(average.items, average.clusters, average.design_effect, average.effective_items)
    said = " ".join(filter(None, (words.sentence(average.note), note, why, together)))
    below = other_score(results, average.mean, average.other)
    if blank:
        return Cell(words.between(blank), BOUNDS, said, below=below)
    return Cell(words.percent(average.mean), words.bounds(average.interval), said, below=below)


def _longscore_cell(one: LongScore | None) -> Cell:
    if one is None:
        return Cell()
    base, mean = longscore_cells(one, ())
    # A caution about the base concerns its ratio; the table of LongScore has the base.
    return mean if mean.note else replace(mean, note=base.note)


def _gaps(results: Results, system: System) -> str:
    average = results.average.get((system, ALL))
    if average is None:
        return ""
    absent = [words.tokens(length) for length in results.lengths if length not in average.lengths]
    if average.mean is None and average.note:
        return ""
    if absent:
        return f"Leaves out {words.listed(absent)}, where not every task has a score."
    missing = [task for task in results.tasks if task not in average.tasks]
    known = [task for task in missing if results.every(system, task)]
    untried = [task for task in missing if task not in known]
    said = [
        f"Leaves out {words.listed(tasks)}, {why}."
        for tasks, why in (
            (known, "where every question was excluded as answered closed-book"),
            (untried, "which the model was not asked"),
        )
        if tasks
    ]
    return " ".join(said)


# Scores


def scores(results: Results, system: System) -> Table:
    """Task by length for one model, coloured by score."""
    number = results.systems.index(system)
    lines = []
    for task in (*results.tasks, *([ALL] if len(results.tasks) > 1 else [])):
        lines.append(
            (
                Cell("all tasks" if task == ALL else task),
                *(_score_cell(results, system, task, length) for length in results.lengths),
                _average_cell(results, results.average.get((system, task)), ""),
                chance_cell(results, system, task),
                scored_cell(results, system, task),
            )
        )
    columns = (
        Column("Task", number=False),
        *(Column(words.length(length), group="Length in tokens") for length in results.lengths),
        Column("All lengths"),
        CHANCE,
        SCORED,
    )
    return Table(f"scores-{number + 1}", "scores", system.name, "", columns, tuple(lines), denominator="scored")


def _score_cell(results: Results, system: System, task: str, length: int) -> Cell:
    made = _scored_cell(results, system, task, length)
    asked = task == ALL or (system, task, length) in results.by_cell
    return replace(made, replies=replies_of(system, task, length)) if asked else made


def _scored_cell(results: Results, system: System, task: str, length: int) -> Cell:
    point = results.curve.get((system, task, length))
    counted = results.by_cell.get((system, task, length))
    if point is None or point.mean is None:
        if counted.not_asked == counted.replies if counted else task != ALL:
            return Cell(NOT_ASKED)
        if point is not None and point.gap:
            below = other_score(results, None, point.other)
            if point.bounds:
                note = bounds_note(point.bounds, point.gap if task != ALL else _lost(point, counted))
                return Cell(words.between(point.bounds), BOUNDS, note, below=below)
            return Cell(note=f"Not measured: {point.gap}.", below=below)
        if counted is not None and counted.scored:
            return Cell(note="Every question here was excluded as answered closed-book.")
        reason = failed(counted) if counted else ""
        return Cell(note=f"No reply was scored: {reason}." if reason else "")
    note = f"This score is not used in any mean: {point.gap}." if point.gap else ""
    if point.bounds and not note:
        note = bounds_note(point.bounds, _lost(point, counted))
    if not point.complete and not note:
        note = "Some tasks have no score here: do not compare with the other lengths."
    most = max(results.curve[key].items for key in results.curve if key[:2] == (system, task))
    fewer = point.items < MANY * most
    if fewer and not note and not point.note:
        note = "Fewer items than at another length: the questions are not all the same."
    below = (
        *other_score(results, point.mean, point.other),
        *([f"{words.count(point.items)} items"] if fewer else []),
    )
    return Cell(words.percent(point.mean), words.bounds(point.interval), note, heat_step(point.mean), below=below)


def _lost(point: CurvePoint, counted: Counts | None) -> str:
    """How many replies of a point have no score: "2 of 90 replies have no score"."""
    lost = point.missing + point.scorer_error
    of = f" of {words.count(counted.replies)}" if counted else ""
    return f"{words.count(lost)}{of} replies {'has' if lost == 1 else 'have'} no score"


def category_tables(found: Sequence[CategoryScore], systems: Sequence[System]) -> list[Table]:
    """One table with a row per model and a column per category; no table without categories."""
    means = {(system_of(one), one.group): one for one in found if one.task == ALL}
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


def _cell(one: CategoryScore | None, counts: bool) -> Cell:
    if one is None:
        return Cell()
    below = below_mean(one) if counts else ()
    heat = heat_step(one.score)
    return Cell(words.percent(one.score), words.bounds(one.interval), one.note, heat=heat, below=below)


def rank_of(one: Ranked | Neighbour) -> str:
    """A rank, or a range of ranks."""
    return str(one.best) if one.best == one.worst else f"{one.best}–{one.worst}"


def _next_below(one: Ranked, below: int) -> Cell:
    if below == len(one.gaps):
        return Cell()
    gap = one.gaps[below]
    if gap is None:
        return Cell(note=APART)
    p_value = words.chance_of(gap.p_value)
    if not one.significant[below]:
        p_value += ", not significant" if gap.p_value >= 0.05 else ", not significant among all"
    over = overlap_of(one.overlaps[below])
    return Cell(
        words.change(gap.difference),
        words.bounds(gap.interval, signed=True),
        below=(p_value, *([over] if over else [])),
    )


def overlap_of(overlap: Overlap) -> str:
    """What a difference is over, if one of the two has more: "on 12 of 20 cells, up to 8k", "on 15 of 60 samples"."""
    if not overlap.partial:
        return ""
    if overlap.cells == overlap.of:
        return f"on {words.count(overlap.samples)} of {words.count(overlap.samples_of)} samples"
    over = f"on {words.count(overlap.cells)} of {words.count(overlap.of)}"
    return f"{over} cells, up to {words.tokens(overlap.longest)}" if overlap.longest else f"{over} questions"


def neighbour_tables(found: Sequence[Neighbour], systems: Sequence[System] = ()) -> list[Table]:
    """The table of models by their mean over questions, for a terminal; no table without models.

    Args:
        found: Result of ``fathom.analysis.neighbours``, the highest score first.
        systems: Models and variants in the order of their colours; others have no colour.
    """
    if not found:
        return []
    numbers = {tuple(system): number for number, system in enumerate(systems)}
    columns = (
        Column("Model", number=False),
        Column("Rank"),
        Column("Score"),
        Column("Questions"),
        Column("Difference", help="To the next model below, in percentage points", denominator="shared"),
        Column("Distinguishable", number=False, help="From the next model below"),
    )
    rows = tuple(
        (
            Cell(System(one.model, one.variant).name, series=numbers.get((one.model, one.variant))),
            Cell(rank_of(one)),
            Cell(words.percent(one.score), words.bounds(one.interval), below=below_mean(one)),
            Cell(words.count(one.questions), below=clusters_of(one.questions, one.clusters)),
            _gap(one),
            _mark(one, last=number == len(found)),
        )
        for number, one in enumerate(found, start=1)
    )
    title = "Models by their mean over questions"
    return [Table("by-question", "ranks", title, BY_QUESTION, columns, rows, denominator="scored")]


def _gap(one: Neighbour) -> Cell:
    if one.gap is None:
        return Cell()
    below = () if one.p_value is None else (words.chance_of(one.p_value),)
    return Cell(words.change(one.gap), words.bounds(one.gap_interval, signed=True), below=below)


def _mark(one: Neighbour, *, last: bool) -> Cell:
    if last:
        return Cell()
    if one.gap is None:
        return Cell(note=APART)
    return Cell("no" if one.tied else "yes")
