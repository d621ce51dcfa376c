"""The gate that may be looked at after every reply."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_gate import decisions, drawn, side

from fathom.analysis.sequential import sequential_gate
from fathom.stats.bets import evidence_above, evidence_below, interval_at_any_look, items_without_loss
from fathom.stats.outcomes import NOT_ASKED
from fathom.types import FathomError
from fathom.types.samples import place_of


def plain_money(
    values: list[float], bound: float, planned: float | None = None, weights: list[float] | None = None
) -> float:
    """The largest money of the bettor, by plain multiplication."""
    shares = [0.1**0.8, 0.1**0.6, 0.1**0.4, 0.1**0.2, 1.0]
    money, most = [0.15, 0.15, 0.15, 0.15, 0.4], 1.0
    on_plan, gains, sizes = 1.0, list[float](), list[float]()
    for place, value in enumerate(values):
        sizes.append(1.0 if weights is None else weights[place])
        gain = sizes[-1] * (value - bound)
        money = [own * (1 + 0.98 / (1 + bound) * share * gain) for own, share in zip(money, shares, strict=True)]
        if planned is not None:
            size, square = np.mean(sizes), np.mean(np.square(sizes))
            squares = (sum(earlier**2 for earlier in gains) + square / 4) / (len(gains) + 1)
            on_plan *= 1 + min(0.75 * planned * size / squares, 0.98 / (1 + bound)) * gain
        gains.append(gain)
        most = max(most, sum(money) if planned is None else (sum(money) + on_plan) / 2)
    return most


@given(st.lists(st.floats(-1, 1), max_size=30), st.floats(-0.9, 0.9))
def test_money_is_that_of_plain_multiplication(values: list[float], bound: float) -> None:
    assert math.exp(evidence_above(values, bound)) == pytest.approx(plain_money(values, bound), rel=1e-9)
    assert evidence_below(values, bound) == evidence_above([-value for value in values], -bound)


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 1)), max_size=30), st.floats(-0.9, 0.9), st.floats(0.01, 0.5)
)
def test_half_of_the_money_follows_a_plan(drawn: list[tuple[float, float]], bound: float, planned: float) -> None:
    values, weights = [value for value, _ in drawn], [weight for _, weight in drawn]
    found = math.exp(evidence_above(values, bound, weights, planned=planned))
    assert found == pytest.approx(plain_money(values, bound, planned, weights), rel=1e-9)
    assert found >= 0.5 * plain_money(values, bound, weights=weights) - 1e-9  # a wrong plan loses half at most


@pytest.mark.slow
def test_a_plan_needs_fewer_items_and_is_as_rarely_wrong() -> None:
    """1,000 studies of 400 items with ties: a loss of the margin is ever excluded in at most 5%, by a simulation 7%."""
    rng = np.random.default_rng(45)
    shares = {-1.0: 0.115, 0.0: 0.8, 1.0: 0.085}  # a mean of -.03
    drawn = rng.choice(list(shares), p=list(shares.values()), size=(1000, 400))
    wrong = np.mean([evidence_above(values, -0.03, planned=0.03) >= math.log(20) for values in drawn])
    assert wrong < 0.07
    equal = np.zeros(items_without_loss(0.03, 0.05))
    assert evidence_above(equal, -0.03) < math.log(20) <= evidence_above(equal, -0.03, planned=0.03)


@pytest.mark.slow
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_the_interval_holds_what_no_bettor_excludes(values: list[float]) -> None:
    interval = interval_at_any_look(values, values, 0.95)
    for inside in np.linspace(interval.low, interval.high, 5)[1:-1]:
        assert evidence_above(values, inside) < math.log(40) + 1e-6
        assert evidence_below(values, inside) < math.log(40) + 1e-6
    assert interval.low - 1e-9 <= interval.high


def test_the_number_of_items_without_loss_is_that_of_the_docs() -> None:
    docs, number = Path(__file__).parents[2] / "docs", items_without_loss(0.03, 0.05)
    gate = (docs / "how-to/gate-a-release.md").read_text("utf-8")
    statistics = (docs / "explanation/measurements/statistics.md").read_text("utf-8")
    assert f"(with `--sequential` {number})" in gate
    assert f"{number} items without any loss" in statistics


def test_equal_scores_need_a_number_of_items_that_grows_as_the_margin_shrinks() -> None:
    numbers = [items_without_loss(margin, 0.05) for margin in (0.2, 0.1, 0.05, 0.03)]
    assert numbers == sorted(numbers)
    for margin, number in zip((0.2, 0.1, 0.05, 0.03), numbers, strict=True):
        least = [plain_money([0.0] * count, -margin, planned=margin) for count in (number - 1, number)]
        assert least[0] < 20 <= least[1]


def test_more_items_than_needed_pass_and_fewer_do_not() -> None:
    enough = items_without_loss(0.1, 0.05)
    for items, decision in ((enough, "PASS"), (enough - 1, "INCONCLUSIVE")):
        right = {1024: np.ones(items), 2048: np.ones(items)}
        found = sequential_gate(side(right), side(right), margin=0.1)
        assert found.decision == decision
        assert (f"it takes at least {enough} items" in found.reason) == (decision == "INCONCLUSIVE")
        assert {claim.items for claim in found.claims} == {items}
        assert found.looks == "any"


@pytest.mark.slow
def test_a_loss_at_one_length_fails_and_is_named() -> None:
    found = sequential_gate(drawn(1, 600, {4096: 0.3}), drawn(2, 600), margin=0.03)
    assert found.decision == "FAIL"
    assert decisions(found)["kv at 4k"] == "FAIL"
    assert decisions(found)["kv at 1k"] != "FAIL"
    claim = next(claim for claim in found.claims if claim.length == 4096)
    assert claim.interval.low < -0.24 * 0.9 < claim.interval.high


def unfinished(rows: pl.DataFrame, items: set[str]) -> pl.DataFrame:
    """The rows of a run in which some items are still to be asked."""
    waits = pl.col("item").is_in(items)
    return rows.with_columns(
        value=pl.when(~waits).then("value"),
        status=pl.when(waits).then(pl.lit("error")).otherwise("status"),
        detail=pl.when(waits).then(pl.lit(f"{NOT_ASKED}.")).otherwise("detail"),
    )


@pytest.mark.slow
def test_only_items_before_the_first_that_is_still_to_come_count() -> None:
    """What is finished early may be finished early because it is easy."""
    candidate, baseline = drawn(1, 300), drawn(2, 300)
    order = sorted(set(candidate["item"]), key=lambda item: place_of("kv", item))
    for waiting in ({order[120]}, set(order[120:]), {order[120], order[250]}):
        found = sequential_gate(unfinished(candidate, waiting), baseline, margin=0.03)
        assert {claim.items for claim in found.claims} == {120}
        whole = sequential_gate(
            *(rows.filter(pl.col("item").is_in(order[:120])) for rows in (candidate, baseline)), margin=0.03
        )
        assert [claim.difference for claim in found.claims] == [claim.difference for claim in whole.claims]
        assert [claim.p_margin for claim in found.claims] == [claim.p_margin for claim in whole.claims]


def test_deleted_replies_of_the_candidate_are_still_to_come() -> None:
    candidate, baseline = drawn(1, 300), drawn(2, 300)
    order = sorted(set(candidate["item"]), key=lambda item: place_of("kv", item))
    found = sequential_gate(candidate.filter(pl.col("item") != order[9]), baseline, margin=0.03)
    assert {claim.items for claim in found.claims} == {9}


@pytest.mark.slow
def test_a_failed_reply_counts_as_the_worst_for_either_decision() -> None:
    right = {1024: np.ones(60)}
    rows = side(right)
    failed = rows.with_columns(
        value=pl.when(pl.col("item") != rows["item"][3]).then("value"),
        status=pl.when(pl.col("item") != rows["item"][3]).then("status").otherwise(pl.lit("error")),
    )
    (claim,) = sequential_gate(failed, rows, margin=0.1).claims
    (wrong,) = sequential_gate(
        rows.with_columns(value=pl.col("value") * (pl.col("item") != rows["item"][3])), rows, margin=0.1
    ).claims
    assert claim.p_margin == wrong.p_margin < 1
    assert claim.p_worse == pytest.approx(1)
    assert claim.difference == pytest.approx(-0.5 / 60)


def test_the_claims_are_those_of_the_gate_for_one_look() -> None:
    right = np.ones(30)
    tasks = (("kv", (1024, 2048)), ("qa", (1024, 2048)))
    rows = pl.concat([side(dict.fromkeys(lengths, right), task=task) for task, lengths in tasks])
    found = sequential_gate(rows, rows, margin=0.2)
    assert list(decisions(found)) == ["all tasks", "all tasks at 1k", "all tasks at 2k", "kv", "qa"]


@pytest.mark.slow
def test_an_easy_task_with_many_items_does_not_hide_a_loss() -> None:
    def of(loss: float) -> pl.DataFrame:
        many = side({1024: np.ones(400)})
        few = side({1024: (np.random.default_rng(5).random(100) >= loss)})
        return pl.concat([many, few.with_columns(task=pl.lit("qa"))])

    found = sequential_gate(of(0.5), of(0.0), margin=0.03)
    overall = found.claims[0]
    assert overall.name == "all tasks at 1k"
    assert overall.difference == pytest.approx(found.claims[2].difference / 2)
    assert found.claims[2].difference == pytest.approx(-0.5, abs=0.12)
    assert found.decision == "FAIL"


def test_a_cluster_is_one_bet() -> None:
    rows = side({1024: np.ones(200)}).with_columns(
        facets=pl.concat_str(pl.lit('{"cluster": "'), pl.int_range(pl.len()) // 10, pl.lit('"}'))
    )
    (claim,) = sequential_gate(rows, rows, margin=0.1).claims
    assert (claim.clusters, claim.items) == (20, 200)
    assert claim.decision == "INCONCLUSIVE"


def test_unanswered_replies_cannot_be_dropped(tmp_path: Path) -> None:
    from fathom.commands.gate import gate

    with pytest.raises(FathomError, match="unanswered replies count 0"):
        gate(tmp_path, baseline=tmp_path, sequential=True, unanswered="drop")


@pytest.mark.slow
@pytest.mark.long
def test_equal_models_are_rarely_failed_at_any_look_and_a_loss_of_the_margin_rarely_passes() -> None:
    """At level .05 each happens in at most 5 of 100; 6 of 40 or more have a probability of 1.4%."""
    failed = passed = 0
    for seed in range(40):
        found = sequential_gate(drawn(2 * seed + 1, 150), drawn(2 * seed + 2, 150), margin=0.05)
        failed += any(claim.p_worse <= 0.05 for claim in found.claims)
        rng = np.random.default_rng(seed)
        lost = side({1024: (rng.random(300) >= 0.1)})
        passed += sequential_gate(lost, side({1024: np.ones(300)}), margin=0.1).decision == "PASS"
    assert failed < 6
    assert passed < 6


def test_nothing_passes_while_a_task_or_a_length_waits_or_is_absent() -> None:
    right = np.ones(200)
    whole = side({1024: right, 2048: right})
    late = pl.col("length") == 2048
    waits = whole.with_columns(
        value=pl.when(~late).then("value"),
        status=pl.when(late).then(pl.lit("error")).otherwise("status"),
        detail=pl.when(late).then(pl.lit(f"{NOT_ASKED}.")).otherwise("detail"),
    )
    found = sequential_gate(waits, whole, margin=0.1)
    assert found.decision == "INCONCLUSIVE"
    assert decisions(found) == {"kv": "INCONCLUSIVE", "kv at 1k": "PASS", "kv at 2k": "INCONCLUSIVE"}
    for candidate, baseline, gap in (
        (whole.filter(~late), whole, "the candidate has no sample of kv at 2k"),
        (whole, whole.filter(~late), "the baseline has no sample of kv at 2k"),
    ):
        found = sequential_gate(candidate, baseline, margin=0.1)
        assert (found.decision, found.gaps) == ("INCONCLUSIVE", (gap,))


def test_replies_that_are_still_to_come_do_not_hide_that_others_were_asked_again() -> None:
    rows = side({1024: np.ones(1000)})
    again = unfinished(rows, set(rows["item"][100:])).with_columns(
        asked_again=(pl.int_range(pl.len()) < 50).cast(pl.Int64)
    )
    found = sequential_gate(again, rows, margin=0.1)
    assert "asked more than once: 50 of 100 replies" in found.reason


def test_a_document_with_many_items_weighs_as_much_as_they_do() -> None:
    """Documents with nine items lose half of them, those with one item nothing: the loss is that of the items."""
    sizes = [9 if number % 5 == 0 else 1 for number in range(400)]
    document = np.repeat(np.arange(400), sizes)
    lost = np.array([number % 5 == 0 and place % 2 == 0 for place, number in enumerate(document)])
    base = side({1024: np.ones(len(document))}).with_columns(
        facets=pl.concat_str(pl.lit('{"cluster": "'), pl.Series(document), pl.lit('"}'))
    )
    found = sequential_gate(base.with_columns(value=pl.Series(~lost).cast(pl.Float64)), base, margin=0.1)
    assert found.claims[0].difference == pytest.approx(-lost.mean())
    assert found.decision == "FAIL"


@pytest.mark.slow
def test_items_at_some_lengths_only_count_as_they_do_in_the_mean() -> None:
    missed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        both = rng.random(400) < 0.3
        lost = ~both & (rng.random(400) < 0.4)
        base = pl.concat([side({1024: np.ones(400)}), side({2048: np.ones(400)})]).with_row_index("_place")
        base = base.filter((pl.col("length") == 1024) | pl.Series(np.concatenate([both, both]))).drop("_place")
        worse = base.join(
            pl.DataFrame({"item": side({1024: np.ones(400)})["item"], "_lost": lost}), on="item", maintain_order="left"
        )
        worse = worse.with_columns(value=1.0 - (pl.col("_lost") & (pl.col("length") == 1024))).drop("_lost")
        interval = sequential_gate(worse, base, margin=0.1).claims[0].interval
        missed += not interval.low <= -0.7 * 0.4 / 2 <= interval.high
    assert missed <= 3
