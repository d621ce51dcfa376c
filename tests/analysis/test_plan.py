"""How much to ask: numbers of items from a pilot, or without one."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
import pytest
from simulated import row

from command_line import Call
from fathom.analysis.plan import Goal, Spending, plan_for, plan_from
from fathom.api import plan
from fathom.report.plan import tables
from fathom.rows import to_frame, write_rows
from fathom.types import FathomError

LENGTHS = (1024, 2048, 4096)
POWER = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)


def pilot(
    seed: int, items: int = 20, repeats: int = 2, tasks: tuple[str, ...] = ("kv",), shift: float = 0.0
) -> pl.DataFrame:
    """Scores from items that are hard at all lengths (.2), at one length (.1), and replies that differ (.15)."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in tasks:
        for item in range(items):
            own = rng.normal(0, 0.2)
            for length in LENGTHS:
                here = 0.5 + shift + own + rng.normal(0, 0.1)
                rows += [
                    row(here + rng.normal(0, 0.15), task=task, item=item, length=length, epoch=epoch + 1)
                    for epoch in range(repeats)
                ]
    return to_frame(rows).with_columns(tokens_in=pl.col("length"), tokens_out=100, seconds=2.0)


@pytest.mark.slow
def test_a_large_pilot_parts_the_variance_as_it_was_made() -> None:
    variance = plan_from(pilot(0, items=4000), Goal(half_width=0.05)).variance
    assert variance.item == pytest.approx(0.2**2, rel=0.1)
    assert variance.item_length == pytest.approx(0.1**2, rel=0.1)
    assert variance.replies == pytest.approx(0.15**2, rel=0.1)
    assert variance.of_item == pytest.approx(0.2**2 + 0.1**2 / 3 + 0.15**2 / 3, rel=0.1)
    assert variance.upper > variance.of_item


def test_items_are_those_of_plain_code() -> None:
    rows = pilot(1)
    scores = np.zeros((20, 3, 2))
    for line in rows.iter_rows(named=True):
        scores[int(line["item"].split("/")[-1].split("-")[-1]), LENGTHS.index(line["length"]), line["epoch"] - 1] = (
            line["value"]
        )
    of_items = scores.mean(axis=(1, 2))
    once = of_items.var(ddof=1) + scores.var(axis=2, ddof=1).mean() / 3 / 2
    (first, *_) = plan_from(rows, Goal(half_width=0.05)).steps
    assert first.items == math.ceil(once * (NormalDist().inv_cdf(0.975) / 0.05) ** 2)
    assert (first.length, first.requests, first.repeats) == (None, 3 * first.items, 1)
    assert first.tokens == sum(first.items * (length + 100) for length in LENGTHS)
    assert first.hours == pytest.approx(3 * first.items * 2.0 / 16 / 3600)
    assert first.dollars is None


def test_each_length_has_its_own_number() -> None:
    steps = plan_from(pilot(1), Goal(half_width=0.05)).steps
    assert [step.about for step in steps] == ["mean over 3 lengths", "at 1k", "at 2k", "at 4k"]
    assert all(step.items > steps[0].items for step in steps[1:])
    assert all(step.requests == step.items for step in steps[1:])


@pytest.mark.slow
def test_two_tasks_need_half_the_items_each() -> None:
    single = plan_from(pilot(2, items=2000), Goal(half_width=0.02)).steps[0]
    two = plan_from(pilot(2, items=2000, tasks=("kv", "qa")), Goal(half_width=0.02)).steps[0]
    assert two.items == pytest.approx(single.items / 2, rel=0.1)
    assert two.requests == 6 * two.items


def test_a_dear_task_with_few_items_costs_its_own_price() -> None:
    rows = pl.concat(
        [
            pilot(3, items=items, tasks=(task,)).with_columns(cost=cost, seconds=100 * cost)
            for task, items, cost in (("kv", 100, 0.01), ("qa", 10, 1.0))
        ]
    )
    step = plan_from(rows, Goal(half_width=0.05)).steps[0]
    assert step.dollars == pytest.approx(3 * step.items * 1.01)
    assert step.hours == pytest.approx(3 * step.items * 101 / 16 / 3600)


@pytest.mark.slow
def test_a_difference_is_planned_from_differences_on_the_same_samples() -> None:
    """The luck of items is not in them."""
    rows = pilot(3, items=500)
    other = rows.with_columns(value=pl.col("value") + 0.05)
    made = plan_from(rows, Goal(difference=0.03), baseline=other)
    assert made.variance.item == pytest.approx(0, abs=1e-9)
    assert made.steps[0].items < plan_from(rows, Goal(half_width=0.03)).steps[0].items
    with pytest.raises(FathomError, match="a difference needs the replies of both"):
        plan_from(rows, Goal(difference=0.03))


