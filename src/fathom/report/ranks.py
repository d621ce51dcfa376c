"""Models by rank, with their differences; and models by their mean over questions."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis import Neighbour
from fathom.analysis.ranking import Ranked
from fathom.report import words
from fathom.report.results import Results, System, system_of
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import beneath_mean, other_score

ABOUT = (
    "The difference is to the next model below, in percentage points, with its 95% interval and p-value, paired "
    "question by question. Ranks take all differences of a model together (Holm's step-down): its range holds the true "
    "rank with 95% confidence. Differences are as a rule known better than the intervals of two scores suggest: they "
    "can be significant although these overlap."
)
AVERAGES = "Average scores in percent, as at the top. "
MEANS = (
    "Mean scores in percent over questions, every question alike and its repeats averaged first: these models have no "
    "average scores that can be compared. "
)
BY_QUESTION = (
    "Mean score in percent over a model's questions, every question alike and its repeats averaged first, with 95% "
    "intervals. The gap is to the next model below, in percentage points, over the questions that both have, paired "
    "question by question; where its interval holds 0 the two are not distinguishable. Ranks take all differences of a "
    "model together."
)
APART = "No question is shared with the next model below."


def rank_of(one: Ranked | Neighbour) -> str:
    """A rank, or the range of ranks that the data allow."""
    return str(one.best) if one.best == one.worst else f"{one.best}–{one.worst}"


def rank_tables(results: Results) -> list[Table]:
    """One table, the highest score first; none where no two models are comparable."""
    by_average = len(results.ranking) > 1
    ranking = results.ranking if by_average else results.by_question.ranking
    if len(ranking) < 2:
        return []
    numbers = {system: number for number, system in enumerate(results.systems)}
    columns = (
        Column("Model", number=False),
        Column("Rank"),
        Column("Average score" if by_average else "Mean over questions"),
        Column("Difference", help="To the next model below, in percentage points"),
        Column("p"),
        Column("Significant", number=False, help="By Holm's step-down over all differences of the model"),
    )
    rows = tuple(
        (
            Cell(system_of(one).name, series=numbers.get(system_of(one))),
            Cell(rank_of(one)),
            Cell(
                words.percent(one.mean),
                words.bounds(one.interval),
                beneath=other_score(results, one.mean, one.other),
            ),
            *_next_below(one, number + 1),
        )
        for number, one in enumerate(ranking)
    )
    return [Table("ranks", "ranks", "Ranks", (AVERAGES if by_average else MEANS) + ABOUT, columns, rows)]


def _next_below(one: Ranked, below: int) -> tuple[Cell, Cell, Cell]:
    if below == len(one.gaps):
        return Cell(), Cell(), Cell()
    gap = one.gaps[below]
    return (
        Cell(words.change(gap.difference), words.bounds(gap.interval, signed=True)),
        Cell(words.chance_of(gap.p_value).removeprefix("p ")),
        Cell("yes" if one.significant[below] else "no"),
    )


def neighbour_tables(found: Sequence[Neighbour], systems: Sequence[System] = ()) -> list[Table]:
    """The table of models by their mean over questions, for a terminal; none of none.

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
        Column("Distinguishable", number=False, help="From the next model below"),
    )
    rows = tuple(
        (
            Cell(System(one.model, one.variant).name, series=numbers.get((one.model, one.variant))),
            Cell(rank_of(one)),
            Cell(words.percent(one.score), words.bounds(one.interval), beneath=beneath_mean(one)),
            Cell(words.count(one.questions)),
            _gap(one),
            _mark(one, last=number == len(found)),
        )
        for number, one in enumerate(found, start=1)
    )
    return [Table("by-question", "ranks", "Models by their mean over questions", BY_QUESTION, columns, rows)]


def _gap(one: Neighbour) -> Cell:
    if one.gap is None:
        return Cell()
    return Cell(words.change(one.gap), words.bounds(one.gap_interval, signed=True))


def _mark(one: Neighbour, *, last: bool) -> Cell:
    if last:
        return Cell()
    if one.gap is None:
        return Cell(note=APART)
    return Cell("no" if one.tied else "yes")
