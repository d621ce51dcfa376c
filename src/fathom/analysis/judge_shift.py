"""How much a score moves with the judge: a second judge, or a second prompt, on a random sample of the replies.

The second judge scores a sample of the replies that the first has scored (``fathom judge --second``). The shift is its
mean score minus that of the first on the same replies; as the sample is random, this is expected
of the score of all judged replies; replies that need no judge do not move.
Agreement is Fleiss' kappa of right (0.5 or more) and wrong.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis.judge import RIGHT, means_within_items
from fathom.stats.agreement import agreement
from fathom.stats.differences import Resampler, paired
from fathom.stats.intervals import Interval

KEYS = ("suite", "task", "sample", "model", "variant", "epoch", "length")
UNREADABLE = "judgement unreadable"
"""Beginning of the detail of a row whose judgement failed for good."""


@dataclass(frozen=True, slots=True)
class JudgeShift:
    """A second judge compared with the first on the same replies of a model.

    Attributes:
        task: The task; ``all`` for all of them.
        second: The second judge; the same name if the same model was asked with a second prompt.
        replies: Replies that both have scored.
        failed: Those of the sample that the second judge could not score.
        first_mean: Mean score by the first judge, averaged within an item first.
        shift: ``second_mean`` minus ``first_mean``.
        interval: Its 95% interval, paired over items.
        p_value: Two-sided p-value of the shift.
        same: Share of replies that both call right, or both wrong.
        kappa: Fleiss' kappa of right and wrong; None if all replies are one of both.
        kappa_interval: Its 95% interval; None without kappa.
    """

    model: str
    variant: str
    task: str
    judge: str
    second: str
    replies: int
    failed: int
    first_mean: float
    second_mean: float
    shift: float
    interval: Interval
    p_value: float
    same: float
    kappa: float | None
    kappa_interval: Interval | None


def judge_shift(
    first: pl.DataFrame, second: pl.DataFrame, names: tuple[str, str], *, seed: int = 0
) -> list[JudgeShift]:
    """Compares a second judge with the first, for each model over all tasks, then by task if there are several.

    Args:
        first: Rows of runs, scored by the first judge.
        second: The same rows as the second judge scores them; those outside its sample have no score.
        names: Names of both judges.
        seed: Seed of the intervals.
    """
    keys = list(KEYS)
    # An empty reply scores 0 without a judge.
    judged = pl.col("grader").str.starts_with("judge ") & (pl.col("detail").fill_null("") != "empty reply")
    theirs = second.filter(judged, pl.col("value").is_not_null() | pl.col("detail").str.starts_with(UNREADABLE))
    sampled = first.filter(judged, pl.col("value").is_not_null()).join(
        theirs.select(*keys, other="value"), on=keys, how="inner", maintain_order="left"
    )
    results = []
    for (model, variant), own in sampled.group_by("model", "variant", maintain_order=True):
        for task, part in _parts(own):
            scored = part.filter(pl.col("other").is_not_null())
            if not scored.is_empty():
                results.append(_shift((str(model), str(variant), task, *names), scored, len(part) - len(scored), seed))
    return results


def _parts(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    yield "all", rows
    parts: Sequence[pl.DataFrame] = rows.partition_by("task", maintain_order=True)
    for part in parts if len(parts) > 1 else ():
        yield str(part["task"][0]), part


def _shift(named: tuple[str, str, str, str, str], rows: pl.DataFrame, failed: int, seed: int) -> JudgeShift:
    scores = rows.select("value", "other").to_numpy().astype(np.float64)
    means, groups = means_within_items(rows, scores)
    # The first of both is what is subtracted from.
    gap = paired(means[:, [1]], means[:, [0]], "judge", Resampler(seed), groups).gap([0])
    right = (scores >= RIGHT).astype(np.float64)
    clusters = np.unique(rows["item"].to_numpy().astype(str), return_inverse=True)[1].astype(np.int64)
    agreed = agreement(right, np.random.default_rng(seed), measure="kappa", groups=clusters)
    return JudgeShift(
        *named,
        replies=len(rows),
        failed=failed,
        first_mean=float(means[:, 0].mean()),
        second_mean=float(means[:, 1].mean()),
        shift=gap.difference,
        interval=gap.interval,
        p_value=gap.p_value,
        same=agreed.same,
        kappa=agreed.value,
        kappa_interval=None if agreed.value is None else agreed.interval,
    )
