"""The gate on recovery: does a candidate keep as much of its ability in a long context as a baseline does of its own?

The claims are about recovery (``fathom.analysis.recovery``) at each length, over the lengths, and of each task over the
lengths; recovery is a mean over tasks, or over lengths, of the same questions of both. They are decided as those of
``fathom.analysis.gate``, with p-values from replicates in place of the sign-flip test: a ratio has no signs to flip.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import polars as pl

from fathom.analysis.gate import (
    SIDES,
    Claim,
    Gate,
    both_scored,
    check_levels,
    chosen_replies,
    decided_claims,
    decision_of,
    flips_of,
    net_loss_p_value,
    one_sided,
    side_rows,
)
from fathom.analysis.grid import ALL
from fathom.analysis.recovery import LITTLE, context_means, recovery_questions
from fathom.parallel.units import one_thread
from fathom.stats.differences import PAIRED_REPLICATES, gap_of
from fathom.stats.intervals import Floats, interval_of, kept_draws
from fathom.stats.outcomes import ASKED_AGAIN_AT_MOST, MISSING_AT_MOST, Unanswered, scored_rows
from fathom.tokens.length import format_length

_CONTEXTS = ("full", "alone", "none")
_QUESTION = ["suite", "task", "item", "question", "length"]
_Cell = tuple[str, int]


@one_thread()
@kept_draws()
def gate_recovery(
    candidate: pl.DataFrame,
    baseline: pl.DataFrame,
    *,
    margin: float,
    alpha: float = 0.05,
    at: Sequence[int] | None = None,
    unanswered: Unanswered = "zero",
    seed: int = 0,
    most_asked_again: float = ASKED_AGAIN_AT_MOST,
) -> Gate:
    """Decide whether a candidate recovers no less than a baseline by more than a margin.

    Args:
        candidate: Rows of the candidate: one model and variant, with questions over their evidence alone.
        baseline: Rows of the baseline, of the same suite.
        margin: Largest accepted loss of recovery, as a fraction, above 0: 0.1 is from 80% to 70%.
        alpha: Level of the tests.
        at: Only these lengths, in tokens.
        unanswered: How unanswered replies count.
        seed: Seed of intervals.
        most_asked_again: Share of replies of a side that may have been asked for more than once.

    Raises:
        FathomError: A side has no rows or those of several models, or ``margin`` or ``alpha`` is not in (0, 1).
    """
    check_levels(margin, alpha)
    rows = pl.concat([side_rows(candidate, SIDES[0]), side_rows(baseline, SIDES[1])])
    sides = [recovery_questions(rows.filter(model=name), unanswered) for name in SIDES]
    if at is not None:
        sides = [side.filter(pl.col("length").is_in(list(at))) for side in sides]
    both = _joined(*sides)
    gaps = _gaps(sides, both, at or ()) + chosen_replies(rows, most_asked_again)
    claims, undefined = _claims(both, margin, seed)
    scored = scored_rows(rows, unanswered).filter(pl.col("value").is_not_null())
    if at is not None:
        scored = scored.filter(pl.col("length").is_in(list(at)))
    lost, gained = flips_of(both_scored(scored))
    decided = decided_claims(claims, margin, alpha)
    gaps = (*gaps, *undefined)
    decision, reason = decision_of(decided, gaps, margin, alpha)
    return Gate(decision, reason, margin, alpha, decided, lost, gained, gaps, on="recovery")


def _column(side: str, context: str) -> str:
    return f"{side}.{context}"


def _joined(candidate: pl.DataFrame, baseline: pl.DataFrame) -> pl.DataFrame:
    """One row for each question of the baseline in the cells of both, with the contexts of both.

    A question that only the baseline has counts 0 in the candidate's context, so that deleted rows help nobody.
    """
    tables = []
    for name, side in zip(SIDES, (candidate, baseline), strict=True):
        columns = [pl.col(context).alias(_column(name, context)) for context in _CONTEXTS]
        facts = ["cluster", "measured"] if name == SIDES[1] else []
        tables.append(side.select(*_QUESTION, *facts, *columns))
    asked = pl.col("asked").fill_null(False)
    full = _column(SIDES[0], "full")
    return (
        tables[1]
        .join(tables[0].with_columns(asked=True), on=_QUESTION, how="left", maintain_order="left")
        .filter(asked.any().over("task", "length"))
        .with_columns(pl.when(asked).then(full).otherwise(0.0).alias(full))
        .drop("asked")
    )


def _gaps(sides: Sequence[pl.DataFrame], both: pl.DataFrame, at: Sequence[int]) -> tuple[str, ...]:
    """Sides without controls, lengths without questions, and cells of which a side lacks some questions."""
    for name, side in zip(SIDES, sides, strict=True):
        if side.is_empty():
            return (f"the {name} has no question with its evidence alone (fathom build --closed-book --alone)",)
    gaps = [f"no question has the length {format_length(length)}" for length in at if length not in set(both["length"])]
    for name, side, other in zip(SIDES, sides, sides[::-1], strict=True):
        absent = other.join(side, on=_QUESTION, how="anti")
        every = other.group_by("task", "length", maintain_order=True).len("every")
        cells = absent.group_by("task", "length", maintain_order=True).len("lacking").join(every, on=["task", "length"])
        for task, length, lacking, total in cells.select("task", "length", "lacking", "every").iter_rows():
            if lacking > MISSING_AT_MOST * total:
                gaps.append(
                    f"the {name} lacks {lacking:,} of {total:,} questions of {task} at {format_length(length)} "
                    "in a context"
                )
    return tuple(gaps)


def _claims(both: pl.DataFrame, margin: float, seed: int) -> tuple[list[Claim], tuple[str, ...]]:
    """The claims, and of which lengths and tasks a side has no recovery."""
    cells: dict[_Cell, pl.DataFrame] = {
        (str(task), int(str(length))): part
        for (task, length), part in both.group_by("task", "length", maintain_order=True)
    }
    tasks, lengths = list(dict.fromkeys(both["task"])), sorted(set(both["length"].to_list()))
    wanted = {
        (task, length): {task: cells[task, length]}
        for task, length in product(tasks, lengths)
        if (task, length) in cells
    }
    overall = tasks[0] if len(tasks) == 1 else ALL
    if overall == ALL:
        shared = [length for length in lengths if all((task, length) in cells for task in tasks)]
        wanted |= {(ALL, length): {task: cells[task, length] for task in tasks} for length in shared}
    measured, undefined = {}, []
    for (task, length), parts in wanted.items():
        change = _change(parts, seed)
        if isinstance(change, str):
            undefined.append(f"{change}{'' if task == overall else f' on {task}'} at {format_length(length)}")
        else:
            measured[task, length] = change
    claims = [
        _claim((overall, length), [measured[overall, length]], margin)
        for length in lengths
        if (overall, length) in measured
    ]
    for task in dict.fromkeys((overall, *tasks)):
        own = [change for (name, _), change in measured.items() if name == task]
        if own and (len(own) > 1 or task != overall):
            claims.append(_claim((task, None), own, margin))
    claims.sort(key=lambda claim: (claim.task != overall, claim.length is not None, claim.length or 0))
    return claims, tuple(undefined)


class _Change(NamedTuple):
    """Candidate minus baseline: recovery, its replicates; the points that recovery is a share of; clusters."""

    point: float
    draws: Floats
    gain: float
    clusters: int


def _change(parts: Mapping[str, pl.DataFrame], seed: int) -> _Change | str:
    """The difference of both sides, or which of them has no recovery."""
    columns = [_column(side, context) for side in SIDES for context in _CONTEXTS]
    points, draws, _ = context_means(parts, seed, PAIRED_REPLICATES, columns)
    point, drawn, gains = 0.0, np.zeros(PAIRED_REPLICATES), []
    for name, sign in zip(SIDES, (1, -1), strict=True):
        full, alone, none = (points[_column(name, context)] for context in _CONTEXTS)
        full_drawn, alone_drawn, none_drawn = (draws[_column(name, context)] for context in _CONTEXTS)
        if not interval_of(alone_drawn - none_drawn, alone - none).low > 0:
            return f"with its evidence alone the {name} does not answer clearly more than without"
        if alone - none < LITTLE:
            return f"the evidence brings the {name} {100 * (alone - none):.1f} points, of which a share says little"
        point += sign * (full - none) / (alone - none)
        drawn = drawn + sign * (full_drawn - none_drawn) / (alone_drawn - none_drawn)
        gains.append(alone - none)
    clusters = sum(table["cluster"].n_unique() for table in parts.values())
    return _Change(point, drawn, gains[1], clusters)


def _claim(named: tuple[str, int | None], changes: Sequence[_Change], margin: float) -> Claim:
    """The claim about one length, or the mean over several."""
    point, gain = (float(np.mean([getattr(change, name) for change in changes])) for name in ("point", "gain"))
    drawn = np.mean([change.draws for change in changes], axis=0)
    clusters = max(change.clusters for change in changes)
    loss, beyond = gap_of(drawn, point), gap_of(drawn + margin, point + margin)
    return Claim(
        *named,
        point,
        loss.interval,
        clusters,
        p_worse=one_sided(loss.p_value, point < 0),
        # A loss of recovery is that share of the points that the evidence gains.
        p_margin=max(
            one_sided(beyond.p_value, point > -margin), net_loss_p_value(gain * point, gain * margin, clusters)
        ),
        clusters=clusters,
    )
