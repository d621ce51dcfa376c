"""Recovery: how much of what a model can do with the evidence alone it still does with the whole context.

Every question is asked four ways: with its whole context, with its evidence alone (``fathom build --alone``), without
any context (``--closed-book``), and, for a share of the items, with its evidence among neutral text of the same length
(``--padded``). With these means over the same questions,

    recovery = (full - none) / (alone - none)

is 1 for a reader that loses nothing in a long context, and 0 for one that answers as if it had none. What is missing
from a perfect score is the sum of three parts: 1 - alone (the evidence is not enough: reasoning, or form),
alone - padded (length itself), padded - full (finding the evidence among text that resembles it).

A question counts as answered from a score of one half on; each is of one kind: known without context, read, not found
(right with the evidence alone, wrong in the whole context), not understood (wrong in both), or right in the whole
context alone, which is luck or a hint.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis.grid import ALL
from fathom.analysis.known import is_closed
from fathom.analysis.steady import Estimate
from fathom.stats.columns import cluster_name, facet
from fathom.stats.differences import PAIRED_REPLICATES
from fathom.stats.intervals import Floats, Interval, clusters_of, exact_interval, interval_of, resampled_sums, shuffled
from fathom.stats.outcomes import Unanswered, counted
from fathom.stats.side_rows import cut_from, is_aggregate
from fathom.stats.strata import strata, within_stratum
from fathom.types.samples import PADDED

RIGHT = 0.5
"""The least score of a question that counts as answered."""
KINDS = ("known", "read", "not found", "not understood", "only in full")
UNDEFINED = "with its evidence alone it does not answer clearly more than without"
"""Why there is no recovery."""
_SYSTEM = ["model", "variant"]
_QUESTION = [*_SYSTEM, "suite", "task", "item", "question"]
_STREAMS = 2
"""First stream of pseudo-clusters (``fathom.stats.intervals``): equal scores in two contexts have different ones."""
_CONTEXTS = ("full", "alone", "none", "padded", "alone_padded")


@dataclass(frozen=True, slots=True)
class Recovery:
    """One model on one task at one length, over the questions that have a score in full, with evidence and without.

    Attributes:
        model: Name of the model.
        variant: Name of the variant, "" if there is only one.
        task: Name of the task, ``all`` for the mean over the tasks that have all lengths.
        length: Length of the whole context in tokens.
        questions: Questions.
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
        shares: Share of the questions of each of ``KINDS``.
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
    shares: Mapping[str, float]

    @property
    def reason(self) -> str:
        """Why there is no recovery, "" if there is."""
        return "" if self.recovery else UNDEFINED


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
    table = _questions(rows, unanswered)
    recoveries: list[Recovery] = []
    for (model, variant), own in table.group_by(_SYSTEM, maintain_order=True):
        system = (str(model), str(variant))
        tasks = {str(task): part for (task,), part in own.group_by("task", maintain_order=True)}
        cells = {
            (task, int(str(length))): part
            for task, whole in tasks.items()
            for (length,), part in whole.sort("length").group_by("length", maintain_order=True)
        }
        for (task, length), part in cells.items():
            recoveries.append(_recovery((*system, task, length), {task: part}, seed, replicates))
        if len(tasks) > 1:
            for length in sorted({length for _, length in cells}):
                if all((task, length) in cells for task in tasks):
                    parts = {task: cells[task, length] for task in tasks}
                    recoveries.append(_recovery((*system, ALL, length), parts, seed, replicates))
    return recoveries


def _questions(rows: pl.DataFrame, unanswered: Unanswered) -> pl.DataFrame:
    """One row for each model, question and length: its scores in each context, mean over repeats and depths."""
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

    whole = scored.filter(context == "", pl.col("length") > 0).with_columns(cluster_name())
    full = whole.group_by([*_QUESTION, "length"], maintain_order=True).agg(
        pl.col("value").mean().alias("full"), pl.col("chance").mean(), pl.col("cluster").first()
    )
    alone = of((context == "alone") & (pl.col("length") == 0), "alone")
    none = of(is_closed(), "none")
    padded = of(context == PADDED, "padded", "length")
    return (
        full.join(alone, on=_QUESTION, maintain_order="left")
        .join(none, on=_QUESTION, how="left", maintain_order="left")
        .join(padded, on=[*_QUESTION, "length"], how="left", maintain_order="left")
        .join(closed, on=closed.columns[:-1], how="left", maintain_order="left")
        .with_columns(pl.col("measured").fill_null(False))
        .filter(pl.col("none").is_not_null() | ~pl.col("measured"))  # means are over the same questions
        .with_columns(pl.when("measured").then("none").otherwise(pl.col("chance").fill_null(0.0)).alias("none"))
        .with_columns(pl.when(pl.col("padded").is_not_null()).then("alone").alias("alone_padded"))
    )


def _recovery(
    named: tuple[str, str, str, int], parts: Mapping[str, pl.DataFrame], seed: int, replicates: int
) -> Recovery:
    points, draws, exact = _means(parts, seed, replicates)
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
        shares={kind: float(np.mean([of_task[kind] for of_task in kinds])) for kind in KINDS},
    )


def _score(part: Estimate) -> Estimate:
    """Within what a score can be: the mean of all less a loss of some may lie outside."""
    low, high, value = (min(max(end, 0.0), 1.0) for end in (part.interval.low, part.interval.high, part.value))
    return Estimate(value, Interval(low, high))


def _complement(part: Estimate) -> Estimate:
    return Estimate(1 - part.value, Interval(1 - part.interval.high, 1 - part.interval.low))


def _means(
    parts: Mapping[str, pl.DataFrame], seed: int, replicates: int
) -> tuple[dict[str, float], dict[str, Floats], dict[str, Interval]]:
    """The mean over tasks of the score in each context, its replicates, and its interval where that is not drawn.

    Means are NaN where a task has none.
    """
    groups = {task: table["cluster"].to_list() for task, table in parts.items()}
    known, prior = strata(groups), 1 / len(parts)
    points: dict[str, list[float]] = {name: [] for name in _CONTEXTS}
    draws: dict[str, list[Floats]] = {name: [] for name in _CONTEXTS}
    exact: dict[str, Interval] = {}
    for task, table in parts.items():
        scores = table.select(_CONTEXTS).fill_null(math.nan).to_numpy().astype(np.float64)
        clusters = within_stratum(clusters_of(scores, groups[task]), groups[task], known[task].clusters)
        sums = resampled_sums(clusters, seed, replicates=replicates)
        for number, name in enumerate(_CONTEXTS):
            own, point = clusters.at([number]), float(clusters.means[number])
            points[name].append(point)
            if name == "none" and not table["measured"].any():  # the chance level is a fact
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
