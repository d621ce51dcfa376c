"""The section on LongScore: the change from base ability at longer lengths."""

from collections.abc import Sequence

from fathom.analysis import LongScore
from fathom.report import words
from fathom.report.model_tables import BOUNDS, NAMED, filled, study_tables, with_undefined
from fathom.report.results import ALL, Results, System
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Table

ABOUT = (
    "Base is the mean score at 2k, 4k and 6k. LongScore is the relative change from it, (score − base) / base, at "
    "each longer length, and on average over the longer lengths that all models have. "
    "It is undefined if the base is not significantly above chance. “(bounds)”: replies are missing; from all of "
    "them wrong to all of them right."
)


def longscores(results: Results, system: System | None) -> Table:
    """LongScore per length: of all models over their tasks, or of one model task by task."""
    lengths = tuple(sorted({point.length for score in results.longscore.values() for point in score.points}))
    columns = (
        Column("Base", help="Mean score at 2k, 4k and 6k, percent"),
        Column("Mean", group="LongScore", help="Mean over the longer lengths that all models have, percent"),
        *(Column(words.tokens(length), group="LongScore", help="Percent") for length in lengths),
    )
    table = Table("longscore", "", "LongScore", ABOUT, columns, (), denominator="scored")
    return filled(
        table, results, system, lambda own, task: longscore_cells(results.longscore.get((own, task)), lengths)
    )


def longscore_cells(score: LongScore | None, lengths: Sequence[int]) -> list[Cell]:
    """Base, mean LongScore and LongScore at each of ``lengths``."""
    if score is None:
        return [Cell()] * (2 + len(lengths))
    note, why = words.sentence(score.note), words.sentence(score.undefined)
    base = Cell(words.percent(score.base), words.bounds(score.base_interval), note)
    if score.base is None and score.base_bounds:
        base = Cell(words.between(score.base_bounds), BOUNDS, note)
    mean = Cell(words.change(score.shared_average), words.bounds(score.shared_interval, signed=True))
    if score.average is None and score.bounds and (score.base is None or not score.undefined):
        mean = Cell(words.between(score.bounds, signed=True), BOUNDS, why or note)
    elif score.undefined:
        mean = Cell("undefined", note=why)
    known = {
        point.length: Cell(words.change(point.value), words.bounds(point.interval, signed=True))
        for point in score.points
        if point.value is not None
    }
    return [base, mean, *(known.get(length, Cell()) for length in lengths)]


def _study_tables(scores: Sequence[LongScore]) -> list[Table]:
    """Base, mean LongScore over the lengths that all models have, and LongScore at each length."""
    lengths = sorted({point.length for score in scores for point in score.points})

    def cells(own: Sequence[LongScore]) -> list[Cell]:
        (score,) = own
        values = {point.length: point.value for point in score.points}
        mean = Cell(words.change(score.shared_average), words.whole_bounds(score.shared_interval, "+"))
        return [
            Cell(words.percent(score.base), words.whole_bounds(score.base_interval)),
            Cell("undefined") if score.undefined else mean,
            *(Cell(_rounded(values.get(length))) for length in lengths),
        ]

    columns = (Column("Base"), Column("LongScore"), *(Column(words.tokens(length)) for length in lengths))
    return study_tables(scores, columns, cells, "Percent, with 95% intervals.")


def _rounded(value: float | None) -> str:
    return words.ABSENT if value is None else words.minus(f"{100 * value:+.0f}")


def _tables(results: Results) -> list[Table]:
    if not results.systems:
        return []
    # Task by task, a model without any LongScore would fill a page with dashes.
    defined = {system for (system, _), score in results.longscore.items() if not score.undefined}
    several = [system for system in results.systems if system in defined and len(results.tasks) > 1]
    return [longscores(results, None), *(longscores(results, system) for system in several)]


def _finding(results: Results) -> str:
    scores = [(system, results.longscore.get((system, ALL))) for system in results.systems]
    known = [
        f"{words.change(score.shared_average)}{results.of_system(system)}"
        for system, score in scores
        if score and score.shared_average is not None
    ]
    return with_undefined(known[:NAMED], len(scores) - len(known))


SECTION = Section(
    name="longscore",
    title="LongScore",
    finding=_finding,
    tables=_tables,
    studies={LongScore: _study_tables},
)
