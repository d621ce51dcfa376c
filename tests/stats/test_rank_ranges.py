"""Ranks and families against closed forms; against plain loops in ``test_naive.py``."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fathom.stats import flips, shared
from fathom.stats.ranks import MaxT, holm, ranks_of
from fathom.stats.shared import Overlap, SharedScores, TaskScores

Floats = NDArray[np.float64]


def of(values: list[float], pairs: list[tuple[int, int]]) -> tuple[list[int], list[int], list[int]]:
    """Best, worst and groups of scores of which some pairs are significant."""
    points, significant = np.array(values), np.zeros((len(values), len(values)), dtype=bool)
    for first, second in pairs:
        significant[first, second] = significant[second, first] = True
    ranks = ranks_of(points[:, None] - points[None, :], significant)
    assert (ranks.significant == significant).all()
    return ranks.best.tolist(), ranks.worst.tolist(), ranks.groups.tolist()


def test_scores_that_do_not_differ_share_all_ranks() -> None:
    assert of([0.9, 0.5, 0.1], []) == ([1, 1, 1], [3, 3, 3], [1, 1, 1])
    assert of([0.5], []) == ([1], [1], [1])
    assert of([], []) == ([], [], [])


def test_each_significant_difference_takes_a_rank_from_both() -> None:
    assert of([0.9, 0.1], [(0, 1)]) == ([1, 2], [1, 2], [1, 2])
    assert of([0.9, 0.5, 0.1], [(0, 2)]) == ([1, 1, 2], [2, 3, 3], [1, 1, 2])
    assert of([0.9, 0.5, 0.1], [(0, 1), (0, 2)]) == ([1, 2, 2], [1, 3, 3], [1, 2, 2])
    assert of([0.9, 0.5, 0.1], [(0, 1), (0, 2), (1, 2)]) == ([1, 2, 3], [1, 2, 3], [1, 2, 3])


def test_a_tie_group_ends_where_any_of_its_scores_differs() -> None:
    """Of the first score nothing is known; the third differs from the second."""
    assert of([0.9, 0.8, 0.1], [(1, 2)])[2] == [1, 1, 2]
    # A new group is compared with its own scores only.
    assert of([0.9, 0.8, 0.7, 0.6], [(0, 1), (0, 2), (0, 3), (1, 3)])[2] == [1, 2, 2, 3]
    assert of([0.9, 0.8, 0.7], [(0, 1), (0, 2)])[2] == [1, 2, 2]


def test_what_cannot_be_compared_takes_no_rank() -> None:
    differences = np.array([[0.0, np.nan, 0.5], [np.nan, 0.0, 0.1], [-0.5, -0.1, 0.0]])
    significant = np.zeros((3, 3), dtype=bool)
    significant[0, 2] = significant[2, 0] = True
    ranks = ranks_of(differences, significant)
    assert (ranks.best.tolist(), ranks.worst.tolist()) == ([1, 1, 2], [2, 3, 3])


def test_the_critical_value_of_one_difference_is_that_of_a_two_sided_test() -> None:
    shares = (np.arange(20_000) + 0.5) / 20_000
    tested = MaxT()
    (error,) = tested.add(0.1 * scipy.stats.norm.ppf(shares)[None, :])
    assert error == pytest.approx(0.1, rel=1e-3)
    assert tested.critical() == pytest.approx(1.96, abs=5e-3)
    assert tested.critical(0.9) == pytest.approx(1.645, abs=5e-3)


def test_the_critical_value_of_independent_differences_is_that_of_sidak() -> None:
    draws = np.random.default_rng(1).normal(0, [[0.1]] * 5 + [[2.0]] * 5, (10, 40_000))
    tested = MaxT()
    tested.add(draws[:3])
    tested.add(draws[3:])
    assert tested.critical() == pytest.approx(scipy.stats.norm.ppf(1 - (1 - 0.95 ** (1 / 10)) / 2), abs=0.04)
    # Of the same difference again nothing changes.
    before = tested.critical()
    tested.add(draws[:3])
    assert tested.critical() == before


def test_without_a_difference_nothing_is_significant() -> None:
    assert MaxT().critical() == float("inf")
    tested = MaxT()
    assert tested.add(np.zeros((1, 10))).tolist() == [0]
    assert tested.critical() == 0
    other = MaxT()
    other.merge(np.array([1.0, 2.0, 3.0]))
    other.merge(np.array([2.0, 1.0, 1.0]))
    assert other.critical(0.5) == pytest.approx(2, rel=2e-5)
    assert other.critical(0.0) == pytest.approx(2, rel=2e-5)


def test_adding_replicates_leaves_them_as_they_are() -> None:
    draws = np.random.default_rng(2).normal(size=(2, 50))
    before = draws.copy()
    MaxT().add(draws)
    assert (draws == before).all()


def test_holm_with_shares_of_the_error_rejects_what_a_shortcut_of_all_intersections_rejects() -> None:
    """The closed test: a claim is rejected if every set with it has a member below its share of the error."""
    rng = np.random.default_rng(45)
    weights = np.array([0.5, 0.2, 0.2, 0.1])
    for _ in range(50):
        p_values = rng.random(4) ** 3
        adjusted = holm(p_values, 4, weights)
        for claim in range(4):
            sets = [[n for n in range(4) if n == claim or code >> n & 1] for code in range(16)]
            closed = max(min(p_values[n] * weights[own].sum() / weights[n] for n in own) for own in sets)
            assert adjusted[claim] == pytest.approx(min(1.0, closed))
    assert holm(p_values, 4, np.full(4, 0.25)).tolist() == pytest.approx(holm(p_values, 4).tolist())


def test_holm() -> None:
    assert holm(np.array([0.01, 0.04, 0.03]), 3).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.04, 0.02]), 2).tolist() == pytest.approx([0.04, 0.04])
    assert holm(np.array([0.5, 0.9]), 2).tolist() == [1, 1]
    assert holm(np.array([0.01, 0.02]), 10).tolist() == pytest.approx([0.1, 0.18])
    assert holm(np.empty(0), 0).tolist() == []
    assert holm(np.array([0.02, 0.02]), 2).tolist() == pytest.approx([0.04, 0.04])
    families = np.array([[0.01, 0.04], [0.04, 0.01]])
    assert holm(families, 2).tolist() == [pytest.approx([0.02, 0.04]), pytest.approx([0.04, 0.02])]


@pytest.mark.slow
def test_ranges_of_ranks_hold_all_true_ranks_together() -> None:
    """Twenty scores with normal errors, in groups of equal ones: some range is wrong in about 5% of studies."""
    rng, truth = np.random.default_rng(11), np.repeat([0.7, 0.6, 0.55, 0.4], 5)
    best = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    worst = 20 - (truth[None, :] < truth[:, None]).sum(axis=1)
    first, second = np.triu_indices(20, 1)
    wrong, narrow = 0, 0.0
    for _ in range(200):
        scores = rng.normal(truth, 0.03)
        draws = rng.normal(0, 0.03, (20, 1000))
        tested, errors = MaxT(), np.full((20, 20), np.inf)
        errors[first, second] = errors[second, first] = tested.add(draws[first] - draws[second])
        differences = scores[:, None] - scores[None, :]
        ranks = ranks_of(differences, np.abs(differences) > tested.critical() * errors)
        # A wrong range excludes a rank that ties leave possible.
        wrong += not ((ranks.best <= worst) & (ranks.worst >= best)).all() or (ranks.best > best).any()
        narrow += float((ranks.worst - ranks.best).mean())
    assert wrong / 200 <= 0.08
    assert narrow / 200 < 15


def all_signs(clusters: int) -> list[tuple[int, ...]]:
    return list(itertools.product((1, -1), repeat=clusters))


@pytest.mark.slow
@given(st.integers(0, 9_999), st.integers(2, 4), st.integers(3, 9), st.booleans())
def test_ranks_are_those_of_all_sign_vectors(seed: int, models: int, clusters: int, binary: bool) -> None:
    """Of scores of the same clusters: every sign vector, in plain loops, where the program draws some."""
    rng = np.random.default_rng(seed)
    scores = rng.random((models, clusters)) ** rng.uniform(0.2, 4, (models, 1))
    if binary:
        scores = (scores > 0.5).astype(float)
    names = tuple(f"item {place:02d}" for place in range(clusters))
    tables = [{"task": TaskScores(names, names, (1024,), own[:, None])} for own in scores]
    compared, tested = SharedScores(tables, seed=0, replicates=10_000), MaxT()
    pairs = list(itertools.combinations(range(models), 2))
    found, plain = {}, {}
    for first, second in pairs:
        gap, noise, _ = compared.gap(first, second) or pytest.fail("nothing is shared")
        found[first, second] = gap, float(tested.add(noise[None, :])[0])
        plain[first, second] = [a - b for a, b in zip(scores[first].tolist(), scores[second].tolist(), strict=True)]
    largest = []
    for signs in all_signs(clusters):
        sums = [abs(sum(map(operator.mul, signs, own))) for own in plain.values()]
        sizes = [math.sqrt(sum(one * one for one in own)) for own in plain.values()]
        largest.append(max(one / size if size else 0.0 for one, size in zip(sums, sizes, strict=True)))
    for pair, (gap, error) in found.items():
        size = math.sqrt(sum(one * one for one in plain[pair]))
        observed = abs(sum(plain[pair])) / size if size else 0.0
        # Drawn signs are on either side of shares near 5%, and give each pair an error of its own, off by about 1%.
        most, fewest = (sum(each >= share * observed for each in largest) / len(largest) for share in (0.97, 1.03))
        significant = abs(gap.difference) > tested.critical() * error
        assert significant or most >= 0.04
        assert not significant or fewest <= 0.06
        if models == 2 and not 0.04 < gap.p_value < 0.06:
            assert significant == (gap.p_value < 0.05)


def test_ranks_of_very_many_clusters_come_from_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    names = tuple(f"{place:03d}" for place in range(300))
    tables = [{"task": TaskScores(names, names, (1024,), rng.random((300, 1)))} for _ in range(2)]
    errors = []
    for most in (300, 299):
        monkeypatch.setattr(flips, "SIGNED", most)
        noise = SharedScores(tables, seed=0, replicates=5_000).noise(0, 1)
        assert noise is not None
        assert noise.shape == (5_000,)
        assert abs(noise.mean()) < 0.1 * noise.std()
        errors += MaxT().add(noise[None, :]).tolist()
    assert errors[0] == pytest.approx(errors[1], rel=0.05)


def scored(names: str, lengths: tuple[int, ...], missing: Sequence[tuple[int, int]] = ()) -> TaskScores:
    """Scores of items that are named by a letter each."""
    values = np.random.default_rng(len(names)).random((len(names), len(lengths)))
    for cell in missing:
        values[cell] = np.nan
    return TaskScores(tuple(names), tuple(names), lengths, values)


def test_what_a_difference_is_over() -> None:
    first = {"kv": scored("abcd", (1024, 2048, 4096)), "qa": scored("ef", (1024, 2048))}
    second = {"kv": scored("bcdx", (1024, 2048), missing=[(0, 0), (1, 0), (1, 1)]), "qa": scored("ef", (1024, 2048))}
    apart = SharedScores([first, second], seed=0, replicates=200, together=False)
    whole, kv, qa = (apart.gap(0, 1, tasks) or pytest.fail("nothing") for tasks in (None, ["kv"], ["qa"]))
    assert whole[2] == Overlap(cells=4, of=5, samples=7, longest=2048, items=4, samples_of=14)
    assert kv[2] == Overlap(cells=2, of=3, samples=3, longest=2048, items=2, samples_of=10)
    assert qa[2] == Overlap(cells=2, of=2, samples=4, longest=2048, items=2, samples_of=4)
    assert [one.partial for *_, one in (whole, kv, qa)] == [True, True, False]
    together = SharedScores([first, second], seed=0, replicates=200).gap(0, 1)
    assert together is not None
    assert together[2] == Overlap(cells=4, of=4, samples=7, longest=2048, items=4, samples_of=14)
    assert together[2].partial  # of the same cells other items
    questions = [{"": scored(names, (0,))} for names in ("abc", "bcd", "xy")]
    unknown = SharedScores(questions, seed=0, replicates=200)
    some = unknown.gap(0, 1)
    assert some is not None
    assert some[2] == Overlap(cells=2, of=4, samples=2, longest=0, items=2, samples_of=4)
    assert unknown.gap(0, 2) is None
    assert unknown.noise(0, 2) is None
    assert SharedScores([first, {"qa": scored("xy", (1024,))}], seed=0, replicates=200).gap(0, 1) is None


def test_a_task_without_a_common_item_ends_a_mean_over_tasks_that_are_compared_together() -> None:
    """And is left out where each task counts at its own lengths."""
    first = {"kv": scored("ab", (1024,)), "qa": scored("cd", (1024,))}
    second = {"kv": scored("ab", (1024,)), "qa": scored("xy", (1024,))}
    assert SharedScores([first, second], seed=0, replicates=200).gap(0, 1) is None
    apart = SharedScores([first, second], seed=0, replicates=200, together=False).gap(0, 1)
    assert apart is not None
    assert apart[2] == Overlap(cells=1, of=2, samples=2, longest=1024, items=2, samples_of=2)


def test_sides_that_are_kept_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [{"kv": scored("abcdefghij"[: 10 - more], (1024, 2048))} for more in range(3)]
    found = []
    for kept in (400, 1):
        monkeypatch.setattr(shared, "_KEPT", kept)
        compared = SharedScores(models, seed=3, replicates=500)
        pairs = [compared.gap(*pair) for pair in ((0, 1), (0, 2), (1, 2), (0, 1))]
        found.append([(one[0], one[1].tolist(), one[2]) for one in pairs if one])
        assert len(compared.sides) <= kept
    assert found[0] == found[1]


def test_the_interval_of_a_clear_difference_lies_around_it_on_its_side() -> None:
    rng = np.random.default_rng(5)
    names = tuple(f"i{number}" for number in range(40))
    sides = [
        {"kv": TaskScores(names, names, (1024, 2048), np.clip(rng.normal(level, 0.1, (40, 2)), 0, 1))}
        for level in (0.8, 0.4)
    ]
    compared = SharedScores(sides, seed=0, replicates=2_000)
    for first, second, sign in ((0, 1, 1), (1, 0, -1)):
        found = compared.gap(first, second)
        assert found is not None
        gap = found[0]
        assert gap.difference == pytest.approx(0.4 * sign, abs=0.05)
        low, high = sorted((abs(gap.interval.low), abs(gap.interval.high)))
        assert 0.3 < low < abs(gap.difference) < high < 0.5
        assert gap.interval.high - gap.interval.low < 0.12
