"""Averages of one line of a board: tasks, categories, lengths, the whole; with standard errors.

Cells count as independent, except those of a task that asks the same questions at every length (``Board.paired``): how
its errors go together is not known from the cells, so that their sum is taken, the most that it can be. Whoever has
the scores of single questions gives the task a cell over its lengths (length 0), whose error is the right one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fathom.board.model import OF_PAPERS, Cell, Ended, Entry, Estimate, Standing
from fathom.types import FathomError
from fathom.types.boards import Board, Category


def mean(parts: Sequence[Estimate], weights: Sequence[float] | None = None, *, paired: bool = False) -> Estimate:
    """The weighted mean of estimates.

    Args:
        parts: One or more.
        weights: As many, not negative, in any unit; None for equal ones.
        paired: Whether they are of the same questions: ``n`` is then the greatest, not the sum, and the error the most
            that it can be.

    Returns:
        The mean; without an error or ``n`` where one of the parts has none.
    """
    shares = [1.0] * len(parts) if weights is None else list(weights)
    total = math.fsum(shares)
    value = math.fsum(share * part.value for share, part in zip(shares, parts, strict=True)) / total
    errors = [share * part.error / total for share, part in zip(shares, parts, strict=True) if part.error is not None]
    counts = [part.n for part in parts if part.n is not None]
    complete = len(errors) == len(parts)
    together = paired and len(parts) > 1
    ended = [part.ended for part in parts if part.ended is not None]
    others = [part.other if part.ended is not None else part.value for part in parts]
    other = math.fsum(share * one for share, one in zip(shares, others, strict=True) if one is not None) / total
    return Estimate(
        value,
        (math.fsum(errors) if together else math.hypot(*errors)) if complete else None,
        (max(counts) if paired else sum(counts)) if len(counts) == len(parts) else None,
        complete and (together or any(part.bound for part in parts)),
        sum(ended, Ended()) if ended else None,
        other if ended and None not in others else None,
    )


def task_scores(board: Board, entry: Entry) -> dict[str, Estimate]:
    """The scores of those tasks of a line that have one: the cell over all lengths, or else the mean over lengths.

    A cell over all lengths is taken as it is, also where it is None: it must be over the lengths that count
    (``Board.counted``). A task that lacks one of them has no score, because a mean over the others would be that of
    another task.
    """
    lengths: dict[str, dict[int, Estimate]] = {}
    for (task, length), cell in entry.cells.items():
        if cell is not None:
            lengths.setdefault(task, {})[length] = cell
    found: dict[str, Estimate] = {}
    for task in board.tasks:
        at = lengths.get(task, {})
        counted = (0,) if (task, 0) in entry.cells else board.counted.get(task, tuple(at))
        if at and all(length in at for length in counted):
            found[task] = mean([at[length] for length in counted], paired=task in board.paired)
    return found


def averages(board: Board, scores: Mapping[str, Estimate]) -> tuple[Estimate | None, dict[str, Estimate | None]]:
    """The whole and the categories from the scores of tasks, over what is there.

    Args:
        board: Says how.
        scores: By task; those that are missing are left out.

    Returns:
        The overall score, and the categories by id; None where nothing is there.

    Raises:
        FathomError: All questions are to count alike, and a score does not say how many it has.
    """
    categories = {category.id: _category(board, category, scores) for category in board.categories}
    return _overall(board, categories.values()), categories


def _without_blank(
    board: Board, entry: Entry, found: tuple[Estimate | None, dict[str, Estimate | None]]
) -> tuple[Estimate | None, dict[str, Estimate | None]]:
    """Averages less those with a task that was asked and has no score: the others' mean is that of an easier board."""
    overall, categories = found
    lost = {category.id for category in board.categories if not set(entry.blank).isdisjoint(category.tasks)}
    return None if lost else overall, categories | dict.fromkeys(lost)


def averages_as_paper(board: Board, entry: Entry) -> tuple[float, dict[str, float]]:
    """The whole and the categories by id with what is missing as 0, as LongLeader counts it (tables 2, 5, 6 and 7).

    A task that lacks lengths has 0 at these: a model with a window of 4,000 tokens gets two of sixteen. Its lengths
    count alike, also where they have different numbers of questions: cells do not say how many had no reply.
    """
    values = {task: score.value for task, score in task_scores(board, entry).items()}
    lacking: dict[str, list[float]] = {}
    for (task, length), cell in entry.cells.items():
        if length and task not in values:
            lacking.setdefault(task, []).append(0.0 if cell is None else cell.value)
    values |= {task: _plain(at) for task, at in lacking.items()}
    categories = {
        category.id: _plain([_plain([values.get(task, 0.0) for task in part.tasks]) for part in category.parts])
        for category in board.categories
    }
    return _plain(categories.values()), categories


