"""Methods that choose items and estimate from them, with one interface, so that they can be compared.

A method takes the scores of known models and a budget; it returns items, and a function from new models' scores on them
to estimates. The default is ``sampled`` (``design``); the others are for comparison.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.benchmarks.longbench.records import ANCHORS
from fathom.compress import minilongbench
from fathom.compress.abilities import numbered, without_gaps
from fathom.compress.assisted import Estimates, Z, answered_share
from fathom.compress.design import design, strata_of, targets_of
from fathom.compress.matrix import Floats, ScoreMatrix
from fathom.compress.minilongbench import anchors
from fathom.types import FathomError

CANDIDATES = 300  # subsets of which the best is taken
_Rng: TypeAlias = np.random.Generator


@dataclass(frozen=True)
class Plan:
    """Items that a method chose, and its estimator.

    Attributes:
        items: Numbers of the n items.
        estimate: From scores of M new models on them, shape (M, n), to estimates of the targets (``targets_of``).
    """

    items: NDArray[np.int64]
    estimate: Callable[[Floats], Estimates]


Method: TypeAlias = Callable[[ScoreMatrix, int, int, Floats | None], Plan]
"""From scores of known models, a budget in items, a seed, and an optional embedding of each item."""


def sampled(known: ScoreMatrix, budget: int, seed: int, embeddings: Floats | None = None) -> Plan:
    """The default: see ``design``."""
    made = design(known, budget, seed=seed)
    items, calibration = made.sample(), made.calibration()
    return Plan(items, lambda scores: made.estimate(items, scores, calibration))


def random(known: ScoreMatrix, budget: int, seed: int, embeddings: Floats | None = None) -> Plan:
    """A simple random sample; weighted means of the available scores."""
    items = np.sort(np.random.default_rng(seed).choice(len(known.items), budget, replace=False))
    chances = np.full(budget, budget / len(known.items))
    shares = targets_of(known).shares[:, items]
    return Plan(items, lambda scores: ratio(scores, shares / chances, np.zeros(budget, dtype=np.int64), chances))


def stratified(known: ScoreMatrix, budget: int, seed: int, embeddings: Floats | None = None) -> Plan:
    """A random sample of every task, in proportion to its items; means of tasks, weighted as in the benchmark."""
    return _stratified(known, _proportional(known, budget), seed)


def neyman(known: ScoreMatrix, budget: int, seed: int, embeddings: Floats | None = None) -> Plan:
    """A random sample of every task, in proportion to its share times the spread of scores in it (Neyman 1934)."""
    strata = strata_of(known)
    scores = without_gaps(known.scores, strata)
    spread = np.array([scores[:, strata == number].std(axis=1).mean() for number in range(int(strata.max()) + 1)])
    shares = np.bincount(strata, weights=known.weights)
    return _stratified(known, _allocated(shares * spread + 1e-9, known, budget), seed)


def best_of(known: ScoreMatrix, budget: int, seed: int, embeddings: Floats | None = None) -> Plan:
    """Of 300 stratified random samples the one with the smallest error on the known models. It has no intervals."""
    strata, shares = strata_of(known), targets_of(known).shares
    filled = without_gaps(known.scores, strata)
    truth = filled @ known.weights
    counts = _proportional(known, budget)
    chances = (counts / np.bincount(strata))[strata]
    members = _members(strata)

    def error(items: NDArray[np.int64]) -> float:
        values = _weighted(filled[:, items], shares[:, items] / chances[items])
        return float(np.abs(values[:, 0] - truth).mean())

    drawn = (_drawn(members, counts, seed * CANDIDATES + number) for number in range(CANDIDATES))
    return _pointless(_of_strata(known, min(drawn, key=error)))


def clustered(known: ScoreMatrix, budget: int, seed: int, embeddings: Floats | None = None) -> Plan:
    """k-means of the known models' scores in each category; the centre represents its cluster. It has no intervals."""
    filled = without_gaps(known.scores, strata_of(known))
    clusters = anchors(filled.T, known.weights, known.categories, budget, seed=seed)
    shares = targets_of(known).shares
    weights = np.array([np.bincount(clusters.clusters, weights=row, minlength=len(clusters.items)) for row in shares])
    of_category = numbered(known.categories)[clusters.items]
    certain = np.ones(len(clusters.items))
    return Plan(clusters.items, lambda scores: _without_intervals(ratio(scores, weights, of_category, certain).values))


