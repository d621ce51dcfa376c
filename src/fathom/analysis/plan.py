"""How much to ask: numbers of items for a wanted interval or for a difference that is to be found, and what they cost.

The mean over the lengths of one item (or of one cluster of items) varies for three reasons, which a pilot parts by an
analysis of variance (Searle, Casella and McCulloch 1992, "Variance Components", chapter 4):

    variance of a mean over n items = (item + item x length / L + replies / (L R)) / n

for L lengths and R repeats, tasks on their own and then averaged. With the replies of two models the scores are
differences on the same samples. A half-width is the normal one of 95%, and a difference is found with probability
``power`` by a two-sided test: n = variance of one x ((z_{1 - alpha / 2} + z_{power}) / difference)^2.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TypeAlias, TypeVar

import numpy as np
import polars as pl

from fathom.printing import readable, several
from fathom.stats.columns import cluster_among_tasks, facet
from fathom.stats.intervals import LEVEL
from fathom.stats.outcomes import DOES_NOT_FIT, Unanswered, alone, scored_rows
from fathom.tokens.length import format_length
from fathom.types import FathomError

SURE = 0.8
"""Probability that the larger number of items suffices, given how uncertain the variance of a pilot is."""
DRAWS = 2000
"""Draws of a pilot's variance."""
Pricing: TypeAlias = Callable[[float, float, float], float | None]
"""US dollars of a request, of its prompt tokens, completion tokens, and prompt tokens read from a cache."""

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Variance:
    """Why the mean of one item of one task varies; variances of scores, averaged over tasks.

    Attributes:
        item: Items are easy or hard at all lengths alike; None if no item was asked at several lengths.
        item_length: An item is easier at one length than at another; with one repeat, the replies' is part of it.
        replies: Replies to the same prompt differ; None with one repeat.
        of_item: Variance of the mean over lengths of one item that is asked once.
        upper: A variance that is larger than the true one with probability ``SURE``.
    """

    item: float | None
    item_length: float | None
    replies: float | None
    of_item: float
    upper: float


@dataclass(frozen=True, slots=True)
class Step:
    """One way to reach the goal.

    Attributes:
        about: What is measured, and how it is asked: "mean over 3 lengths", "at 32k", "each item 3 times".
        length: Length in tokens; None for the mean over lengths.
        repeats: Replies to each prompt.
        items: Items of each task, or documents if items share them (``Plan.unit``).
        items_sure: The same that suffice with probability ``SURE``.
        limit: Samples of each task and length, which ``fathom run --limit`` takes.
        requests: Requests for ``items``, over all tasks and lengths that are asked.
        tokens: Tokens of these prompts and replies; None if unknown.
        dollars: Their price; None if unknown.
        hours: Time that they take with so many requests at once as ``fathom run`` sends; None if unknown.
    """

    about: str
    length: int | None
    repeats: int
    items: int
    items_sure: int
    limit: int
    requests: int
    tokens: float | None
    dollars: float | None
    hours: float | None


