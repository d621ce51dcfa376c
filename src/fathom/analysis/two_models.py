"""Two models at a glance: scores and differences by length and by task, and which samples flipped.

Differences are those of :func:`fathom.analysis.compare`, paired over the samples that both have a score for, with the
same replicates. Only cells (a task at a length) at which both have a score are compared. The band of the differences by
length holds at all lengths together: the difference with its standard error times the 95% quantile of the largest
studentised deviation of all lengths (max-T, ``fathom.stats.ranks``), taken from replicates less their mean. A
difference is significant if its band excludes 0 and its own p-value is below .05, as ranks have it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fathom.analysis.compare import Comparison, Pairing, pair_up
from fathom.analysis.gate import SIDES, Flip, both_scored, flips_of, side_rows
from fathom.analysis.grid import ALL, blank_cells
from fathom.parallel.units import one_thread
from fathom.printing import readable
from fathom.stats.differences import Differences
from fathom.stats.intervals import LEVEL, Interval, exact_interval, interval_of, kept_draws
from fathom.stats.outcomes import Unanswered, not_asked, scored_rows, unmeasured
from fathom.stats.ranks import MaxT, with_adjusted
from fathom.types import FathomError

NEW, OLD = SIDES
"""Names of the second and of the first model among rows of both."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher the second model scores than the first, over the samples of both.

    Attributes:
        task: Name of the task, ``all`` for the mean over tasks.
        length: Length in tokens; None for the mean over the lengths that all its tasks share.
        score_a: Mean score of the first model, in [0, 1].
        score_b: Mean score of the second.
        interval_a: 95% interval of the first score.
        interval_b: 95% interval of the second.
        difference: ``score_b - score_a``.
        interval: 95% interval of the difference, for itself.
        band: Of a length, the interval that holds at all lengths together with 95%; None of anything else.
        p_value: Two-sided p-value of the sign-flip test, for itself.
        p_adjusted: The same adjusted by Holm's method for all lengths, or for all tasks.
        significant: Of a length by its band, of a task by ``p_adjusted``, of the whole by ``p_value``.
    """

    task: str
    length: int | None
    score_a: float
    score_b: float
    interval_a: Interval
    interval_b: Interval
    difference: float
    interval: Interval
    band: Interval | None
    p_value: float
    p_adjusted: float
    significant: bool
    items: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A cell that is not compared.

    Attributes:
        task: Name of the task.
        length: Length in tokens.
        a: Why the first model has no score there, "" if it has one.
        b: The same of the second.
    """

    task: str
    length: int
    a: str
    b: str


@readable
@dataclass(frozen=True, slots=True)
class TwoModels:
    """Two models compared; ``a`` is the first one and ``b`` the second.

    Attributes:
        overall: The mean over all tasks and the lengths that all of them share; None if they share none.
        lengths: By length, over all tasks; only lengths that all tasks share.
        tasks: By task, over its lengths.
        cells: By task and length.
        samples: Samples with a score of both.
        lost: Samples that only the first got right (a score of 0.5 or more); it is their ``baseline``.
        gained: Samples that only the second got right.
        left_out: Cells of which one has no score.
    """

    overall: Difference | None
    lengths: tuple[Difference, ...]
    tasks: tuple[Difference, ...]
    cells: tuple[Difference, ...]
    samples: int
    lost: tuple[Flip, ...]
    gained: tuple[Flip, ...]
    left_out: tuple[LeftOut, ...]


