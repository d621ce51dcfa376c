"""Profiles: what curves, LongScore and effective length are computed from.

A profile is one model on one task (or on the mean of its tasks): its mean at each length, and 2,000 replicates of all
those means at once. Rows with several epochs, or several depths of one item at one length, are averaged within the item
first, so that an item counts once however often it was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.interval import REPLICATES, Floats, generator, means_of_sums, resampled_sums
from fathom.types import FathomError

Unscored: TypeAlias = Literal["drop", "zero"]
ALL = "all"
COUNTED_WRONG = ("overflow", "refused", "incomplete")
"""Statuses that ``unscored="zero"`` counts as wrong: the model's own doing. ``error`` is the connection's."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Scores of one model on one task: items x lengths, epochs averaged, NaN where nothing was scored."""

    model: str
    variant: str
    task: str
    lengths: NDArray[np.int64]
    names: tuple[str, ...]
    scores: Floats
    chance: Floats
    items: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Profile:
    """Means of one model on one task, or on all, by length.

    Attributes:
        model: Name of the model.
        variant: Name of the variant.
        task: Name of the task, or ``all``.
        tasks: Tasks that the means are taken over.
        lengths: Tested lengths in tokens, ascending; shape (lengths,).
        means: Mean score at each length, NaN where nothing was scored; shape (lengths,).
        draws: Replicates of ``means``; shape (replicates, lengths).
        chance: Chance level at each length, NaN where unknown.
        chance_draws: Replicates of ``chance``, from the same items.
        items: Items with a reply at each length.
        scored: Items with a score at each length.
        complete: Whether every task has a score at this length.
        sums: Of each task, the resampled sums behind ``draws``, for :func:`mean_draws`.
        seed: Seed of the replicates.
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
    sums: tuple[tuple[Floats, Floats], ...]
    seed: int


def mean_draws(profile: Profile, columns: NDArray[np.bool_]) -> Floats:
    """Replicates of the mean over some lengths, from the same items as ``draws``.

    Not the mean of ``draws``: there each length holds a pseudo-item of its own, and a mean over k of them would hold k,
    which pulls it towards one half by more than its own error. Here they hold one together, as tasks do.

    Args:
        profile: The profile.
        columns: Which lengths; at least one, all of them complete.

    Returns:
        One mean for each replicate.
    """
    prior = 1 / (len(profile.sums) * int(columns.sum()))
    rng = generator(profile.seed, f"{profile.task} {np.flatnonzero(columns)}")
    parts = [means_of_sums((scored[:, columns], mass[:, columns]), rng, prior=prior) for scored, mass in profile.sums]
    draws: Floats = np.mean(parts, axis=(0, 2))
    return draws


def scored_rows(rows: pl.DataFrame, unscored: Unscored = "drop") -> pl.DataFrame:
    """The rows with NaN scores made absent and, for ``zero``, the model's own failures made 0.

    Args:
        rows: A rows table.
        unscored: ``drop``: a mean is over scored rows. ``zero``: a prompt that did not fit, a refusal and a reply that
            was cut count as wrong. A failed request (``error``) is never counted.
    """
    if unscored not in ("drop", "zero"):
        raise FathomError(f"unscored is {unscored!r}, expected 'drop' or 'zero'.")
    value = pl.col("value").fill_nan(None)
    if unscored == "zero":
        value = pl.when(value.is_null() & pl.col("status").is_in(COUNTED_WRONG)).then(0.0).otherwise(value)
    return rows.with_columns(value.alias("value"), pl.col("chance").fill_nan(None))


def grids(rows: pl.DataFrame, unscored: Unscored = "drop") -> list[Grid]:
    """Scores per model, variant and task, in the order in which the rows name them.

    Suites may share a task: their items are then kept apart (an item is named by suite and item) and averaged
    together. Analyse suites apart where that is not wanted.

    Raises:
        FathomError: A task has the reserved name ``all``.
    """
    cells = (
        scored_rows(rows, unscored)
        .with_columns(pl.concat_str("suite", pl.lit("\x1f"), "item").alias("name"))
        .group_by("model", "variant", "task", "name", "length", maintain_order=True)
        .agg(pl.col("value").mean(), pl.col("chance").mean())
    )
    if (cells["task"] == ALL).any():
        raise FathomError(f"A task is named {ALL!r}, which stands for the mean over tasks. Rename it in the rows.")
    keys = ["model", "variant", "task"]
    parts = cells.partition_by(keys, maintain_order=True, as_dict=True)
    return [_grid(str(model), str(variant), str(task), part) for (model, variant, task), part in parts.items()]


def _grid(model: str, variant: str, task: str, cells: pl.DataFrame) -> Grid:
    lengths, column = np.unique(cells["length"].to_numpy(), return_inverse=True)
    names = cells["name"].unique().sort()
    # Items in the order of their names: the same item then has the same weights for every model of equal items.
    line = cells["name"].cast(pl.Enum(names)).to_physical().to_numpy()
    scores = np.full((len(names), len(lengths)), np.nan)
    chance = scores.copy()
    scores[line, column] = cells["value"].to_numpy()
    chance[line, column] = cells["chance"].to_numpy()
    chance[np.isnan(scores)] = np.nan
    items = np.bincount(column, minlength=len(lengths))
    return Grid(model, variant, task, lengths.astype(np.int64), tuple(names), scores, chance, items.astype(np.int64))


def profiles(
    rows: pl.DataFrame, *, seed: int = 0, unscored: Unscored = "drop", replicates: int = REPLICATES
) -> list[Profile]:
    """Profiles of every model and variant: each of its tasks, then ``all``.

    Tasks are averaged with equal weight, whatever their numbers of items. At a length where a task has no score, the
    mean is over the tasks that have one, and ``complete`` is False there.

    Args:
        rows: A rows table; may be empty.
        seed: Seed of the replicates.
        unscored: What a row without a score counts as, see :func:`scored_rows`.
        replicates: Number of replicates.
    """
    by_model: dict[tuple[str, str], list[Grid]] = {}
    for grid in grids(rows, unscored):
        by_model.setdefault((grid.model, grid.variant), []).append(grid)
    return [
        profile for found in by_model.values() for profile in _model_profiles(found, seed=seed, replicates=replicates)
    ]


def _model_profiles(found: list[Grid], *, seed: int, replicates: int) -> Iterator[Profile]:
    shares = []
    for grid in found:
        profile, share = _task_profiles(grid, priors=(1.0, 1 / len(found)), seed=seed, replicates=replicates)
        shares.append(share)
        yield profile
    yield _mean_profile(shares)


def _task_profiles(grid: Grid, *, priors: tuple[float, ...], seed: int, replicates: int) -> list[Profile]:
    """The profile of one task, under several weights of the prior: on its own, and as a part of ``all``."""
    size = len(grid.lengths)
    known = ~np.isnan(grid.scores)
    rng = generator(seed, grid.task)
    sums = resampled_sums(np.concatenate([grid.scores, grid.chance], axis=1), rng, replicates=replicates)
    drawn = [means_of_sums(sums, rng, prior=np.repeat([prior, 0.0], size)) for prior in priors]
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
            complete=known.sum(axis=0) > 0,
            sums=((sums[0][:, :size], sums[1][:, :size]),),
            seed=seed,
        )
        for draws in drawn
    ]


def _mean_profile(shares: list[Profile]) -> Profile:
    """The profile of ``all``: tasks with equal weight."""
    lengths = np.unique(np.concatenate([share.lengths for share in shares]))
    means = np.stack([_spread(share.means, share, lengths) for share in shares])
    there = ~np.isnan(means)
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
        complete=there.sum(axis=0) == len(shares),
        sums=tuple(
            (_spread(scored, share, lengths), _spread(mass, share, lengths))
            for share in shares
            for scored, mass in share.sums
        ),
        seed=shares[0].seed,
    )


def _spread(values: Floats | NDArray[np.int64], share: Profile, onto: NDArray[np.int64]) -> Floats:
    """Puts the columns of a task where they belong among the lengths of all tasks; the others are NaN."""
    wide = np.full((*values.shape[:-1], len(onto)), np.nan)
    wide[..., np.searchsorted(onto, share.lengths)] = values
    return wide


def _total(counted: list[Floats]) -> NDArray[np.int64]:
    total: NDArray[np.int64] = np.nansum(counted, axis=0).astype(np.int64)
    return total


def _mean(values: Floats, where: NDArray[np.bool_]) -> Floats:
    """Mean over the first axis of the values that are there, NaN where none is (numpy's own warns)."""
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(where, values, 0.0).sum(axis=0) / where.sum(axis=0)
    return mean
