"""Recovery: how much of what a model can do with the evidence alone it still does with the whole context.

Every question is asked four ways: with its whole context, with its evidence alone (``fathom build --alone``), without
any context (``--closed-book``), and, for a share of the items, with its evidence among neutral text of the same length
(``--padded``). With these means over the same questions,

    recovery = (full - none) / (alone - none)

is 1 for a reader that loses nothing in a long context, and 0 for one that answers as if it had none. What is missing
from a perfect score is the sum of three parts: 1 - alone (the evidence is not enough: reasoning, or form),
alone - padded (length itself), padded - full (finding the evidence among text that resembles it).

Where the depth of the evidence varies, recovery is also given by depth, over the questions whose evidence is there.

A question counts as answered from a score of one half on; each is of one kind: known without context, read, not found
(right with the evidence alone, wrong in the whole context), not understood (wrong in both), or right in the whole
context alone, which is luck or a hint.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl

from fathom.analysis.grid import ALL
from fathom.analysis.known import is_closed
from fathom.analysis.position import depth_bins
from fathom.analysis.steady import Estimate
from fathom.stats.columns import cluster_name, facet, item_name
from fathom.stats.differences import PAIRED_REPLICATES
from fathom.stats.intervals import Floats, Interval, clusters_of, exact_interval, interval_of, resampled_sums, shuffled
from fathom.stats.outcomes import Unanswered, counted
from fathom.stats.side_rows import cut_from, is_aggregate
from fathom.stats.strata import strata, within_stratum
from fathom.types.samples import PADDED, STEP, UNNAMED

RIGHT = 0.5
"""The least score of a question that counts as answered."""
KINDS = ("known", "read", "not found", "not understood", "only in full")
UNDEFINED = "with its evidence alone it does not answer clearly more than without"
"""Why there is no recovery."""
LITTLE = 0.1
"""The least gain from the evidence whose recovered share says something about reading: evidence that a model cannot use
still tells it the form of an answer, such as a digit where a number is asked for."""
_SYSTEM = ["model", "variant"]
_QUESTION = [*_SYSTEM, "suite", "task", "item", "question"]
_STREAMS = 2
"""First stream of pseudo-clusters (``fathom.stats.intervals``): equal scores in two contexts have different ones."""
_BINS = 5
"""Parts of the context, if depths are random."""
LEAST = 5
"""Items at a depth from which recovery is given: the interval of a ratio of fewer has no use."""
_FEWER = 5
"""By how much fewer replicates the parts have: their intervals are wide."""
CONTEXTS = ("full", "alone", "none", "padded", "alone_padded", "unnamed", "full_unnamed")


@dataclass(frozen=True, slots=True)
class DepthRecovery:
    """The questions whose evidence is at one depth, 0 at the start of the context and 1 at its end.

    Attributes:
        depth_low: Least depth; equal to ``depth_high`` for chosen depths.
        depth_high: Largest depth, which belongs to the next part, but for the last one.
        full: Mean score with the whole context, in [0, 1], with its interval.
        lost: Mean score with the evidence alone minus ``full``, paired.
        recovery: As in ``Recovery``, of these questions; None of fewer than ``LEAST`` items too.
    """

    depth_low: float
    depth_high: float
    questions: int
    full: Estimate
    lost: Estimate
    recovery: Estimate | None


@dataclass(frozen=True, slots=True)
class Recovery:
    """One model on one task at one length, over the questions that have a score in full, with evidence and without.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is only one.
        task: Name of the task, ``all`` for the mean over the tasks that have all lengths.
        length: Length of the whole context in tokens.
        full: Mean score with the whole context, in [0, 1], with its interval.
        alone: The same with the evidence alone.
        none: The same without context; the chance level for questions that cannot be asked so.
        padded: The same with the evidence among neutral text: ``alone`` less what the items lose that were asked so;
            None without any.
        recovery: ``(full - none) / (alone - none)`` with its interval, paired over clusters of questions; None if
            ``alone`` is not clearly above ``none``, where the interval of a ratio has no end (Fieller 1954).
        reasoning: ``1 - alone``.
        by_length: ``alone - padded``; None without any.
        finding: ``padded - full``; without any ``alone - full``.
        searching: ``full`` less the mean score where the question does not name its passage, of the questions that were
            asked both ways (``fathom build --unnamed``); None without any.
        shares: Share of the questions of each of ``KINDS``.
        depths: The same by depth of the evidence, ascending; empty unless depths vary. For ``all`` the mean over the
            tasks whose depths vary, if these have the same parts.
        step: Step of the training after which the model was saved (``fathom run --step``); None if not given.
    """

    model: str
    variant: str
    task: str
    length: int
    questions: int
    full: Estimate
    alone: Estimate
    none: Estimate
    padded: Estimate | None
    recovery: Estimate | None
    reasoning: Estimate
    by_length: Estimate | None
    finding: Estimate
    searching: Estimate | None
    shares: Mapping[str, float]
    depths: tuple[DepthRecovery, ...] = ()
    step: int | None = None

    @property
    def reason(self) -> str:
        """Why there is no recovery, "" if there is."""
        return "" if self.recovery else UNDEFINED

    @property
    def doubt(self) -> str:
        """Why the recovery says little, "" if it says something, or if there is none."""
        gained = 100 * (self.alone.value - self.none.value)
        if not self.recovery or gained >= 100 * LITTLE:
            return ""
        return f"of a gain of {gained:.1f} points from the evidence, which the form of an answer alone can bring"


def recovery(
    rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0, replicates: int = PAIRED_REPLICATES
) -> list[Recovery]:
    """What each model recovers of its score with the evidence alone, by task and length.

    Args:
        rows: A rows table with all rows, also of questions that are answered closed-book; may be empty.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).
        seed: Seed of intervals.
        replicates: Number of replicates.

    Returns:
        By model, task (``all`` last) and length, ascending; empty if no question was asked with its evidence alone.
    """
    table = recovery_questions(rows, unanswered)
    placed = recovery_questions(rows, unanswered, by_depth=True)
    steps = _steps(rows)
    recoveries: list[Recovery] = []
    cells_of, placed_of = _cells(table), _cells(placed)
    for system, cells in cells_of.items():
        by_depth = placed_of.get(system, {})
        tasks = list(dict.fromkeys(task for task, _ in cells))
        lengths = sorted({length for _, length in cells})
        chosen: list[tuple[str, int, tuple[str, ...]]]
        chosen = [(task, length, (task,)) for task, length in product(tasks, lengths) if (task, length) in cells]
        if len(tasks) > 1:
            shared = [length for length in lengths if all((task, length) in cells for task in tasks)]
            chosen += [(ALL, length, tuple(tasks)) for length in shared]
        for name, length, of in chosen:
            parts = {task: cells[task, length] for task in of}
            depths = {task: by_depth[task, length] for task in of if (task, length) in by_depth}
            result = _recovery((*system, name, length), parts, seed, replicates)
            by_place = _depths(result, depths, seed, replicates)
            recoveries.append(replace(result, depths=by_place, step=steps.get(system)))
    return recoveries


def _cells(table: pl.DataFrame) -> dict[tuple[str, str], dict[tuple[str, int], pl.DataFrame]]:
    """The questions of each model by task and length."""
    cells: dict[tuple[str, str], dict[tuple[str, int], pl.DataFrame]] = {}
    for (model, variant, task, length), part in table.group_by([*_SYSTEM, "task", "length"], maintain_order=True):
        cells.setdefault((str(model), str(variant)), {})[str(task), int(str(length))] = part
    return cells


def _steps(rows: pl.DataFrame) -> dict[tuple[str, str], int]:
    """The step of each model that has one."""
    steps = rows.select(*_SYSTEM, step=facet(STEP).cast(pl.Int64, strict=False)).drop_nulls("step").unique()
    return {(model, variant): step for model, variant, step in steps.iter_rows()}


def _depths(
    whole: Recovery, placed: Mapping[str, pl.DataFrame], seed: int, replicates: int
) -> tuple[DepthRecovery, ...]:
    """The parts of a mean by depth, if the tasks whose depth varies have the same parts."""
    bins: dict[tuple[tuple[float, float], ...], dict[str, list[pl.DataFrame]]] = {}
    for task, table in placed.items():
        lows, highs, places = depth_bins(table, _BINS)
        if lows:
            table = table.with_columns(pl.lit(None, pl.Float64).alias(name) for name in CONTEXTS[3:])
            parts = [table.filter(pl.Series(places == place)) for place in range(len(lows))]
            bins.setdefault(tuple(zip(lows, highs, strict=True)), {})[task] = parts
    if len(bins) != 1:
        return ()
    ((ends, tables),) = bins.items()
    named = whole.model, whole.variant, whole.task, whole.length
    depths = []
    for place, (low, high) in enumerate(ends):
        here = {task: own[place] for task, own in tables.items()}
        if all(map(len, here.values())):
            part = _recovery(named, here, seed, max(1000, replicates // _FEWER))
            few = min(table["cluster"].n_unique() for table in here.values()) < LEAST
            ratio = None if few else part.recovery
            depths.append(DepthRecovery(low, high, part.questions, part.full, part.finding, ratio))
    return tuple(depths)


def recovery_questions(rows: pl.DataFrame, unanswered: Unanswered, *, by_depth: bool = False) -> pl.DataFrame:
    """One row for each model, question and length: its scores in each context, mean over repeats and depths.

    Args:
        rows: A rows table.
        unanswered: How unanswered replies count.
        by_depth: Whether each depth has a row of its own, with ``depth`` and the item as ``name``.
    """
    context = facet("context").fill_null("")
    wanted = rows.filter(~is_aggregate(), cut_from().is_null())
    # Tasks that were asked closed-book, also where no request of these was answered.
    closed = wanted.filter(is_closed()).select(*_SYSTEM, "suite", "task").unique().with_columns(measured=True)
    scored = (
        counted(wanted, unanswered)
        .filter(~pl.col("blank"), pl.col("value").is_not_null())
        .with_columns(question=facet("question").fill_null(""), context=context)
    )

    def of(which: pl.Expr, name: str, *by: str) -> pl.DataFrame:
        means = scored.filter(which).group_by([*_QUESTION, *by], maintain_order=True)
        return means.agg(pl.col("value").mean().alias(name))

    whole = scored.filter(context == "", pl.col("length") > 0).with_columns(
        cluster_name(), item_name(), depth=facet("depth").cast(pl.Float64, strict=False).round(3)
    )
    if by_depth:
        whole = whole.filter(pl.col("depth").is_between(0, 1))
    full = whole.group_by([*_QUESTION, "length", *(("name", "depth") if by_depth else ())], maintain_order=True).agg(
        pl.col("value").mean().alias("full"), pl.col("chance").mean(), pl.col("cluster").first()
    )
    alone = of((context == "alone") & (pl.col("length") == 0), "alone")
    none = of(is_closed(), "none")
    padded = of(context == PADDED, "padded", "length")
    unnamed = of(context == UNNAMED, "unnamed", "length")
    return (
        full.join(alone, on=_QUESTION, maintain_order="left")
        .join(none, on=_QUESTION, how="left", maintain_order="left")
        .join(padded, on=[*_QUESTION, "length"], how="left", maintain_order="left")
        .join(unnamed, on=[*_QUESTION, "length"], how="left", maintain_order="left")
        .join(closed, on=closed.columns[:-1], how="left", maintain_order="left")
        .with_columns(pl.col("measured").fill_null(False))
        .filter(pl.col("none").is_not_null() | ~pl.col("measured"))  # means are over the same questions
        .with_columns(pl.when("measured").then("none").otherwise(pl.col("chance").fill_null(0.0)).alias("none"))
        .with_columns(
            pl.when(pl.col("padded").is_not_null()).then("alone").alias("alone_padded"),
            pl.when(pl.col("unnamed").is_not_null()).then("full").alias("full_unnamed"),
        )
    )


def _recovery(
    named: tuple[str, str, str, int], parts: Mapping[str, pl.DataFrame], seed: int, replicates: int
) -> Recovery:
    points, draws, exact = context_means(parts, seed, replicates)
    has_padding = bool(np.isfinite(points["padded"]))
    if has_padding:  # what length costs is measured on fewer items, and subtracted from the mean of all
        points["padded"] += points["alone"] - points["alone_padded"]
        draws["padded"] = draws["padded"] + draws["alone"] - draws["alone_padded"]
        exact.pop("padded", None)

    def mean(name: str) -> Estimate:
        return Estimate(points[name], exact.get(name) or interval_of(draws[name], points[name]))

    def difference(more: str, less: str) -> Estimate:
        point = points[more] - points[less]
        return Estimate(point, interval_of(draws[more] - draws[less], point))

    gained = difference("alone", "none")
    ratio = None
    if gained.interval.low > 0:
        point = (points["full"] - points["none"]) / gained.value
        drawn = (draws["full"] - draws["none"]) / (draws["alone"] - draws["none"])
        ratio = Estimate(point, interval_of(drawn, point))
    kinds = [_kinds(table) for table in parts.values()]
    return Recovery(
        *named,
        questions=sum(map(len, parts.values())),
        full=mean("full"),
        alone=mean("alone"),
        none=mean("none"),
        padded=_score(mean("padded")) if has_padding else None,
        recovery=ratio,
        reasoning=_complement(mean("alone")),
        by_length=difference("alone", "padded") if has_padding else None,
        finding=difference("padded" if has_padding else "alone", "full"),
        searching=difference("full_unnamed", "unnamed") if np.isfinite(points["unnamed"]) else None,
        shares={kind: float(np.mean([of_task[kind] for of_task in kinds])) for kind in KINDS},
    )


def _score(part: Estimate) -> Estimate:
    """Within what a score can be: the mean of all less a loss of some may lie outside."""
    low, high, value = (min(max(end, 0.0), 1.0) for end in (part.interval.low, part.interval.high, part.value))
    return Estimate(value, Interval(low, high))


def _complement(part: Estimate) -> Estimate:
    return Estimate(1 - part.value, Interval(1 - part.interval.high, 1 - part.interval.low))


def context_means(
    parts: Mapping[str, pl.DataFrame], seed: int, replicates: int, contexts: Sequence[str] = CONTEXTS
) -> tuple[dict[str, float], dict[str, Floats], dict[str, Interval]]:
    """The mean over tasks of the score in each context, its replicates, and its interval where that is not drawn.

    Args:
        parts: Questions of each task (``recovery_questions``).
        replicates: Their number.
        contexts: The columns; one that ends with ``none`` is a fact where no task was asked without context.

    Returns:
        Means, which are NaN where a task has none; replicates; intervals, of a single task alone.
    """
    groups = {task: table["cluster"].to_list() for task, table in parts.items()}
    known, prior = strata(groups), 1 / len(parts)
    points: dict[str, list[float]] = {name: [] for name in contexts}
    draws: dict[str, list[Floats]] = {name: [] for name in contexts}
    exact: dict[str, Interval] = {}
    for task, table in parts.items():
        scores = table.select(contexts).fill_null(math.nan).to_numpy().astype(np.float64)
        clusters = within_stratum(clusters_of(scores, groups[task]), groups[task], known[task].clusters)
        sums = resampled_sums(clusters, seed, replicates=replicates)
        for number, name in enumerate(contexts):
            own, point = clusters.at([number]), float(clusters.means[number])
            points[name].append(point)
            if name.endswith("none") and not table["measured"].any():  # the chance level is a fact
                draws[name].append(np.full(replicates, point))
                exact[name] = Interval(point, point)
                continue
            if interval := exact_interval(own):
                exact[name] = interval
            drawn = sums.at([number]).means(seed, prior, _STREAMS + number)[:, 0]
            draws[name].append(shuffled(drawn, known[task].place))
    means = {name: float(np.mean(values)) for name, values in points.items()}
    return means, {name: np.mean(drawn, axis=0) for name, drawn in draws.items()}, exact if len(parts) == 1 else {}


def _kinds(table: pl.DataFrame) -> dict[str, float]:
    full, alone, none = (table[name].to_numpy() >= RIGHT for name in ("full", "alone", "none"))
    none = none & table["measured"].to_numpy()  # a chance level is no knowledge
    each = (
        none,
        ~none & alone & full,
        ~none & alone & ~full,
        ~none & ~alone & ~full,
        ~none & ~alone & full,
    )
    return {kind: float(here.mean()) for kind, here in zip(KINDS, each, strict=True)}