@readable
@dataclass(frozen=True, slots=True)
class Plan:
    """How much to ask.

    Attributes:
        goal: What is wanted, in words.
        basis: What is known, in words.
        variance: Where the uncertainty comes from, for the mean over lengths.
        steps: The ways, the mean over lengths first.
        unknown: What could not be known, in sentences.
        unit: What is drawn: "item", or "document" if items share documents.
    """

    goal: str
    basis: str
    variance: Variance
    steps: tuple[Step, ...]
    unknown: tuple[str, ...] = ()
    unit: str = "item"


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted: an interval, or a difference that is to be found.

    Attributes:
        half_width: Half the width of the 95% interval of a mean, as a fraction; None for a difference.
        difference: The difference to be found, as a fraction; None for an interval.
        power: Probability of finding it.
        alpha: Level of the two-sided test.
    """

    half_width: float | None = None
    difference: float | None = None
    power: float = 0.8
    alpha: float = 0.05

    def __post_init__(self) -> None:
        """Check that there is one goal, and that it can be reached.

        Raises:
            FathomError: There is none, there are two, or a number is not a fraction.
        """
        if (self.half_width is None) == (self.difference is None):
            raise FathomError("what is wanted? Give `half_width` or `difference`, for instance 0.03 for three points")
        for name, value in (("half_width", self.half_width), ("difference", self.difference)):
            if value is not None and not 0 < value < 1:
                raise FathomError(f"`{name}` {value:g}: expected a fraction below 1; 0.03 is three points")
        if not self.alpha < self.power < 1:
            raise FathomError(f"`power` {self.power:g}: expected more than `alpha`, {self.alpha:g}, and below 1")

    def items(self, variance: float) -> int:
        """The number of items, for the variance of the mean of one."""
        z = NormalDist().inv_cdf
        if self.half_width is not None:
            reach, wanted = z((1 + LEVEL) / 2), self.half_width
        else:
            assert self.difference is not None
            reach, wanted = z(1 - self.alpha / 2) + z(self.power), self.difference
        return max(2, math.ceil(variance * (reach / wanted) ** 2))

    def __str__(self) -> str:
        """In words."""
        if self.half_width is not None:
            return f"a 95% interval of ±{100 * self.half_width:g} points"
        return f"a difference of {100 * (self.difference or 0):g} points found with probability {self.power:.0%}"


@dataclass(frozen=True, slots=True)
class Spending:
    """What a request at one length takes on average; None if unknown."""

    tokens_in: float | None = None
    tokens_out: float | None = None
    dollars: float | None = None
    seconds: float | None = None


def plan_from(
    rows: pl.DataFrame,
    goal: Goal,
    *,
    baseline: pl.DataFrame | None = None,
    unanswered: Unanswered = "zero",
    pricing: Pricing | None = None,
    connections: int = 16,
) -> Plan:
    """Plan from a pilot: the rows of one model, or of a candidate and its baseline for a difference.

    Args:
        rows: Rows of one model and variant.
        goal: What is wanted.
        baseline: Rows of the other model, on the same samples; a difference needs them.
        unanswered: How unanswered replies count.
        pricing: Prices; None to take what the pilot cost.
        connections: Requests in flight at once.

    Raises:
        FathomError: There are several models, fewer than two items of a task, or a difference has no baseline.
    """
    if goal.difference is not None and baseline is None:
        raise FathomError("a difference needs the replies of both models: give the other one's run as `baseline`")
    sides = [rows] if baseline is None or goal.difference is None else [rows, baseline]
    replies = [_asked(side, unanswered) for side in sides]
    scored = [_scored(side) for side in replies]
    values = scored[0]
    if len(scored) > 1:
        key = ["suite", "task", "length", "sample"]
        values = values.join(scored[1], on=key, how="inner", suffix="_base", maintain_order="left")
        values = values.with_columns(
            pl.col("mean") - pl.col("mean_base"), pl.col("spread") + pl.col("spread_base"),
            repeats=pl.min_horizontal("repeats", "repeats_base"),
        )  # fmt: skip
    values = values.filter(pl.col("mean").is_not_null())
    tasks = [_task(values.filter(task=task), task) for task in sorted(set(values["task"]))]
    if not tasks:
        counts = " and ".join(several(len(side), "reply", "replies") for side in replies)
        advice = "no sample has a score of both: run both on the same suite"
        if not all(map(len, scored)):
            advice = "continue the run, or score it (fathom score)"
        raise FathomError(f"the pilot has {counts}, and no score to plan from; {advice}")
    lengths = sorted({length for task in tasks for length in task.at})
    spent = {
        (task.name, length): _spending(replies[0].filter(task=task.name, length=length), pricing)
        for task in tasks
        for length in task.at
    }
    unknown = (*_missing(replies), *_unknown(tasks, len(sides) > 1), *_unpriced(spent, pricing))
    variance = _together([task.over for task in tasks])
    steps = [_step(*_over(lengths), variance, goal, tasks, spent, connections)]
    if len(lengths) > 1:
        for length in lengths:
            own = _together([task.at[length] for task in tasks if length in task.at])
            here = [task for task in tasks if length in task.at]
            steps.append(_step(f"at {format_length(length)}", length, own, goal, here, spent, connections))
    steps += _with_repeats(variance, goal, tasks, spent, connections, pricing)
    repeats = round(float(values["repeats"].to_numpy().mean()))
    unit = "document" if any(side.select(facet("cluster").is_not_null().any()).item() for side in sides) else "item"
    basis = (
        f"{several(min(task.clusters for task in tasks), unit)} of each of {several(len(tasks), 'task')} at "
        f"{', '.join(map(format_length, lengths))}, {several(repeats, 'reply', 'replies')} each{_of_both(goal)}"
    )
    return Plan(str(goal), basis, variance, tuple(steps), unknown, unit)


def plan_for(goal: Goal, score: float, lengths: Sequence[int], *, tasks: int, spent: Mapping[int, Spending],
             connections: int = 16) -> Plan:  # fmt: skip
    """Plan without a pilot, for answers right or wrong: the variance is the largest that a score allows.

    Args:
        goal: What is wanted.
        score: Expected score, in (0, 1); for a difference, the share of samples that only one of the two gets right.
        lengths: Lengths in tokens. Their luck is taken to be shared, so that more lengths need as many items.
        tasks: Number of tasks.
        spent: What a request takes, by length.
        connections: Requests in flight at once.

    Raises:
        FathomError: The difference is larger than the score allows.
    """
    if goal.difference is not None and goal.difference > score:
        raise FathomError(
            f"`difference` {goal.difference:g}: cannot be more than `score` {score:g}, the share of samples that only "
            "one of the two models gets right"
        )
    of_item = score * (1 - score) if goal.half_width is not None else score
    variance = Variance(None, None, None, of_item / tasks, of_item / tasks)
    made = [_Task("", 2, dict.fromkeys(lengths, variance), variance) for _ in range(tasks)]
    by_task = {("", length): own for length, own in spent.items()}
    over = _step(*_over(lengths), variance, goal, made, by_task, connections)
    if goal.half_width is not None:
        basis = f"answers right or wrong, {score:.0%} right, {several(tasks, 'task')}"
    else:
        basis = (
            f"answers right or wrong, only one of the two models is right on {score:.0%} of the samples, "
            f"{several(tasks, 'task')}{_of_both(goal)}"
        )
    luck = "how far lengths share their luck is unknown, so they are taken to share all of it; a pilot of 20 items says"
    priced = _unpriced(spent, lambda *_: None)
    return Plan(str(goal), basis, variance, (over,), (*([luck] if len(lengths) > 1 else []), *priced))


@dataclass(frozen=True, slots=True)
class _Task:
    """A task of the pilot: its clusters, and its variances by length and over lengths."""

    name: str
    clusters: int
    at: Mapping[int, Variance]
    over: Variance
    samples: float = 1.0


def _asked(rows: pl.DataFrame, unanswered: Unanswered) -> pl.DataFrame:
    """The replies to whole prompts, each with its own score: a few that are missing do not hide their cell."""
    systems = rows.select("model", "variant").unique()
    if len(systems) != 1:
        raise FathomError(f"expected the rows of one model and variant, found {len(systems)}")
    table = scored_rows(rows.with_columns(own=alone(unanswered)), unanswered).filter(pl.col("length") > 0)
    return table.with_columns(value=pl.when(pl.col("reason") != DOES_NOT_FIT).then("own"))


def _scored(asked: pl.DataFrame) -> pl.DataFrame:
    """The mean and the variance of the replies to each sample."""
    return (
        asked.filter(pl.col("value").is_not_null())
        .with_columns(cluster_among_tasks())
        .group_by("suite", "task", "length", "sample", maintain_order=True)
        .agg(
            pl.col("cluster").first(),
            mean=pl.col("value").mean(),
            spread=pl.col("value").var(),
            repeats=pl.len(),
        )
    )


def _task(values: pl.DataFrame, name: str) -> _Task:
    """The variances of one task by an analysis of variance of its clusters and lengths."""
    cells = values.group_by("cluster", "length", maintain_order=True).agg(pl.col("mean").mean())
    table = cells.pivot("length", index="cluster", values="mean").drop("cluster")
    lengths = [int(column) for column in table.columns]
    matrix = table.to_numpy().astype(float)
    counts = (~np.isnan(matrix)).sum(axis=0)
    if counts.min() < 2:
        raise FathomError(f"{name} has fewer than two items with a score at a length: a pilot needs 10 to 20")
    spreads = values.filter(pl.col("repeats") > 1)["spread"].to_numpy()
    within = float(spreads.mean()) if len(spreads) else None
    samples = len(values) / int(counts.sum())
    share = float((1 / values["repeats"].to_numpy()).mean())
    once = 0.0 if within is None else within / samples * (1 - share)  # what a single reply would add
    at = {
        length: _variance(column[~np.isnan(column)], once, replies=within)
        for length, column in zip(lengths, matrix.T, strict=True)
    }
    whole = matrix[~np.isnan(matrix).any(axis=1)]
    if len(whole) > 1 and len(lengths) > 1:
        items, columns = whole.shape
        rest = whole - whole.mean(axis=0) - whole.mean(axis=1, keepdims=True) + whole.mean()
        residual = float((rest**2).sum() / ((items - 1) * (columns - 1)))
        own = None if within is None else within * share / samples
        of_item = float(whole.mean(axis=1).var(ddof=1))
        item, item_length = max(0.0, of_item - residual / columns), max(0.0, residual - (own or 0.0))
        over = _variance(whole.mean(axis=1), once / columns, item=item, item_length=item_length, replies=within)
        return _Task(name, items, at, over, samples)
    # Items of their own at every length: their means are independent.
    shares = list(at.values())
    of_item = sum(own.of_item for own in shares) / len(shares) ** 2
    upper = sum(own.upper for own in shares) / len(shares) ** 2
    return _Task(name, int(counts.min()), at, Variance(None, None, within, of_item, upper), samples)


def _variance(
    means: np.ndarray,
    once: float,
    *,
    item: float | None = None,
    item_length: float | None = None,
    replies: float | None = None,
) -> Variance:
    """The variance of one item asked once, at least what is plausible if all of the pilot are equal."""
    n = len(means)
    unseen = 0.5 / (n + 1)  # Jeffreys' estimate of the share of items that differ, if none of the pilot does
    of_item = max(float(means.var(ddof=1)) + once, unseen * (1 - unseen))
    # The Bayesian bootstrap, with an item more at the ends of the scale: few items may show no outlier.
    ends = np.array([min(0.0, np.sign(means.min())), 1.0])
    rng = np.random.default_rng(0)
    weights = np.hstack([rng.gamma(1.0, size=(DRAWS, n)), rng.gamma(0.5, size=(DRAWS, 2))])
    weights /= weights.sum(axis=1, keepdims=True)
    values = np.append(means, ends)
    drawn = weights @ values**2 - (weights @ values) ** 2
    upper = float(np.quantile(drawn, SURE)) * n / (n - 1) + once
    return Variance(item, item_length, replies, of_item, max(of_item, upper))


def _together(variances: Sequence[Variance]) -> Variance:
    """The variance of the mean over tasks with as many items of each."""
    tasks = len(variances)

    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if len(known) == tasks else None

    return Variance(
        mean([own.item for own in variances]),
        mean([own.item_length for own in variances]),
        mean([own.replies for own in variances]),
        sum(own.of_item for own in variances) / tasks**2,
        sum(own.upper for own in variances) / tasks**2,
    )


def _spending(rows: pl.DataFrame, pricing: Pricing | None) -> Spending:
    """What a request of the pilot took."""
    sent = rows.filter(pl.col("status").is_in(["ok", "incomplete", "refused"]))

    def mean(name: str) -> float | None:
        known = sent[name].drop_nulls()
        return float(known.to_numpy().mean()) if len(known) and len(known) == len(sent) else None

    tokens_in, tokens_out = mean("tokens_in") or mean("tokens"), mean("tokens_out")
    dollars = mean("cost")
    if pricing is not None and tokens_in is not None:
        dollars = pricing(tokens_in, tokens_out or 0.0, 0.0)
    return Spending(tokens_in, tokens_out, dollars, mean("seconds"))


def _of_both(goal: Goal) -> str:
    """Whose requests the plan counts."""
    if goal.difference is None:
        return ""
    return "; requests and cost are those of the candidate, and the baseline is asked as much"


def _over(lengths: Sequence[int]) -> tuple[str, int | None]:
    """What is measured over these lengths, and the length if there is one alone."""
    if len(lengths) == 1:
        return f"at {format_length(lengths[0])}", lengths[0]
    return f"mean over {len(lengths)} lengths", None


def _step(
    about: str,
    length: int | None,
    variance: Variance,
    goal: Goal,
    tasks: Sequence[_Task],
    spent: Mapping[tuple[str, int], Spending],
    connections: int,
) -> Step:
    items, sure = goal.items(variance.of_item), goal.items(variance.upper)
    asked = [(task, at) for task in tasks for at in task.at if length in (None, at)]

    def sum_of(name: str) -> float | None:
        each = [(getattr(spent[task.name, at], name), items * task.samples) for task, at in asked]
        return None if any(value is None for value, _ in each) else sum(value * number for value, number in each)

    read, written, seconds = (sum_of(name) for name in ("tokens_in", "tokens_out", "seconds"))
    return Step(
        about,
        length,
        1,
        items,
        sure,
        math.ceil(items * max(task.samples for task, _ in asked) - 1e-9),
        round(sum(items * task.samples for task, _ in asked)),
        None if read is None else read + (written or 0.0),
        sum_of("dollars"),
        None if seconds is None else seconds / connections / 3600,
    )


def _with_repeats(
    variance: Variance,
    goal: Goal,
    tasks: Sequence[_Task],
    spent: Mapping[tuple[str, int], Spending],
    connections: int,
    pricing: Pricing | None,
) -> list[Step]:
    """Asking each prompt several times, where the provider's cache makes repeats cheap and they help."""
    if not variance.replies or pricing is None or any(own.tokens_in is None for own in spent.values()):
        return []
    first = again = 0.0
    for task in tasks:
        for own in (spent[task.name, at] for at in task.at):
            read, written = own.tokens_in or 0, own.tokens_out or 0
            first += task.samples * (pricing(read, written, 0.0) or 0.0)
            again += task.samples * (pricing(read, written, read) or 0.0)
    columns = len({at for _, at in spent})
    replies = variance.replies / (columns * len(tasks) * float(np.mean([task.samples for task in tasks])))
    rest = variance.of_item - replies
    if not again or rest <= 0:
        return []
    best = max(1, round(math.sqrt(replies / rest * max(0.0, first - again) / again)))
    if best == 1:
        return []
    of_item = rest + replies / best
    asked = replace(variance, of_item=of_item, upper=of_item * variance.upper / variance.of_item)
    step = _step(f"each prompt {best} times, from the cache", None, asked, goal, tasks, spent, connections)
    share = (first + (best - 1) * again) / first if first else best
    return [
        replace(
            step,
            repeats=best,
            requests=step.requests * best,
            tokens=None if step.tokens is None else step.tokens * best,
            dollars=None if step.dollars is None else step.dollars * share,
            hours=None if step.hours is None else step.hours * best,
        )
    ]


