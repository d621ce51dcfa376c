"""Means of scores with their intervals (``fathom.stats.intervals``), from items and from published means.

The unit is the item (or a cluster of items): its repeats and its questions at one length are averaged first, and its
scores at several lengths are resampled together. A task's score is the mean over its lengths of the means there; if
every item has only one length (published questions at their own lengths), all items have equal weight instead, as in
the papers.

A published mean of n scores is resampled as if its scores were 0 and 1, which have the largest possible variance.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fathom.board.model import Entry, Estimate, Items, Origin, OutcomeCounts, Source
from fathom.stats.differences import system_key
from fathom.stats.intervals import (
    REPLICATES,
    Floats,
    Interval,
    Sums,
    clusters_of,
    exact_interval,
    generator,
    interval_of,
    jeffreys_interval,
    resampled_sums,
    shuffled,
    sums_of_means,
)
from fathom.stats.strata import strata, within_stratum

SEED = 0
"""Seed of all replicates, the default of reports."""


@lru_cache(maxsize=64)  # of one entry: its categories and the overall score share scores
def sums_of(source: Source, task: str, name: str, every: Sequence[str] = ()) -> Sums:
    """The resampled sums of a score.

    Args:
        source: The score, which must be resampled.
        name: Name of the entry (:func:`drawn_name`), which seeds the sums of published means.
        every: All clusters of the task's stratum (``fathom.stats.strata``); none for a task by itself.
    """
    if source.items is not None:
        own = clusters_of(source.items.scores, source.items.groups)
        return resampled_sums(within_stratum(own, source.items.groups, every), SEED, replicates=REPLICATES)
    values, counts = [mean.value for mean in source.printed], [mean.n or 0 for mean in source.printed]
    return sums_of_means(values, counts, generator(SEED, f"{task}\x1f{name}"), replicates=REPLICATES)


def drawn_name(entry: Entry) -> str:
    """The name that seeds the replicates of an entry: the same as in reports if there are items."""
    if entry.items:
        return system_key(entry.model, entry.variant)
    return printed_name(entry.model, entry.variant, entry.origin)


def printed_name(model: str, variant: str, origin: Origin) -> str:
    """The same for an entry without items: means in two papers of one model are two draws."""
    return f"{system_key(model, variant)}\x1f{origin.provenance}\x1f{origin.title}"


def combined(scores: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """The weighted mean of scores, without its interval; ``n`` is None if one of them has none.

    Args:
        scores: One or more.
        weights: As many, which sum to 1.
    """
    counts = [score.n for score in scores if score.n is not None]
    ended = [score.ended for score in scores if score.ended is not None]
    others = [score.other if score.ended is not None else score.value for score in scores]
    known = [weight * value for weight, value in zip(weights, others, strict=True) if value is not None]
    return Estimate(
        math.fsum(weight * score.value for weight, score in zip(weights, scores, strict=True)),
        n=sum(counts) if len(counts) == len(scores) else None,
        ended=sum(ended, OutcomeCounts()) if ended else None,
        other=math.fsum(known) if ended and len(known) == len(scores) else None,
    )


def average(sources: Mapping[str, Source], weights: Mapping[str, float], name: str) -> Estimate:
    """The weighted mean of scores of several tasks, with its interval if all of them have one.

    Args:
        sources: The scores by task; one or more.
        weights: Their weights, which sum to 1.
        name: Name of the entry, see :func:`drawn_name`.
    """
    scores = [source.score for source in sources.values()]
    if len(scores) == 1:
        return scores[0]
    plain = combined(scores, [weights[task] for task in sources])
    if not all(source.is_known for source in sources.values()):
        return plain
    interval = _interval(sources, weights, plain.value, name)
    return replace(plain, interval=interval, bound=any(source.items is None for source in sources.values()))


def _interval(sources: Mapping[str, Source], weights: Mapping[str, float], value: float, name: str) -> Interval:
    if len(sources) == 1:
        exact = _exact(*sources.values())
        if exact is not None:
            return exact
    draws = np.zeros(REPLICATES)
    groups = {task: () if source.items is None else source.items.groups for task, source in sources.items()}
    for task, stratum in strata(groups).items():
        sums = sums_of(sources[task], task, name, stratum.clusters)
        draws += weights[task] * shuffled(sums.means(SEED, 1 / len(sources)).mean(axis=1), stratum.place)
    return interval_of(draws, value)


def _exact(source: Source) -> Interval | None:
    """The exact interval of zeros and ones: of single scores, or of one published mean."""
    if source.items is not None:
        return exact_interval(clusters_of(source.items.scores, source.items.groups))
    if len(source.printed) == 1 and source.printed[0].n:
        return jeffreys_interval(source.printed[0].value * source.printed[0].n, source.printed[0].n)
    return None


def over_lengths(at: Sequence[Estimate], task: str, name: str, *, paired: bool) -> Source:
    """The mean of published scores at several lengths.

    Args:
        name: Name of the entry, see :func:`drawn_name`.
        paired: Whether they are of the same questions. The means of these over the lengths are then as many scores in
            [0, 1] with a known mean, and ``n`` is the greatest number instead of the sum.
    """
    if len(at) == 1:
        return Source(at[0], printed=tuple(at))
    score, printed = combined(at, [1 / len(at)] * len(at)), tuple(at)
    counts = [score.n for score in at if score.n is not None]
    if paired and len(counts) == len(at):
        score, printed = replace(score, n=max(counts)), (Estimate(score.value, n=min(counts)),)
    return with_interval(Source(score, printed=printed), task, name)


def with_interval(source: Source, task: str, name: str) -> Source:
    """The score with its interval, if it can be resampled; arguments as in :func:`sums_of`."""
    if not source.is_known:
        return source
    interval = _interval({task: source}, {task: 1.0}, source.score.value, name)
    return replace(source, score=replace(source.score, interval=interval, bound=source.items is None))


def bounded(printed: Estimate, task: str, name: str) -> Estimate:
    """A published mean with the widest interval that this many scores in [0, 1] can have.

    Args:
        printed: The mean as published, and its number of scores.
        name: Name of the entry, see :func:`drawn_name`.
    """
    return with_interval(Source(printed, printed=(printed,)), task, name).score


def items_of(names: Sequence[str], scores: Floats, groups: Mapping[str, str]) -> Items | None:
    """Items as the mean over them is taken; None if a length has no score.

    Args:
        names: Names of the items, ascending.
        groups: The cluster of each item.
        scores: Items x lengths, in [0, 1], NaN without a score.
    """
    known = ~np.isnan(scores)
    if not known.any(axis=0).all():
        return None
    if known.shape[1] > 1 and known.sum(axis=1).max() == 1:
        scores = np.where(known.any(axis=1), np.where(known, scores, 0.0).sum(axis=1), np.nan)[:, None]
    return Items(tuple(names), scores, tuple(groups[name] for name in names))


def value_of(items: Items) -> float:
    """The mean of the means of all columns."""
    return float(np.nanmean(items.scores, axis=0).mean())


def mean_of(items: Items, task: str, name: str) -> Estimate:
    """That mean with its interval; arguments as in :func:`sums_of`."""
    plain = Estimate(value_of(items), n=int((~np.isnan(items.scores)).any(axis=1).sum()))
    return with_interval(Source(plain, items), task, name).score


def by_length(
    names: NDArray[np.object_], lengths: NDArray[np.int64], scores: Floats
) -> tuple[list[str], NDArray[np.int64], Floats]:
    """Scores as a table.

    Args:
        names: Names of the items; no item occurs twice at one length.
        lengths: In tokens, and ``scores``, as many; NaN without a score.

    Returns:
        The names and the lengths, unique and ascending, and the scores of names x lengths.
    """
    columns, column = np.unique(lengths, return_inverse=True)
    lines, line = np.unique(names, return_inverse=True)
    table = np.full((len(lines), len(columns)), np.nan)
    table[line, column] = scores
    return lines.tolist(), columns, table
