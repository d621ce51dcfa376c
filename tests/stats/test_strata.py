"""Tasks that share documents: which are resampled together, and that a document is one witness in all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from fathom.analysis import average_scores, categories, compare, neighbours
from fathom.analysis.grid import ALL, grids
from fathom.analysis.ranking import ranking_of
from fathom.board.differences import OVERALL, ranking
from fathom.board.standing import standing
from fathom.rows import to_frame
from fathom.stats.columns import NAMED
from fathom.stats.flips import flip_p_value
from fathom.stats.strata import Stratum, strata
from fathom.types import Row
from made_results_board import BOARD, TASKS, made_entry

Floats = NDArray[np.float64]
FOUR = ("a", "b", "c", "d")


def named(*letters: str) -> list[str]:
    return [f"s{NAMED}{letter}" for letter in letters]


def test_tasks_that_share_a_named_cluster_are_one_stratum() -> None:
    groups = {
        "d": named("x"),
        "b": ["s\x1fb/1", *named("y", "x")],
        "c": ["s\x1fitem"],
        "a": ["s\x1fitem"],
        "e": named("z"),
    }
    found = strata(groups)
    both = Stratum(1, tuple(sorted({*groups["b"], *groups["d"]})))
    assert found == {"a": Stratum(0), "b": both, "c": Stratum(2), "d": both, "e": Stratum(3)}
    # A third task may join two others.
    assert {one.place for one in strata({"a": named("x"), "b": named("y"), "c": named("x", "y")}).values()} == {0}
    assert strata({}) == {}


def rows(scores: Floats, model: str = "a", documents: bool = True, tasks: tuple[str, ...] = FOUR) -> pl.DataFrame:
    """Two items about each document in each task, with the same scores in all tasks; scores are documents x 2."""
    return to_frame(
        Row(
            "s", task, f"{task}/{document}.{item}", f"{task}/{document}.{item}@2k", model, 2048, float(value),
            facets={"category": "reading", **({"cluster": f"document {document}"} if documents else {})},
        )
        for task in tasks
        for (document, item), value in np.ndenumerate(scores)
    )  # fmt: skip


def drawn(seed: int, documents: int = 15) -> Floats:
    rng = np.random.default_rng(seed)
    found: Floats = np.clip(rng.random((documents, 1)) + rng.normal(0, 0.05, (documents, 2)), 0, 1)
    return found


def width(rows: pl.DataFrame) -> float:
    (found,) = [one.interval for one in average_scores(rows) if one.task == ALL]
    assert found is not None
    return found.high - found.low


def test_equal_tasks_about_the_same_documents_say_as_much_as_one() -> None:
    scores = drawn(1)
    one, four, apart = (
        width(rows(scores, documents=documents, tasks=tasks))
        for documents, tasks in ((True, ("a",)), (True, FOUR), (False, FOUR))
    )
    assert four == pytest.approx(one, rel=0.05)
    assert apart < 0.6 * one
    by_category = [one.interval for one in categories(rows(scores)) if one.task == ALL]
    assert all(one.high - one.low == pytest.approx(four, rel=0.05) for one in by_category)
    (mean,) = neighbours(rows(scores))
    assert mean.clusters == 15
    assert mean.interval.high - mean.interval.low == pytest.approx(four, rel=0.05)


def test_differences_over_tasks_count_a_document_once() -> None:
    first, second = drawn(2), drawn(3)
    table = pl.concat([rows(first, "a"), rows(second, "b")])
    found = {one.task: one for one in compare(table, "a", "b") if one.length is None}
    plain = flip_p_value((first - second).sum(axis=1))  # signs of documents, once
    assert found[ALL].p_value == pytest.approx(plain, abs=0.02)
    assert found["a"].p_value == pytest.approx(plain, abs=0.02)
    ends = [one.interval.high - one.interval.low for one in (found["a"], found[ALL])]
    assert ends[1] == pytest.approx(ends[0], rel=0.08)
    gap = ranking_of(grids(table), average_scores(table))[0].gaps[1]
    assert gap is not None
    assert gap.p_value == pytest.approx(plain, abs=0.02)
    assert gap.interval.high - gap.interval.low == pytest.approx(ends[1], rel=0.05)
    apart = pl.concat([rows(first, "a", documents=False), rows(second, "b", documents=False)])
    (alone,) = [one for one in compare(apart, "a", "b") if (one.task, one.length) == (ALL, None)]
    assert alone.interval.high - alone.interval.low < 0.6 * ends[1]


def test_some_documents_may_be_those_of_one_task_alone() -> None:
    scores = drawn(4)
    table = pl.concat([rows(scores, tasks=("a",)), rows(scores[:9], tasks=("b",)), rows(scores[9:], tasks=("c",))])
    between = width(table)
    assert width(rows(scores, documents=False, tasks=FOUR[:3])) < between
    assert between < 1.3 * width(rows(scores, tasks=("a",)))


def test_boards_count_a_document_once() -> None:
    groups = tuple(f"s{NAMED}{document:02}" for document in range(12))
    scores = [np.random.default_rng(seed).random(12) for seed in range(2)]
    widths, p_values = [], []
    for documents in (True, False):
        entries = [made_entry(dict.fromkeys(TASKS, own), model) for own, model in zip(scores, "ab", strict=True)]
        if documents:
            entries = [
                replace(one, items={cell: replace(own, groups=groups) for cell, own in one.items.items()})
                for one in entries
            ]
        standings = [standing(BOARD, entry) for entry in entries]
        overall = standings[0].overall
        assert overall is not None
        assert overall.interval is not None
        widths.append(overall.interval.high - overall.interval.low)
        ((_, difference),) = ranking(BOARD, entries, standings).between[OVERALL].items()
        p_values.append(difference.gap.p_value)
    assert widths[1] < 0.75 * widths[0]
    assert p_values[0] == pytest.approx(flip_p_value(scores[0] - scores[1]), abs=0.02)
    assert p_values[1] < p_values[0]
