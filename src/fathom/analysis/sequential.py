"""A gate that may be looked at after every reply: claims from bets on items in an order fixed before they were asked.

The claims are those of ``fathom.analysis.gate``. Each is a mean over cells (a task at a length), and what a cluster of
items adds to it is bet on (``fathom.stats.bets``). Tasks are bet on in rounds, so that each counts alike however many
items it has. A reply that is missing counts as whatever is worst for the decision.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import polars as pl

from fathom.analysis.gate import (
    SIDES,
    Claim,
    Gate,
    both_scored,
    both_sides,
    chosen_replies,
    decided_claims,
    decision_of,
    flips_of,
    nothing_to_lose,
)
from fathom.analysis.grid import ALL
from fathom.stats.bets import evidence_above, evidence_below, interval_at_any_look, items_without_loss
from fathom.stats.columns import cluster_among_tasks, facet
from fathom.stats.intervals import LEVEL
from fathom.stats.outcomes import (
    ASKED_AGAIN_AT_MOST,
    DOES_NOT_FIT,
    NOT_JUDGED,
    alone,
    not_asked,
    scored_rows,
    unmeasured,
)
from fathom.stats.side_rows import is_side_row
from fathom.tokens.length import format_length
from fathom.types.samples import place_of

Cell: TypeAlias = tuple[str, int]
"""A task and a length in tokens."""
_CELL = {"task": pl.String, "length": pl.Int64}


class _Value(NamedTuple):
    """What a cluster adds to a cell: candidate minus baseline, missing replies as low and as high as they can be."""

    low: float
    high: float
    items: int
    waits: bool


class _Unit(NamedTuple):
    """Clusters that have all cells of a stratum; ``waits`` if one of their replies is still to come."""

    low: float
    high: float
    clusters: int
    items: int
    waits: bool


def sequential_gate(
    candidate: pl.DataFrame,
    baseline: pl.DataFrame,
    *,
    margin: float,
    alpha: float = 0.05,
    at: Sequence[int] | None = None,
    most_asked_again: float = ASKED_AGAIN_AT_MOST,
) -> Gate:
    """Decide as ``fathom.analysis.gate.gate`` does, at any look: the candidate may be unfinished.

    The errors hold for all looks together: however often one looks, a candidate that loses the margin or more somewhere
    ever passes with a probability of at most ``alpha``, and one that is nowhere worse ever fails with at most that.

    Args:
        candidate: Rows of the candidate: one model and variant, finished or not.
        baseline: Rows of the baseline, of the same suite; its samples are those that count.
        margin: Largest accepted loss, as a fraction of the full score, above 0.
        alpha: Level of the tests.
        at: Only these lengths, in tokens.
        most_asked_again: Share of replies of a side that may have been asked for more than once.

    Raises:
        FathomError: A side has no rows or those of several models, or ``margin`` or ``alpha`` is not in (0, 1).
    """
    rows, gaps = both_sides(candidate, baseline, margin=margin, alpha=alpha, at=at)
    asked = scored_rows(rows.filter(~_waits()))
    gaps += chosen_replies(rows, most_asked_again)
    unfit = [cell for cell in unmeasured(asked) if cell.reason == DOES_NOT_FIT]
    gaps += tuple(
        f"the {cell.model} has no score for {cell.task} at {format_length(cell.length)}: {cell}" for cell in unfit
    )
    cells = pl.DataFrame([(cell.task, cell.length) for cell in unfit], schema=_CELL, orient="row")
    values = _values(rows.join(cells, on=list(_CELL), how="anti", maintain_order="left"))
    claims = [
        claim for name, length, cells in _claims(values) if (claim := _claim(name, length, cells, values, margin))
    ]
    scored = asked.filter(pl.col("value").is_not_null())
    if claims and scored["model"].n_unique() == len(SIDES):
        gaps += nothing_to_lose(scored, margin)
    decided = decided_claims(claims, margin, alpha)
    decision, reason = decision_of(decided, gaps, margin, alpha, items_without_loss(margin, alpha))
    return Gate(decision, reason, margin, alpha, decided, *flips_of(both_scored(scored)), gaps, looks="any")


def _waits() -> pl.Expr:
    """Rows of replies that are still to come."""
    return not_asked().fill_null(False) | pl.col("detail").str.starts_with(NOT_JUDGED).fill_null(False)


def _values(rows: pl.DataFrame) -> dict[str, dict[Cell, _Value]]:
    """What each cluster adds to each cell, in the order of the bets; only the samples of the baseline count."""
    sample = ["suite", "task", "length", "sample"]
    score = alone().clip(0, 1)
    table = rows.filter(~is_side_row()).with_columns(cluster_among_tasks(), waits=_waits(), low=score.fill_null(0.0))
    table = table.with_columns(high=score.fill_null(1.0), shared=facet("cluster"))
    means = table.group_by(*sample, "model", maintain_order=True).agg(
        pl.col("low", "high").mean(), pl.col("waits").any(), pl.col("cluster", "item", "shared").first()
    )
    first, second = (means.filter(model=name) for name in SIDES)
    both = second.join(first, on=sample, how="left", suffix="_of_candidate", maintain_order="left").with_columns(
        low=pl.col("low_of_candidate").fill_null(0.0) - pl.col("high"),
        high=pl.col("high_of_candidate").fill_null(1.0) - pl.col("low"),
        waits=pl.col("waits") | pl.col("waits_of_candidate").fill_null(True),
    )
    cells = both.group_by("cluster", "task", "length", maintain_order=True).agg(
        pl.col("low", "high").mean(),
        pl.col("item").n_unique().alias("items"),
        pl.col("waits").any(),
        pl.col("item", "shared").first(),
    )
    values: dict[str, dict[Cell, _Value]] = defaultdict(dict)
    places = {}
    for cluster, task, length, *value, item, shared in cells.iter_rows():
        values[cluster][task, length] = _Value(*value)
        places[cluster] = place_of(task, item, shared)
    return {cluster: values[cluster] for cluster in sorted(values, key=places.__getitem__)}


def _claims(values: Mapping[str, Mapping[Cell, _Value]]) -> list[tuple[str, int | None, list[Cell]]]:
    """Each claim with its cells: over all, by length where every task has a score, by task."""
    cells = sorted({cell for own in values.values() for cell in own})
    tasks, lengths = sorted({task for task, _ in cells}), sorted({length for _, length in cells})
    overall = ALL if len(tasks) > 1 else tasks[0] if tasks else ALL
    claims: list[tuple[str, int | None, list[Cell]]] = [(overall, None, cells)] if len(lengths) > 1 else []
    for length in lengths:
        column = [cell for cell in cells if cell[1] == length]
        if len(column) == len(tasks):
            claims.append((overall, length, column))
    if len(tasks) > 1:
        claims += [(task, None, [cell for cell in cells if cell[0] == task]) for task in tasks]
    return claims


def _claim(
    task: str,
    length: int | None,
    cells: Sequence[Cell],
    values: Mapping[str, Mapping[Cell, _Value]],
    margin: float,
) -> Claim | None:
    """A claim from the rounds that are finished; None before the first."""
    of_task = {name: sum(cell[0] == name for cell in cells) for name, _ in cells}
    weights = {cell: 1 / (len(of_task) * of_task[cell[0]]) for cell in cells}
    strata = _strata(cells, values)
    units = [_units(stratum, weights, values) for stratum in strata]
    shares = [sum(weights[cell] for cell in stratum) for stratum in strata]
    alike = max(shares) - min(shares) < 1e-9
    rounds = min(map(len, units))
    lows: list[float] = []
    highs: list[float] = []
    ends: list[int] = []
    clusters = items = 0
    for number in range(rounds):
        slices = [own[len(own) * number // rounds : len(own) * (number + 1) // rounds] for own in units]
        if any(unit.waits for own in slices for unit in own):
            break
        low, high = ([sum(unit[side] for unit in own) / len(own) for own in slices] for side in (0, 1))
        # Strata of unequal weight are one bet on their weighted mean.
        lows += low if alike else [sum(map(math.prod, zip(shares, low, strict=True)))]
        highs += high if alike else [sum(map(math.prod, zip(shares, high, strict=True)))]
        ends.append(len(lows))
        clusters += sum(unit.clusters for own in slices for unit in own)
        items += sum(unit.items for own in slices for unit in own)
    if not ends:
        return None
    return Claim(
        task,
        length,
        difference=(sum(lows) + sum(highs)) / (2 * len(lows)),
        interval=interval_at_any_look(lows, highs, LEVEL, ends),
        items=items,
        p_worse=math.exp(-evidence_below(highs, 0.0, ends)),
        p_margin=math.exp(-evidence_above(lows, -margin, ends)),
        clusters=clusters,
    )


def _strata(cells: Sequence[Cell], values: Mapping[str, Mapping[Cell, _Value]]) -> list[list[Cell]]:
    """Cells that share no cluster with those of another stratum: a task with its lengths, most often."""
    stratum = {cell: index for index, cell in enumerate(cells)}
    for own in values.values():
        joined = {stratum[cell] for cell in own if cell in stratum}
        if len(joined) > 1:
            first = min(joined)
            stratum = {cell: first if index in joined else index for cell, index in stratum.items()}
    return [[cell for cell in cells if stratum[cell] == index] for index in sorted(set(stratum.values()))]


def _units(
    stratum: Iterable[Cell], weights: Mapping[Cell, float], values: Mapping[str, Mapping[Cell, _Value]]
) -> list[_Unit]:
    """The clusters of a stratum in the order of the bets, as few together as have all of its cells."""
    wanted = set(stratum)
    share = sum(weights[cell] for cell in wanted)
    units, clusters = [], 0
    collected: dict[Cell, list[_Value]] = defaultdict(list)
    for own in values.values():
        if wanted.isdisjoint(own):
            continue
        clusters += 1
        for cell in wanted & own.keys():
            collected[cell].append(own[cell])
        if len(collected) < len(wanted):
            continue
        low, high = (
            sum(weights[cell] * sum(value[side] for value in has) / len(has) for cell, has in collected.items()) / share
            for side in (0, 1)
        )
        every = [value for has in collected.values() for value in has]
        most = max(sum(value.items for value in has) for has in collected.values())
        units.append(_Unit(low, high, clusters, most, any(value.waits for value in every)))
        clusters, collected = 0, defaultdict(list)
    return units
