"""Tables of scores against length: LongScore and effective length."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from fathom.analysis import Definition, EffectiveLength, LongScore
from fathom.report import words
from fathom.report.results import ALL, Results, System, system_of
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import CHANCE, SCORED, chance_cell, scored_cell

DEFINITIONS: dict[Definition, tuple[str, str]] = {
    "ruler": (
        "85.6 (RULER)",
        "The longest tested length up to which the score is 85.6% or more at all lengths, the threshold of the RULER "
        "benchmark: an absolute level, whatever the model scores at short lengths.",
    ),
    "own_base": (
        "85% of base",
        "The longest tested length up to which the model keeps 85% of its base score (the mean at 2k, 4k and 6k). "
        "Lengths shorter than the base cannot fail it.",
    ),
    "half_base": (
        "Half of base",
        "The length, from the base on, at which a smooth curve fitted to the scores falls to half of the model's own "
        "base.",
    ),
}
BOUNDS = "(bounds)"
"""Beside what a figure would be with its missing replies wrong or right."""
LENGTHS = tuple(Column(label, help=text, group="Effective length") for label, text in DEFINITIONS.values())


def longscores(results: Results, system: System | None) -> Table:
    """LongScore per length: of all models over their tasks, or of one model task by task."""
    lengths = tuple(sorted({point.length for one in results.longscore.values() for point in one.points}))
    columns = (
        Column("Base", help="Mean score at 2k, 4k and 6k, percent"),
        Column("Mean", group="LongScore", help="Mean over the longer lengths that all models have, percent"),
        *(Column(words.tokens(length), group="LongScore", help="Percent") for length in lengths),
    )
    about = (
        "Base is the mean score at 2k, 4k and 6k. LongScore is the relative change from it, (score − base) / base, at "
        "each longer length, and on average over the longer lengths that all models have. "
        "It is undefined if the base is not significantly above chance. “(bounds)”: replies are missing; from all of "
        "them wrong to all of them right."
    )
    table = Table("longscore", "longscore", "LongScore", about, columns, (), denominator="scored")
    return _filled(
        table, results, system, lambda one, task: longscore_cells(results.longscore.get((one, task)), lengths)
    )


def longscore_cells(one: LongScore | None, lengths: Sequence[int]) -> list[Cell]:
    """Base, mean LongScore and LongScore at each of ``lengths``."""
    if one is None:
        return [Cell()] * (2 + len(lengths))
    values = {point.length: point for point in one.points}
    cells = [Cell(words.percent(one.base), words.bounds(one.base_interval), words.sentence(one.note))]
    if one.base is None and one.base_bounds:
        cells = [Cell(words.between(one.base_bounds), BOUNDS, words.sentence(one.note))]
    if one.average is None and one.bounds and (one.base is None or not one.undefined):
        cells.append(Cell(words.between(one.bounds, signed=True), BOUNDS, words.sentence(one.undefined or one.note)))
    elif one.undefined:
        cells.append(Cell("undefined", note=words.sentence(one.undefined)))
    else:
        cells.append(Cell(words.change(one.shared_average), words.bounds(one.shared_interval, signed=True)))
    for length in lengths:
        point = values.get(length)
        known = point is not None and point.value is not None
        cells.append(
            Cell(words.change(point.value), words.bounds(point.interval, signed=True)) if point and known else Cell()
        )
    return cells


def effective_lengths(results: Results, system: System | None) -> Table:
    """Effective context length by three definitions: of all models over their tasks, or of one model task by task."""
    about = (
        "The lengths in tokens up to which a model keeps a level of score, with 95% intervals. “≥”: the longest tested "
        "length still passes, so that the true length may be greater. “<”: the shortest length already fails. A length "
        "that was asked but has no score counts as a failure."
    )
    table = Table("effective", "effective", "Effective context length", about, LENGTHS, (), denominator="scored")
    return _filled(table, results, system, lambda one, task: effective_cells(results, one, task))


def effective_cells(results: Results, system: System, task: str) -> list[Cell]:
    """The effective length by each definition."""
    found = [results.effective.get((system, task, definition)) for definition in DEFINITIONS]
    return [effective_cell(results, one) if one is not None else Cell() for one in found]


def effective_cell(results: Results, one: EffectiveLength) -> Cell:
    """An effective length as text: "≥ 64k", "< 1k", "7.9k [6.8k, 9.1k]", or "undefined" with the reason."""
    return length_cell(one, shortest(results, system_of(one), one.task))


def length_cell(one: EffectiveLength, first: int) -> Cell:
    """The same, of a model whose shortest length with a score is ``first``."""
    interval = words.token_bounds(one.interval)
    if one.censored == "below":
        return Cell(f"< {words.tokens(first)}", interval, words.sentence(one.note))
    if one.tokens is None or math.isnan(one.tokens):
        return Cell("undefined", note=words.sentence(one.note))
    sign = "≥ " if one.censored == "above" else ""
    return Cell(f"{sign}{words.tokens(one.tokens)}", interval, words.sentence(one.note))


def shortest(results: Results, system: System, task: str) -> int:
    """The shortest length at which the system has a score on the task."""
    scored = (
        length
        for length in results.lengths
        if (point := results.curve.get((system, task, length))) is not None and point.mean is not None
    )
    return next(scored, results.lengths[0])


def _filled(
    table: Table, results: Results, system: System | None, measured: Callable[[System, str], Sequence[Cell]]
) -> Table:
    """The table with a row for each model or, for one model, each task."""
    if system is None:
        lines = [(one, ALL, Cell(one.name, series=number)) for number, one in enumerate(results.systems)]
    else:
        lines = [(system, task, Cell(task)) for task in results.tasks]
        number = results.systems.index(system) + 1
        table = replace(table, name=f"{table.name}-{number}", title=system.name, about="", detail=True)
    return replace(
        table,
        columns=(Column("Task" if system else "Model", number=False), CHANCE, *table.columns, SCORED),
        rows=tuple(
            (heading, chance_cell(results, one, task), *measured(one, task), scored_cell(results, one, task))
            for one, task, heading in lines
        ),
    )
