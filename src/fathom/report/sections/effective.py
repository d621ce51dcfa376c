"""The section on effective context lengths under three definitions, and what a model retains of its base."""

import math
from collections.abc import Mapping, Sequence

from fathom.analysis import Definition, EffectiveLength, Steady
from fathom.analysis.effective import Reach
from fathom.analysis.steady import Estimate
from fathom.report import parts, words
from fathom.report.model_tables import NAMED, filled, study_tables, with_undefined
from fathom.report.results import ALL, Results, System, system_of
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Table

DEFINITIONS: Mapping[Definition, tuple[str, str]] = {
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
LENGTHS = tuple(Column(label, help=text, group="Effective length") for label, text in DEFINITIONS.values())
ABOUT = (
    "The lengths in tokens up to which a model keeps a level of score, with 95% intervals. “≥”: the longest tested "
    "length still passes, so that the true length may be greater. “<”: the shortest length already fails. A length "
    "that was asked but has no score counts as a failure."
)


# Tables


def _table(results: Results, system: System | None) -> Table:
    """Effective context length by three definitions: of all models over their tasks, or of one model task by task."""
    table = Table("effective", "", "Effective context length", ABOUT, LENGTHS, (), denominator="scored")
    return filled(table, results, system, lambda own, task: _cells(results, own, task))


def _cells(results: Results, system: System, task: str) -> list[Cell]:
    lengths = [results.effective.get((system, task, definition)) for definition in DEFINITIONS]
    return [effective_cell(results, length) if length is not None else Cell() for length in lengths]


def effective_cell(results: Results, length: EffectiveLength) -> Cell:
    """An effective length as text: "≥ 64k", "< 1k", "7.9k [6.8k, 9.1k]", or "undefined" with the reason."""
    shortest = (
        at
        for at in results.lengths
        if (point := results.curve.get((system_of(length), length.task, at))) is not None and point.mean is not None
    )
    return length_cell(length, next(shortest, results.lengths[0]))


def length_cell(length: EffectiveLength, first: int) -> Cell:
    """The same, of a model whose shortest length with a score is ``first``."""
    interval, note = words.token_bounds(length.interval), words.sentence(length.note)
    if length.censored == "below":
        return Cell(f"< {words.tokens(first)}", interval, note)
    if length.tokens is None or math.isnan(length.tokens):
        return Cell("undefined", note=note)
    sign = "≥ " if length.censored == "above" else ""
    return Cell(f"{sign}{words.tokens(length.tokens)}", interval, note)


# Studies


def length_tables(lengths: Sequence[EffectiveLength]) -> list[Table]:
    """Effective length under each definition."""
    about = "Effective context length in tokens, with 95% intervals."
    return study_tables(lengths, LENGTHS, lambda own: [_reach(length) for length in own], about)


def retention_tables(retained: Sequence[Steady]) -> list[Table]:
    """Base in percent; retention, log-ratio and area as ratios; L85 and L50 in tokens."""

    def cells(results: Sequence[Steady]) -> list[Cell]:
        (own,) = results
        return [
            Cell(words.percent(own.base.value), words.whole_bounds(own.base.interval)) if own.base else Cell(),
            *(_ratio(ratio, sign) for ratio, sign in ((own.retention, ""), (own.log_ratio, "+"), (own.area, ""))),
            *map(_reach, (own.l85, own.l50)),
        ]

    names = ("Base", "Retention", "Log-ratio", "Area", "L85", "L50")
    about = "Base in percent, L85 and L50 in tokens, the others are ratios; with 95% intervals."
    return study_tables(retained, list(map(Column, names)), cells, about)


def _ratio(ratio: Estimate | None, sign: str) -> Cell:
    if ratio is None:
        return Cell("undefined")
    interval = f"[{ratio.interval.low:{sign}z.2f}, {ratio.interval.high:{sign}z.2f}]"
    return Cell(words.minus(f"{ratio.value:{sign}z.2f}"), words.minus(interval))


def _reach(reach: Reach | EffectiveLength | None) -> Cell:
    """A length with its interval."""
    if reach is None or reach.interval is None:
        return Cell("undefined")
    text = "< shortest" if reach.tokens is None else words.tokens(reach.tokens)
    return Cell(f"≥ {text}" if reach.censored == "above" else text, words.token_bounds(reach.interval))


# The section


def _tables(results: Results) -> list[Table]:
    if not results.systems:
        return []
    several = results.systems if len(results.tasks) > 1 else ()
    return [_table(results, None), *(_table(results, system) for system in several)]


def _page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    return [parts.Definitions(list(DEFINITIONS.values()), small=True), *parts.table_parts(tables)] if tables else []


def _finding(results: Results) -> str:
    lengths = {system: results.effective.get((system, ALL, "own_base")) for system in results.systems}
    cells = {system: effective_cell(results, length).text for system, length in lengths.items() if length is not None}
    known = [f"{text}{results.of_system(system)}" for system, text in cells.items() if text != "undefined"]
    kept = [f"keeps 85% of the base score up to {', '.join(known[:NAMED])}"] if known else []
    return with_undefined(kept, len(results.systems) - len(known))


SECTION = Section(
    name="effective",
    title="Effective context length",
    finding=_finding,
    tables=_tables,
    page=_page,
    studies={EffectiveLength: length_tables, Steady: retention_tables},
)