def test_a_pilot_without_a_wrong_answer_does_not_plan_two_items() -> None:
    rows = pilot(4).with_columns(value=pl.lit(1.0))
    step = plan_from(rows, Goal(half_width=0.02)).steps[0]
    assert step.items > 100
    assert step.items_sure > step.items


def test_what_a_pilot_cannot_show_is_said() -> None:
    made = plan_from(pilot(5, repeats=1), Goal(half_width=0.05))
    assert made.variance.replies is None
    assert (
        "how much replies to one prompt differ is unknown: the pilot has one reply to each (--epochs 2)" in made.unknown
    )
    assert any(note.startswith("prices are unknown") for note in made.unknown)


def test_repeats_are_proposed_where_the_cache_makes_them_cheap() -> None:
    def pricing(read: float, written: float, cached: float) -> float:
        return (read - cached) * 1e-6 + cached * 1e-8 + written * 1e-9

    noisy = pilot(6, items=200).with_columns(
        value=pl.col("value") + pl.Series(np.random.default_rng(1).normal(0, 0.6, 200 * 6))
    )
    *_, last = plan_from(noisy, Goal(half_width=0.05), pricing=pricing).steps
    first = plan_from(noisy, Goal(half_width=0.05), pricing=pricing).steps[0]
    assert last.about == f"each prompt {last.repeats} times, from the cache"
    assert last.items < first.items
    assert last.dollars is not None
    assert first.dollars is not None
    assert last.dollars < first.dollars
    dear = plan_from(noisy, Goal(half_width=0.05), pricing=lambda read, written, cached: 1.0).steps
    assert all(step.repeats == 1 for step in dear)


def test_without_a_pilot_the_score_says_how_much() -> None:
    spent = {1024: Spending(1024, None, 0.01), 2048: Spending(2048, None, 0.02)}
    made = plan_for(Goal(half_width=0.05), 0.7, [1024, 2048], tasks=2, spent=spent)
    (step,) = made.steps
    assert step.items == math.ceil(0.7 * 0.3 / 2 * (NormalDist().inv_cdf(0.975) / 0.05) ** 2)
    assert step.requests == 4 * step.items
    assert step.dollars == pytest.approx(2 * step.items * 0.03)
    (step,) = plan_for(Goal(difference=0.03), 0.1, [1024], tasks=1, spent={1024: Spending()}).steps
    assert step.items == math.ceil(0.1 * (POWER / 0.03) ** 2)


def test_what_has_no_price_is_said() -> None:
    known = {1024: Spending(1024, None, 0.01)}
    assert (
        "replies are not priced: how long they are is unknown"
        in plan_for(Goal(half_width=0.05), 0.7, [1024], tasks=1, spent=known).unknown
    )
    made = plan(half_width=0.05, score=0.7, lengths=[1024])
    assert any(note.startswith("prices are unknown") for note in made.unknown)
    made = plan(half_width=0.05, score=0.7, lengths=[1024], model="openai/gtp-5")
    assert "the table of prices has no openai/gtp-5: is the name right?" in made.unknown


def test_a_few_missing_replies_are_named_and_do_not_hide_their_cell() -> None:
    rows = pilot(1)
    lost = (pl.col("length") == 2048) & (pl.col("item") == rows["item"][0])
    status, value = pl.when(lost).then(pl.lit("error")), pl.when(~lost).then("value")
    rows = rows.with_columns(status=status.otherwise(pl.col("status").cast(pl.String)), value=value)
    made = plan_from(rows, Goal(half_width=0.05))
    assert [step.about for step in made.steps] == ["mean over 3 lengths", "at 1k", "at 2k", "at 4k"]
    assert "left out, as they have no score: 2 of 40 replies to kv at 2k" in made.unknown
    with pytest.raises(FathomError, match="has 120 replies, and no score to plan from; continue the run, or score it"):
        plan_from(rows.with_columns(status=pl.lit("error"), value=pl.lit(None, pl.Float64)), Goal(half_width=0.05))


@pytest.mark.slow
def test_replies_that_differ_in_number_plan_the_items_of_single_replies() -> None:
    """Every second sample is asked nine times; a reply is right with a probability that items draw evenly."""
    rng, rows = np.random.default_rng(1), []
    for item in range(3000):
        chance = rng.random()
        rows += [
            row(float(rng.random() < chance), item=item, length=1024, epoch=epoch + 1)
            for epoch in range(9 if item % 2 else 1)
        ]
    assert plan_from(to_frame(rows), Goal(half_width=0.05)).variance.of_item == pytest.approx(0.25, rel=0.05)


