"""Other measures of an entry, from its rows: LongScore, languages, difficulties, forms of replies."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import polars as pl

from fathom.analysis.answers import choice_rows, with_answer_columns
from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.longscore import LongScore, longscore
from fathom.board.means import average, by_length, items_of, mean_of
from fathom.board.model import Estimate, Items, Source
from fathom.stats.columns import cluster_among_tasks, facet
from fathom.stats.differences import system_key
from fathom.stats.outcomes import counted
from fathom.types.boards import Board

Extra: TypeAlias = Callable[[pl.DataFrame, Board], Estimate | None]


def extras_of(board: Board, rows: pl.DataFrame) -> dict[str, Estimate]:
    """The extra measures of a board that rows give.

    Args:
        board: Names the measures; unknown ones are left out.
        rows: Rows of one entry, without side rows.
    """
    rows = counted(rows)
    made = {name: EXTRAS[name](rows, board) for name in board.extras if name in EXTRAS}
    return {name: estimate for name, estimate in made.items() if estimate is not None}


def _whole(rows: pl.DataFrame) -> bool:
    """Whether all cells have a score: a mean over the others would be that of an easier test."""
    return not rows["blank"].any()


def _base(rows: pl.DataFrame, board: Board) -> Estimate | None:
    """Mean over tasks of the mean over the base lengths, if all tasks have a score at each of them."""
    at_base = rows.filter(pl.col("length").is_in(BASE_LENGTHS))
    sources: dict[str, Source] = {}
    for task in board.tasks:
        own = at_base.filter(pl.col("task") == task)
        items = _items(own)
        if items is None or own.drop_nulls("value")["length"].n_unique() < len(BASE_LENGTHS):
            return None
        sources[task] = Source(mean_of(items, task, name := _name(own)), items)
    return average(sources, dict.fromkeys(sources, 1 / len(sources)), name)


def _longscore(rows: pl.DataFrame, board: Board) -> Estimate | None:
    """LongScore over all tasks; over some of them it would be that of another benchmark."""
    if not set(board.tasks) <= set(rows.filter(pl.col("value").is_not_null())["task"]):
        return None
    whole: list[LongScore] = [score for score in longscore(rows) if score.task == "all"]
    if not whole or whole[0].average is None or whole[0].average_interval is None:
        return None
    return Estimate(whole[0].average, whole[0].average_interval)


def _of_language(language: str, rows: pl.DataFrame, _: Board) -> Estimate | None:
    return _mean(rows.filter(pl.col("language") == language))


def _of_difficulty(difficulty: str, rows: pl.DataFrame, _: Board) -> Estimate | None:
    return _mean(rows.filter(facet("difficulty").str.to_lowercase() == difficulty))


def _share(column: str, task: str, rows: pl.DataFrame, board: Board) -> Estimate | None:
    """Mean of a column over replies with a score, at the lengths that count."""
    counted = board.counted.get(task, tuple(rows["length"].unique()))
    here = choice_rows(rows.filter(pl.col("task") == task, pl.col("length").is_in(counted)))
    if not _whole(here):
        return None
    answered = with_answer_columns(here.filter(pl.col("value").is_not_null()))
    return _mean(answered.with_columns(value=pl.col(column)))


def _mean(rows: pl.DataFrame) -> Estimate | None:
    """Mean over lengths of the means over items, as for tasks; None if a cell has no score."""
    items = _items(rows)
    return None if items is None else mean_of(items, "extra", _name(rows))


def _name(rows: pl.DataFrame) -> str:
    return system_key(*map(str, rows.select("model", "variant").row(0)))


def _items(rows: pl.DataFrame) -> Items | None:
    if not _whole(rows):
        return None
    name = pl.concat_str("suite", "task", "item", separator="\x1f").alias("name")
    means = pl.col("value").mean(), cluster_among_tasks().first()
    items = rows.group_by(name, "length").agg(*means).drop_nulls("value").sort("name", "length")
    if items.is_empty():
        return None
    names, _, table = by_length(*(items[column].to_numpy() for column in ("name", "length", "value")))
    return items_of(names, table, dict(items.select("name", "cluster").iter_rows()))


EXTRAS: Mapping[str, Extra] = {
    "base": _base,
    "longscore": _longscore,
    "english": partial(_of_language, "en"),
    "chinese": partial(_of_language, "zh"),
    **{name: partial(_of_difficulty, name) for name in ("easy", "moderate", "hard", "extreme")},
    **{f"followed_{task}": partial(_share, "followed", task) for task in ("tsort", "bestanswer")},
    **{f"copied_{task}": partial(_share, "copied", task) for task in ("tsort", "bestanswer")},
}
"""Functions of the measures of ``Board.extras``, by name."""