def questions_asked(board: Board, entries: Iterable[Entry]) -> dict[Cell, int]:
    """The most questions that a line has in each cell that counts, over all lines that no paper published.

    Rows do not say what their suite holds beside them: a line whose wrong replies were deleted is told by the others.
    """
    most: dict[Cell, int] = {}
    for entry in entries:
        for cell, n in _asked(board, entry):
            most[cell] = max(n, most.get(cell, 0))
    return most


def _asked(board: Board, entry: Entry) -> Iterator[tuple[Cell, int]]:
    if entry.origin.provenance in OF_PAPERS:
        return
    for (task, length), cell in entry.cells.items():
        counts = not length or length in board.counted.get(task, (length,))
        if cell is not None and cell.n is not None and counts:
            yield (task, length), cell.n


def standing(board: Board, entry: Entry, most: Mapping[Cell, int] | None = None) -> Standing:
    """The averages of a line.

    Averages that the source prints stand in for those whose cells it does not give at all.

    Args:
        board: The board.
        entry: The line.
        most: What ``questions_asked`` says of all lines; None to look at this one alone.

    Raises:
        FathomError: All questions are to count alike, and a cell does not say how many it has.
    """
    scores = task_scores(board, entry)
    overall, categories = _without_blank(board, entry, averages(board, scores))
    given = {task for task, _ in entry.cells}
    printed = {
        category.id: entry.printed[category.id]
        for category in board.categories
        if category.id in entry.printed and given.isdisjoint(category.tasks)
    }
    missing = [task for task in board.tasks if task not in scores]
    if printed:
        categories |= printed
        overall = _overall(board, categories.values())
        missing = [task for task in missing if task not in _tasks(board, printed)]
    if "overall" in entry.printed and given.isdisjoint(board.tasks):
        overall, missing = entry.printed["overall"], []
    less = {cell[0] for cell, n in _asked(board, entry) if n < (most or {}).get(cell, n)}
    zeros = board.missing_is_zero and any(cell is not None for cell in entry.cells.values())
    as_paper, paper_categories = averages_as_paper(board, entry) if zeros else (None, {})
    return Standing(
        overall=overall,
        as_paper=as_paper,
        paper_categories=paper_categories,
        categories=categories,
        lengths=_lengths(board, entry),
        missing=tuple(missing),
        unfinished=tuple(task for task, one in scores.items() if one.ended is not None and one.ended.missing),
        fewer=tuple(task for task in board.tasks if task in less),
    )


def _lengths(board: Board, entry: Entry) -> dict[int, Estimate]:
    """Averages at single lengths; one where some task is missing would be of something else, and is left out."""
    found: dict[int, Estimate] = {}
    tasks = board.length_tasks or board.tasks
    for length in board.lengths:
        cells = {task: cell for task in tasks if (cell := entry.cells.get((task, length))) is not None}
        there = averages(board, cells)[0] if len(cells) == len(tasks) else entry.printed.get(f"length/{length}")
        if there is not None:
            found[length] = there
    return found


def _category(board: Board, category: Category, scores: Mapping[str, Estimate]) -> Estimate | None:
    parts = [[scores[task] for task in part.tasks if task in scores] for part in category.parts]
    there = [part for part in parts if part]
    if not there:
        return None
    if board.weighting == "questions":
        every = [score for part in there for score in part]
        return mean(every, _questions(board, every))
    return mean([mean(part) for part in there])


def _overall(board: Board, categories: Iterable[Estimate | None]) -> Estimate | None:
    there = [one for one in categories if one is not None]
    if not there:
        return None
    return mean(there, _questions(board, there) if board.weighting == "questions" else None)


def _questions(board: Board, scores: Sequence[Estimate]) -> list[float]:
    counts = [float(score.n) for score in scores if score.n]
    if len(counts) < len(scores):
        raise FathomError(f"board {board.id}: all questions count alike there, and a score has no n; give each its n")
    return counts


def _tasks(board: Board, categories: Iterable[str]) -> set[str]:
    named = set(categories)
    return {task for category in board.categories if category.id in named for task in category.tasks}


def _plain(values: Iterable[float]) -> float:
    every = list(values)
    return math.fsum(every) / len(every)
