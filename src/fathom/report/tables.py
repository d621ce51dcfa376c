"""The tables of a report: the ranking of its models, then those of its sections."""

from dataclasses import replace

import polars as pl

from fathom.analysis import Definition, Filtered, LongScore
from fathom.analysis.ranking import Ranked
from fathom.report import words
from fathom.report.measure import measure
from fathom.report.results import ALL, Results, System, system_of
from fathom.report.sections import SECTIONS
from fathom.report.sections.lengths import DEFINITIONS, effective_cell, longscore_cells
from fathom.report.sections.scores import average_cell
from fathom.report.table import Cell, Column, Fields, Table, table_of
from fathom.report.tally import APART, CHANCE, RULES, chance_cell, other_score, rank_of, replies_of
from fathom.stats.outcomes import Unanswered
from fathom.stats.shared import Overlap

SCORES = {
    "Average score": "Percent; tasks averaged, then lengths",
    "Mean over questions": "Percent; every question with the same weight, its repeats averaged first: these models "
    "have no average scores over tasks and lengths that can be compared",
}
"""The one average of a report, and what it is."""
BASE = "Base: mean at 2k, 4k and 6k; LongScore: mean change from it beyond."


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
    ranking = [headline(results)] if results.systems else []
    return (
        *ranking,
        *(replace(table, section=section.name) for section in SECTIONS for table in section.tables(results)),
    )


# The ranking


def headline(results: Results) -> Table:
    """One row per model: rank, score, lengths up to which it keeps a level, LongScore, difference, replies."""
    score = "Average score" if results.by_average else "Mean over questions"
    fields: Fields[System] = (
        (Column("Model", number=False), lambda system: Cell(system.name, series=results.systems.index(system))),
        (
            Column("Rank", help="Range of ranks at 95% confidence: models of one range are not distinguishable"),
            lambda system: Cell(rank_of(places[system][1])) if system in places else Cell(),
        ),
        (Column(score, help=SCORES[score]), lambda system: _score(results, system)),
        (
            Column("Keeps 85% of base up to", help=f"In tokens. {DEFINITIONS['own_base'][1]}"),
            lambda system: _effective(results, system, "own_base"),
        ),
        (
            Column("Keeps 85.6 (RULER) up to", help=f"In tokens. {DEFINITIONS['ruler'][1]}"),
            lambda system: _effective(results, system, "ruler"),
        ),
        (
            Column(
                "LongScore",
                help="How much of its base score a model loses beyond it: mean change from the mean at 2k, 4k and 6k "
                "over the longer lengths that all models have, percent",
            ),
            lambda system: _longscore(results.longscore.get((system, ALL))),
        ),
        (
            Column(
                "Difference", help="To the next model below, in percentage points, paired by item", denominator="shared"
            ),
            lambda system: _next_below(*places[system]) if system in places else Cell(),
        ),
        (CHANCE, lambda system: chance_cell(results, system, ALL)),
        (
            Column(
                "Scored",
                help="Replies with a score, of all; prompts that were truncated; the cost",
                denominator="asked",
            ),
            lambda system: _replies(results, system),
        ),
    )
    # A single model is not compared.
    several = len(results.ranked) > 1
    places = {system_of(own): (place, own) for place, own in enumerate(results.ranked)} if several else {}
    if len(results.systems) == 1:
        fields = [field for field in fields if field[0].label not in ("Rank", "Difference")]
    about = f"Scores in percent and lengths in tokens, with 95% intervals. {BASE} {RULES[results.unanswered]}"
    table = table_of("headline", "At a glance", fields, results.systems, about=about, denominator="scored")
    return replace(table, section="headline")


def _score(results: Results, system: System) -> Cell:
    """The score that the report ranks by."""
    if results.by_average:
        return average_cell(results, results.average.get((system, ALL)), _gaps(results, system))
    ranked = next((ranked for ranked in results.ranked if system_of(ranked) == system), None)
    if ranked is None:
        return Cell()
    below = other_score(results, ranked.mean, ranked.other)
    return Cell(words.percent(ranked.mean), words.bounds(ranked.interval), below=below)


def _effective(results: Results, system: System, definition: Definition) -> Cell:
    length = results.effective.get((system, ALL, definition))
    return effective_cell(results, length) if length else Cell()


def _longscore(score: LongScore | None) -> Cell:
    if score is None:
        return Cell()
    base, mean = longscore_cells(score, ())
    # A caution about the base concerns its ratio; the table of LongScore has the base.
    return mean if mean.note else replace(mean, note=base.note)


def _next_below(place: int, ranked: Ranked) -> Cell:
    """The difference to the model at the next place."""
    below = place + 1
    if below == len(ranked.gaps):
        return Cell()
    gap = ranked.gaps[below]
    if gap is None:
        return Cell(note=APART)
    p_value = words.chance_of(gap.p_value)
    if not ranked.significant[below]:
        p_value += ", not significant" if gap.p_value >= 0.05 else ", not significant among all"
    over = _overlap(ranked.overlaps[below])
    return Cell(
        words.change(gap.difference),
        words.bounds(gap.interval, signed=True),
        below=(p_value, *([over] if over else [])),
    )


def _overlap(overlap: Overlap) -> str:
    """What a difference is over, if one of the two has more: "on 12 of 20 cells, up to 8k", "on 15 of 60 samples"."""
    if not overlap.partial:
        return ""
    if overlap.cells == overlap.of:
        return f"on {words.count(overlap.samples)} of {words.count(overlap.samples_of)} samples"
    over = f"on {words.count(overlap.cells)} of {words.count(overlap.of)}"
    return f"{over} cells, up to {words.tokens(overlap.longest)}" if overlap.longest else f"{over} questions"


def _replies(results: Results, system: System) -> Cell:
    counts = results.every(system)
    if counts is None:
        return Cell()
    cut = (f"{words.several(counts.truncated, 'prompt')} truncated",) if counts.truncated else ()
    cost = (words.money(counts.cost),) if counts.cost else ()
    text = f"{words.count(counts.scored)} of {words.count(counts.replies)}"
    return Cell(text, below=(*cut, *cost), replies=replies_of(system))


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
    sentences = [
        f"Leaves out {words.listed(tasks)}, {why}."
        for tasks, why in (
            (known, "where every question was excluded as answered closed-book"),
            (untried, "which the model was not asked"),
        )
        if tasks
    ]
    return " ".join(sentences)
