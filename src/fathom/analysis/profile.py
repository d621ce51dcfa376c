"""Profiles: the common input of curves, LongScore and effective length.

A profile is one model on one task (or on the mean of its tasks): its mean at each length, and 2,000 replicates of all
those means at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.base import BASE_LENGTHS, BASE_RULES, BaseRule, GivenBase, code_base, mean_base
from fathom.analysis.grid import ALL, Grid, grids
from fathom.stats import intervals
from fathom.stats.intervals import REPLICATES, Floats, generator, means_of_sums, resampled_sums
from fathom.stats.outcomes import Unanswered, Unmeasured, added
from fathom.types import FathomError


@dataclass(frozen=True, slots=True)
class Profile:
    """Means of one model on one task, or on all, by length.

    Attributes:
        model: Name of the model.
        variant: Name of the variant.
        task: Name of the task, or ``all``.
        tasks: Tasks that the means are over.
        lengths: Tested lengths in tokens, ascending; shape (lengths,).
        means: Mean score at each length, NaN without a score; shape (lengths,).
        draws: Replicates of ``means``; shape (replicates, lengths).
        chance: Chance level at each length, NaN where unknown.
        chance_draws: Replicates of ``chance``, from the same items.
        items: Items with a reply at each length.
        scored: Items with a score at each length.
        complete: Whether every task has a usable score at this length.
        other: Means under the other choice of ``unanswered``.
        gaps: For each length that was asked and has no usable score the reason, None otherwise.
        tallies: For each length how many replies were unanswered, truncated, too long or missing, by these names
            (``fathom.stats.outcomes.COUNTED``).
        sums: For each task, the resampled sums of ``draws``, for :func:`mean_draws`.
        seed: Seed of the replicates.
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
    chance: Floats
    chance_draws: Floats
    items: NDArray[np.int64]
    scored: NDArray[np.int64]
    complete: NDArray[np.bool_]
    other: Floats
    gaps: tuple[Unmeasured | None, ...]
    tallies: tuple[Mapping[str, int], ...]
    sums: tuple[tuple[Floats, Floats], ...]
    seed: int
    base: GivenBase | None = None
    note: str = ""
    apart: bool = False


def measured_from_start(profile: Profile) -> Profile:
    """The profile up to its first length that was asked and has no score."""
    first = next((place for place, gap in enumerate(profile.gaps) if gap is not None), None)
    return profile if first is None else at_columns(profile, np.arange(len(profile.lengths)) < first)


def at_columns(profile: Profile, keep: NDArray[np.bool_]) -> Profile:
    """The profile at some of its lengths.

    Args:
        profile: The profile.
        keep: Which lengths.
    """
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
        tallies=tuple(one for one, kept in zip(profile.tallies, keep, strict=True) if kept),
        sums=tuple((scored[:, keep], mass[:, keep]) for scored, mass in profile.sums),
    )


def shared_draws(profile: Profile, columns: NDArray[np.bool_]) -> Floats:
    """Replicates of the means at some lengths, from the same items as ``draws``, for results over all of them.

    Unlike in ``draws``, the lengths share one pseudo-item (``fathom.stats.intervals.shared_pseudo_item``).

    Args:
        profile: The profile.
        columns: Which lengths; at least one, all of them complete.

    Returns:
        Replicates x those lengths.
    """
    rng = generator(profile.seed, f"{profile.task} {np.flatnonzero(columns)}")
    chosen = [(scored[:, columns], mass[:, columns]) for scored, mass in profile.sums]
    pseudo = intervals.shared_pseudo_item([mass.shape for _, mass in chosen], rng)
    draws: Floats = np.mean(intervals.shared_draws(chosen, pseudo), axis=0)
    return draws


def mean_draws(profile: Profile, columns: NDArray[np.bool_]) -> Floats:
    """Replicates of the mean over some lengths; see :func:`shared_draws`."""
    draws: Floats = shared_draws(profile, columns).mean(axis=1)
    return draws


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
        rows: A rows table; may be empty.
        seed: Seed of the replicates.
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
        replicates: Number of replicates.
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
        for found in by_model.values()
        for profile in _model_profiles(found, seed=seed, replicates=replicates, base=base)
    ]


def _model_profiles(found: list[Grid], *, seed: int, replicates: int, base: BaseRule) -> Iterator[Profile]:
    shares = []
    for grid in found:
        priors = (1.0, 1 / len(found))
        profile, share = _task_profiles(grid, priors=priors, seed=seed, replicates=replicates, base=base)
        shares.append(share)
        yield profile
    yield mean_profile(shares)


