"""Every statistic a second time: slow, in plain loops, from the definitions, without anything of fathom's own.

Tests hold the two implementations equal (``stats/test_naive.py``, ``analysis/test_naive_analyses.py``).
Rows are plain tuples, samples have names, missing scores are None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import scipy

Column = list[float | None]


# ------------------------------------------------------------------------------------------- means, and their intervals


def by_cluster(column: Sequence[float | None], groups: Sequence[str]) -> dict[str, list[float]]:
    """The scores of every cluster, in the order of the names of clusters."""
    found: dict[str, list[float]] = {name: [] for name in sorted(set(groups))}
    for score, name in zip(column, groups, strict=True):
        if score is not None:
            found[name].append(score)
    return found


def weighted_mean(
    column: Sequence[float | None],
    groups: Sequence[str],
    weights: Sequence[float],
    pseudo: tuple[float, float] = (0.0, 0.0),
) -> float | None:
    """One replicate of the Bayesian bootstrap: the ratio of two sums over clusters with given weights.

    Args:
        column: The scores.
        groups: The cluster of each.
        weights: The weight of each cluster, in the order of their names.
        pseudo: Weights of the pseudo-cluster's ones and of its zeros.
    """
    clusters = by_cluster(column, groups)
    above = below = 0.0
    number = present = 0
    for weight, values in zip(weights, clusters.values(), strict=True):
        for value in values:
            above += weight * value
            below += weight
            number += 1
        if values:
            present += 1
    if not number:
        return None
    often = number / present
    return (above + pseudo[0] * often) / (below + (pseudo[0] + pseudo[1]) * often)


def jeffreys(right: int, number: int, level: float = 0.95) -> tuple[float, float]:
    """Jeffreys' interval of a proportion, stretched to the proportion."""
    posterior = scipy.stats.beta(right + 0.5, number - right + 0.5)
    return (
        min(float(posterior.ppf((1 - level) / 2)), right / number),
        max(float(posterior.ppf((1 + level) / 2)), right / number),
    )


def quantile(values: Sequence[float], share: float) -> float:
    """A quantile, interpolated between the two nearest values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def ratio_error(column: Sequence[float | None], groups: Sequence[str]) -> float:
    """Standard error of a mean over questions by item: sqrt(sum (A_i - m N_i)^2 n / (n - 1)) / sum N_i."""
    clusters = [values for values in by_cluster(column, groups).values() if values]
    everything = [value for values in clusters for value in values]
    mean = sum(everything) / len(everything)
    squares = 0.0
    for values in clusters:
        squares += (sum(values) - mean * len(values)) ** 2
    return math.sqrt(squares * len(clusters) / (len(clusters) - 1)) / len(everything)


def design_effect(column: Sequence[float | None], groups: Sequence[str]) -> float | None:
    """Variance of the mean over clusters, over that of as many independent scores; None if undefined."""
    values = [value for value in column if value is not None]
    present = {name for name, value in zip(groups, column, strict=True) if value is not None}
    if len(present) < 2:
        return None
    mean = sum(values) / len(values)
    alone = sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)
    return ratio_error(column, groups) ** 2 / alone if alone > 1e-30 else None


# --------------------------------------------------------------------------------------------------- tests and families


def flips(contributions: Sequence[float]) -> float:
    """The sign-flip p-value by trying every sign vector."""
    nonzero = [value for value in contributions if value != 0]
    observed, as_large, number = abs(math.fsum(nonzero)), 0, 0
    for signs in product((1, -1), repeat=len(nonzero)):
        total = math.fsum(sign * value for sign, value in zip(signs, nonzero, strict=True))
        as_large += abs(total) >= observed - 1e-9
        number += 1
    return as_large / number


def sign_test(wins: int, number: int) -> float:
    """The exact two-sided sign test."""
    return float(scipy.stats.binomtest(wins, number).pvalue) if number else 1.0


def holm(p_values: Sequence[float], tests: int) -> list[float]:
    """Holm's adjusted p-values, one after the other."""
    adjusted: list[float] = [0.0] * len(p_values)
    largest = 0.0
    for step, place in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        largest = max(largest, min(1.0, p_values[place] * (tests - step)))
        adjusted[place] = largest
    return adjusted


