"""How often two systems give the same answer to the same samples, correct or not.

A cheap method (``fathom likelihood --method pairs``) can replace an expensive one if their answers are the same, not
only their scores. A reply without an answer agrees with no answer.
"""

from dataclasses import dataclass
from itertools import combinations

import polars as pl

from fathom.analysis.grid import ALL, blank_cells, blank_means
from fathom.stats.columns import cluster_name
from fathom.stats.intervals import Interval, mean_interval
from fathom.stats.outcomes import scored_rows
from fathom.types import FathomError

_SAMPLE = ["suite", "task", "item", "sample", "epoch", "length"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Equal answers of two systems on the samples that both have a score for.

    Attributes:
        model_a: First model.
        variant_a: Its variant.
        model_b: Second model.
        variant_b: Its variant.
        task: Name of the task; ``all`` for all tasks, every item with the same weight.
        length: Length in tokens; None for all lengths, averaged within each item.
        agreement: Share of equal answers, averaged within each item first.
        interval: 95% interval of the agreement, over items.
        score_a: Mean score of the first system on these samples.
        score_b: Mean score of the second system.
        items: Items.
    """

    model_a: str
    variant_a: str
    model_b: str
    variant_b: str
    task: str
    length: int | None
    agreement: float
    interval: Interval
    score_a: float
    score_b: float
    items: int


def agreement(rows: pl.DataFrame, *, seed: int = 0) -> list[Agreement]:
    """Share of equal answers of every two systems (model and variant), by task and length, and over all.

    Args:
        rows: A rows table of two systems or more.

    Returns:
        Agreements in the order in which the rows name systems and tasks, lengths ascending; none for two systems
        without common samples, and none for cells without a score (``fathom.stats.outcomes``).

    Raises:
        FathomError: The rows are of one system only.
    """
    systems = rows.select("model", "variant").unique(maintain_order=True).rows()
    if len(systems) < 2:
        raise FathomError("agreement needs rows of two models or variants; give the runs of both")
    scored = scored_rows(rows)
    return [part for pair in combinations(systems, 2) for part in _of_two(scored, *pair, seed)]


def _of_two(scored: pl.DataFrame, first: tuple[str, str], second: tuple[str, str], seed: int) -> list[Agreement]:
    sides = [
        scored.filter(pl.col("model") == model, pl.col("variant") == variant) for model, variant in (first, second)
    ]
    blank = blank_means(*map(blank_cells, sides))
    a, b = (
        side.filter(pl.col("value").is_not_null()).select(*_SAMPLE, "answer", "value", cluster_name()) for side in sides
    )
    both = a.join(b, on=_SAMPLE, how="inner", suffix="_b", maintain_order="left").with_columns(
        same=(pl.col("answer") == pl.col("answer_b")).fill_null(False).cast(pl.Float64)
    )
    tasks = both["task"].unique(maintain_order=True).to_list()
    groups = [(task, both.filter(pl.col("task") == task)) for task in tasks]
    if len(tasks) > 1:
        groups.append((ALL, both))
    agreements = []
    for task, part in groups:
        lengths: list[int | None] = [
            *sorted(part["length"].unique()),
            *([None] if part["length"].n_unique() > 1 else []),
        ]
        for length in lengths:
            at = part if length is None else part.filter(pl.col("length") == length)
            if (task, length) in blank:
                continue
            agreements.append(_agreement_at(at, first, second, task, length, seed))
    return agreements


def _agreement_at(
    part: pl.DataFrame, first: tuple[str, str], second: tuple[str, str], task: str, length: int | None, seed: int
) -> Agreement:
    items = part.group_by("suite", "task", "item", maintain_order=True).agg(
        pl.col("same", "value", "value_b").mean(), pl.col("cluster").first()
    )
    mean, interval = mean_interval(items["same"].to_numpy(), seed, groups=items["cluster"].to_list())
    return Agreement(
        *first,
        *second,
        task=task,
        length=length,
        agreement=mean,
        interval=interval,
        score_a=float(items["value"].to_numpy().mean()),
        score_b=float(items["value_b"].to_numpy().mean()),
        items=len(items),
    )
