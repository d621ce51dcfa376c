"""The statistics against a second implementation in plain loops (``naive.py``), on random tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive
from fathom.stats.beta import beta_lower_tail, beta_quantile
from fathom.stats.differences import Resampler, gap_of, paired
from fathom.stats.flips import flip_p_value, sign_p_value
from fathom.stats.intervals import (
    clusters_of,
    design_of,
    exact_interval,
    interval_of,
    jeffreys_interval,
    mean_interval,
    resampled_sums,
)
from fathom.stats.ranks import MaxT, holm, ranks_of

Floats = NDArray[np.float64]
Table = tuple[list[list[float | None]], list[str]]
REPLICATES = 7


@st.composite
def tables(draw: st.DrawFn, columns: int = 3, gaps: bool = True) -> Table:
    """Items x columns with gaps, in clusters of unequal sizes; right and wrong, with ties, or continuous."""
    number = draw(st.integers(1, 14))
    width = draw(st.integers(1, columns))
    zero_one = draw(st.booleans())
    score: st.SearchStrategy[float | None] = (
        st.sampled_from([0.0, 1.0]) if zero_one else st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
    )
    if gaps:
        score = st.one_of(score, score, score, st.none())
    rows = [[draw(score) for _ in range(width)] for _ in range(number)]
    groups = [f"g{draw(st.integers(0, number)):02}" for _ in range(number)]
    return rows, groups


def array(rows: Sequence[Sequence[float | None]]) -> Floats:
    return np.array([[math.nan if value is None else value for value in row] for row in rows])


def column_of(rows: Sequence[Sequence[float | None]], number: int) -> list[float | None]:
    return [row[number] for row in rows]


def shapes(rows: Sequence[Sequence[float | None]], groups: Sequence[str]) -> list[float]:
    """Shapes of the weights of clusters: (n - 2) / n of the smallest column that each has a score in."""
    columns = [naive.by_cluster(column_of(rows, number), groups) for number in range(len(rows[0]))]
    whole = len(columns[0])
    found = []
    for name in columns[0]:
        sizes = []
        for clusters in columns:
            present = sum(bool(values) for values in clusters.values())
            if clusters[name]:
                sizes.append(whole if present >= 0.8 * whole else present)
        fewest = min([whole, *sizes])
        found.append(max(fewest - 2, 0.5) / fewest)
    return found


@given(tables(), st.integers(0, 3), st.sampled_from([0.0, 0.25, 1.0]), st.sampled_from([0, 1, 5]))
def test_replicates_of_means_over_clusters(table: Table, seed: int, prior: float, stream: int) -> None:
    rows, groups = table
    number = len(set(groups))
    means = resampled_sums(clusters_of(array(rows), groups), seed, replicates=REPLICATES).means(seed, prior, stream)
    order = np.random.default_rng([seed, 4, number]).permutation(number) if seed else np.arange(number)
    drawn = np.random.default_rng([0, 0, number]).standard_gamma(
        [shapes(rows, groups)[place] for place in order], (REPLICATES, number)
    )
    weights = np.empty_like(drawn)
    weights[:, order] = drawn
    split = np.random.default_rng([seed, 1, stream]).standard_gamma(prior / 2, (2, REPLICATES))
    for replicate in range(REPLICATES):
        pseudo = (float(split[0, replicate]), float(split[1, replicate])) if prior else (0.0, 0.0)
        for column in range(len(rows[0])):
            expected = naive.weighted_mean(column_of(rows, column), groups, weights[replicate].tolist(), pseudo)
            if expected is None:
                assert math.isnan(means[replicate, column])
            else:
                assert means[replicate, column] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(tables())
def test_means_and_contributions_of_clusters(table: Table) -> None:
    rows, groups = table
    clusters = clusters_of(array(rows), groups)
    for number in range(len(rows[0])):
        column = column_of(rows, number)
        values = [value for value in column if value is not None]
        if values:
            assert clusters.means[number] == pytest.approx(naive.mean_of(values))
            own = [sum(part) / len(values) for part in naive.by_cluster(column, groups).values()]
            assert clusters.contributions[:, number] == pytest.approx(own)
        else:
            assert math.isnan(clusters.means[number])


@example(([[None], *[[0.2275625306566787]] * 3], ["g00", "g00", "g00", "g01"]))  # their mean is not quite theirs
@given(tables(columns=1))
def test_design_effect(table: Table) -> None:
    rows, groups = table
    column = column_of(rows, 0)
    design, effect = design_of(array(rows)[:, 0], groups), naive.design_effect(column, groups)
    assert design.scores == sum(value is not None for value in column)
    assert design.clusters == sum(bool(values) for values in naive.by_cluster(column, groups).values())
    if effect is None:
        assert math.isnan(design.effect)
    elif not math.isnan(design.effect):  # a variance of 1e-33 is 0 by one of the two
        assert design.effect == pytest.approx(effect, rel=1e-6, abs=1e-9)


@given(tables())
def test_exact_intervals(table: Table) -> None:
    rows, groups = table
    interval = exact_interval(clusters_of(array(rows), groups))
    clusters: dict[str, list[list[float]]] = {}
    for row, name in zip(rows, groups, strict=True):
        own = clusters.setdefault(name, [[] for _ in row])
        for place, value in enumerate(row):
            if value is not None:
                own[place].append(value)
    present = [own for own in clusters.values() if any(own)]
    sizes = {tuple(len(values) for values in own) for own in present}
    means = [naive.mean_of([value for values in own for value in values]) for own in present]
    if len(sizes) != 1 or any(1e-8 < mean < 1 - 1e-8 for mean in means):
        assert interval is None or any(mean not in (0.0, 1.0) for mean in means)
    elif all(mean in (0.0, 1.0) for mean in means):
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx(naive.jeffreys(round(sum(means)), len(means)), abs=1e-9)


@given(
    st.integers(1, 200).flatmap(lambda number: st.tuples(st.integers(0, number), st.just(number))),
    st.sampled_from([0.5, 0.9, 0.95]),
)
def test_intervals_of_proportions(counts: tuple[int, int], level: float) -> None:
    interval = jeffreys_interval(*counts, level)
    assert (interval.low, interval.high) == pytest.approx(naive.jeffreys(*counts, level), abs=1e-9)
    assert interval.level == level


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=80), st.floats(-1, 1), st.sampled_from([0.5, 0.8, 0.95]))
def test_ends_of_replicates(values: list[float], point: float, level: float) -> None:
    interval = interval_of(np.array(values), point, level)
    assert interval.low == pytest.approx(min(point, naive.quantile(values, (1 - level) / 2)), abs=1e-12)
    assert interval.high == pytest.approx(max(point, naive.quantile(values, (1 + level) / 2)), abs=1e-12)


def test_width_of_a_mean_over_questions_is_that_of_its_standard_error() -> None:
    rng = np.random.default_rng(1)
    groups = [f"g{number:02}" for number in range(60) for _ in range(number % 5 + 1)]
    values = [
        float(value)
        for value in np.clip(rng.beta(2, 2, 60).repeat(np.arange(60) % 5 + 1) + 0.1 * rng.random(180), 0, 1)
    ]
    _, interval = mean_interval(np.array(values), 0, groups=groups)
    assert (interval.high - interval.low) / 2 / 1.96 == pytest.approx(naive.ratio_error(values, groups), rel=0.08)


# ---------------------------------------------------------------------------------------------------- tests, families


@given(
    st.one_of(
        st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.25, 0.5, 1.0]), max_size=11),
        st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), max_size=11),
    )
)
@settings(max_examples=80)
def test_sign_flips_of_few_clusters(contributions: list[float]) -> None:
    assert flip_p_value(np.array(contributions)) == pytest.approx(naive.flips(contributions), abs=1e-12)


@given(st.integers(0, 400), st.integers(0, 400), st.sampled_from([0.1, 1 / 3, 1.0]))
def test_sign_test_of_equal_sizes(wins: int, losses: int, size: float) -> None:
    expected = naive.sign_test(wins, wins + losses)
    assert flip_p_value(np.array([size] * wins + [0.0] * 3 + [-size] * losses)) == pytest.approx(expected, rel=1e-8)
    if wins + losses:
        assert sign_p_value(max(wins, losses), wins + losses) == pytest.approx(expected, rel=1e-8)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 5))
def test_adjusted_p_values(p_values: list[float], more: int) -> None:
    tests = len(p_values) + more
    assert holm(np.array(p_values), tests).tolist() == pytest.approx(naive.holm(p_values, tests))
    twice = holm(np.array([p_values, p_values[::-1]]), tests)
    assert twice[1].tolist() == pytest.approx(naive.holm(p_values[::-1], tests))


@given(st.integers(0, 999), st.integers(2, 6), st.booleans())
def test_max_t_and_ranges_of_ranks(seed: int, models: int, constant: bool) -> None:
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.random(models).round(1))[::-1]
    draws = scores[:, None] + rng.normal(0, rng.uniform(0.01, 0.3, (models, 1)), (models, 60))
    if constant:
        draws[:2] = [[0.5], [0.25]]
    pairs = [(first, second) for first in range(models) for second in range(first + 1, models)]
    draws -= draws.mean(axis=1, keepdims=True)
    gaps = [draws[first] - draws[second] for first, second in pairs]
    tested = MaxT()
    errors = [float(tested.add(gap[None, :])[0]) for gap in gaps]
    expected, critical = naive.max_t([gap.tolist() for gap in gaps])
    assert errors == pytest.approx(expected, abs=1e-12)
    assert tested.critical() == pytest.approx(critical, rel=2e-5)
    assert tested.critical() >= critical
    together = MaxT()
    together.add(np.array(gaps))
    merged = MaxT()
    for part in (gaps[:1], gaps[1:]):
        if part:
            merged.add(np.array(part))
    assert together.critical(0.8) == pytest.approx(merged.critical(0.8)) == tested.critical(0.8)
    significant = np.zeros((models, models), dtype=bool)
    for (first, second), error in zip(pairs, errors, strict=True):
        significant[first, second] = significant[second, first] = scores[first] - scores[second] > critical * error
    ranks = ranks_of(scores[:, None] - scores[None, :], significant)
    ranges = naive.rank_ranges(scores.tolist(), significant.tolist())
    assert list(zip(ranks.best.tolist(), ranks.worst.tolist(), strict=True)) == ranges


# --------------------------------------------------------------------------------------------------------- differences


@given(tables(), tables(), st.integers(0, 9))
@settings(max_examples=40)
def test_differences_of_tasks(one: Table, other: Table, seed: int) -> None:
    """Two tasks: the mean difference, what clusters add to it, and its replicates."""
    width = min(len(one[0][0]), len(other[0][0]))
    rng, parts, sides, gaps = np.random.default_rng(seed), [], [], []
    for task, (rows, groups) in (("a", one), ("b", other)):
        first = array([row[:width] for row in rows])
        first[0, :] = 0.5  # every column has an item
        second = np.where(np.isnan(first), np.nan, rng.integers(0, 2, first.shape))
        parts.append(paired(first, second, task, Resampler(seed, REPLICATES), groups))
        columns = [
            [[None if math.isnan(value) else float(value) for value in side[:, at]] for at in range(width)]
            for side in (first, second)
        ]
        sides.append((columns, groups))
        gaps += [
            naive.mean_of([a - b for a, b in zip(*pair, strict=True) if a is not None and b is not None])
            for pair in zip(*columns, strict=True)
        ]
    whole, chosen = parts[0] + parts[1], list(range(width))
    assert whole.gap(chosen).difference == pytest.approx(naive.mean_of(gaps), abs=1e-12)
    added = []
    for columns, groups in sides:
        for name in sorted(set(groups)):
            share = 0.0
            for first_column, second_column in zip(*columns, strict=True):
                known = sum(value is not None for value in first_column)
                own = [
                    a - b
                    for a, b, group in zip(first_column, second_column, groups, strict=True)
                    if group == name and a is not None and b is not None
                ]
                share += sum(own) / known / width / 2
            added.append(share)
    assert whole.contributions(chosen) == pytest.approx(added, abs=1e-12)
    if sum(abs(value) > 1e-12 for value in added) <= 10:
        tidy = [0.0 if abs(value) < 1e-12 else value for value in added]
        assert whole.gap(chosen).p_value == pytest.approx(naive.flips(tidy), abs=1e-12)


@given(st.lists(st.floats(-1, 1).map(lambda value: round(value, 2)), min_size=2, max_size=40))
def test_p_value_of_replicates_is_where_the_interval_reaches_0(values: list[float]) -> None:
    """The largest level at which the interval does not contain 0, sought among many levels."""
    point = naive.mean_of(values)
    p_value = gap_of(np.array(values), point).p_value
    assert 2 / (len(values) + 1) <= p_value <= 1
    for step in range(1, 100):
        share = step / 200  # the level is 1 - 2 share
        if abs(2 * share - p_value) < 1e-9:
            continue
        low = min(point, naive.quantile(values, share))
        high = max(point, naive.quantile(values, 1 - share))
        if 2 * share > max(p_value, 2 / (len(values) + 1)):
            assert not low <= 0 <= high
        elif p_value > 2 / (len(values) + 1) + 1e-9:
            assert low <= 1e-12
            assert high >= -1e-12


# ---------------------------------------------------------------------------------------------------------------- beta


@given(st.floats(0.001, 0.999), st.floats(0.05, 500), st.floats(0.05, 500))
def test_beta_distribution(share: float, a: float, b: float) -> None:
    assert beta_lower_tail(share, a, b) == pytest.approx(float(scipy.stats.beta.cdf(share, a, b)), rel=1e-8, abs=1e-12)
    quantile = beta_quantile(share, a, b)
    assert quantile == pytest.approx(float(scipy.stats.beta.ppf(share, a, b)), abs=1e-9)