@one_thread()
@kept_draws()
def two_models(a: pl.DataFrame, b: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> TwoModels:
    """Compares two models on the samples that both have a score for.

    Prompts that were not sent yet are left out: what is compared of an unfinished run is what it has.

    Args:
        a: Rows of the first model: of one model and variant.
        b: Rows of the second.
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
        seed: Seed of the replicates.

    Raises:
        FathomError: One has no rows or those of several models, or no cell has scores of both.
    """
    rows = pl.concat([side_rows(b, NEW), side_rows(a, OLD)])
    counted = scored_rows(rows.filter(~not_asked().fill_null(False)), unanswered)
    left_out, shared = _cells(counted)
    comparable = counted.join(shared, on=["task", "length"], how="semi", maintain_order="left")
    both = both_scored(comparable.filter(pl.col("value").is_not_null()))
    if both.is_empty():
        suites = [", ".join(sorted(set(own["suite"]))) for own in (a, b)]
        why = f": they are runs of different suites, {suites[0]} and {suites[1]}" if suites[0] != suites[1] else ""
        raise FathomError(f"the two share no sample with a score of both{why}; compare runs of one suite")
    pairing = pair_up(comparable, (NEW, ""), (OLD, ""), unanswered=unanswered, seed=seed)
    compared = [_difference(pairing, own) for own in pairing.comparisons()]
    overall = [own for own in compared if own.task == ALL and own.length is None]
    lengths = [own for own in compared if own.task == ALL and own.length is not None]
    lost, gained = flips_of(both)
    return TwoModels(
        overall=replace(overall[0], significant=_excludes_0(overall[0])) if overall else None,
        lengths=_with_bands(pairing, with_adjusted(lengths)),
        tasks=_tested([own for own in compared if own.task != ALL and own.length is None]),
        cells=_tested([own for own in compared if own.task != ALL and own.length is not None]),
        samples=len(both),
        lost=lost,
        gained=gained,
        left_out=left_out,
    )


def _cells(counted: pl.DataFrame) -> tuple[tuple[LeftOut, ...], pl.DataFrame]:
    """The cells of which one model has no score, and the others."""
    reasons = {(cell.model, cell.task, cell.length): str(cell) for cell in unmeasured(counted)}
    sides = [blank_cells(counted.filter(model=name)) for name in (OLD, NEW)]
    asked = sorted(sides[0].keys() | sides[1].keys())
    shared, left_out = [], []
    for task, length in asked:
        why = [
            "" if side.get((task, length)) is False else reasons.get((name, task, length), "not asked")
            for name, side in zip((OLD, NEW), sides, strict=True)
        ]
        if any(why):
            left_out.append(LeftOut(task, length, *why))
        else:
            shared.append((task, length))
    return tuple(left_out), pl.DataFrame(shared, schema={"task": pl.String, "length": pl.Int64}, orient="row")


def _difference(pairing: Pairing, own: Comparison) -> Difference:
    """A comparison with the scores of both."""
    known, drawn = pairing.differences(own.task)
    columns = list(range(len(known))) if own.length is None else [known.index(own.length)]
    (score_b, score_a), (draws_b, draws_a) = drawn.means(columns), drawn.sides(columns)
    # As in reports, where those of a mean over several tasks are always drawn.
    alone = [(task.first, task.second) for task in drawn.tasks if len(drawn.tasks) == 1]
    exact = [exact_interval(side.at(columns)) for side in alone[0]] if alone else [None, None]
    return Difference(
        task=own.task,
        length=own.length,
        score_a=score_a,
        score_b=score_b,
        interval_a=exact[1] or interval_of(draws_a, score_a),
        interval_b=exact[0] or interval_of(draws_b, score_b),
        difference=own.difference,
        interval=own.interval,
        band=None,
        p_value=own.p_value,
        p_adjusted=own.p_value,
        significant=False,
        items=own.items,
    )


def _with_bands(pairing: Pairing, lengths: Sequence[Difference]) -> tuple[Difference, ...]:
    """Differences by length with the band that holds at all of them together."""
    if not lengths:
        return ()
    known, drawn = pairing.differences(ALL)
    errors, critical = _errors(drawn, [known.index(own.length) for own in lengths if own.length is not None])
    banded = []
    for own, error in zip(lengths, errors, strict=True):
        reach = critical * error
        band = Interval(max(-1.0, own.difference - reach), min(1.0, own.difference + reach))
        significant = (band.low > 0 or band.high < 0) and own.p_value < 1 - LEVEL
        banded.append(replace(own, band=band, significant=significant))
    return tuple(banded)


def _errors(drawn: Differences, columns: Sequence[int]) -> tuple[list[float], float]:
    """Standard errors of differences, and how many of them their band reaches."""
    draws = np.stack([first - second for first, second in (drawn.sides([column]) for column in columns)])
    test = MaxT()
    errors = test.add(draws - draws.mean(axis=1, keepdims=True))
    return errors.tolist(), test.critical()


def _tested(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Differences of one table, tested together."""
    return tuple(replace(own, significant=own.p_adjusted < 1 - LEVEL) for own in with_adjusted(differences))


def _excludes_0(own: Difference) -> bool:
    return (own.interval.low > 0 or own.interval.high < 0) and own.p_value < 1 - LEVEL
