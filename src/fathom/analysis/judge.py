"""Quality of a judge: its scores compared with those of people, or of a reference judge, on the same replies.

Agreement overestimates a judge if most replies are correct; Cohen's kappa (1960) corrects for the agreement of two
judges who mark at random with the same frequencies. The quadratic weights of Cohen (1968) count small differences less
than large ones. Bias is the direction in which a judge errs, and how much it changes a mean.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.stats.columns import cluster_name
from fathom.stats.differences import Resampler, paired
from fathom.stats.intervals import Floats, Interval, mean_interval
from fathom.tokens.length import format_length
from fathom.types import FathomError

RIGHT = 0.5
"""Scores from here count as correct, for ``kappa_right``."""
TOLERANCE = 0.1
"""Scores at most this far apart are close."""
_DECIMALS = 2  # precision of equal marks: people write 1/3 as 0.33
_TASK = ["suite", "task"]


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """A judge compared with the reference on one group of replies.

    Means, bias and agreement are averaged within an item first, and their 95% intervals resample items; kappas and
    correlations are over replies. Undefined measures are None: a kappa if both give one and the same mark throughout,
    a correlation if one of them does.

    Attributes:
        by: Dimension of the group: ``all``, ``task``, ``length`` or ``model``.
        group: Its value; "" for all.
        replies: Replies that both have a score for.
        items: Items among them.
        failed: Labelled replies that the judge has no score for; they are not counted elsewhere.
        unmatched: Labels without a row, counted for all replies together.
        judge: Mean score by the judge.
        reference: Mean score by the reference.
        bias: ``judge`` minus ``reference``: above 0, the judge is too lenient.
        bias_interval: Its interval.
        exact: Share of replies with the same score, to two decimals.
        exact_interval: Its interval.
        close: Share of replies whose scores are at most the tolerance apart.
        kappa: Cohen's kappa of the scores as unordered marks, to two decimals. For few marks, not for shares.
        kappa_weighted: Cohen's kappa with the squared difference of the scores as weight.
        kappa_right: Cohen's kappa of correct (0.5 or more) and wrong.
        spearman: Correlation of ranks.
        pearson: Correlation of scores.
    """

    by: str
    group: str
    replies: int
    items: int
    failed: int
    unmatched: int
    judge: float
    reference: float
    bias: float
    bias_interval: Interval
    exact: float
    exact_interval: Interval
    close: float
    kappa: float | None
    kappa_weighted: float | None
    kappa_right: float | None
    spearman: float | None
    pearson: float | None


def judge_agreement(
    rows: pl.DataFrame, labels: pl.DataFrame, *, tolerance: float = TOLERANCE, seed: int = 0
) -> list[JudgeAgreement]:
    """Compares the scores in rows with labels of the same replies.

    Args:
        rows: A rows table whose ``value`` is the judge's score.
        labels: A column ``score`` in [0, 1], and columns that identify the reply: ``sample`` or ``item``, and
            ``model``, ``variant``, ``epoch``, ``task``, ``suite`` or ``length`` if necessary. Several labels of one
            reply are averaged.
        tolerance: Maximum difference of close scores.

    Returns:
        All replies together, then by task, by length and by model if there are several.

    Raises:
        FathomError: No label matches a row, a label matches several, or the judge scored no labelled reply.
    """
    labelled, unmatched = match_labels(rows, labels)
    return [
        _agreement(part, by, group, unmatched if by == "all" else 0, tolerance, seed)
        for by, group, part in _groups(labelled)
        if part["value"].is_not_null().any()
    ]


def match_labels(rows: pl.DataFrame, labels: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The labelled rows, with the mean of their labels as the column ``reference``, and how many labels have none.

    Raises:
        FathomError: See :func:`judge_agreement`.
    """
    keys = [name for name in labels.columns if name != "score"]
    numbered = rows.with_columns(pl.col("value").fill_nan(None)).with_row_index("row")
    meant = labels.group_by(keys, maintain_order=True).agg(pl.col("score").mean().alias("reference"))
    labelled = meant.join(numbered, on=keys, how="inner", maintain_order="left")
    if labelled.is_empty():
        raise FathomError(
            f"no label matches a reply: the first label has {_key_values(labels, keys)}, the first row "
            f"{_key_values(rows, keys)}. Take the names from `fathom rows RUN --out rows.csv`."
        )
    several = labelled.filter(pl.struct(keys).is_duplicated())
    if not several.is_empty():
        apart = ("sample", "model", "variant", "epoch", "length", "task", "suite")
        first = several.filter(pl.struct(keys) == several.select(pl.struct(keys)).row(0)[0])
        differ = [name for name in apart if name not in keys and first[name].n_unique() > 1]
        raise FathomError(
            f"the label of {_key_values(several, keys)} matches {len(first)} rows; "
            + (
                f"add columns that distinguish them (they differ in {', '.join(differ)})"
                if differ
                else "drop the others"
            )
        )
    if labelled["value"].is_null().all():
        raise FathomError(f"the judge scored none of the {len(labelled)} labelled replies; their rows have no value")
    return labelled, len(labels.join(rows, on=keys, how="anti"))


