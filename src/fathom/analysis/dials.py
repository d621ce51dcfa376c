"""Dials: how a score falls along what makes items harder, and which dial explains what is lost with length.

A dial is a facet of items with several settings, such as ``hops`` of the suite ``world``. Items with the same facts are
one cluster (``fathom.stats.intervals``): wherever it has two settings, or twins, or two lengths, their difference is
paired.

The loss of an item is its score at the shortest length minus that at a longer one. It is regressed on the settings of
its dials, each setting but the first of its dial being an indicator of its own (ordinary least squares). What a dial
adds is the mean over items of its fitted term: how much less would be lost with the dial at its first setting. The
constant is what is lost with all dials at their first settings. These add up to the mean loss exactly, because the
regression has a constant. Intervals come from the Bayesian bootstrap over clusters, which weights the items of the
regression, with a pseudo-cluster as for every mean.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fathom.analysis.breakdown import check_dimensions, not_there
from fathom.analysis.grid import ALL, Grid, grids
from fathom.stats.columns import facet, item_name
from fathom.stats.differences import unpaired_gap
from fathom.stats.intervals import (
    OTHER,
    REPLICATES,
    Clusters,
    Floats,
    Interval,
    Sums,
    clusters_of,
    generator,
    interval_at,
    interval_of,
    resampled_sums,
    shuffled,
)
from fathom.stats.outcomes import Unanswered, scored_rows
from fathom.stats.ranks import with_adjusted
from fathom.types.choices import DIALS

WHOLE, CONSTANT = "whole", "length"
"""Parts of a loss that are no dial: all of it, and what is lost with every dial at its first setting."""
FITS = REPLICATES // 5
"""Replicates of a regression."""


@dataclass(frozen=True, slots=True)
class DialPoint:
    """Mean score of one model at one setting of a dial.

    Attributes:
        task: Name of the task, ``all`` for the mean over the tasks with this dial, at settings that all of them have.
        dial: Name of the dial.
        setting: Its value.
        length: Length in tokens; None for the mean over lengths.
        mean: Mean score.
        interval: Its 95% interval.
        items: Items with a score.
        difference: ``mean`` minus that at the first setting, in the order of numbers or words; None at the first.
        difference_interval: Its 95% interval, paired wherever items share facts; None at the first setting.
        p_value: Two-sided p-value of the difference; None at the first setting.
        p_adjusted: The p-value adjusted by Holm's method for all differences of the table; None at the first setting.
        left_out: Lengths in tokens that do not count, because a setting of the dial has no score there.
    """

    model: str
    variant: str
    task: str
    dial: str
    setting: str
    length: int | None
    mean: float
    interval: Interval
    items: int
    difference: float | None = None
    difference_interval: Interval | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    left_out: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DialLoss:
    """A part of what one model loses from the shortest length to another one.

    Attributes:
        task: Name of the task, ``all`` for the mean over tasks; a task without a dial has 0 for it.
        base: Shortest length in tokens.
        length: The other length.
        part: A dial; ``length`` for what is lost with all dials at their first settings; ``whole`` for all of it.
        loss: The part, in points of score from 0 to 1; parts add up to the whole.
        interval: Its 95% interval.
        p_value: Two-sided p-value.
        items: Items with a score at both lengths.
        together: Dials that vary together, so that their parts cannot be separated: these are left out.
        p_adjusted: The p-value adjusted by Holm's method for all losses of the table.
        few: Whether that is because there are fewer items than settings to separate.
    """

    model: str
    variant: str
    task: str
    base: int
    length: int
    part: str
    loss: float
    interval: Interval
    p_value: float
    items: int
    together: tuple[str, ...] = ()
    p_adjusted: float | None = None
    few: bool = False


@dataclass(frozen=True, eq=False)
class _Task:
    """The scores of one model on one task, with the place of each item among the settings of each dial that varies."""

    grid: Grid
    settings: Mapping[str, tuple[str, ...]]
    places: Mapping[str, np.ndarray]

    def scores(self, dial: str, setting: str) -> Floats:
        """The scores with one setting, items x lengths; others are NaN."""
        own = self.places[dial] == self.settings[dial].index(setting)
        return np.where(own[:, None], self.grid.scores, np.nan)


def order_of(setting: str) -> tuple[int, float, str]:
    """Sort key of a setting: numbers before words."""
    return (0, float(setting), "") if re.fullmatch(r"-?\d+(\.\d+)?", setting) else (1, 0.0, setting)


def dials(
    rows: pl.DataFrame, *, by: Sequence[str] = (), unanswered: Unanswered = "zero", seed: int = 0
) -> tuple[list[DialPoint], list[DialLoss]]:
    """Scores along dials, and what explains the loss with length.

    Args:
        rows: A rows table; may be empty.
        by: Names of dials; by default all of ``fathom.types.choices.DIALS``. Any other facet counts as a dial.

    Returns:
        Points by model, task (``all`` last if several have the dial), dial, setting and length (None last), and
        losses by model, task and length. Without a dial of several settings there are none.

    Raises:
        FathomError: A name of ``by`` is no facet of the rows.
    """
    if by:
        check_dimensions(by)
        for name in by:
            if rows.select(facet(name).is_null().all()).item():
                raise not_there(name, rows)
    points: list[DialPoint] = []
    losses: list[DialLoss] = []
    tasks = _tasks(rows, by or DIALS, unanswered)
    for model, variant in dict.fromkeys((task.grid.model, task.grid.variant) for task in tasks):
        own = [task for task in tasks if (task.grid.model, task.grid.variant) == (model, variant)]
        points += [point for group in _groups(own) for point in _points(group, seed)]
        losses += [loss for task in own for loss in _losses([task], seed)]
        losses += _losses(own, seed) if len(own) > 1 else ()
    return with_adjusted(points), with_adjusted(losses)


def _tasks(rows: pl.DataFrame, names: Sequence[str], unanswered: Unanswered) -> list[_Task]:
    """Models and tasks of which a dial varies."""
    about = scored_rows(rows, unanswered).with_columns(item_name(), *(facet(name).alias(name) for name in names))
    tasks = []
    for grid in grids(rows, unanswered):
        items = about.filter(pl.col("task") == grid.task).unique("name", keep="first").select("name", *names)
        of_grid = pl.DataFrame({"name": grid.names}).join(items, on="name", how="left", maintain_order="left")
        settings, places = {}, {}
        for name in names:
            values = of_grid[name]
            own = tuple(sorted(values.drop_nulls().unique(), key=order_of))
            if len(own) > 1 and not values.null_count():
                settings[name], places[name] = own, np.array([own.index(value) for value in values])
        if settings:
            tasks.append(_Task(grid, settings, places))
    return tasks


# ----------------------------------------------------------------------------------------------------------- points


def _groups(tasks: Sequence[_Task]) -> Iterator[tuple[str, str, list[_Task]]]:
    """Each task with each of its dials, then for each dial all tasks that have it, if they are several."""
    yield from ((task.grid.task, dial, [task]) for task in tasks for dial in task.settings)
    for dial in dict.fromkeys(dial for task in tasks for dial in task.settings):
        having = [task for task in tasks if dial in task.settings]
        if len(having) > 1:
            yield ALL, dial, having


def _points(group: tuple[str, str, list[_Task]], seed: int) -> Iterator[DialPoint]:
    """Means at the settings and lengths that all tasks have, and their differences."""
    name, dial, tasks = group
    first = tasks[0].settings[dial]
    settings = [setting for setting in first if all(setting in task.settings[dial] for task in tasks)]
    shared = _shared_lengths(tasks)
    lengths = [
        length for length in shared
        if all(not np.isnan(_at(task, dial, setting, [length])).all() for task in tasks for setting in settings)
    ]  # fmt: skip
    left_out = tuple(length for length in shared if length not in lengths)
    if len(settings) < 2 or not lengths:
        return
    tables = [np.concatenate([_at(task, dial, setting, lengths) for setting in settings], axis=1) for task in tasks]
    clusters = [clusters_of(table, task.grid.groups) for table, task in zip(tables, tasks, strict=True)]
    sums = [resampled_sums(part, seed) for part in clusters]
    own, other = (_mean_draws(sums, seed, stream) for stream in ((), (OTHER,)))
    means = np.mean([np.nanmean(table, axis=0) for table in tables], axis=0)
    counts = np.sum([(~np.isnan(table)).sum(axis=0) for table in tables], axis=0)
    fewest = min(int((part.counts > 0).sum(axis=0).min()) for part in clusters)
    for number, setting in enumerate(settings):
        for place, length in enumerate((*lengths, None) if len(lengths) > 1 else lengths):
            at, base = _columns(number, place, len(lengths)), _columns(0, place, len(lengths))
            mean, draws = float(means[at].mean()), own[:, at].mean(axis=1)
            exact = len(tasks) == 1 and length is not None
            interval = interval_at(clusters[0], own, at[0], mean) if exact else interval_of(draws, mean)
            point = DialPoint(tasks[0].grid.model, tasks[0].grid.variant, name, dial, setting, length, mean, interval,
                              int(counts[at].max()), left_out=left_out)  # fmt: skip
            if not number:
                yield point
                continue
            change = mean - float(means[base].mean())
            gap = unpaired_gap(draws - other[:, base].mean(axis=1), change, fewest - 1)
            yield replace(point, difference=change, difference_interval=gap.interval, p_value=gap.p_value)


def _columns(setting: int, place: int, lengths: int) -> list[int]:
    """The columns of a setting: that of a length, or of all lengths beyond the last one."""
    own = range(setting * lengths, (setting + 1) * lengths)
    return [own[place]] if place < lengths else list(own)


def _at(task: _Task, dial: str, setting: str, lengths: Sequence[int]) -> Floats:
    return task.scores(dial, setting)[:, np.isin(task.grid.lengths, lengths)]


def _shared_lengths(tasks: Sequence[_Task]) -> list[int]:
    """The lengths of all tasks, ascending, but for those of which a cell has no score."""
    known = [
        {length for length, gap in zip(task.grid.lengths.tolist(), task.grid.gaps, strict=True) if gap is None}
        for task in tasks
    ]
    return sorted(set.intersection(*known))


def _mean_draws(sums: Sequence[Sums], seed: int, stream: tuple[int, ...]) -> Floats:
    """Replicates of the mean over tasks of each column."""
    prior = 1 / len(sums)
    draws = [shuffled(part.means(seed, prior, *stream), place) for place, part in enumerate(sums)]
    return np.asarray(np.mean(draws, axis=0))


# ----------------------------------------------------------------------------------------------------------- losses


@dataclass(frozen=True, eq=False)
class _Parts:
    """The parts of a loss by name, with their replicates; ``together`` names those that cannot be separated."""

    values: Mapping[str, tuple[float, Floats]]
    items: int
    clusters: int
    together: tuple[str, ...] = ()
    few: bool = False


def _losses(tasks: Sequence[_Task], seed: int) -> Iterator[DialLoss]:
    """What is lost from the shortest length that all tasks have to each other one."""
    lengths = _shared_lengths(tasks)
    for length in lengths[1:]:
        parts = [_parts(task, (lengths[0], length), seed, 1 / len(tasks)) for task in tasks]
        if all(part is not None for part in parts):
            name = tasks[0].grid.task if len(tasks) == 1 else ALL
            yield from _mean_loss(tasks[0].grid, name, (lengths[0], length), [part for part in parts if part])


def _mean_loss(grid: Grid, name: str, lengths: tuple[int, int], parts: Sequence[_Parts]) -> Iterator[DialLoss]:
    together = tuple(dict.fromkeys(dial for part in parts for dial in part.together))
    names = [name for name in dict.fromkeys(name for part in parts for name in part.values) if name not in together]
    dials = tuple(name for name in together if name != CONSTANT)
    few = any(part.few for part in parts)
    degrees = min(part.clusters for part in parts) - 1
    for each in names:
        known = [part.values.get(each, (0.0, np.zeros(FITS))) for part in parts]
        loss = float(np.mean([point for point, _ in known]))
        draws = np.mean([shuffled(of_task, place) for place, (_, of_task) in enumerate(known)], axis=0)
        gap = unpaired_gap(draws, loss, degrees)
        yield DialLoss(grid.model, grid.variant, name, *lengths, each, loss, gap.interval, gap.p_value,
                       sum(part.items for part in parts), dials, few=few)  # fmt: skip


def _parts(task: _Task, lengths: tuple[int, int], seed: int, prior: float) -> _Parts | None:
    """The parts of the loss of one task from one length to another; None with fewer than two items."""
    columns = [task.grid.lengths.tolist().index(each) for each in lengths]
    lost = task.grid.scores[:, columns[0]] - task.grid.scores[:, columns[1]]
    known = ~np.isnan(lost)
    if known.sum() < 2:
        return None
    design, owners = [np.ones(int(known.sum()))], [CONSTANT]
    for dial, places in task.places.items():
        for number in sorted(set(places[known].tolist()))[1:]:
            design.append((places[known] == number).astype(np.float64))
            owners.append(dial)
    table = np.stack(design, axis=1)
    size = len(owners)
    squares = (table[:, :, None] * table[:, None, :]).reshape(len(table), -1)
    products = np.concatenate([squares, table * lost[known][:, None]], axis=1)
    groups = [group for group, here in zip(task.grid.groups, known.tolist(), strict=True) if here]
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    totals = np.zeros((len(names), products.shape[1]))
    np.add.at(totals, place, products)
    counts = np.broadcast_to(np.bincount(place)[:, None].astype(np.float64), totals.shape)
    draws = resampled_sums(Clusters(totals, counts), seed, replicates=FITS).scored
    draws += _pseudo_cluster(totals.mean(axis=0), size, prior, seed)
    points, replicates = (_fitted(sums, size) for sums in (totals.sum(axis=0)[None], draws))
    by_name = {name: [number for number, owner in enumerate(owners) if owner == name] for name in dict.fromkeys(owners)}
    values = {WHOLE: (float(points[0].sum()), replicates.sum(axis=1))}
    values |= {name: (float(points[0, own].sum()), replicates[:, own].sum(axis=1)) for name, own in by_name.items()}
    together = tuple(dict.fromkeys(owners[number] for number in _not_separated(table)))
    return _Parts(values, len(table), len(names), together, bool(together) and len(table) < size)


def _not_separated(table: Floats) -> list[int]:
    """The columns whose coefficients do not follow from the others: those with a part in the null space."""
    rank = int(np.linalg.matrix_rank(table))
    null = np.linalg.svd(table)[2][rank:]
    return [column for column, part in enumerate(np.abs(null).max(axis=0, initial=0)) if part > 1e-8]


def _pseudo_cluster(mean: Floats, size: int, prior: float, seed: int) -> Floats:
    """Sums of a cluster with the settings of the others, whose scores are split by Jeffreys' prior.

    As for every mean (``fathom.stats.intervals``): without it, items that all lose nothing would have intervals of
    width zero. Each coefficient has a split of its own at both lengths.

    Args:
        mean: Mean sums of a cluster.
        prior: Weight of the pseudo-cluster, in clusters.
    """
    rng = generator(seed, [7, size])
    lost = np.subtract(*rng.beta(prior / 2, prior / 2, (2, FITS, size)))
    squares = mean[: size * size].reshape(size, size)
    sums = np.concatenate([np.broadcast_to(mean[: size * size], (FITS, size * size)), lost @ squares], axis=1)
    return np.asarray(rng.standard_gamma(prior, (FITS, 1)) * sums)


def _fitted(sums: Floats, size: int) -> Floats:
    """What each column adds to the mean: its mean times its coefficient.

    Args:
        sums: Weighted sums of products of the columns with each other, and of the columns with the loss.
    """
    squares, products = sums[:, : size * size].reshape(-1, size, size), sums[:, size * size :]
    coefficients = (np.linalg.pinv(squares, hermitian=True) @ products[:, :, None])[:, :, 0]
    return np.asarray(coefficients * squares[:, 0] / squares[:, :1, 0])
