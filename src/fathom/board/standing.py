"""Averages of one entry of a board: tasks, categories, lengths, overall; with their intervals."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from fathom.board.means import average, drawn_name, over_lengths
from fathom.board.model import OF_PAPERS, Cell, Entry, Estimate, Source, Standing
from fathom.types import FathomError
from fathom.types.boards import Board, Category, Part

_OVERALL, _CATEGORY = "overall", "category/"


def task_sources(board: Board, entry: Entry) -> dict[str, Source]:
    """The scores of the tasks of an entry: the cell over all lengths, or else the mean over lengths.

    A cell over all lengths is used unchanged, also if it is None: it must be over the lengths that count
    (``Board.counted``). A task without one of them has no score, because a mean over the others would be that of
    another task.
    """
    lengths: dict[str, dict[int, Estimate]] = {}
    for (task, length), cell in entry.cells.items():
        if cell is not None:
            lengths.setdefault(task, {})[length] = cell
    sources: dict[str, Source] = {}
    for task in board.tasks:
        at = lengths.get(task, {})
        counted = (0,) if (task, 0) in entry.cells else board.counted.get(task, tuple(at))
        if at and all(length in at for length in counted):
            scores = [at[length] for length in counted]
            over = over_lengths(scores, task, drawn_name(entry), paired=task in board.paired)
            sources[task] = replace(over, items=entry.items.get((task, counted[0])) if len(counted) == 1 else None)
    return sources


def weights(board: Board, sources: Mapping[str, Source]) -> dict[str, float]:
    """The weight of each task in the mean over those with a score; the weights sum to 1.

    Args:
        board: Defines how categories and tasks are averaged.

    Raises:
        FathomError: All questions have equal weight, and a score has no number of questions.
    """
    if board.weighting == "questions":
        counts = {task: source.score.n for task, source in sources.items() if source.score.n}
        if len(counts) < len(sources):
            raise FathomError(
                f"board {board.id}: all questions have equal weight there, and a score has no n; add the n of each"
            )
        total = sum(counts.values())
        return {task: count / total for task, count in counts.items()}
    kept = [
        [[task for task in part.tasks if task in sources] for part in category.parts] for category in board.categories
    ]
    scored = [parts for parts in ([part for part in parts if part] for parts in kept) if parts]
    shares = dict.fromkeys(sources, 0.0)
    for parts in scored:
        for part in parts:
            for task in part:
                shares[task] += 1 / (len(scored) * len(parts) * len(part))
    return shares


def _mean(board: Board, sources: Mapping[str, Source], name: str) -> Estimate | None:
    return average(sources, weights(board, sources), name) if sources else None


def averages_as_paper(board: Board, entry: Entry) -> tuple[float, dict[str, float]]:
    """The overall score and the categories by id with missing cells as 0, as in LongLeader (tables 2, 5, 6 and 7).

    A task without some lengths has 0 at these: a model with a window of 4,000 tokens gets two of sixteen. Its lengths
    have equal weight, also with different numbers of questions, because cells do not record missing replies.
    """
    values = {
        task: source.score.value for task, source in task_sources(board, entry).items() if task not in entry.partial
    }
    lacking: dict[str, list[float]] = {}
    for (task, length), cell in entry.cells.items():
        if length and task not in values:
            lacking.setdefault(task, []).append(0.0 if cell is None else cell.value)
    values |= {task: _mean_of(at) for task, at in lacking.items()}
    categories = {
        category.id: _mean_of([_mean_of([values.get(task, 0.0) for task in part.tasks]) for part in category.parts])
        for category in board.categories
    }
    return _mean_of(categories.values()), categories


def questions_asked(board: Board, entries: Iterable[Entry]) -> dict[Cell, int]:
    """The most questions of an entry in each cell that counts, over all entries that no paper published.

    Rows do not record what else their suite contains: other entries reveal that replies of one were deleted.
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
    """The averages of an entry.

    Published averages replace missing cells.

    Args:
        most: Result of ``questions_asked`` for all entries; None to use only this one.

    Raises:
        FathomError: All questions have equal weight, and a cell has no number of questions.
    """
    name, tasks, given = drawn_name(entry), task_sources(board, entry), {task for task, _ in entry.cells}
    instead = {
        category.id
        for category in board.categories
        if category.id in entry.printed and given.isdisjoint(category.tasks)
    }
    # A published category is averaged like a category with a single task.
    shaped = replace(
        board,
        categories=tuple(_as_one(category) if category.id in instead else category for category in board.categories),
    )
    made_of = tasks | {_CATEGORY + category: _printed(entry, category) for category in instead}
    # A mean without a task that has no score would be that of an easier board.
    lost = {category.id for category in board.categories if not set(entry.blank).isdisjoint(category.tasks)}
    own = {
        category.id: {task: made_of[task] for task in category.tasks if task in made_of}
        for category in shaped.categories
    }
    whole = tasks.keys() - set(entry.partial)
    missing = [
        task
        for category in shaped.categories
        if category.id not in instead
        for task in category.tasks
        if task not in whole
    ]
    made_of = {} if lost else {task: source for parts in own.values() for task, source in parts.items()}
    shares = weights(shaped, made_of)
    if _OVERALL in entry.printed and given.isdisjoint(board.tasks):
        made_of, shares, missing = {_OVERALL: _printed(entry, _OVERALL)}, {_OVERALL: 1.0}, []
    less = {cell[0] for cell, n in _asked(board, entry) if n < (most or {}).get(cell, n)}
    zeros = board.missing_is_zero and any(cell is not None for cell in entry.cells.values())
    as_paper, paper_categories = averages_as_paper(board, entry) if zeros else (None, {})
    return Standing(
        overall=average(made_of, shares, name) if made_of else None,
        as_paper=as_paper,
        paper_categories=paper_categories,
        categories={
            category: None if category in lost else _mean(shaped, parts, name) for category, parts in own.items()
        },
        lengths=_lengths(board, entry, name),
        missing=tuple(dict.fromkeys(missing)),
        unfinished=tuple(task for task, source in tasks.items() if source.score.ended and source.score.ended.lost),
        fewer=tuple(task for task in board.tasks if task in less),
        substituted=entry.substituted,
        tasks=tasks,
        sources=made_of,
        weights=shares,
    )


def _printed(entry: Entry, name: str) -> Source:
    return Source(entry.printed[name], printed=(entry.printed[name],))


def _as_one(category: Category) -> Category:
    return replace(category, parts=(Part((_CATEGORY + category.id,)),))


def _lengths(board: Board, entry: Entry, name: str) -> dict[int, Estimate]:
    """Averages at single lengths, without those where some task is missing."""
    means: dict[int, Estimate] = {}
    for length in board.lengths:
        own = sources_at(board, entry, length)
        mean = _mean(board, own, name) if own else entry.printed.get(f"length/{length}")
        if mean is not None:
            means[length] = mean
    return means


def sources_at(board: Board, entry: Entry, length: int) -> dict[str, Source]:
    """The scores that the average of an entry at a length is the mean of; none where some task is missing."""
    tasks = board.length_tasks or board.tasks
    cells = {task: cell for task in tasks if (cell := entry.cells.get((task, length))) is not None}
    if len(cells) < len(tasks):
        return {}
    return {task: Source(cell, entry.items.get((task, length)), (cell,)) for task, cell in cells.items()}


def _mean_of(values: Iterable[float]) -> float:
    every = list(values)
    return math.fsum(every) / len(every)