def max_t(noise: Sequence[Sequence[float]], level: float = 0.95) -> tuple[list[float], float]:
    """Standard errors of differences, and the critical value of the largest studentised one."""
    errors = []
    for values in noise:
        errors.append(math.sqrt(sum(value**2 for value in values) / len(values)))
    largest = []
    for replicate in range(len(noise[0])):
        deviations = [
            abs(values[replicate]) / error if error > 0 else 0.0 for values, error in zip(noise, errors, strict=True)
        ]
        largest.append(max(deviations))
    return errors, quantile(largest, level)


def rank_ranges(scores: Sequence[float], significant: Sequence[Sequence[bool]]) -> list[tuple[int, int]]:
    """Best and worst rank of each: as many as are significantly higher, or lower, stay above, or below."""
    ranges = []
    for own, score in enumerate(scores):
        above = below = 0
        for other, its in enumerate(scores):
            if significant[own][other] and its > score:
                above += 1
            if significant[own][other] and its < score:
                below += 1
        ranges.append((1 + above, len(scores) - below))
    return ranges


# ------------------------------------------------------------------------------------------------------ tables of rows


@dataclass(frozen=True)
class Reply:
    """One scored reply, or one without a score."""

    model: str
    task: str
    item: str
    sample: str
    length: int
    epoch: int
    score: float | None
    cluster: str = ""
    facets: tuple[tuple[str, str], ...] = ()

    @property
    def group(self) -> str:
        """What is resampled together."""
        return self.cluster or self.item


def mean_of(values: Sequence[float]) -> float:
    """The plain mean."""
    return sum(values) / len(values)


def cell_mean(replies: Sequence[Reply]) -> float | None:
    """The mean over items of the means of their replies; None without a score."""
    items: dict[str, list[float]] = {}
    for reply in replies:
        if reply.score is not None:
            items.setdefault(reply.item, []).append(reply.score)
    return mean_of([mean_of(values) for values in items.values()]) if items else None


def curve(replies: Sequence[Reply], model: str) -> dict[tuple[str, int], float]:
    """The mean of every task (and ``all``, where every task has one) at every length."""
    own = [reply for reply in replies if reply.model == model]
    tasks = sorted({reply.task for reply in own})
    found: dict[tuple[str, int], float] = {}
    for length in sorted({reply.length for reply in own}):
        means = []
        for task in tasks:
            mean = cell_mean([reply for reply in own if (reply.task, reply.length) == (task, length)])
            if mean is not None:
                found[task, length] = mean
                means.append(mean)
        if len(means) == len(tasks):
            found["all", length] = mean_of(means)
    return found


def average(replies: Sequence[Reply], model: str, task: str) -> float | None:
    """The average score: the mean over lengths of the curve."""
    values = [mean for (name, _), mean in curve(replies, model).items() if name == task]
    return mean_of(values) if values else None


def longscore(replies: Sequence[Reply], model: str, task: str, base: Sequence[int]) -> dict[int, float] | None:
    """(S_l - Base) / Base at every length beyond the base; None without a positive base."""
    values = {length: mean for (name, length), mean in curve(replies, model).items() if name == task}
    short = [mean for length, mean in values.items() if length in base]
    if not short or mean_of(short) <= 0:
        return None
    return {length: (mean - mean_of(short)) / mean_of(short) for length, mean in values.items() if length > max(base)}


def retention(score: float, base: float, chance: float) -> float:
    """What is left of the base above chance."""
    return (score - chance) / (base - chance)


@dataclass(frozen=True)
class Compared:
    """A difference on shared samples, what each cluster adds to it, and the number of its items."""

    difference: float
    contributions: Mapping[tuple[str, str], float]
    items: int


