"""Counts: what became of every request, and what stands beside every score: chance and five of the counts."""

from __future__ import annotations

from fathom.analysis import Counts
from fathom.report import words
from fathom.report.results import ALL, Results, System
from fathom.report.table import Cell, Column, Table

TALLY = (
    Column("Scored", group="Replies", help="Replies that were scored; means are taken over these"),
    Column(
        "Unscored", group="Replies", help="Overflow, refused, incomplete, error or not scorable; never counted as wrong"
    ),
    Column("Invalid", group="Replies", help="Scored replies that had not the asked form"),
    Column("Cut", group="Replies", help="Prompts that were truncated to fit the model's window"),
    Column("Cost", group="Replies", help="US dollars; a dash where no price is known"),
)
CHANCE = Column("Chance", help="Expected score of a valid answer drawn at random, percent")
COUNTS = tuple(
    Column(name)
    for name in (
        "Replies",
        "Scored",
        "Invalid",
        "Truncated",
        "Overflow",
        "Refused",
        "Incomplete",
        "Error",
        "Not scorable",
        "Tokens in",
        "Tokens out",
        "Reasoning",
        "Cost",
        "Time",
    )
)


def tally(results: Results, system: System, task: str = ALL) -> list[Cell]:
    """The cells under ``TALLY`` for one system, on one task or on all."""
    one = results.by_task.get((system, task))
    if one is None:
        return [Cell()] * len(TALLY)
    return [
        Cell(words.count(one.scored)),
        *(_count(number) for number in (one.replies - one.scored, one.invalid, one.truncated)),
        Cell(words.money(one.cost), quiet=not one.cost),
    ]


def chance_cell(results: Results, system: System, task: str) -> Cell:
    """The chance level over all lengths; a range where it changes with the length."""
    points = [results.curve.get((system, task, length)) for length in results.lengths]
    return Cell(words.span(point.chance for point in points if point is not None))


def counts_tables(results: Results) -> list[Table]:
    """What became of every request: per model, then for each model by task and by length."""
    about = (
        "Every request is here. Invalid replies were scored; overflow, refused, incomplete and error were not, and are "
        "never counted as wrong answers. Truncated prompts were cut to fit before they were sent."
    )
    overall = tuple(
        (Cell(system.name, series=number), *_cells(results.by_task.get((system, ALL))))
        for number, system in enumerate(results.systems)
    )
    made = [Table("counts", "counts", "Counts", about, (Column("Model", number=False), *COUNTS), overall)]
    for number, system in enumerate(results.systems, start=1):
        tasks = tuple((Cell(task), *_cells(results.by_task.get((system, task)))) for task in results.tasks)
        lengths = tuple(
            (Cell(words.tokens(length)), *_cells(results.by_length.get((system, length)))) for length in results.lengths
        )
        for kind, rows in (("task", tasks), ("length", lengths)):
            columns = (Column(kind.capitalize(), number=False), *COUNTS)
            title = f"{system.name}, by {kind}"
            made.append(Table(f"counts-{number}-{kind}", "counts", title, "", columns, rows, detail=True))
    return made


def _cells(one: Counts | None) -> list[Cell]:
    if one is None:
        return [Cell()] * len(COUNTS)
    failed = (one.invalid, one.truncated, one.overflow, one.refused, one.incomplete, one.error, one.unscored)
    return [
        *(_count(number) for number in (one.replies, one.scored)),
        *(_count(number) for number in (*failed, one.tokens_in, one.tokens_out, one.tokens_reasoning)),
        Cell(words.money(one.cost), quiet=not one.cost),
        Cell(words.duration(one.seconds), quiet=not one.seconds),
    ]


def _count(number: int) -> Cell:
    return Cell(words.count(number), quiet=not number)


def failed(one: Counts) -> str:
    """What kept replies from being scored, in words: "20 overflow and 1 error"; "" where nothing did."""
    kinds = {
        "overflow": one.overflow,
        "refused": one.refused,
        "incomplete": one.incomplete,
        "error": one.error,
        "not scorable": one.unscored,
    }
    return words.listed([f"{words.count(number)} {kind}" for kind, number in kinds.items() if number])
