"""Published comparisons of methods (``fathom.extend.published``) as tables."""

from collections.abc import Sequence
from itertools import chain

from fathom.extend.published import PublishedComparison, PublishedDifference, PublishedScore
from fathom.plugins.names import listed
from fathom.report.table import Cell, Column, Table
from fathom.report.words import ABSENT

WIDEST = 10
"""Columns of figures from which tasks become rows."""
PRINTED = "Figures as printed, scores in percent unless the metric says otherwise; the paper gives no intervals."
DIFFERENCES = (
    "The same model with a method minus without one, in points, on the same questions and with the same training. They "
    "are means of paired differences, from the printed figures, without intervals, because the paper gives none."
)
COMPARABLE, NOT_COMPARABLE, NEAREST = "Can be compared", "Cannot be compared", "Nearest suite"


def published_tables(
    comparisons: Sequence[PublishedComparison], section: str = "published", *, remarks: bool = True
) -> tuple[Table, ...]:
    """The tables of published comparisons, folded in a report.

    Args:
        comparisons: As ``fathom.extend.published.published_comparisons`` gives them.
        section: The part of the report.
        remarks: Whether each has a table of what it can be compared with.

    Returns:
        For each comparison its figures, a table for each metric if a cell has several; then, if the paper has a row
        without a method, the differences to it; then what can be compared with it.
    """
    return tuple(chain.from_iterable(_tables(comparison, section, remarks=remarks) for comparison in comparisons))


def remarks_of(comparison: PublishedComparison) -> dict[str, tuple[str, ...]]:
    """What a comparison can be compared with, and what not, by heading; without headings that have nothing."""
    given = {
        COMPARABLE: comparison.comparable,
        NOT_COMPARABLE: comparison.not_comparable,
        NEAREST: (comparison.nearest,) if comparison.nearest else (),
    }
    return {heading: sentences for heading, sentences in given.items() if sentences}


def source_of(comparison: PublishedComparison) -> str:
    """Paper, date, table and address of a comparison."""
    address = f" ({comparison.url})" if comparison.url else ""
    return f"{comparison.source}, {comparison.date}, {listed(comparison.tables)}{address}."


def _tables(comparison: PublishedComparison, section: str, *, remarks: bool) -> list[Table]:
    made = [
        Table(
            name=f"published-{comparison.id}" + (f"-{number}" if number else ""),
            section=section,
            title=_title(comparison) + (f" ({metric})" if metric else ""),
            about="" if number else f"{source_of(comparison)} {comparison.training} {PRINTED}",
            columns=columns,
            rows=rows,
            detail=True,
            denominator="published",
        )
        for number, (metric, scores) in enumerate(_by_metric(comparison.scores))
        for columns, rows in [
            _grid(scores, {id(score): Cell(_typeset(score.text), note=score.note) for score in scores})
        ]
    ]
    if comparison.differences:
        columns, rows = _grid(
            [difference.score for difference in comparison.differences],
            {id(difference.score): _cell(difference) for difference in comparison.differences},
        )
        made.append(
            Table(
                name=f"published-{comparison.id}-differences",
                section=section,
                title=f"{_title(comparison)} (differences to no method)",
                about=DIFFERENCES,
                columns=columns,
                rows=rows,
                detail=True,
                denominator="published",
            )
        )
    if remarks:
        made.append(
            Table(
                name=f"published-{comparison.id}-remarks",
                section=section,
                title=f"{_title(comparison)} (what it can be compared with)",
                about="",
                columns=(Column("Remark", number=False), Column("What", number=False)),
                rows=tuple(
                    (Cell(heading), Cell(sentence))
                    for heading, sentences in remarks_of(comparison).items()
                    for sentence in sentences
                ),
                detail=True,
                denominator="none",
            )
        )
    return made


def _title(comparison: PublishedComparison) -> str:
    """Short name of the paper, the table with the methods, and what is compared."""
    return f"{comparison.source.partition(':')[0]}, {comparison.tables[0]}: {comparison.title}"


def _by_metric(scores: Sequence[PublishedScore]) -> list[tuple[str, Sequence[PublishedScore]]]:
    """Figures by metric, if a cell would have several; otherwise all, with no name."""
    cells = [(_row(score), score.column) for score in scores]
    if len(set(cells)) == len(cells):
        return [("", scores)]
    metrics = dict.fromkeys(score.metric for score in scores)
    return [(metric, [score for score in scores if score.metric == metric]) for metric in metrics]


def _row(score: PublishedScore) -> tuple[str, str]:
    return score.model, score.printed


def _grid(
    scores: Sequence[PublishedScore], cells: dict[int, Cell]
) -> tuple[tuple[Column, ...], tuple[tuple[Cell, ...], ...]]:
    """Columns and rows of figures: a row for each method, or for each task if there are many tasks."""
    at = {(_row(score), score.column): cells[id(score)] for score in scores}
    systems = {_row(score): score for score in scores}
    across = {score.column: score for score in scores}
    if len(across) > WIDEST:
        columns = (
            Column("Task", number=False),
            Column("Metric", number=False),
            *(Column(_name(score, with_method=True)) for score in systems.values()),
        )
        return columns, tuple(
            (Cell(name), Cell(score.metric), *(at.get((key, name), Cell()) for key in systems))
            for name, score in across.items()
        )
    columns = (
        Column("Model and method", number=False, help="As the paper names them"),
        Column("In fathom", number=False, help="Its name here, and its options in the paper"),
        Column("Weights", number=False, help="Whether they were trained for the method"),
        *map(Column, across),
    )
    return columns, tuple(
        (
            Cell(_name(score)),
            Cell(_in_fathom([score for score in scores if _row(score) == key])),
            Cell(score.trained or ABSENT),
            *(at.get((key, name), Cell()) for name in across),
        )
        for key, score in systems.items()
    )


def _name(score: PublishedScore, *, with_method: bool = False) -> str:
    """Model and method as the paper names them; with fathom's name of the method where that is another one."""
    known = score.printed
    if with_method and score.method and score.method.casefold() != known.casefold():
        known = f"{known} ({score.method})"
    return f"{score.model} {known}" if score.model and score.model != score.printed else known


def _in_fathom(scores: Sequence[PublishedScore]) -> str:
    """fathom's name of a row's method, and its settings; a dash for none."""
    settings = dict.fromkeys(score.setting for score in scores if score.setting)
    return " ".join(filter(None, (scores[0].method, ", ".join(settings)))) or ABSENT


def _cell(difference: PublishedDifference) -> Cell:
    both = (difference.score, difference.without)
    digits = max(len(score.text.partition(".")[2]) for score in both)
    notes = [f"{score.printed}: {score.note}" for score in both if score.note]
    return Cell(_typeset(f"{difference.difference:+.{digits}f}"), note=" ".join(notes))


def _typeset(text: str) -> str:
    """A number with a minus sign; a dash for none."""
    return ABSENT if text == "-" else text.replace("-", "\N{MINUS SIGN}")