def published(known: ScoreMatrix, budget: int, seed: int, embeddings: Floats | None = None) -> Plan:
    """The published items of MiniLongBench, scored directly: means of tasks. They have no intervals.

    Raises:
        FathomError: They are not among the items, or the budget differs from theirs.
    """
    names = {name: number for number, name in enumerate(known.items)}
    wanted = [f"longbench_{dataset}/" for dataset in ANCHORS]
    numbers = [
        number
        for name, number in names.items()
        for dataset, prefix in zip(ANCHORS, wanted, strict=True)
        if name.startswith(prefix) and (index := name.rsplit("/", 1)[1]).isdecimal() and int(index) in ANCHORS[dataset]
    ]
    if len(numbers) != sum(map(len, ANCHORS.values())) or budget != len(numbers):
        raise FathomError(
            f"the published items of MiniLongBench are {sum(map(len, ANCHORS.values()))} of LongBench's; these scores "
            f"have {len(numbers)} of them, and the budget is {budget}"
        )
    items = np.sort(np.array(numbers, dtype=np.int64))
    return _pointless(_of_strata(known, items))


def has_published(matrix: ScoreMatrix, budgets: Sequence[int]) -> bool:
    """Whether the published items of MiniLongBench are among the items, and every budget is their number."""
    try:
        return all(len(published(matrix, budget, 0).items) > 0 for budget in budgets)
    except FathomError:
        return False


def refitted(known: ScoreMatrix, budget: int, seed: int, embeddings: Floats | None = None) -> Plan:
    """MiniLongBench's method, fitted to the known models; scores of unseen items are predicted. It has no intervals."""
    mini = minilongbench.select(known, budget, embeddings=embeddings, seed=seed)
    numbers = {name: number for number, name in enumerate(known.items)}
    items = np.sort(np.array([numbers[member.item] for member in mini.subset.members], dtype=np.int64))
    names = targets_of(known).names
    of_category = numbered([known.categories[item] for item in items.tolist()])

    def estimate(scores: Floats) -> Estimates:
        answered = [
            ~np.isnan(scores[:, of_category == number]).all(axis=1) for number in range(int(of_category.max()) + 1)
        ]
        whole = np.flatnonzero(np.all(answered, axis=0))  # the method needs a score in every category
        rows = np.full((len(whole), len(known.items)), np.nan)
        rows[:, items] = scores[whole]
        models = tuple(map(str, whole.tolist()))
        predicted = minilongbench.predict(mini, ScoreMatrix(**{**vars(known), "models": models, "scores": rows}))
        values = np.full((len(scores), len(names)), np.nan)
        for model, score in zip(whole.tolist(), predicted, strict=True):
            values[model] = [score.predicted, *(score.categories[name] for name in names[1:])]
        return _without_intervals(values)

    return Plan(items, estimate)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "random": random,
        "stratified": stratified,
        "neyman": neyman,
        "best_of": best_of,
        "clustered": clustered,
        "published": published,
        "minilongbench": refitted,
        "sampled": sampled,
    }
)


def _stratified(known: ScoreMatrix, counts: NDArray[np.int64], seed: int) -> Plan:
    return _of_strata(known, _drawn(_members(strata_of(known)), counts, seed))