def _task_profiles(
    grid: Grid, *, priors: tuple[float, ...], seed: int, replicates: int, base: BaseRule
) -> list[Profile]:
    """The profile of one task, with several weights of the prior: by itself, and as a part of ``all``."""
    size = len(grid.lengths)
    known = ~np.isnan(grid.scores)
    rng = generator(seed, grid.task)
    sums = resampled_sums(np.concatenate([grid.scores, grid.chance], axis=1), rng, replicates=replicates)
    drawn = [means_of_sums(sums, rng, prior=np.repeat([prior, 0.0], size)) for prior in priors]
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
            draws=draws[:, :size],
            chance=_mean(grid.chance, ~np.isnan(grid.chance)),
            chance_draws=draws[:, size:],
            items=grid.items,
            scored=known.sum(axis=0),
            complete=(known.sum(axis=0) > 0) & np.array([gap is None for gap in grid.gaps], dtype=np.bool_),
            other=_mean(grid.other, ~np.isnan(grid.other)),
            gaps=grid.gaps,
            tallies=grid.tallies,
            sums=((sums[0][:, :size], sums[1][:, :size]),),
            seed=seed,
            base=None
            if base == "paper"
            else code_base(grid.task, short, alone, gap=grid.alone_gap, prior=prior, seed=seed, replicates=replicates),
            apart=apart,
        )
        for draws, prior in zip(drawn, priors, strict=True)
    ]


def mean_profile(shares: Sequence[Profile]) -> Profile:
    """The profile of ``all``: tasks with equal weight.

    Args:
        shares: One profile for each task of one model, whose replicates share one pseudo-item.
    """
    lengths = np.unique(np.concatenate([share.lengths for share in shares]))
    means = np.stack([_spread(share.means, share, lengths) for share in shares])
    known = {gap.length: gap for share in reversed(shares) for gap in share.gaps if gap is not None}
    gaps = tuple(known.get(length) for length in lengths.tolist())
    # If a task was asked here and has no score, there is no mean: that of the others is of an easier test.
    there = ~np.isnan(means) & ~_lost([one.means for one in shares], shares, lengths)
    others = np.stack([_spread(share.other, share, lengths) for share in shares])
    bases = [share.base for share in shares if share.base is not None]
    return Profile(
        model=shares[0].model,
        variant=shares[0].variant,
        task=ALL,
        tasks=tuple(share.task for share in shares),
        lengths=lengths,
        means=_mean(means, there),
        draws=_mean(np.stack([_spread(share.draws, share, lengths) for share in shares]), there[:, None]),
        chance=_mean(np.stack([_spread(share.chance, share, lengths) for share in shares]), there),
        chance_draws=_mean(np.stack([_spread(share.chance_draws, share, lengths) for share in shares]), there[:, None]),
        items=_total([_spread(share.items, share, lengths) for share in shares]),
        scored=_total([_spread(share.scored, share, lengths) for share in shares]),
        complete=(there.sum(axis=0) == len(shares)) & np.array([gap is None for gap in gaps], dtype=np.bool_),
        other=_mean(others, ~np.isnan(others) & ~_lost([one.other for one in shares], shares, lengths)),
        gaps=gaps,
        tallies=tuple(added(_tallies_at(shares, length)) for length in lengths.tolist()),
        sums=tuple(
            (_spread(scored, share, lengths), _spread(mass, share, lengths))
            for share in shares
            for scored, mass in share.sums
        ),
        seed=shares[0].seed,
        base=mean_base(bases) if len(bases) == len(shares) else None,
        note=shares[0].note,
        apart=any(share.apart for share in shares),
    )


def _lost(means: Sequence[Floats], shares: Sequence[Profile], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Lengths at which a task was asked and has no mean."""
    lost: NDArray[np.bool_] = np.zeros(len(lengths), dtype=np.bool_)
    for own, share in zip(means, shares, strict=True):
        gaps = np.array([gap is not None for gap in share.gaps], dtype=np.bool_)
        lost |= np.isin(lengths, share.lengths[gaps & np.isnan(own)])
    return lost


def _tallies_at(shares: Sequence[Profile], length: int) -> Iterator[Mapping[str, int]]:
    for share in shares:
        yield from (one for at, one in zip(share.lengths.tolist(), share.tallies, strict=True) if at == length)


def _spread(values: Floats | NDArray[np.int64], share: Profile, onto: NDArray[np.int64]) -> Floats:
    """Moves the columns of a task to their lengths among those of all tasks; the others are NaN."""
    wide = np.full((*values.shape[:-1], len(onto)), np.nan)
    wide[..., np.searchsorted(onto, share.lengths)] = values
    return wide


def _total(counted: Sequence[Floats]) -> NDArray[np.int64]:
    total: NDArray[np.int64] = np.nansum(counted, axis=0).astype(np.int64)
    return total


def _mean(values: Floats, where: NDArray[np.bool_]) -> Floats:
    """Mean over the first axis without missing values, NaN if all are (numpy's own warns)."""
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(where, values, 0.0).sum(axis=0) / where.sum(axis=0)
    return mean
