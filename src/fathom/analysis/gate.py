"""A gate for releases: is a candidate no worse than a baseline by more than a margin, on the samples of both?

Claims are made about the mean over tasks, about each length, and about each task. The candidate passes if every claim
of non-inferiority is shown at level alpha: an intersection-union test, whose error is at most alpha without further
correction (Berger 1982, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24). It fails if at
least one loss is significant by Holm's step-down over all claims (family-wise error at most alpha) and estimated to be
larger than the margin. Anything else is inconclusive: more items would decide it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from fathom.analysis.compare import Comparison, pair_up
from fathom.analysis.grid import ALL
from fathom.parallel.units import one_thread
from fathom.plugins.names import first_of
from fathom.printing import readable
from fathom.stats.beta import beta_lower_tail
from fathom.stats.intervals import Floats, Interval, kept_draws
from fathom.stats.outcomes import (
    ASKED_AGAIN_AT_MOST,
    CHOSEN,
    MISSING_AT_MOST,
    Unanswered,
    asked_again,
    scored_rows,
    scorer_errors,
)
from fathom.stats.ranks import holm
from fathom.tokens.length import format_length
from fathom.types import FathomError

Decision: TypeAlias = Literal["PASS", "FAIL", "INCONCLUSIVE"]
Measure: TypeAlias = Literal["score", "recovery"]
SIDES = ("candidate", "baseline")
NAMED = 3
"""Tasks and lengths without a score that a reason names."""
RIGHT = 0.5
"""Score from which a sample counts as right in the list of flips."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Candidate minus baseline on one task or all, at one length or over all.

    Attributes:
        task: Name of the task, ``all`` for the mean over tasks.
        length: Length in tokens; None for the mean over lengths.
        difference: Mean score of the candidate minus that of the baseline, paired over items.
        interval: 95% interval of the difference.
        items: Items of both.
        p_worse: One-sided p-value that the candidate is worse, adjusted by Holm over all claims.
        p_margin: One-sided p-value against a loss of the margin or more: the larger one of that of the replicates and
            that of :func:`net_loss_p_value`.
        clusters: Number of clusters (items, if these share no document) that it rests on.
        decision: What this claim shows alone.
    """

    task: str
    length: int | None
    difference: float
    interval: Interval
    items: int
    p_worse: float
    p_margin: float
    clusters: int
    decision: Decision = "INCONCLUSIVE"

    @property
    def name(self) -> str:
        """What it is about: "all tasks", "all tasks at 32k", "passkey"."""
        task = "all tasks" if self.task == ALL else self.task
        return task if self.length is None else f"{task} at {format_length(self.length)}"


@dataclass(frozen=True, slots=True)
class Flip:
    """A sample that one of the two got right and the other wrong (scores from 0.5 count as right).

    Attributes:
        length: Length in tokens.
        sample: Its id.
        candidate: Score of the candidate, averaged over epochs.
        suite: Name of its suite; ids may repeat in others.
    """

    task: str
    length: int
    sample: str
    candidate: float
    baseline: float
    suite: str = ""


@readable
@dataclass(frozen=True, slots=True)
class Gate:
    """The decision and what it rests on.

    Attributes:
        decision: ``PASS``, ``FAIL`` or ``INCONCLUSIVE``.
        reason: Why, in a sentence.
        margin: Largest loss that is accepted, as a fraction.
        alpha: Level of the tests.
        claims: The claims: overall, by length, by task.
        lost: Samples that only the baseline got right.
        gained: Samples that only the candidate got right.
        gaps: What could not be compared.
        looks: ``one``: the errors hold for one look at finished runs; ``any``: for all looks together
            (``fathom.analysis.sequential``).
        on: What differences are of: scores, or recovery (``fathom.analysis.gate_recovery``).
    """

    decision: Decision
    reason: str
    margin: float
    alpha: float
    claims: tuple[Claim, ...]
    lost: tuple[Flip, ...] = ()
    gained: tuple[Flip, ...] = ()
    gaps: tuple[str, ...] = ()
    looks: Literal["one", "any"] = "one"
    on: Measure = "score"


@one_thread()
@kept_draws()
def gate(
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
    """Decide whether a candidate is no worse than a baseline by more than a margin.

    Args:
        candidate: Rows of the candidate: one model and variant.
        baseline: Rows of the baseline, of the same suite.
        margin: Largest accepted loss, as a fraction of the full score, above 0.
        alpha: Level of the tests.
        at: Only these lengths, in tokens.
        unanswered: How unanswered replies count.
        most_asked_again: Share of replies of a side that may have been asked for more than once.

    Raises:
        FathomError: A side has no rows or those of several models, or ``margin`` or ``alpha`` is not in (0, 1).
    """
    rows, absent = both_sides(candidate, baseline, margin=margin, alpha=alpha, at=at)
    gaps = absent + _gaps(scored_rows(rows, unanswered))
    if not gaps:
        rows = _with_absent_as_zero(rows)
    gaps += chosen_replies(rows, most_asked_again)
    claims = _claims(rows, unanswered, margin, seed)
    scored = scored_rows(rows, unanswered).filter(pl.col("value").is_not_null())
    lost, gained = flips_of(both_scored(scored))
    gaps += nothing_to_lose(scored, margin) if claims else ()
    decided = decided_claims(claims, margin, alpha)
    decision, reason = decision_of(decided, gaps, margin, alpha)
    return Gate(decision, reason, margin, alpha, decided, lost, gained, gaps)


def both_sides(
    candidate: pl.DataFrame, baseline: pl.DataFrame, *, margin: float, alpha: float, at: Sequence[int] | None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The rows of both sides, and why they cannot be compared: other suites, or lengths without a sample.

    Raises:
        FathomError: See :func:`gate`.
    """
    check_levels(margin, alpha)
    rows = pl.concat([side_rows(candidate, SIDES[0]), side_rows(baseline, SIDES[1])])
    if at is not None:
        rows = rows.filter(pl.col("length").is_in(list(at)))
    known = set(rows["length"])
    gaps = [f"no sample has the length {format_length(length)}" for length in at or () if length not in known]
    suites = [set(rows.filter(model=name)["suite"]) for name in SIDES]
    if all(suites) and not set.intersection(*suites):
        gaps.append("they are runs of different suites")
    return rows, tuple(gaps)


