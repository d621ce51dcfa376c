"""Profiles: the common input of curves, LongScore and effective length.

A profile is one model on one task (or on the mean of its tasks): its mean at each length, and replicates of all those
means at once.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.base import BASE_LENGTHS, BASE_RULES, BaseRule, GivenBase, code_base, mean_base, shuffled_base
from fathom.analysis.grid import ALL, Grid, grids
from fathom.analysis.questions import row_means
from fathom.stats.intervals import (
    OTHER,
    OWN,
    REPLICATES,
    Clusters,
    Design,
    Floats,
    Interval,
    clusters_of,
    design_of,
    exact_interval,
    interval_of,
    resampled_sums,
    shuffled,
)
from fathom.stats.outcomes import Unanswered, Unmeasured, added
from fathom.stats.strata import strata, within_stratum
from fathom.types import FathomError


@dataclass(frozen=True, slots=True)
class Profile:
    """Means of one model on one task, or on all, by length.

    Attributes:
        variant: Name of the variant.
        task: Name of the task, or ``all``.
        tasks: Tasks that the means are over.
        lengths: Tested lengths in tokens, ascending; shape (lengths,).
        means: Mean score at each length, NaN without a score; shape (lengths,).
        draws: Replicates of ``means``; shape (replicates, lengths).
        compared: The same replicates with another pseudo-cluster (``fathom.stats.intervals``): for what is compared
            with ``draws``, as longer lengths are with a base.
        chance: Chance level at each length, NaN where unknown.
        chance_draws: Replicates of ``chance``, from the same items.
        items: Items with a reply at each length.
        scored: Items with a score at each length.
        complete: Whether every task has a usable score at this length.
        other: Means under the other choice of ``unanswered``.
        gaps: For each length that was asked and has no usable score the reason, None otherwise.
        tallies: For each length how many replies were unanswered, truncated, too long or missing, by these names
            (``fathom.stats.outcomes.COUNTED``).
        low: Means with all missing replies wrong; NaN if a task does not fit or was not asked; shape (lengths,).
        high: The same with all of them right.
        clusters: The scores by cluster, if they are of one task; columns are lengths.
        design: Clusters and design effect of the mean over the lengths; None without single scores.
        base: The base, if it is not the mean of the base lengths.
        note: Caveats about the source of the scores; "" if none.
        apart: Whether no item has a score at two lengths, so that lengths are compared over different questions; for
            ``all``, whether this holds for any task.
    """

    model: str
    variant: str
    task: str
    tasks: tuple[str, ...]
    lengths: NDArray[np.int64]
    means: Floats
    draws: Floats
    compared: Floats
    chance: Floats
    chance_draws: Floats
    items: NDArray[np.int64]
    scored: NDArray[np.int64]
    complete: NDArray[np.bool_]
    other: Floats
    gaps: tuple[Unmeasured | None, ...]
    tallies: tuple[Mapping[str, int], ...]
    low: Floats
    high: Floats
    clusters: Clusters | None = None
    design: Design | None = None
    base: GivenBase | None = None
    note: str = ""
    apart: bool = False


def measured_from_start(profile: Profile) -> Profile:
    """The profile up to its first length that was asked and has no score."""
    first = next((place for place, gap in enumerate(profile.gaps) if gap is not None), None)
    return profile if first is None else at_columns(profile, np.arange(len(profile.lengths)) < first)


def at_columns(profile: Profile, keep: NDArray[np.bool_]) -> Profile:
    """The profile at some of its lengths."""
    return replace(
        profile,
        lengths=profile.lengths[keep],
        means=profile.means[keep],
        draws=profile.draws[:, keep],
        chance=profile.chance[keep],
        chance_draws=profile.chance_draws[:, keep],
        items=profile.items[keep],
        scored=profile.scored[keep],
        complete=profile.complete[keep],
        other=profile.other[keep],
        gaps=tuple(gap for gap, kept in zip(profile.gaps, keep, strict=True) if kept),
        tallies=tuple(tally for tally, kept in zip(profile.tallies, keep, strict=True) if kept),
        compared=profile.compared[:, keep],
        low=profile.low[keep],
        high=profile.high[keep],
        clusters=None if profile.clusters is None else profile.clusters.at(keep),
    )


def interval_over(profile: Profile, columns: NDArray[np.bool_]) -> Interval:
    """The interval of the mean over some lengths.

    Args:
        columns: Which lengths; at least one, all of them with a mean.
    """
    exact = None if profile.clusters is None else exact_interval(profile.clusters.at(columns))
    return exact or interval_of(profile.draws[:, columns].mean(axis=1), float(profile.means[columns].mean()))


def profiles(
    rows: pl.DataFrame,
    *,
    seed: int = 0,
    unanswered: Unanswered = "zero",
    replicates: int = REPLICATES,
    base: BaseRule = "paper",
) -> list[Profile]:
    """Profiles of every model and variant: each of its tasks, then ``all``.

    Tasks are averaged with equal weight, whatever their numbers of items. At a length where a task has no score, the
    mean is over the tasks that have one, and ``complete`` is False there, as for a cell without a score.

    Args:
        base: ``paper``: the mean of the base lengths; ``code``: see :func:`fathom.analysis.base.code_base`.

    Raises:
        FathomError: ``base`` is neither of them.
    """
    if base not in BASE_RULES[:2]:
        raise FathomError(f"base is {base!r}: rows have the bases 'paper' and 'code', tables of scores 'given'.")
    return profiles_of(grids(rows, unanswered), seed=seed, replicates=replicates, base=base)


def profiles_of(
    tables: Sequence[Grid], *, seed: int = 0, replicates: int = REPLICATES, base: BaseRule = "paper"
) -> list[Profile]:
    """The same from grids (:func:`fathom.analysis.grid.grids`)."""
    by_model: dict[tuple[str, str], list[Grid]] = {}
    for grid in tables:
        by_model.setdefault((grid.model, grid.variant), []).append(grid)
    return [
        profile
        for grids_of_model in by_model.values()
        for profile in _model_profiles(grids_of_model, seed=seed, replicates=replicates, base=base)
    ]


def _model_profiles(tables: list[Grid], *, seed: int, replicates: int, base: BaseRule) -> Iterator[Profile]:
    shares, known = [], strata({grid.task: grid.groups for grid in tables})
    for grid in tables:
        asked = ((1.0, ()), (1 / len(tables), known[grid.task].clusters))
        profile, share = _task_profiles(grid, asked, seed=seed, replicates=replicates, base=base)
        shares.append(share)
        yield profile
    yield mean_profile(shares, {task: stratum.place for task, stratum in known.items()})


def _task_profiles(
    grid: Grid, asked: Iterable[tuple[float, tuple[str, ...]]], *, seed: int, replicates: int, base: BaseRule
) -> list[Profile]:
    """The profile of one task by itself, and as a part of ``all``.

    Args:
        asked: The weight of the prior, and the clusters of its stratum, of each profile.
        base: See :func:`profiles`.
    """
    size = len(grid.lengths)
    known = ~np.isnan(grid.scores)
    both = clusters_of(np.concatenate([grid.scores, grid.chance], axis=1), grid.groups)
    parts = [(prior, within_stratum(both, grid.groups, every), every) for prior, every in asked]
    resampled = {every: resampled_sums(part, seed, replicates=replicates) for _, part, every in parts}
    levels = clusters_of(grid.scores, grid.groups)
    columns = np.isin(grid.lengths, BASE_LENGTHS)
    apart = bool(known.any(axis=0).sum() > 1 and known.sum(axis=1).max() == 1)
    short, alone = (grid.scores[:, columns], grid.chance[:, columns]), (grid.alone, grid.alone_chance)
    return [
        Profile(
            model=grid.model,
            variant=grid.variant,
            task=grid.task,
            tasks=(grid.task,),
            lengths=grid.lengths,
            means=_mean(grid.scores, known),
            draws=sums.at(range(size)).means(seed, prior, OWN),
            compared=sums.at(range(size)).means(seed, prior, OTHER),
            chance=_mean(grid.chance, ~np.isnan(grid.chance)),
            chance_draws=sums.at(range(size, 2 * size)).means(seed, 0),
            items=grid.items,
            scored=known.sum(axis=0),
            complete=(known.sum(axis=0) > 0) & np.array([gap is None for gap in grid.gaps], dtype=np.bool_),
            other=_mean(grid.other, ~np.isnan(grid.other)),
            gaps=grid.gaps,
            tallies=grid.tallies,
            low=grid.low,
            high=grid.high,
            clusters=levels,
            design=design_of(row_means(grid.scores), grid.groups),
            base=None
            if base == "paper"
            else code_base(
                grid.task,
                short,
                alone,
                (grid.groups, every),
                gap=grid.alone_gap,
                prior=prior,
                seed=seed,
                replicates=replicates,
            ),
            apart=apart,
        )
        for prior, _, every in parts
        for sums in [resampled[every]]
    ]


def mean_profile(shares: Sequence[Profile], places: Mapping[str, int] | None = None) -> Profile:
    """The profile of ``all``: tasks with equal weight.

    Args:
        shares: One profile for each task of one model, whose replicates share one pseudo-cluster.
        places: The place of the stratum of each task (``fathom.stats.strata``); every task is one by default.
    """
    shares = _independent(shares, places)
    lengths = np.unique(np.concatenate([share.lengths for share in shares]))

    def stacked(values: Sequence[Floats | NDArray[np.int64]]) -> Floats:
        """The values of every task at all lengths, NaN where it has none; tasks x ... x lengths."""
        return np.stack([_spread(own, share, lengths) for own, share in zip(values, shares, strict=True)])

    known = {gap.length: gap for share in reversed(shares) for gap in share.gaps if gap is not None}
    gaps = tuple(known.get(length) for length in lengths.tolist())
    # If a task was asked here and has no score, there is no mean: that of the others is of an easier test.
    means, others = stacked([share.means for share in shares]), stacked([share.other for share in shares])
    scored = ~np.isnan(means) & ~_lost([share.means for share in shares], shares, lengths)
    others_scored = ~np.isnan(others) & ~_lost([share.other for share in shares], shares, lengths)
    bases = [share.base for share in shares if share.base is not None]
    return Profile(
        model=shares[0].model,
        variant=shares[0].variant,
        task=ALL,
        tasks=tuple(share.task for share in shares),
        lengths=lengths,
        means=_mean(means, scored),
        draws=_mean(stacked([share.draws for share in shares]), scored[:, None]),
        compared=_mean(stacked([share.compared for share in shares]), scored[:, None]),
        chance=_mean(stacked([share.chance for share in shares]), scored),
        chance_draws=_mean(stacked([share.chance_draws for share in shares]), scored[:, None]),
        items=_total(stacked([share.items for share in shares])),
        scored=_total(stacked([share.scored for share in shares])),
        complete=(scored.sum(axis=0) == len(shares)) & np.array([gap is None for gap in gaps], dtype=np.bool_),
        other=_mean(others, others_scored),
        gaps=gaps,
        tallies=tuple(added(_tallies_at(shares, length)) for length in lengths.tolist()),
        low=np.mean(stacked([share.low for share in shares]), axis=0),
        high=np.mean(stacked([share.high for share in shares]), axis=0),
        clusters=shares[0].clusters if len(shares) == 1 else None,
        design=_designs([share.design for share in shares]),
        base=mean_base(bases) if len(bases) == len(shares) else None,
        note=shares[0].note,
        apart=any(share.apart for share in shares),
    )


def _independent(shares: Sequence[Profile], places: Mapping[str, int] | None) -> list[Profile]:
    """The tasks with independent replicates (``fathom.stats.intervals.shuffled``), but for those of one stratum."""
    place = places or {task: number for number, task in enumerate(sorted(share.task for share in shares))}
    return [
        replace(
            share,
            draws=shuffled(share.draws, place[share.task]),
            compared=shuffled(share.compared, place[share.task]),
            chance_draws=shuffled(share.chance_draws, place[share.task]),
            base=None if share.base is None else shuffled_base(share.base, place[share.task]),
        )
        for share in shares
    ]


def _designs(parts: Sequence[Design | None]) -> Design | None:
    """The design of a mean over tasks with equal weight, against as many independent items of each task."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not known:
        return None
    scores, clusters = sum(part.scores for part in known), sum(part.clusters for part in known)
    if len(known) == 1:
        return known[0]
    # A task whose scores are all equal adds no variance.
    variances = [part.effect * part.independent if part.independent > 0 else 0.0 for part in known]
    independent = math.fsum(part.independent for part in known if part.independent > 0)
    effect = math.fsum(variances) / independent if independent > 0 else math.nan
    return Design(scores, clusters, effect, scores / effect if effect > 0 else math.nan, independent / len(known) ** 2)


