"""Made results for tests of the board: rows of models of known ability, and a board of three tasks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from fathom.board.model import Entry, Estimate, Items, Origin
from fathom.rows import to_frame
from fathom.stats.differences import system_key
from fathom.types import Row
from fathom.types.boards import Board, Category, Part

TASKS = ("find", "count", "order")
BOARD = Board(
    id="made",
    title="Made",
    suites=("made",),
    about="Nothing.",
    rule="mean of two categories",
    categories=(
        Category("look", "Look", (Part(("find",), "short"), Part(("count",), "long"))),
        Category("think", "Think", (Part(("order",)),)),
    ),
    lengths=(1024, 2048),
    missing_is_zero=True,
)
QUESTIONS = replace(BOARD, id="by-questions", weighting="questions")


def row(task: str, item: str, value: float | None, length: int = 1024, **more: object) -> Row:
    """One row of model ``m`` on suite ``made``; its right answer is the item's."""
    said: dict[str, Any] = {"suite": "made", "model": "m", "target": f"answer of {item}", **more}
    name = said.pop("sample", f"{item}@{length}/{said.get('epoch', 1)}")
    return Row(task=task, item=item, sample=name, length=length, value=value, **said)


def made_rows(
    abilities: Mapping[str, float],
    *,
    tasks: Sequence[str] = TASKS,
    lengths: Sequence[int] = (1024, 2048),
    items: int = 30,
    suite: str = "made",
    seed: int = 0,
) -> pl.DataFrame:
    """Rows of several models on the same questions: right or wrong, by ability and by how hard an item is."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(size=(len(tasks), items))
    rows = []
    for model, ability in abilities.items():
        for t, task in enumerate(tasks):
            for n in range(items):
                chance = 1 / (1 + np.exp(-ability - ease[t, n]))
                for length in lengths:
                    value = float(rng.random() < chance)
                    rows.append(row(task, f"{task}/{n:03d}", value, length, suite=suite, model=model, tokens_in=length))
    return to_frame(rows)


def made_entry(
    scores: Mapping[str, np.ndarray],
    model: str = "m",
    *,
    names: str = "",
    board: Board = BOARD,
    origin: str = "measured",
) -> Entry:
    """A line from the scores of its questions by task; ``names`` tells sets of questions apart."""
    from fathom.board.means import mean_of

    asked = {task: tuple(f"{names}{n:05d}" for n in range(len(own))) for task, own in scores.items()}
    items = {(task, 0): Items(asked[task], own.reshape(len(own), -1), asked[task]) for task, own in scores.items()}
    cells: dict[tuple[str, int], Estimate | None] = {
        (task, 0): mean_of(own, task, system_key(model, "")) for (task, _), own in items.items()
    }
    assert set(scores) <= set(board.tasks)
    return Entry(model, "", Origin(origin, "made"), cells, items=items)  # type: ignore[arg-type]