def nothing_to_lose(scored: pl.DataFrame, margin: float) -> tuple[str, ...]:
    """Whether the baseline scores too little to lose the margin, in words."""
    score = float(scored.filter(model=SIDES[1])["value"].to_numpy().mean())
    if score > margin:
        return ()
    return (f"the baseline scores {100 * score:.1f}, so it has no {100 * margin:g} points to lose",)


def check_levels(margin: float, alpha: float) -> None:
    """Check the margin and the level of a gate.

    Raises:
        FathomError: One is not in (0, 1).
    """
    for name, value in (("margin", margin), ("alpha", alpha)):
        if not 0 < value < 1:
            raise FathomError(f"{name} {value:g}: expected a fraction above 0 and below 1, for instance 0.03")


def chosen_replies(rows: pl.DataFrame, most: float) -> tuple[str, ...]:
    """Gaps: the sides of which more replies than this share were asked for more than once."""
    return tuple(
        f"the {name} was {again}, so {CHOSEN}; most_asked_again states the share that is accepted"
        for name in SIDES
        if (again := asked_again(rows.filter(model=name), most))
    )


def side_rows(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows of one side, under its name: both may be of one model.

    Args:
        rows: Rows of one model and variant.
        name: One of ``SIDES``.

    Raises:
        FathomError: There are none, or those of several.
    """
    systems = rows.select("model", "variant").unique().rows()
    if len(systems) != 1:
        listed = ", ".join(sorted(f"{model} {variant}".strip() for model, variant in systems)) or "none"
        raise FathomError(f"the {name} must be the rows of one model and variant; found {listed}")
    return rows.with_columns(model=pl.lit(name), variant=pl.lit(""))


def _with_absent_as_zero(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in which the few samples that only the baseline has are wrong answers of the candidate.

    Without them, a candidate whose wrong replies were deleted would lose less than it does.
    """
    sample = ["suite", "task", "length", "sample"]
    candidate, baseline = (rows.filter(model=name) for name in SIDES)
    absent = baseline.join(candidate, on=sample, how="anti", maintain_order="left")
    return pl.concat([rows, absent.with_columns(model=pl.lit(SIDES[0]), value=pl.lit(0.0), status=pl.lit("ok"))])


def _claims(rows: pl.DataFrame, unanswered: Unanswered, margin: float, seed: int) -> list[Claim]:
    if rows["model"].n_unique() < len(SIDES):
        return []
    pairing = pair_up(rows, *((name, "") for name in SIDES), unanswered=unanswered, seed=seed)
    worse, beyond = (pairing.comparisons(null) for null in (0.0, -margin))
    several = len({comparison.task for comparison in worse} - {ALL}) > 1
    lengths = {comparison.length for comparison in worse} - {None}
    claims = []
    for loss, shift in zip(worse, beyond, strict=True):
        overall = loss.task == (ALL if several else loss.task)
        if (not several and loss.task == ALL) or not (overall or loss.length is None):
            continue
        if overall and loss.length is None and len(lengths) == 1:
            continue  # the same as at its only length
        claims.append(_claim(loss, shift, margin, pairing.clusters(loss.task, loss.length)))
    return sorted(claims, key=lambda own: (own.task != ALL and several, own.length is not None, own.length or 0))


def _claim(loss: Comparison, shift: Comparison, margin: float, clusters: int) -> Claim:
    beyond = one_sided(shift.p_value, shift.difference > -margin)
    return Claim(
        loss.task,
        loss.length,
        loss.difference,
        loss.interval,
        loss.items,
        p_worse=one_sided(loss.p_value, loss.difference < 0),
        p_margin=max(beyond, net_loss_p_value(loss.difference, margin, clusters)),
        clusters=clusters,
    )


def net_loss_p_value(difference: float, margin: float, clusters: int) -> float:
    """The p-value of a loss of the margin from the net loss alone: exact for answers right or wrong without a gain.

    Replicates of scores that hardly differ are too narrow: 20 equal answers do not exclude a loss of 10 points, which
    shows in none of 20 items with a probability of 12%. A net gain is added to the margin: so much more was lost.

    Args:
        difference: Mean of the candidate minus that of the baseline.
        margin: The loss, above 0 and below 1.
        clusters: Number of clusters, 1 or more.

    Returns:
        Probability of so small a net loss, or a smaller one, under a binomial distribution (Clopper and Pearson 1934).
    """
    lost = clusters * max(0.0, -difference)
    loss = margin + max(0.0, difference)
    return 1.0 if lost >= clusters else 1 - beta_lower_tail(loss, lost + 1, clusters - lost)


def one_sided(p_value: float, in_direction: bool) -> float:
    """The p-value in the direction of the difference, or against it, from a two-sided one."""
    return p_value / 2 if in_direction else 1 - p_value / 2


def decided_claims(
    claims: Sequence[Claim], margin: float, alpha: float, weights: Floats | None = None
) -> tuple[Claim, ...]:
    """The claims with p-values adjusted for all of them, and what each shows.

    Args:
        claims: The claims, with the p-values of each alone.
        margin: Largest accepted loss.
        alpha: Level of the tests.
        weights: See ``fathom.stats.ranks.holm``.
    """
    adjusted = holm(np.array([claim.p_worse for claim in claims]), tests=len(claims), weights=weights)
    decided = []
    for claim, p_worse in zip(claims, adjusted.tolist(), strict=True):
        decision: Decision = "INCONCLUSIVE"
        if claim.p_margin <= alpha:
            decision = "PASS"
        elif p_worse <= alpha and claim.difference < -margin:
            decision = "FAIL"
        decided.append(replace(claim, p_worse=p_worse, decision=decision))
    return tuple(decided)


def _gaps(asked: pl.DataFrame) -> tuple[str, ...]:
    """Tasks and lengths of which a side lacks the scores of some samples; none if they share no suite."""
    suites = [set(asked.filter(model=name)["suite"]) for name in SIDES]
    if all(suites) and not set.intersection(*suites):
        return ()
    gaps = []
    cell, sample = ["task", "length"], ["suite", "task", "length", "sample"]
    for name in SIDES:
        scores = pl.col("value").filter(model=name).count()
        samples = asked.group_by(sample, maintain_order=True).agg(lacking=scores == 0)
        cells = samples.group_by(cell, maintain_order=True).agg(pl.col("lacking").sum(), every=pl.len())
        # In each cell, as in reports: a few of all samples may be all those on which something went wrong.
        less = cells.filter(pl.col("lacking") > MISSING_AT_MOST * pl.col("every"))
        if less.is_empty():
            continue
        cells_without = [
            f"{task} at {format_length(length)} ({lacking:,} of {every:,} samples)"
            for task, length, lacking, every in less.iter_rows()
        ]
        why = "".join(f"; {error}" for error in scorer_errors(asked.filter(model=name)))
        gaps.append(f"the {name} has no score for {first_of(cells_without, NAMED)}{why}")
    return tuple(gaps)


def both_scored(scored: pl.DataFrame) -> pl.DataFrame:
    """The samples with a score of both sides, in the columns ``candidate`` and ``baseline``, averaged over epochs.

    Args:
        scored: Rows of both sides that have a score (``side_rows``).
    """
    keys = ["suite", "task", "length", "sample"]
    table = scored.group_by(*keys, "model", maintain_order=True).agg(pl.col("value").mean())
    first, second = (table.filter(model=name).select(*keys, pl.col("value").alias(name)) for name in SIDES)
    return first.join(second, on=keys, maintain_order="left")


def flips_of(both: pl.DataFrame) -> tuple[tuple[Flip, ...], tuple[Flip, ...]]:
    """The samples that only the baseline, and only the candidate, got right.

    Args:
        both: The scores of both (``both_scored``).
    """
    flips = [
        Flip(
            str(line["task"]),
            int(line["length"]),
            str(line["sample"]),
            line[SIDES[0]],
            line[SIDES[1]],
            suite=str(line["suite"]),
        )
        for line in both.iter_rows(named=True)
        if (line[SIDES[0]] >= RIGHT) != (line[SIDES[1]] >= RIGHT)
    ]
    return (
        tuple(flip for flip in flips if flip.candidate < RIGHT),
        tuple(flip for flip in flips if flip.candidate >= RIGHT),
    )


def decision_of(
    claims: Sequence[Claim], gaps: Sequence[str], margin: float, alpha: float, least: int | None = None
) -> tuple[Decision, str]:
    """What decided claims show together, and why.

    Args:
        claims: The claims, each with its decision.
        gaps: What could not be compared, in words.
        margin: Largest accepted loss, as a fraction.
        alpha: Level of the tests.
        least: Items that a claim needs to pass even if both score alike on each; by default those for one look.
    """
    points = f"{100 * margin:g} points"
    if failed := [claim for claim in claims if claim.decision == "FAIL"]:
        worst = min(failed, key=lambda claim: claim.difference)
        names = ", ".join(claim.name for claim in failed)
        return "FAIL", f"a significant loss of more than {points} ({100 * worst.difference:+.1f} at worst): {names}"
    if not claims:
        return "INCONCLUSIVE", "; ".join(("nothing is comparable", *gaps))
    if gaps:
        return "INCONCLUSIVE", "; ".join(gaps)
    if open_ := [claim.name for claim in claims if claim.decision != "PASS"]:
        least = least or math.ceil(math.log(alpha) / math.log(1 - margin))
        few = any(claim.clusters < least for claim in claims)
        more = f"it takes at least {least:,} items, even without a loss" if few else "more items would decide it"
        return "INCONCLUSIVE", f"a loss of {points} cannot be excluded: {', '.join(open_)}; {more}"
    return "PASS", f"a loss of {points} or more is excluded overall, at every length and on every task"
