"""Tables with a row for each model, and for each task of a model: of a report, and of studies by length."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from fathom.printing import printable
from fathom.report import words
from fathom.report.results import ALL, OfSystem, Results, System, grouped, system_of
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import CHANCE, SCORED, chance_cell, scored_cell

BOUNDS = "(bounds)"
"""Beside what a figure would be with its missing replies wrong or right."""
PERCENT = "Scores in percent, with 95% intervals."
NAMED = 3
"""Models that the line on a section names."""


class OfTask(OfSystem, Protocol):
    """A value of a model on a task, such as a score."""

    @property
    def task(self) -> str:
        """Name of the task, or ``all``."""


Measured = TypeVar("Measured", bound=OfTask)


def filled(
    table: Table, results: Results, system: System | None, measured: Callable[[System, str], Sequence[Cell]]
) -> Table:
    """A table with a row for each model or, for one model, each task.

    Args:
        table: The table without rows, and with the columns between those of chance and of scored replies.
        results: What was measured.
        system: The one model; None for all.
        measured: Gives the cells of these columns, of a model on a task.
    """
    if system is None:
        lines = [(own, ALL, Cell(own.name, series=number)) for number, own in enumerate(results.systems)]
    else:
        lines = [(system, task, Cell(task)) for task in results.tasks]
        number = results.systems.index(system) + 1
        table = replace(table, name=f"{table.name}-{number}", title=system.name, about="", detail=True)
    return replace(
        table,
        columns=(Column("Task" if system else "Model", number=False), CHANCE, *table.columns, SCORED),
        rows=tuple(
            (heading, chance_cell(results, own, task), *measured(own, task), scored_cell(results, own, task))
            for own, task, heading in lines
        ),
    )


def study_tables(
    measured: Sequence[Measured],
    columns: Sequence[Column],
    cells: Callable[[Sequence[Measured]], list[Cell]],
    about: str,
) -> list[Table]:
    """The mean over tasks model by model, then each model task by task; one table for a single task.

    Args:
        measured: Results of a study.
        columns: Those after the first.
        cells: Makes the cells of the results of one model on one task.
        about: A sentence above the first table.
    """
    groups = grouped(measured, lambda own: (system_of(own), own.task))
    tasks = list(dict.fromkeys(task for _, task in groups))
    # With one task the mean over tasks is the same.
    overall = tasks[0] if len([task for task in tasks if task != ALL]) == 1 else ALL
    parts = [("all tasks" if overall == ALL else overall, "Model", [key for key in groups if key[1] == overall])]
    if overall == ALL:
        for system in dict.fromkeys(system for system, _ in groups):
            parts.append((system.name, "Task", [key for key in groups if key[0] == system and key[1] != ALL]))
    return [
        Table(
            name=f"study-{number}",
            section="",
            title=printable(title),
            about="" if number else about,
            columns=(Column(heading, number=False), *columns),
            rows=tuple(
                (Cell(system.name if heading == "Model" else printable(task)), *cells(groups[system, task]))
                for system, task in keys
            ),
            denominator="scored",
        )
        for number, (title, heading, keys) in enumerate(part for part in parts if part[2])
    ]


def with_undefined(parts: Sequence[str], undefined: int) -> str:
    """A sentence on models, and on how many of them have no such figure."""
    also = [f"undefined for {words.several(undefined, 'model')}"] if undefined else []
    return words.sentence(", ".join([*parts, *also]))