def _unknown(tasks: Sequence[_Task], paired: bool) -> tuple[str, ...]:
    notes = []
    if any(task.over.replies is None for task in tasks):
        whose = "one of the pilots" if paired else "the pilot"
        notes.append(f"how much replies to one prompt differ is unknown: {whose} has one reply to each (--epochs 2)")
    if any(task.over.item is None and len(task.at) > 1 for task in tasks):
        notes.append("how far lengths share their luck is unknown: the items differ between lengths")
    return tuple(notes)


def _missing(sides: Sequence[pl.DataFrame]) -> Iterator[str]:
    """Replies that the plan is not from."""
    for side in sides:
        lost = side.filter(pl.col("value").is_null())
        for (task, length), rows in lost.group_by("task", "length", maintain_order=True):
            model = "" if len(sides) == 1 else f" of {rows['model'][0]}"
            cell = f"{task} at {format_length(int(str(length)))}{model}"
            if rows["reason"][0] == DOES_NOT_FIT:
                yield f"{cell} is left out: too many prompts do not fit"
            else:
                total = several(len(side.filter(task=task, length=length)), "reply", "replies")
                yield f"left out, as they have no score: {len(rows):,} of {total} to {cell}"


def _unpriced(spent: Mapping[Key, Spending], pricing: Pricing | None) -> Iterator[str]:
    """What requests take that is not known."""
    if any(own.dollars is None for own in spent.values()):
        yield "prices are unknown: give --model, or an entry in the table of prices"
    elif pricing is not None and any(own.tokens_out is None for own in spent.values()):
        yield "replies are not priced: how long they are is unknown"
    if any(own.seconds is None for own in spent.values()):
        yield "how long requests take is unknown"
