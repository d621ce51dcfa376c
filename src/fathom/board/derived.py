"""Boards for suites, or tasks of them, that are on no declared board, from the rows of their results."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import polars as pl

from fathom.board.keys import keys
from fathom.board.results import NAMELESS
from fathom.printing import printable
from fathom.rows.table import RowsTable
from fathom.stats.side_rows import is_side_row
from fathom.suites.registry import suites, task_title
from fathom.types.boards import Board, Category, Part

LONGEST = 80
"""Maximum length of a title, which lists the tasks of a suite without a name."""


def derived(rows: Iterable[RowsTable], known: Sequence[Board]) -> list[Board]:
    """A board for each suite, of its tasks that are on no board, in the order of the rows.

    The overall score is the mean of the tasks. A task counts all lengths of any run of the suite, so that a run at
    other lengths has no rank.

    Args:
        known: The declared boards.
    """
    declared = {(suite, task) for board in known for suite in board.suites for task in board.tasks}
    lengths: dict[str, dict[str, set[int]]] = {}
    base = pl.col("suite").str.split("#").list.first()
    for part in (part for table in rows for part in table.parts(("suite", "task", "length", "facets"))):
        asked = part.filter(~is_side_row()).select(base, "task", "length").unique(maintain_order=True)
        for suite, task, length in asked.rows():
            if (suite, task) not in declared:
                lengths.setdefault(suite, {}).setdefault(task, set()).add(length)
    ids = keys([*((board.id,) for board in known), *((suite,) for suite in lengths)])[len(known) :]
    taken = {board.title.casefold() for board in known}
    return [_board(id, suite, tasks, taken) for id, (suite, tasks) in zip(ids, lengths.items(), strict=True)]


def _board(id: str, suite: str, lengths: Mapping[str, set[int]], taken: Collection[str]) -> Board:
    declared = suites().get(suite)
    declared_tasks = declared.tasks if declared else suite.split(",")
    tasks = [
        *(task for task in declared_tasks if task in lengths),
        *(task for task in lengths if task not in declared_tasks),
    ]
    title = printable(", ".join(map(task_title, suite.split(",")))) or NAMELESS
    title = f"{title}, own results" if title.casefold() in taken else title
    return Board(
        id=id,
        title=title if len(title) <= LONGEST else f"{title[: LONGEST - 3]}...",
        suites=(suite,),
        about=f"{declared.description[:1].upper()}{declared.description[1:]}." if declared else "",
        rule="mean of all tasks, each the mean over its lengths" if len(tasks) > 1 else "mean over all lengths",
        categories=tuple(
            Category(key, printable(task_title(task)), (Part((task,)),))
            for key, task in zip(keys((task,) for task in tasks), tasks, strict=True)
        ),
        lengths=tuple(sorted({length for own in lengths.values() for length in own if length})),
        counted={task: tuple(sorted(own)) for task, own in lengths.items()},
    )