def _key_values(frame: pl.DataFrame, keys: list[str]) -> str:
    return ", ".join(f"{key} {frame[key][0]!r}" for key in keys if len(frame)) or "nothing"


def _groups(labelled: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    yield "all", "", labelled
    for by in ("task", "length", "model"):
        parts = labelled.sort(by, maintain_order=True).partition_by(by, maintain_order=True)
        for part in parts if len(parts) > 1 else ():
            yield by, format_length(part[by][0]) if by == "length" else str(part[by][0]), part


def _agreement(part: pl.DataFrame, by: str, group: str, unmatched: int, tolerance: float, seed: int) -> JudgeAgreement:
    both = part.filter(pl.col("value").is_not_null())
    judge, reference = both["value"].to_numpy(), both["reference"].to_numpy()
    marks, known = np.round(judge, _DECIMALS), np.round(reference, _DECIMALS)
    # A rounding error must not decide whether 0.3 is close to 0.2.
    close = np.abs(judge - reference) <= tolerance + 1e-9
    table = np.stack([judge, reference, marks == known, close], axis=1).astype(np.float64)
    means, groups = means_within_items(both, table)
    mean_judge, mean_reference, exact, near = (float(mean) for mean in means.mean(axis=0))
    bias = paired(means[:, [0]], means[:, [1]], "judge", Resampler(seed), groups).gap([0])
    return JudgeAgreement(
        by=by,
        group=group,
        replies=len(both),
        items=len(means),
        failed=len(part) - len(both),
        unmatched=unmatched,
        judge=mean_judge,
        reference=mean_reference,
        bias=mean_judge - mean_reference,
        bias_interval=bias.interval,
        exact=exact,
        exact_interval=mean_interval(means[:, 2], seed, groups=groups)[1],
        close=near,
        kappa=cohen_kappa(marks, known),
        kappa_weighted=weighted_kappa(judge, reference),
        kappa_right=cohen_kappa((judge >= RIGHT).astype(np.float64), (reference >= RIGHT).astype(np.float64)),
        spearman=_correlation(_ranks(judge), _ranks(reference)),
        pearson=_correlation(judge, reference),
    )


def means_within_items(both: pl.DataFrame, table: Floats) -> tuple[Floats, list[str]]:
    """One row per item, and the cluster of each."""
    task = pl.concat_str(*_TASK, separator="\x1f")
    names, groups = (
        both.select(pl.concat_str(task, name, separator="\x1f")).to_series().to_numpy().astype(str)
        for name in ("item", cluster_name())
    )
    _, first, lines, counts = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), table.shape[1]))
    np.add.at(sums, lines, table)
    return sums / counts[:, None], groups[first].tolist()


def cohen_kappa(first: Floats, second: Floats) -> float | None:
    """Cohen's kappa of two sequences of marks: (observed - expected) / (1 - expected) agreement.

    Args:
        first: One mark per reply.
        second: Marks of the same replies.

    Returns:
        1 for full agreement, 0 for agreement by chance, below 0 for less; None if both give one mark throughout.
    """
    observed = float(np.mean(first == second))
    expected = sum(float(np.mean(first == mark)) * float(np.mean(second == mark)) for mark in np.unique(first))
    return (observed - expected) / (1 - expected) if expected < 1 else None


def weighted_kappa(first: Floats, second: Floats) -> float | None:
    """Cohen's kappa with quadratic weights: 1 - observed / expected squared difference.

    With equally spaced marks it is the quadratic weighted kappa of their numbers; in general it is the concordance
    correlation coefficient of Lin (1989).

    Args:
        first: One score per reply.
        second: Scores of the same replies.

    Returns:
        As :func:`cohen_kappa`.
    """
    observed = float(np.mean((first - second) ** 2))
    expected = float(first.var() + second.var() + (first.mean() - second.mean()) ** 2)
    return 1 - observed / expected if expected > 0 else None


def _correlation(first: Floats, second: Floats) -> float | None:
    spread = math.sqrt(float(first.var() * second.var()))
    if spread < 1e-12:
        return None
    return float(np.mean((first - first.mean()) * (second - second.mean()))) / spread


def _ranks(values: Floats) -> Floats:
    """Ranks; equal values share their mean rank."""
    return pl.Series(values).rank("average").to_numpy()
