"""A gate that may be looked at after every reply: claims from bets on items in an order fixed before they were asked.

The claims are those of ``fathom.analysis.gate``. Each is a mean over cells (a task at a length), and what a cluster of
items adds to it is a bet (``fathom.stats.bets``) that weighs as much as the cluster does in the claim, which the
baseline's samples say beforehand. The order of the bets is that of a hash of names among all tasks of a claim, as good
as random. A reply that is missing counts as whatever is worst for the decision.

Bettors plan: who bets on a loss of less than the margin hopes for none, who bets on a loss for three times the margin.
The first claim, over everything, has half of the error that the claims of a loss share: most losses are everywhere.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
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
from fathom.stats.intervals import LEVEL, Floats
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
_OVERALL = 0.5
_CELL = {"task": pl.String, "length": pl.Int64}


class _Value(NamedTuple):
    """What a cluster adds to a cell: candidate minus baseline, missing replies as low and as high as they can be."""

    low: float
    high: float
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
        baseline: Rows of the baseline, finished, of the same suite; its samples are those that count.
        margin: Largest accepted loss, as a fraction of the full score, above 0.
        alpha: Level of the tests.
        at: Only these lengths, in tokens.
        most_asked_again: Share of replies of a side that may have been asked for more than once.

    Raises:
        FathomError: A side has no rows or those of several models, or ``margin`` or ``alpha`` is not in (0, 1).
    """
    rows, gaps = both_sides(candidate, baseline, margin=margin, alpha=alpha, at=at)
    rows = rows.filter(~is_side_row())
    here = rows.filter(~_waits())
    gaps += (*_absent(rows), *chosen_replies(here, most_asked_again))
    asked = scored_rows(here)
    unfit = [cell for cell in unmeasured(asked) if cell.reason == DOES_NOT_FIT]
    gaps += tuple(
        f"the {cell.model} has no score for {cell.task} at {format_length(cell.length)}: {cell}" for cell in unfit
    )
    cells = pl.DataFrame([(cell.task, cell.length) for cell in unfit], schema=_CELL, orient="row")
    values = _values(rows.join(cells, on=list(_CELL), how="anti", maintain_order="left"))
    claims = [_claim(name, length, cells, values, margin) for name, length, cells in _claims(values)]
    scored = asked.filter(pl.col("value").is_not_null())
    if claims and scored["model"].n_unique() == len(SIDES):
        gaps += nothing_to_lose(scored, margin)
    decided = decided_claims(claims, margin, alpha, shares_of_error(len(claims)))
    decision, reason = decision_of(decided, gaps, margin, alpha, items_without_loss(margin, alpha))
    return Gate(decision, reason, margin, alpha, decided, *flips_of(both_scored(scored)), gaps, looks="any")


def shares_of_error(claims: int) -> Floats:
    """Half for the first claim, which is over everything, and the rest in equal parts."""
    if claims < 2:
        return np.ones(claims)
    return np.array([_OVERALL, *[(1 - _OVERALL) / (claims - 1)] * (claims - 1)])


def overall_claim(candidate: pl.DataFrame, baseline: pl.DataFrame) -> Claim | None:
    """The mean over all cells of the samples of both, at any look; None without samples of both.

    Args:
        candidate: Rows of one model and variant.
        baseline: Rows of another.

    Raises:
        FathomError: A side has no rows or those of several models.
    """
    rows, _ = both_sides(candidate, baseline, margin=0.5, alpha=0.05, at=None)
    rows = rows.filter(~is_side_row())
    sample = ["suite", "task", "length", "sample"]
    for name in SIDES:
        rows = rows.join(rows.filter(model=name).select(sample).unique(), on=sample, how="semi", maintain_order="left")
    values = _values(rows)
    cells = sorted({cell for own in values.values() for cell in own})
    return _claim(ALL, None, cells, values, None) if cells else None


def _absent(rows: pl.DataFrame) -> tuple[str, ...]:
    """Tasks and lengths of which one side has no sample at all, in words."""
    cells = {name: set(rows.filter(model=name).select("task", "length").iter_rows()) for name in SIDES}
    return tuple(
        f"the {name} has no sample of {task} at {format_length(length)}"
        for name, other in (SIDES, SIDES[::-1])
        for task, length in sorted(cells[other] - cells[name])
    )


def _waits() -> pl.Expr:
    """Rows of replies that are still to come."""
    return not_asked().fill_null(False) | pl.col("detail").str.starts_with(NOT_JUDGED).fill_null(False)


def _values(rows: pl.DataFrame) -> dict[str, dict[Cell, _Value]]:
    """What each cluster adds to each cell, in the order of the bets; only the samples of the baseline count."""
    sample = ["suite", "task", "length", "sample"]
    score = alone().clip(0, 1)
    table = rows.with_columns(cluster_among_tasks(), waits=_waits(), low=score.fill_null(0.0))
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
    margin: float | None,
) -> Claim:
    """A claim from the clusters before the first that waits; nothing is excluded without any, nor without a margin."""
    of_task = Counter(name for name, _ in cells)
    items = Counter[Cell]()
    for own in values.values():
        items.update({cell: value.items for cell, value in own.items()})
    share = {cell: 1 / (len(of_task) * of_task[cell[0]] * items[cell]) for cell in cells}  # of an item in the claim
    weights, lows, highs, counted, largest, waits = [], [], [], 0, 0.0, False
    for own in values.values():
        parts = [(share[cell] * value.items, value) for cell, value in own.items() if cell in share]
        weight = sum(part for part, _ in parts)
        largest = max(largest, weight)  # over all clusters: it is known beforehand
        waits = waits or any(value.waits for _, value in parts)
        if parts and not waits:
            weights.append(weight)
            lows.append(sum(part * value.low for part, value in parts) / weight)
            highs.append(sum(part * value.high for part, value in parts) / weight)
            counted += max(value.items for _, value in parts)
    known = np.array(weights) / largest if weights else np.array([])
    large = None if margin is None else 3 * margin
    middle = (np.array(lows) + np.array(highs)) / 2
    return Claim(
        task,
        length,
        difference=float(np.average(middle, weights=known)) if weights else 0.0,
        interval=interval_at_any_look(lows, highs, LEVEL, known),
        items=counted,
        p_worse=math.exp(-evidence_below(highs, 0.0, known, planned=large)),
        p_margin=1.0 if margin is None else math.exp(-evidence_above(lows, -margin, known, planned=margin)),
        clusters=int(known.sum() + 1e-9),
    )
