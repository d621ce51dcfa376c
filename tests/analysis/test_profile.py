"""Profiles and what is made of them, against closed forms: means, replicates, what is paired, bases, LongScore."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy
from numpy.typing import NDArray
from simulated import LENGTHS, row, table

from fathom.analysis import average_scores, longscore
from fathom.analysis.profile import Profile, at_columns, interval_over, measured_from_start, profiles
from fathom.rows import to_frame
from fathom.stats.intervals import exact_interval, interval_of, jeffreys_interval
from fathom.types import FathomError

Floats = NDArray[np.float64]
ITEMS = 60


def spread(scores: Floats, prior: float = 1.0) -> float:
    """Variance of replicates of a mean of items: s^2 / n, and that of a pseudo-item, right or wrong at random."""
    n, mean = len(scores), float(scores.mean())
    pseudo = prior / 2 * (mean**2 + (1 - mean) ** 2) / (n + prior) ** 2
    return float(scores.var(ddof=1)) * n / (n + prior) ** 2 + pseudo


@pytest.fixture(scope="module")
def scores() -> Floats:
    rng = np.random.default_rng(7)
    ease = rng.normal(0, 0.15, (ITEMS, 1))
    found: Floats = np.clip(0.5 + ease + rng.normal(0, 0.1, (ITEMS, 3)), 0, 1)
    return found


@pytest.fixture(scope="module")
def one(scores: Floats) -> Profile:
    return profiles(table(scores.tolist()), replicates=20_000)[0]


def test_means_and_counts(one: Profile, scores: Floats) -> None:
    assert one.lengths.tolist() == list(LENGTHS[:3])
    assert one.means == pytest.approx(scores.mean(axis=0))
    assert one.items.tolist() == one.scored.tolist() == [ITEMS] * 3
    assert one.complete.all()


def test_replicates_have_the_mean_and_the_variance_of_a_mean(one: Profile, scores: Floats) -> None:
    for column in range(3):
        assert one.draws[:, column].mean() == pytest.approx(scores[:, column].mean(), abs=0.002)
        assert one.draws[:, column].var() == pytest.approx(spread(scores[:, column]), rel=0.05)


def test_lengths_are_paired_within_items(one: Profile, scores: Floats) -> None:
    gap = one.draws[:, 0] - one.draws[:, 1]
    apart = scores[:, 0] - scores[:, 1]
    unpaired = scores[:, 0].var(ddof=1) / ITEMS + scores[:, 1].var(ddof=1) / ITEMS
    assert gap.var() < 0.6 * unpaired
    # One split of the pseudo-cluster for both lengths: it adds nothing to their difference.
    assert gap.var() == pytest.approx(apart.var(ddof=1) / ITEMS, rel=0.07)


def test_a_length_is_compared_with_another_split_of_the_pseudo_cluster(one: Profile, scores: Floats) -> None:
    gap = one.draws[:, 0] - one.compared[:, 1]
    apart = scores[:, 0] - scores[:, 1]
    priors = 2 * 0.5 * 0.5 / (ITEMS + 1) ** 2
    assert gap.var() == pytest.approx(apart.var(ddof=1) / ITEMS + priors, rel=0.07)
    assert one.compared[:, 1].var() == pytest.approx(one.draws[:, 1].var(), rel=0.05)


def test_a_mean_over_lengths_holds_one_pseudo_cluster(one: Profile, scores: Floats) -> None:
    """What it adds does not shrink with the number of lengths."""
    assert one.draws.mean(axis=1).var() == pytest.approx(spread(scores.mean(axis=1)), rel=0.06)


def test_the_interval_over_lengths_is_that_of_the_replicates_or_exact(one: Profile) -> None:
    first = np.array([True, False, True])
    assert interval_over(one, first) == interval_of(one.draws[:, [0, 2]].mean(axis=1), float(one.means[first].mean()))
    right, whole = profiles(table([[1, 1, 0]] * 4 + [[0, 0, 0.5]]), replicates=50)
    assert right.clusters is not None
    assert interval_over(right, np.array([True, True, False])) == jeffreys_interval(4, 5)
    assert interval_over(whole, np.array([True, True, False])) == jeffreys_interval(4, 5)  # the mean of one task
    assert exact_interval(right.clusters) is None
    two = profiles(pl.concat([table([[1]] * 5, task=task) for task in ("a", "b")]), replicates=50)[-1]
    assert two.clusters is None
    assert interval_over(two, np.array([True])).high == 1


def test_design_of_profiles_counts_items_and_their_clusters() -> None:
    own = [row(float(item % 2), item=item, length=length) for item in range(6) for length in LENGTHS[:2]]
    (task, whole) = profiles(to_frame(own), replicates=5)
    assert task.design == whole.design
    assert task.design is not None
    assert (task.design.scores, task.design.clusters) == (6, 6)
    assert task.design.effect == pytest.approx(1)
    shared = [row(float(item % 4 < 2), item=item, facets={"cluster": item // 2}) for item in range(8)]
    parts = profiles(pl.concat([to_frame(shared), table([[0.1], [0.9]], task="t")]), replicates=5)
    first, second, both = (part.design for part in parts)
    assert first is not None
    assert second is not None
    assert both is not None
    assert (first.scores, first.clusters) == (8, 4)
    assert first.effect == pytest.approx(2 * (4 / 3) / (8 / 7))
    assert (both.scores, both.clusters) == (10, 6)
    variances = [0.25 * 8 / 7 / 8, 0.16 * 2 / 2]  # of means of as many independent items
    assert both.effect == pytest.approx((variances[0] * first.effect + variances[1]) / sum(variances))
    assert both.effective == pytest.approx(10 / both.effect)
    assert both.independent == pytest.approx(sum(variances) / 4)
    right = profiles(pl.concat([to_frame(shared), table([[1.0]] * 4, task="t")]), replicates=5)[-1].design
    assert right is not None
    assert right.scores == 12
    assert right.effect == pytest.approx(first.effect)
    unequal = profiles(pl.concat([table([[0.0], [1.0]] * n, task=f"t{n}") for n in (5, 95)]), replicates=5)[-1].design
    assert unequal is not None
    assert unequal.effect == pytest.approx(1)


def test_tasks_have_equal_weight_and_share_one_pseudo_item() -> None:
    rng = np.random.default_rng(8)
    few, many = rng.random((20, 1)), rng.random((200, 1)) * 0.5
    rows = pl.concat([table(few.tolist(), task="a"), table(many.tolist(), task="b")])
    *_, whole = profiles(rows, replicates=20_000)
    assert whole.task == "all"
    assert whole.tasks == ("a", "b")
    assert whole.means[0] == pytest.approx((few.mean() + many.mean()) / 2)
    assert whole.draws[:, 0].var() == pytest.approx((spread(few[:, 0], 0.5) + spread(many[:, 0], 0.5)) / 4, rel=0.06)
    assert whole.items.tolist() == [220]


def test_many_tasks_of_few_items_are_not_pulled_to_one_half() -> None:
    """Weights of four items sum to a gamma variate of shape 2; ten pseudo-items, one a task, would give 2.5 / 3."""
    rows = pl.concat([table([[1]] * 4, task=f"t{number}") for number in range(10)])
    *_, whole = profiles(rows)
    assert whole.draws.mean() == pytest.approx(2.05 / 2.1, abs=0.002)


def test_a_length_that_one_task_lacks_is_not_complete_and_in_no_average() -> None:
    rows = pl.concat([table([[1, 0], [1, 1]], task="a"), table([[0], [0]], task="b")])
    *_, whole = profiles(rows, replicates=50)
    assert whole.complete.tolist() == [True, False]
    assert whole.means.tolist() == [0.5, 0.5]  # over both tasks; over the one that there is
    average = average_scores(rows)[-1]
    assert (average.mean, average.lengths) == (0.5, (LENGTHS[0],))


def test_some_lengths_of_a_profile_are_those_lengths(one: Profile) -> None:
    part = at_columns(one, np.array([True, False, True]))
    assert part.lengths.tolist() == [LENGTHS[0], LENGTHS[2]]
    assert part.means.tolist() == one.means[[0, 2]].tolist()
    assert (part.draws == one.draws[:, [0, 2]]).all()
    assert (part.compared == one.compared[:, [0, 2]]).all()
    assert part.clusters is not None
    assert one.clusters is not None
    assert (part.clusters.totals == one.clusters.totals[:, [0, 2]]).all()
    assert len(part.gaps) == len(part.tallies) == 2


def test_chance_is_a_fact_without_a_prior() -> None:
    rows = to_frame(row(1.0, item=item, chance=0.25) for item in range(5))
    (task, _) = profiles(rows, replicates=50)
    assert task.chance.tolist() == [0.25]
    assert task.chance_draws.ravel() == pytest.approx(np.full(50, 0.25))


# ------------------------------------------------------------------------------------------------------- LongScore


def test_longscore_is_the_mean_of_the_changes_from_the_base() -> None:
    levels = np.array([0.9, 0.7, 0.8, 0.4, 0.6, 0.2])  # 2k, 4k, 6k; 8k, 16k, 32k
    rows = table([(levels + shift).tolist() for shift in (-0.1, 0.0, 0.1)])
    (found, _) = longscore(rows)
    assert found.base == pytest.approx(0.8)
    assert [point.value for point in found.points] == pytest.approx([-0.5, -0.25, -0.75])
    assert [point.length for point in found.points] == list(LENGTHS[3:])
    assert found.average == pytest.approx(-0.5)
    assert found.base_lengths == LENGTHS[:3]


@pytest.mark.slow
def test_the_interval_of_longscore_is_that_of_a_direct_bootstrap_of_the_ratio() -> None:
    rng = np.random.default_rng(9)
    ease = rng.normal(0, 0.2, (150, 1))
    levels = np.array([0.7, 0.7, 0.7, 0.5, 0.4, 0.3])
    scores = np.clip(levels + ease + rng.normal(0, 0.1, (150, 6)), 0, 1)
    (found, _) = longscore(table(scores.tolist()))
    drawn = []
    for _ in range(4000):  # the plain bootstrap: items drawn with replacement, at all lengths together
        own = scores[rng.integers(0, 150, 150)].mean(axis=0)
        drawn.append(own[3:].mean() / own[:3].mean() - 1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.average_interval is not None
    # A little wider: base and lengths have a pseudo-cluster each.
    assert found.average_interval.low == pytest.approx(low, abs=0.1 * (high - low))
    assert found.average_interval.high == pytest.approx(high, abs=0.15 * (high - low))


def test_the_base_of_the_code_pools_scores_and_does_not_average_lengths() -> None:
    rows = table([[1, 1, 1, 0.5], [1, None, None, 0.5], [0, None, None, 0.5]]).drop_nulls("value")
    paper, code = longscore(rows)[0], longscore(rows, base="code")[0]
    assert paper.base == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert code.base == pytest.approx(4 / 5)


# ------------------------------------------------------------------------------------------ tasks of different lengths


def two_tasks() -> pl.DataFrame:
    """Task a at 2k, 4k, 8k; task b at 2k, 6k, 8k, of which nothing may rest on 8k; a refusal in each at 2k."""
    rows = [row(0.5, task="a", item=item, length=length) for item in range(4) for length in (2048, 4096, 8192)]
    rows += [row(1.0, task="b", item=item, length=length) for item in range(2) for length in (2048, 6144)]
    rows += [row(None, task="b", item=item, length=8192, status="overflow") for item in range(2)]
    rows += [row(None, task=task, item=9, length=2048, status="refused") for task in ("a", "b")]
    return to_frame(rows)


def test_over_tasks_every_length_says_what_it_rests_on() -> None:
    a, b, whole = profiles(two_tasks(), replicates=50, seed=3)
    assert (whole.model, whole.variant, whole.task, whole.tasks) == ("m", "", "all", ("a", "b"))
    assert (a.task, a.tasks, b.tasks) == ("a", ("a",), ("b",))
    assert whole.lengths.tolist() == [2048, 4096, 6144, 8192]
    assert whole.means[:3] == pytest.approx([(0.4 + 2 / 3) / 2, 0.5, 1.0])
    assert np.isnan(whole.means[3])  # of an easier test: task b was asked there and has no score
    assert whole.other[:3] == pytest.approx([0.75, 0.5, 1.0])
    assert np.isnan(whole.other[3])
    assert np.isnan(whole.draws[:, 3]).all()
    assert whole.draws.shape == (50, 4)
    assert whole.complete.tolist() == [True, False, False, False]
    assert whole.items.tolist() == [8, 4, 2, 6]
    assert whole.scored.tolist() == [8, 4, 2, 4]
    assert [gap and (gap.task, gap.length, gap.reason) for gap in whole.gaps] == [
        None, None, None, ("b", 8192, "does not fit"),
    ]  # fmt: skip
    assert [one["unanswered"] for one in whole.tallies] == [2, 0, 0, 0]
    assert [one["overflow"] for one in whole.tallies] == [0, 0, 0, 2]
    assert (whole.base, whole.note, whole.apart) == (None, "", False)
    assert whole.draws[:, 1].mean() == pytest.approx(0.5, abs=0.1)


def test_a_profile_ends_before_its_first_length_that_is_not_measured() -> None:
    _, b, whole = profiles(two_tasks(), replicates=20)
    assert measured_from_start(b).lengths.tolist() == [2048, 6144]
    assert measured_from_start(whole).lengths.tolist() == [2048, 4096, 6144]
    a = profiles(two_tasks(), replicates=20)[0]
    assert measured_from_start(a) is a


def test_some_lengths_of_a_profile_take_all_that_belongs_to_them() -> None:
    whole = profiles(two_tasks(), replicates=20)[-1]
    keep = np.array([True, False, False, True])
    part = at_columns(whole, keep)
    for name in ("lengths", "means", "chance", "items", "scored", "complete", "other"):
        assert np.array_equal(getattr(part, name), getattr(whole, name)[keep], equal_nan=True), name
    for name in ("draws", "compared", "chance_draws"):
        assert np.array_equal(getattr(part, name), getattr(whole, name)[:, keep], equal_nan=True), name
    assert part.gaps == (whole.gaps[0], whole.gaps[3])
    assert part.tallies == (whole.tallies[0], whole.tallies[3])


def test_chance_levels_are_averaged_as_scores_are_and_unknown_where_none_is_known() -> None:
    rows = [row(1.0, task="a", item=item, chance=0.25 if item else 0.75) for item in range(4)]
    rows += [row(1.0, task="b", item=item, chance=0.5) for item in range(9)]
    a, b, whole = profiles(to_frame(rows), replicates=400)
    assert [one.chance[0] for one in (a, b, whole)] == pytest.approx([0.375, 0.5, 0.4375])
    assert whole.chance_draws.mean() == pytest.approx(0.4375, abs=0.02)
    assert a.chance_draws.shape == (400, 1)
    unknown = profiles(to_frame([row(1.0, item=item, chance=None) for item in range(3)]), replicates=5)[0]
    assert np.isnan(unknown.chance).all()
    assert np.isnan(unknown.chance_draws).all()


def test_models_and_variants_have_profiles_of_their_own_in_the_order_of_the_rows() -> None:
    rows = [row(1.0, model=model, variant=variant) for model, variant in (("b", "x"), ("a", ""), ("b", "y"))]
    found = profiles(to_frame(rows), replicates=5)
    names = [(one.model, one.variant, one.task) for one in found]
    assert names == [
        ("b", "x", "kv"), ("b", "x", "all"), ("a", "", "kv"), ("a", "", "all"), ("b", "y", "kv"), ("b", "y", "all"),
    ]  # fmt: skip
    assert profiles(to_frame([])) == []


def test_replicates_are_as_many_as_asked_and_depend_on_the_seed() -> None:
    rows = table([[0.2], [0.5], [0.9]])
    first, again, other = (profiles(rows, seed=seed)[0].draws for seed in (0, 0, 1))
    assert first.shape == (10_000, 1)
    assert (first == again).all()
    assert not np.isclose(first, other).any()


def test_questions_at_one_length_each_are_apart() -> None:
    once = to_frame(row(1.0, item=item, length=length) for item, length in enumerate(LENGTHS[:3]))
    one, whole = profiles(once, replicates=5)
    assert one.apart
    assert whole.apart
    both = pl.concat([once, table([[1, 1]], task="paired")])
    assert [found.apart for found in profiles(both, replicates=5)] == [True, False, True]
    assert not profiles(table([[1], [1]]), replicates=5)[0].apart  # there is one length only
    mixed = pl.concat([once, to_frame([row(1.0, item=0, length=LENGTHS[1])])])
    assert not profiles(mixed, replicates=5)[0].apart


def test_epochs_are_averaged_within_their_item() -> None:
    rows = [row(float(epoch > 1), item=0, epoch=epoch) for epoch in (1, 2, 3, 4)] + [row(0.0, item=1)]
    (one, _) = profiles(to_frame(rows), replicates=5)
    assert one.means.tolist() == [0.375]
    assert one.items.tolist() == [2]


@pytest.mark.parametrize("base", ["given", "other"])
def test_rows_have_two_bases(base: str) -> None:
    with pytest.raises(FathomError) as caught:
        profiles(to_frame([]), base=base)  # type: ignore[arg-type]  # what a command line may pass on
    assert str(caught.value) == (f"base is {base!r}: rows have the bases 'paper' and 'code', tables of scores 'given'.")


def test_the_mean_over_tasks_and_lengths_holds_one_pseudo_cluster_in_all() -> None:
    """Six right of six on each of two tasks at two lengths: weights of shape 4, and half a cluster each."""
    rows = pl.concat([table([[1, 1]] * 6, task=task) for task in ("a", "b")])
    *_, whole = profiles(rows, replicates=20_000)
    truth = scipy.stats.beta(4 + 1 / 4, 1 / 4)
    assert whole.draws.mean() == pytest.approx(truth.mean(), abs=0.001)
    assert whole.draws.mean(axis=1).var() == pytest.approx(truth.var() / 2, rel=0.06)


def test_the_base_of_the_code_is_that_of_each_task_and_their_mean() -> None:
    alone = [row(0.8, task="qa", item=item, length=0, facets={"context": "alone"}, chance=0.2) for item in range(5)]
    rows = pl.concat(
        [
            table([[0.5, 0.5, 0.5, 0.4]] * 5, task="qa"),
            table([[1, 1, 0.4, 0.4]] * 5, task="kv_retrieval"),
            to_frame(alone),
        ]
    )
    qa, kv, whole = profiles(rows, base="code", replicates=300)
    assert qa.base is not None
    assert kv.base is not None
    assert whole.base is not None
    assert [one.value for one in (qa.base, kv.base, whole.base)] == pytest.approx([0.8] * 3)
    assert qa.base.chance == pytest.approx(0.2)
    assert (qa.base.items, kv.base.items, whole.base.items) == (5, 15, 20)
    assert qa.base.draws.shape == (300,)
    assert qa.base.draws.std() > 0
    assert whole.base.note == "base is taken task by task"
    # The same items and the same seed: what is drawn for the base goes with what is drawn for the lengths.
    easy = np.random.default_rng(1).random(30)
    rows = table([[ease, ease, ease] for ease in easy], task="kv_retrieval")
    (own, _) = profiles(rows, base="code", replicates=300)
    assert own.base is not None
    assert np.corrcoef(own.base.draws, own.draws.mean(axis=1))[0, 1] > 0.8
    without = pl.concat([rows.with_columns(task=pl.lit("qa")), rows])
    assert profiles(without, replicates=5)[-1].base is None


def test_any_task_that_was_asked_and_has_no_score_takes_the_mean_with_it() -> None:
    rows = pl.concat(
        [
            to_frame([row(None, task="a", status="overflow")]),
            table([[1.0, 1.0]], task="b"),
            table([[0.5, 0.5]], task="c"),
        ]
    )
    *_, whole = profiles(rows, replicates=5)
    assert np.isnan(whole.means).tolist() == [True, False]


def test_a_length_at_which_nothing_was_answered_is_not_complete_where_that_is_dropped() -> None:
    rows = to_frame([row(None, status="refused"), row(1.0, length=4096)])
    one, whole = profiles(rows, replicates=5, unanswered="drop")
    assert one.gaps == (None, None)
    assert one.complete.tolist() == whole.complete.tolist() == [False, True]