def _drawn(members: Sequence[NDArray[np.int64]], counts: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Random items of each stratum, ascending, from the numbers of all."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(inside, count, replace=False) for inside, count in zip(members, counts, strict=True)]
    return np.sort(np.concatenate(drawn))


def _members(strata: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [np.flatnonzero(strata == number) for number in range(int(strata.max()) + 1)]


def _of_strata(known: ScoreMatrix, items: NDArray[np.int64]) -> Plan:
    """Means of strata, with the intervals of a stratified random sample."""
    strata = strata_of(known)
    drawn = np.bincount(strata[items], minlength=int(strata.max()) + 1)
    chances = (drawn / np.bincount(strata))[strata[items]]
    shares = targets_of(known).shares[:, items]
    return Plan(items, lambda scores: ratio(scores, shares / chances, strata[items], chances))


def _proportional(known: ScoreMatrix, budget: int) -> NDArray[np.int64]:
    return _allocated(np.bincount(strata_of(known)).astype(np.float64), known, budget)


def _allocated(sizes: Floats, known: ScoreMatrix, budget: int) -> NDArray[np.int64]:
    """Items of each stratum in proportion to its size: at least one, at most all, largest remainders first.

    Raises:
        FathomError: The budget is below the number of strata.
    """
    most = np.bincount(strata_of(known))
    if budget < len(most):
        raise FathomError(f"a budget of {budget} for {len(most)} strata (tasks and lengths): each needs one item")
    counts = np.ones(len(most), dtype=np.int64)
    while (left := budget - int(counts.sum())) > 0:
        wanted = np.where(counts < most, np.maximum(sizes / sizes.sum() * budget - counts, 1e-12), 0.0)
        step = np.minimum(np.floor(wanted / wanted.sum() * left).astype(np.int64), most - counts)
        if not step.any():
            step[int(np.argmax(wanted))] = 1
        counts += step
    return counts


def ratio(scores: Floats, weights: Floats, strata: NDArray[np.int64], chances: Floats) -> Estimates:
    """Weighted means of each stratum, combined; intervals from the spread within strata, with finite populations.

    Args:
        scores: Shape (M, n); NaN without a score. Such items are taken as missing at random: the others of their
            stratum represent them, and those of all strata if it has no other.
        weights: Share divided by probability, shape (T, n).
        strata: Stratum of each item, shape (n,); one stratum for a simple random sample, whose spread is around the
            weighted mean of each target (Hájek's estimator).
        chances: Shape (n,).

    Returns:
        Estimates of M models for T targets; NaN where no item that counts has a score.
    """
    scored = ~np.isnan(scores)
    if scored.all():
        return _ratio(scores, weights, strata, chances)
    figures = np.full((3, len(scores), len(weights)), np.nan)
    for pattern in np.unique(scored, axis=0):
        rows = np.flatnonzero((scored == pattern).all(axis=1))
        if not pattern.any():
            continue
        share = answered_share(strata, pattern)[pattern]
        part = scores[np.ix_(rows, pattern)]
        of_rows = _ratio(part, weights[:, pattern] / share, strata[pattern], chances[pattern] * share)
        figures[:, rows] = of_rows.values, of_rows.low, of_rows.high
    return Estimates(*figures)


def _ratio(scores: Floats, weights: Floats, strata: NDArray[np.int64], chances: Floats) -> Estimates:
    values = _weighted(scores, weights)
    total = weights.sum(axis=1, keepdims=True)
    each = (weights / np.where(total > 0, total, 1.0)) ** 2 * (1 - chances)
    single = len(np.unique(strata)) == 1
    variance = np.zeros_like(values)
    for stratum in np.unique(strata):
        inside = np.flatnonzero(strata == stratum)
        lost = len(inside) / max(len(inside) - 1, 1)
        if single:
            apart = scores[:, None, :] - values[:, :, None]
            variance += lost * (apart**2 * each).sum(axis=2)
            continue
        own = scores[:, inside] - scores[:, inside].mean(axis=1, keepdims=True)
        if len(inside) == 1:  # the spread is known only from the other items
            own = np.sqrt(((scores - scores.mean(axis=1, keepdims=True)) ** 2).mean(axis=1, keepdims=True))
        variance += lost * (own**2 @ each[:, inside].T)
    half = Z * np.sqrt(variance)
    return Estimates(values, np.clip(values - half, 0, 1), np.clip(values + half, 0, 1))


def _weighted(scores: Floats, weights: Floats) -> Floats:
    """Weighted means, shape (M, T); NaN for targets without any weight."""
    total = weights.sum(axis=1)
    means: Floats = np.where(total > 0, scores @ weights.T / np.where(total > 0, total, 1.0), np.nan)
    return means


def _pointless(plan: Plan) -> Plan:
    """The same without intervals, which would not be those of a probability sample."""
    return Plan(plan.items, lambda scores: _without_intervals(plan.estimate(scores).values))


def _without_intervals(values: Floats) -> Estimates:
    none = np.full_like(values, np.nan)
    return Estimates(values, none, none)
