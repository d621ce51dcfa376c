"""Data about tasks: protocol, data sets, chance, and closed-book scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fathom.analysis.known import closed_book_answers
from fathom.board import shown
from fathom.board.examples import Example
from fathom.board.results import Batch
from fathom.documents.sources.registry import sources
from fathom.documents.sources.source import Source
from fathom.printing import printable
from fathom.score.judge import get_rubric
from fathom.score.registry import metrics
from fathom.stats.columns import mean_of
from fathom.stats.side_rows import is_side_row
from fathom.suites.registry import suites, task_title, tasks
from fathom.types import Json, Task
from fathom.types.boards import Board

FEW = 8
"""Maximum number of data sources whose licences and citations are listed."""


GENERATED = "questions and answers are generated; the user chooses the texts that fill contexts"


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels to compare a task's scores with.

    Attributes:
        chance: Mean chance level of the questions that were asked.
        closed_book: Mean closed-book score: over questions, then over models.
    """

    chance: float | None = None
    closed_book: float | None = None


def levels(batches: Iterable[Batch]) -> dict[str, Levels]:
    """Chance and closed-book levels by task, over all results."""
    tables = [batch.rows for batch in batches]
    if not tables:
        return {}
    known = pl.col("chance").fill_nan(None).is_not_null()
    sums = pl.concat(
        table.read(table.rows.filter(known, ~is_side_row()).group_by("task").agg(pl.col("chance").sum(), pl.len()))
        for table in tables
    )
    means = sums.group_by("task").agg(pl.col("chance").sum() / pl.col("len").sum())
    chance = dict(means.rows())
    answers = pl.concat(map(closed_book_answers, tables)).filter(pl.col("value").is_not_null())
    by_model = answers.group_by("task", "model", "variant").agg(mean_of("value")).sort("task", "model", "variant")
    closed = dict(by_model.group_by("task").agg(mean_of("value")).rows())
    return {str(task): Levels(chance.get(task), closed.get(task)) for task in {*chance, *closed}}


def tasks_data(boards: Sequence[Board], levels_by_task: Mapping[str, Levels], examples: Mapping[str, Example]) -> Json:
    """The file ``tasks``: all tasks of the boards.

    Args:
        boards: The boards on the site.
    """
    on: dict[str, list[Board]] = {}
    for board in boards:
        for task in board.tasks:
            on.setdefault(task, []).append(board)
    return {task: _task(task, own, levels_by_task.get(task, Levels()), examples.get(task)) for task, own in on.items()}


def _task(name: str, boards: Sequence[Board], level: Levels, example: Example | None) -> dict[str, Json]:
    task = tasks().get(name)
    known = level.chance if level.chance is not None else next((board.chance.get(name) for board in boards), None)
    chance = example.chance if known is None and example is not None else known
    data: dict[str, Json] = {
        "title": task_title(name),
        "boards": [board.id for board in boards],
        "chance": shown.number(chance),
        "closedBook": shown.number(level.closed_book),
        "example": None if example is None else _example(example),
    }
    return data | (_of_board(boards[0]) if task is None else _declared(task, boards[0]))


def _of_board(board: Board) -> dict[str, Json]:
    """Data about a task that is not installed."""
    about: dict[str, Json] = dict.fromkeys(("description", "metric", "source"), "")
    about |= {"licence": board.licence, "citation": board.citation, "languages": []}
    return about | {"maxOutputTokens": None, "version": None, "rules": {"official": "", "strict": ""}}


def _declared(task: Task, board: Board) -> dict[str, Json]:
    data = _data(task, board)
    licences = "; ".join(f"{source.name}: {source.licence}" for source in data)
    citations = "; ".join(dict.fromkeys(source.citation for source in data))
    generated = not {*task.gold} - {"pairs"}
    return {
        "description": task.description,
        "metric": task.metric,
        "source": "; ".join(filter(None, (task.source, f"asked about {task.needs}" if task.needs else ""))),
        "licence": licences or (GENERATED if generated else board.licence),
        "citation": citations or board.citation,
        "data": [{"name": source.name, "licence": source.licence, "citation": source.citation} for source in data],
        "languages": list(task.languages),
        "maxOutputTokens": task.max_output_tokens,
        "version": task.version,
        "rules": _rules(task),
    }


def _data(task: Task, board: Board) -> list[Source]:
    """The data sources of a task, if they can be determined: those that it names, or the few of its roles."""
    known = sources()
    if task.data:
        return [known[name] for name in task.data if name in known]
    named = [
        name
        for suite in board.suites
        if suite in suites()
        for role in task.gold
        for name in suites()[suite].sources.get(role, ())
    ]
    chosen = [known[name] for name in dict.fromkeys(named) if name in known]
    return chosen if len(chosen) <= FEW else []


def _rules(task: Task) -> dict[str, Json]:
    official = metrics().get(task.official)
    judged = f", or a judge: {get_rubric(task.rubric).description}" if task.rubric else ""
    return {
        "official": f"{official.full_name}: {official.description}" if official else "",
        "strict": f"{task.metric}{judged}",
    }


def _example(example: Example) -> dict[str, Json]:
    return {
        "start": _lines(example.start),
        "end": _lines(example.end),
        "tokens": example.tokens,
        "target": _lines(example.target),
    }


def _lines(text: str) -> str:
    """Text of several lines without control characters."""
    return "\n".join(map(printable, text.split("\n")))