def test_documents_are_counted_where_items_share_them_and_the_limit_is_in_samples() -> None:
    rng, rows = np.random.default_rng(1), []
    for item in range(60):
        rows.append(row(rng.random(), item=item, length=1024, facets={"cluster": f"book {item // 3}"}))
    made = plan_from(to_frame(rows), Goal(half_width=0.05))
    (step,) = made.steps
    assert (made.unit, step.about, step.length) == ("document", "at 1k", 1024)
    assert made.basis.startswith("20 documents of each of 1 task")
    assert step.limit == step.requests == 3 * step.items
    assert [column.label for column in tables(made)[0].columns][1:4] == ["Docs", "Sure", "Limit"]


def test_the_costs_of_a_difference_are_said_to_be_those_of_one_model() -> None:
    rows = pilot(3)
    made = plan_from(rows, Goal(difference=0.03), baseline=rows.filter(epoch=1))
    assert made.basis.endswith("requests and cost are those of the candidate, and the baseline is asked as much")
    assert any("one of the pilots has one reply to each" in note for note in made.unknown)


def test_sums_of_tokens_are_decimal_as_prices_are() -> None:
    spent = {1_000_000: Spending(1_000_000, 0, 1.0)}
    made = plan_for(Goal(half_width=0.05), 0.5, [1_000_000], tasks=1, spent=spent)
    cells = [cell.text for cell in tables(made)[0].rows[0]]
    assert cells[2:5] == ["385", "385M", "$385.00"]


@pytest.mark.slow
def test_the_predicted_half_width_is_that_of_many_items() -> None:
    """Pilots of 20 items predict the half-width of 200: the middle of the predictions is right."""
    predicted = []
    for seed in range(40):
        items = plan_from(pilot(100 + seed), Goal(half_width=0.03)).steps[0].items
        predicted.append(0.03 * math.sqrt(items / 200))
    means = [pilot(1000 + seed, items=200, repeats=1)["value"].mean() for seed in range(40)]
    true = 1.96 * math.sqrt((0.2**2 + 0.1**2 / 3 + 0.15**2 / 3) / 200)
    assert float(np.median(predicted)) == pytest.approx(true, rel=0.1)
    assert 1.96 * float(np.std(np.array(means, dtype=float))) == pytest.approx(true, rel=0.35)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "what is wanted"),
        ({"half_width": 0.05, "difference": 0.03}, "what is wanted"),
        ({"half_width": 0.05}, "without a pilot, `score` and `lengths`"),
        ({"half_width": 0.05, "score": 1.5, "lengths": [1024]}, "`score` 1.5"),
        ({"half_width": 3}, "`half_width` 3: expected a fraction below 1; 0.03 is three points"),
        ({"difference": 3}, "`difference` 3: expected a fraction below 1"),
        ({"difference": 0.2, "score": 0.1, "lengths": [1024]}, "`difference` 0.2: cannot be more than `score` 0.1"),
        ({"difference": 0.2, "power": 0.01}, "`power` 0.01: expected more than `alpha`, 0.05"),
        ({"half_width": 0.05, "pilot": "a", "score": 0.5, "tasks": 2}, "leave out `score` and `tasks`, or the pilot"),
        (
            {"half_width": 0.05, "pilot": "a", "baseline": "b"},
            "`half_width` is that of one model; leave out `baseline`",
        ),
        (
            {"difference": 0.05, "baseline": "b", "score": 0.1, "lengths": [1024]},
            "there is no pilot to compare it with; leave out `baseline`",
        ),
    ],
)
def test_errors_say_what_to_give(given: dict[str, Any], message: str) -> None:
    with pytest.raises(FathomError, match=message):
        plan(**given)


@pytest.mark.slow
def test_the_command(tmp_path: Path, call: Call) -> None:
    write_rows(pilot(1).with_columns(pl.col("value").clip(0, 1)), tmp_path / "rows.parquet")
    code, out, err = call("plan", tmp_path / "rows.parquet", "--half-width", "0.05", "--model", "openai/gpt-5")
    assert (code, err) == (0, "")
    first = plan(tmp_path / "rows.parquet", half_width=0.05).steps[0]
    words = f"{first.items} items of each task for a 95% interval of ±5 points of the mean over 3 lengths; "
    assert out.startswith(f"{words}{first.items_sure} to be sure.\nfathom run --limit {first.items} asks so many")
    assert "items, at all lengths alike" in out
    code, out, _ = call("plan", "--difference", "0.03", "--score", "0.1", "--lengths", "32k")
    assert out.startswith("873 items of each task for a difference of 3 points found with probability 80% at 32k.\n")
    assert "only one of the two models is right on 10% of the samples" in " ".join(out.split())
    code, out, _ = call("plan", "--half-width", "0.05", "--score", "0.7", "--lengths", "8k", "--json")
    assert code == 0
    assert '"items": 323' in out
