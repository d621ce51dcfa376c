"""Models in their order, and which of them are told apart from the next one below."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis import Neighbour
from fathom.report import words
from fathom.report.results import Results, System
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import beneath_mean

ABOUT = (
    "Mean score in percent over a model's questions, every question alike and its repeats averaged first, with 95% "
    "intervals. The gap is to the next model below, in percentage points, over the questions that both have, paired "
    "question by question; where its interval holds 0 the two are tied: their order is not known. Ties are decided "
    "by these paired gaps, which are as a rule narrower than the intervals of two scores suggest: models can be told "
    "apart although theirs overlap."
)
APART = "No question is shared with the next model below."


def rank_tables(results: Results) -> list[Table]:
    """One table, the highest score first; none where no two models share questions."""
    return neighbour_tables(results.by_question.ranks, results.systems)


def neighbour_tables(found: Sequence[Neighbour], systems: Sequence[System] = ()) -> list[Table]:
    """The table of any ranks, for the page and a terminal; none of none.

    Args:
        found: What ``fathom.analysis.neighbours`` gave, the highest score first.
        systems: Models and variants in the order of their colours; those that are not among them have none.
    """
    if not found:
        return []
    numbers = {tuple(system): number for number, system in enumerate(systems)}
    columns = (
        Column("Model", number=False),
        Column("Rank"),
        Column("Score"),
        Column("Questions"),
        Column("Gap", help="To the next model below, in percentage points"),
        Column("Told apart", number=False, help="From the next model below"),
    )
    rows = tuple(
        (
            Cell(System(one.model, one.variant).name, series=numbers.get((one.model, one.variant))),
            Cell(str(one.rank)),
            Cell(words.percent(one.score), words.bounds(one.interval), beneath=beneath_mean(one)),
            Cell(words.count(one.questions)),
            _gap(one),
            _mark(one, last=number == len(found)),
        )
        for number, one in enumerate(found, start=1)
    )
    return [Table("ranks", "ranks", "Ranks", ABOUT, columns, rows)]


def _gap(one: Neighbour) -> Cell:
    if one.gap is None:
        return Cell()
    return Cell(words.change(one.gap), words.bounds(one.gap_interval, signed=True))


def _mark(one: Neighbour, *, last: bool) -> Cell:
    if last:
        return Cell()
    if one.gap is None:
        return Cell(note=APART)
    return Cell("tied" if one.tied else "yes")