def compare(replies: Sequence[Reply], first: str, second: str) -> dict[tuple[str, int | None], Compared]:
    """First minus second on the samples that both have a score for, by task and length and over both."""
    scores: dict[tuple[str, str], dict[tuple[str, str, int], list[float]]] = {}
    groups: dict[tuple[str, str], str] = {}
    for reply in replies:
        if reply.score is not None and reply.model in (first, second):
            cell = scores.setdefault((reply.task, reply.sample), {}).setdefault(
                (reply.model, reply.item, reply.length), []
            )
            cell.append(reply.score)
            groups[reply.task, reply.item] = reply.group
    # Items of every task and length: total and number of replies of both, over shared samples only.
    items: dict[tuple[str, int], dict[str, dict[str, list[float]]]] = {}
    for (task, _), cells in scores.items():
        if {model for model, _, _ in cells} != {first, second}:
            continue
        for (model, item, length), values in cells.items():
            own = items.setdefault((task, length), {}).setdefault(item, {first: [], second: []})
            own[model] += values
    tasks = sorted({task for task, _ in items})
    found: dict[tuple[str, int | None], Compared] = {}
    parts: dict[tuple[str, int], Compared] = {}
    for (task, length), of_items in items.items():
        added: dict[tuple[str, str], float] = {}
        for item, of_models in of_items.items():
            gap = mean_of(of_models[first]) - mean_of(of_models[second])
            name = task, groups[task, item]
            added[name] = added.get(name, 0.0) + gap / len(of_items)
        parts[task, length] = Compared(sum(added.values()), added, len(of_items))
        found[task, length] = parts[task, length]
    lengths = {task: sorted(length for name, length in parts if name == task) for task in tasks}
    common = sorted(set.intersection(*(set(own) for own in lengths.values()))) if tasks else []
    for task in tasks:
        found[task, None] = _together([parts[task, at] for at in lengths[task]], _items(items, [task], lengths[task]))
    for length in common:
        found["all", length] = _together([parts[task, length] for task in tasks], _items(items, tasks, [length]))
    if common:
        every = [parts[task, at] for task in tasks for at in common]
        found["all", None] = _together(every, _items(items, tasks, common))
    return found


def _items(items: Mapping[tuple[str, int], Mapping[str, object]], tasks: Sequence[str], lengths: Sequence[int]) -> int:
    """Number of items of some tasks with shared samples at any of some lengths."""
    return len({(task, item) for task in tasks for at in lengths for item in items.get((task, at), {})})


def _together(parts: Sequence[Compared], items: int) -> Compared:
    added: dict[tuple[str, str], float] = {}
    for part in parts:
        for name, value in part.contributions.items():
            added[name] = added.get(name, 0.0) + value / len(parts)
    return Compared(mean_of([part.difference for part in parts]), added, items)


def question_means(replies: Sequence[Reply], model: str) -> dict[tuple[str, str], tuple[float, str]]:
    """Mean score and cluster of every question of a model, its repeats averaged first."""
    epochs: dict[tuple[str, str], dict[int, list[float]]] = {}
    groups: dict[tuple[str, str], str] = {}
    for reply in replies:
        if reply.model == model and reply.score is not None:
            epochs.setdefault((reply.task, reply.sample), {}).setdefault(reply.epoch, []).append(reply.score)
            groups[reply.task, reply.sample] = f"{reply.task}/{reply.group}"
    return {
        name: (mean_of([mean_of(values) for values in repeats.values()]), groups[name])
        for name, repeats in epochs.items()
    }


def by_group(replies: Sequence[Reply], model: str, facet: str) -> dict[str, tuple[float, int]]:
    """Mean over questions, and their number, for every value of a facet."""
    values: dict[str, str] = {}
    for reply in replies:
        for name, value in reply.facets:
            if name == facet:
                values[reply.sample] = value
    groups: dict[str, list[float]] = {}
    for (_, sample), (mean, _) in question_means(replies, model).items():
        if sample in values:
            groups.setdefault(values[sample], []).append(mean)
    return {name: (mean_of(means), len(means)) for name, means in groups.items()}
