"""Whole prompts against the same ones cut; and that cut prompts change nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from simulated import drawn, row, table

from fathom.analysis import (
    Truncation,
    answers,
    average_scores,
    cell_counts,
    compare,
    counts,
    curve,
    effective_length,
    judge_agreement,
    known_filter,
    longscore,
    position,
    position_contrasts,
    profiles,
    steady,
    truncation,
)
from fathom.report.tables import tables
from fathom.rows import to_frame
from fathom.stats.intervals import jeffreys_interval
from fathom.types import Facet, Row


def cut(value: float | None, length: int, full: int = 8192, *, tokens: int | None = None, **facts: object) -> Row:
    facets: dict[str, Facet] = {"cut_from": full, **facts.pop("facets", {})}  # type: ignore[dict-item]
    one = row(value, length=length, facets=facets, **facts)  # type: ignore[arg-type]
    return replace(one, sample=f"{one.item}@{full}/cut{length}", tokens=tokens)


def pair(
    whole: Sequence[float | None], shorter: Sequence[float | None], length: int = 2048, task: str = "kv"
) -> pl.DataFrame:
    rows = [row(value, item=item, length=8192, task=task) for item, value in enumerate(whole)]
    return to_frame([*rows, *(cut(value, length, item=item, task=task) for item, value in enumerate(shorter))])


def one_of(found: Sequence[Truncation], task: str = "kv", length: int = 2048) -> Truncation:
    (one,) = [each for each in found if (each.task, each.length) == (task, length)]
    return one


def test_the_cost_is_the_full_score_less_that_of_the_cut() -> None:
    one = one_of(truncation(pair([1, 1, 0.5, 1], [0, 1, 0.5, 0])))
    assert (one.full, one.score, one.difference, one.items) == (0.875, 0.375, 0.5, 4)
    assert one.share == pytest.approx(0.375 / 0.875)
    assert (one.cut_from, one.length) == (8192, 2048)
    for interval, point in (
        (one.full_interval, one.full),
        (one.interval, one.score),
        (one.difference_interval, one.difference),
        (one.share_interval, one.share),
    ):
        assert interval is not None
        assert point is not None
        assert interval.low <= point <= interval.high


def test_only_prompts_with_a_score_whole_and_cut_count() -> None:
    asked = pair([1, None, 0, 1], [0, 1, None, 0]).drop_nulls("value")
    one = one_of(truncation(asked))
    assert (one.items, one.full, one.score) == (2, 1.0, 0.0)
    assert truncation(pair([None, 1], [1, None]).drop_nulls("value")) == []
    assert truncation(table([[1, 1]])) == []
    assert truncation(to_frame([])) == []


def test_prompts_that_are_not_measured_whole_or_cut_are_not_compared() -> None:
    rows = pl.concat([pair([1, 1], [1, 0], length, task) for length in (2048, 4096) for task in ("kv", "qa")])
    rows = rows.unique(["task", "sample"], maintain_order=True)
    every = [(task, length) for task in ("kv", "qa", "all") for length in (2048, 4096)]
    assert [(one.task, one.length) for one in truncation(rows)] == every

    def lost(task: str, *lengths: int) -> list[tuple[str, int]]:
        here = (pl.col("task") == task) & pl.col("length").is_in(lengths)
        found = rows.with_columns(
            value=pl.when(~here).then("value"), status=pl.when(here).then(pl.lit("error")).otherwise("status")
        )
        return [(one.task, one.length) for one in truncation(found)]

    assert lost("qa", 2048) == [("kv", 2048), ("kv", 4096), ("qa", 4096), ("all", 4096)]
    assert lost("qa", 2048, 4096) == lost("qa", 8192) == [("kv", 2048), ("kv", 4096)]


def test_a_shorter_prompt_that_was_built_so_is_no_cut_one() -> None:
    rows = pl.concat([pair([1, 1], [0, 0]), to_frame([row(1.0, item=item, length=2048) for item in (0, 1)])])
    assert truncation(rows) == truncation(pair([1, 1], [0, 0]))


def test_questions_and_depths_are_matched_and_averaged_within_their_item() -> None:
    whole = [row(1.0, length=8192, facets={"question": number, "depth": 0.5}) for number in (1, 2)]
    other = [row(0.0, length=8192, facets={"question": 1, "depth": 1.0})]
    shorter = [cut(value, 2048, facets={"question": number, "depth": 0.5}) for number, value in ((1, 1.0), (2, 0.0))]
    epochs = [replace(one, epoch=2) for one in shorter]
    one = one_of(truncation(to_frame([*whole, *other, *shorter, *epochs])))
    assert (one.items, one.full, one.score) == (1, 1.0, 0.5)


def test_tokens_and_chance_are_those_of_the_cut_prompts() -> None:
    rows = [row(1.0, item=item, length=8192) for item in (0, 1)]
    rows += [replace(cut(1.0, 2048, item=item, tokens=2040 + item), chance=0.25) for item in (0, 1)]
    one = one_of(truncation(to_frame(rows)))
    assert (one.tokens, one.chance) == (2040.5, 0.25)


def test_ranges_are_those_of_the_side_that_they_stand_beside() -> None:
    one = one_of(truncation(pair([1] * 40, [0, 1] * 20)))
    assert (one.full_interval, one.interval) == (jeffreys_interval(40, 40), jeffreys_interval(20, 40))
    assert (one.share, one.share_interval is not None) == (0.5, True)
    assert one.share_interval is not None
    assert 0.3 < one.share_interval.low < 0.4
    assert 0.6 < one.share_interval.high < 0.7


def test_tokens_that_are_unknown_for_a_task_are_unknown_for_all() -> None:
    rows = [row(1.0, task=task, length=8192) for task in "xy"]
    known, unknown = cut(1.0, 2048, tokens=2000, task="x"), cut(1.0, 2048, task="y")
    assert [one.tokens for one in truncation(to_frame([*rows, known, unknown]))] == [2000, None, None]
    both = truncation(to_frame([*rows, known, replace(unknown, tokens=1000)]))
    assert [one.tokens for one in both] == [2000, 1000, 1500]


def test_there_is_no_mean_over_tasks_without_one_that_was_asked_and_is_measured_nowhere() -> None:
    asked = [("kv", 2048), ("kv", 4096), ("qa", 2048), ("qa", 4096), ("lost", 2048)]
    rows = pl.concat([pair([1, 1], [1, 0], length, task) for task, length in asked])
    rows = rows.unique(["task", "sample"], maintain_order=True)
    lost = (pl.col("task") == "lost") & (pl.col("length") == 2048)
    gone = rows.with_columns(
        value=pl.when(~lost).then("value"), status=pl.when(lost).then(pl.lit("error")).otherwise("status")
    )
    assert [(one.task, one.length) for one in truncation(rows)] == [*asked, ("all", 2048)]
    assert [(one.task, one.length) for one in truncation(gone)] == asked[:-1]


def test_nothing_is_kept_of_nothing() -> None:
    one = one_of(truncation(pair([0, 0], [0, 1])))
    assert (one.share, one.share_interval, one.difference) == (None, None, -0.5)


def test_tasks_have_equal_weight_in_their_mean() -> None:
    rows = pl.concat([pair([1] * 30, [0] * 30, task="x"), pair([1, 1], [1, 1], task="y")])
    found = truncation(rows)
    assert [one.task for one in found] == ["x", "y", "all"]
    assert (found[-1].full, found[-1].score, found[-1].difference, found[-1].items) == (1.0, 0.5, 0.5, 32)
    part = pl.concat([rows, pair([1], [0], 4096, task="x").filter(pl.col("length") == 4096)])
    assert [(one.task, one.length) for one in truncation(part)] == [
        *(("x", length) for length in (2048, 4096)),
        ("y", 2048),
        ("all", 2048),
    ]


def test_pairing_finds_a_small_loss() -> None:
    ease = np.random.default_rng(1).beta(0.5, 0.5, 80)
    one = one_of(truncation(pair((0.9 * ease + 0.05).tolist(), (0.9 * ease).tolist())))
    assert one.p_value < 0.01
    assert 0 < one.difference_interval.low < 0.05 < one.difference_interval.high < 0.12


@pytest.mark.slow
@pytest.mark.long
def test_the_loss_is_covered_by_its_interval() -> None:
    rng = np.random.default_rng(3)
    held = alarms = 0
    for seed in range(120):
        # Items differ in how hard they are, so that both scores of an item are alike.
        ease = rng.beta(2, 1, 40)
        whole, shorter = ((rng.random(40) < chance).astype(float).tolist() for chance in (ease, 0.6 * ease))
        one = one_of(truncation(pair(whole, shorter), seed=seed, replicates=200))
        held += one.difference_interval.low <= 0.4 * 2 / 3 <= one.difference_interval.high
        same = (rng.random(40) < ease).astype(float).tolist()
        alarms += one_of(truncation(pair(whole, same), seed=seed, replicates=200)).p_value < 0.05
    assert 0.9 <= held / 120 <= 0.995
    assert alarms <= 12


# --------------------------------------------------------------------------------------------- nothing else changes


def asked(model: str) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    facets: list[dict[str, Facet]] = [{"depth": depth, "question": 1} for depth in (0.0, 0.5, 1.0)]
    swept = to_frame(
        row(float(rng.random() < 0.7), item=item, length=length, model=model, chance=0.25, facets=each, task="qa")
        for item in range(5)
        for length in (2048, 4096, 6144, 8192)
        for each in facets
    )
    return pl.concat([swept, drawn([0.9, 0.8, 0.7, 0.6], 8, rng, model=model)])


def cuts(model: str) -> pl.DataFrame:
    return to_frame(
        cut(0.0, length, item=item, model=model, chance=0.5, task=task, facets={"depth": 0.25, "question": 1})
        for task in ("kv", "qa")
        for item in range(5)
        for length in (1024, 2048, 4096)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "study",
    [
        *(curve, longscore, effective_length, average_scores, steady, cell_counts),
        *(position, position_contrasts, answers),
        lambda rows: compare(rows, "a", "b"),
        lambda rows: known_filter(rows).removed,
        lambda rows: [one for one in tables(rows) if one.section not in ("truncation", "graders")],
    ],
)  # fmt: skip
def test_cut_prompts_change_no_other_study(study: Callable[[pl.DataFrame], object]) -> None:
    closed = to_frame(
        replace(row(1.0, item=0, length=0, task="qa", model=model, facets={"context": "none", "question": 1}))
        for model in "ab"
    )
    rows = pl.concat([asked("a"), asked("b"), closed])
    for more in ([rows, cuts("a"), cuts("b")], [cuts("b"), cuts("a"), rows]):
        found = pl.concat(more)
        if more[0] is not rows:  # the order of models is that of the rows
            found = found.sort(pl.col("model"), maintain_order=True)
            rows = rows.sort(pl.col("model"), maintain_order=True)
        assert study(found) == study(rows)


def test_counts_stay_complete() -> None:
    rows = pl.concat([asked("a"), cuts("a")])
    assert counts(rows)[0].replies == len(rows)
    assert {cell.length for cell in cell_counts(rows)} == {2048, 4096, 6144, 8192}


def test_a_known_question_is_removed_whole_and_cut() -> None:
    closed = to_frame([row(1.0, item=0, length=0, facets={"context": "none"})])
    rows = pl.concat([pair([1, 1], [0, 0]), closed])
    left = known_filter(rows).rows
    assert one_of(truncation(left)).items == 1


def test_a_model_with_cut_prompts_alone_has_no_profile() -> None:
    assert profiles(cuts("a")) == []


def test_judges_are_checked_on_the_replies_that_are_labelled() -> None:
    rows = drawn([0.5, 0.5], 6, np.random.default_rng(5))
    labels = rows.select("sample", score=pl.lit(1.0))
    both = pl.concat([to_frame(cut(0.0, 1024, item=item) for item in range(6)), rows])
    assert judge_agreement(both, labels) == judge_agreement(rows, labels)