def _lost(means: Sequence[Floats], shares: Sequence[Profile], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Lengths at which a task was asked and has no mean."""
    lost: NDArray[np.bool_] = np.zeros(len(lengths), dtype=np.bool_)
    for own, share in zip(means, shares, strict=True):
        gaps = np.array([gap is not None for gap in share.gaps], dtype=np.bool_)
        lost |= np.isin(lengths, share.lengths[gaps & np.isnan(own)])
    return lost


def _tallies_at(shares: Sequence[Profile], length: int) -> Iterator[Mapping[str, int]]:
    for share in shares:
        yield from (tally for at, tally in zip(share.lengths.tolist(), share.tallies, strict=True) if at == length)


def _spread(values: Floats | NDArray[np.int64], share: Profile, onto: NDArray[np.int64]) -> Floats:
    """Moves the columns of a task to their lengths among those of all tasks; the others are NaN."""
    wide = np.full((*values.shape[:-1], len(onto)), np.nan)
    wide[..., np.searchsorted(onto, share.lengths)] = values
    return wide


def _total(counted: Floats) -> NDArray[np.int64]:
    total: NDArray[np.int64] = np.nansum(counted, axis=0).astype(np.int64)
    return total


def _mean(values: Floats, where: NDArray[np.bool_]) -> Floats:
    """Mean over the first axis without missing values, NaN if all are (numpy's own warns)."""
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(where, values, 0.0).sum(axis=0) / where.sum(axis=0)
    return mean
