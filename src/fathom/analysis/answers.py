"""Details of the accuracy of tasks that ask for one of several answers, for an order of segments, or for free text.

A model that does not find the answer may give no valid answer, may copy the example in the instructions, or may prefer
an answer because of its position. Always taking the longest answer, without reading the question, may score above
chance. Source: Ada-LEval (Wang et al. 2024), sections 4.3 and 4.5, with intervals.

The prompt shows an example of the form of an answer, and the facet ``example`` is that example; ``longest`` and
``first`` are the answers of two shortcuts; ``gold`` of ``answers`` is the number of the correct answer, from 1.
Properties of replies are columns of 0 and 1. A column is null if it does not apply: an invalid reply copies nothing, a
sample without numbered answers has no longest one. So the mean of a column is a share of the replies it applies to.

An order is written as the numbers of the segments in reading order: ``[2, 4, 1, 3]`` begins with segment 2.
Exact match is a strict measure of such answers; Kendall's tau and the share of adjacent pairs show how much of a wrong
order is correct.

Token F1 of free text falls with every word beyond the gold answer. The share of replies that contain a gold answer, and
the token F1 of these, show how much of a low score is length.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import polars as pl

from fathom.analysis.curve import CurvePoint, curve
from fathom.analysis.grid import ALL
from fathom.analysis.steady import Estimate
from fathom.stats.columns import cluster_name, facet, item_name
from fathom.stats.intervals import Clusters, Floats, Interval, clusters_of, interval_at, resampled_means
from fathom.stats.outcomes import over_suites, scored_rows
from fathom.types import CONTAINED

_ORDER = re.compile(r"\s*\[\s*[0-9]{1,4}(?:\s*,\s*[0-9]{1,4})+\s*\]\s*")
THIRDS = ("front", "middle", "rear")
SHARES = (
    *("followed", "accuracy_valid", "copied", "tau", "adjacent", "contains", "contained_f1"),
    *(f"{third}_{kind}" for third in THIRDS for kind in ("accuracy", "chosen")),
)
"""Columns of what the model did. ``tau`` is scaled to [0, 1]."""
FACTS = (
    *("copied_expected", "longest", "first", "adjacent_chance"),
    *(f"{third}_{kind}" for third in THIRDS for kind in ("gold", "chance")),
)
"""Columns that depend only on the samples."""
_LABEL = r"^A?([0-9]+)$"
_KEYS = ["model", "variant", "task"]


def order_of(text: str | None) -> tuple[int, ...] | None:
    """The order in a target or an answer; None if there is none.

    Args:
        text: A list of two or more different whole numbers, as JSON: "[2, 4, 1, 3]".
    """
    if text is None or not _ORDER.fullmatch(text):
        return None
    numbers = tuple(int(number) for number in re.findall(r"[0-9]+", text))
    return numbers if len(numbers) == len(set(numbers)) else None


def kendall_tau(answered: Sequence[int], true: Sequence[int]) -> float:
    """Kendall's tau (1938) of two orders of the same segments: concordant minus discordant pairs, over all pairs.

    Args:
        answered: Numbers of the segments, each once.
        true: The same numbers in the true order; two or more.

    Returns:
        1 for the true order, -1 for its reverse; 0 is the mean over all orders.
    """
    place = {segment: number for number, segment in enumerate(answered)}
    pairs = list(combinations(true, 2))
    return sum(1 if place[first] < place[second] else -1 for first, second in pairs) / len(pairs)


def adjacent_share(answered: Sequence[int], true: Sequence[int]) -> float:
    """Share of the adjacent pairs of the true order that are adjacent in the answer too, in that order.

    Over all orders of N segments its mean is 1/N: of the N! orders, (N-1)! have a given segment right before another.

    Args:
        answered: Numbers of the segments, each once.
        true: The same numbers in the true order; two or more.
    """
    kept = set(pairwise(answered))
    pairs = list(pairwise(true))
    return sum(pair in kept for pair in pairs) / len(pairs)


def choice_tasks(rows: pl.DataFrame) -> pl.Series:
    """Tasks that ask for one of several answers, or for an order.

    Args:
        rows: A rows table. A task is one of them if some row of it has a chance level above 0 or the facet ``example``.
    """
    chosen = (pl.col("chance").fill_null(0) > 0) | facet("example").is_not_null()
    return rows.filter(chosen)["task"].unique()


def answer_tasks(rows: pl.DataFrame) -> pl.Series:
    """Tasks that ask for one of several answers or for an order, and those with free answers scored by token F1."""
    free = rows.filter(_is_free_text())["task"].unique()
    return pl.concat([choice_tasks(rows), free]).unique(maintain_order=True)


def _is_free_text() -> pl.Expr:
    """Whether a row says if the reply contains a gold answer."""
    return (pl.col("metric") == "token_f1") & (pl.col("source") == "fathom") & (pl.col("rule") == "strict")


def choice_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of such tasks."""
    return rows.filter(pl.col("task").is_in(choice_tasks(rows).implode()))


def with_answer_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with their item as ``name`` and the columns of ``SHARES`` and ``FACTS``.

    Args:
        rows: Rows of a rows table that have a score.
    """
    answer, target = _normalized(pl.col("answer")), _normalized(pl.col("target"))
    valid = pl.col("valid").fill_null(False)
    contains = (pl.col("value") == 1) | (pl.col("detail") == CONTAINED)
    followed = rows.with_columns(
        item_name(),
        cluster_name(),
        valid.cast(pl.Float64).alias("followed"),
        pl.when(valid).then("value").alias("accuracy_valid"),
        # A valid reply always has an answer; rows of other tools may not keep it.
        pl.when(valid).then(answer == _normalized(facet("example"))).cast(pl.Float64).alias("copied"),
        pl.when(_is_free_text()).then(contains).cast(pl.Float64).alias("contains"),
        pl.when(_is_free_text() & contains).then("value").alias("contained_f1"),
        *(
            (_normalized(facet(shown)) == target).cast(pl.Float64).alias(name)
            for name, shown in (("copied_expected", "example"), ("longest", "longest"), ("first", "first"))
        ),
    )
    return followed.with_columns(*_orders(followed), *_positions(valid))


def _normalized(text: pl.Expr) -> pl.Expr:
    """Answers without spaces, in lower case."""
    return text.str.replace_all(r"\s", "").str.to_uppercase()


def _orders(rows: pl.DataFrame) -> list[pl.Series]:
    """Tau and adjacent pairs of valid replies that order all segments, and chance if an order is asked for."""
    taus: list[float | None] = []
    kept: list[float | None] = []
    chances: list[float | None] = []
    for answer, target, valid in rows.select("answer", "target", "valid").rows():
        true, answered = order_of(target), order_of(answer) if valid else None
        whole = true is not None and answered is not None and set(answered) == set(true)
        taus.append((kendall_tau(answered, true) + 1) / 2 if whole and answered and true else None)
        kept.append(adjacent_share(answered, true) if whole and answered and true else None)
        chances.append(1 / len(true) if true else None)
    columns = {"tau": taus, "adjacent": kept, "adjacent_chance": chances}
    return [pl.Series(name, values, dtype=pl.Float64) for name, values in columns.items()]


def _positions(valid: pl.Expr) -> list[pl.Expr]:
    """For each third: score and share of samples with the correct answer; share of choices, and of random ones."""
    answers, gold = _number(facet("answers")), _number(facet("gold"))
    numbered = gold.is_between(1, answers).fill_null(False)
    depth = facet("depth").cast(pl.Float64, strict=False)
    depth = pl.when(depth.is_between(0, 1)).then(depth)
    place = pl.when(numbered).then(_middle(gold, answers)).otherwise(depth)
    number = _number(pl.col("answer").str.strip_chars().str.extract(_LABEL, 1))
    choice = pl.when(valid & numbered & number.is_between(1, answers)).then(_middle(number, answers))
    made = []
    for third in THIRDS:
        made += [
            pl.when(_in(third, place)).then("value").alias(f"{third}_accuracy"),
            _in(third, choice).cast(pl.Float64).alias(f"{third}_chosen"),
            _in(third, place).cast(pl.Float64).alias(f"{third}_gold"),
            pl.when(numbered).then(_answers_in(third, answers) / answers).alias(f"{third}_chance"),
        ]
    return made


def _number(text: pl.Expr) -> pl.Expr:
    return text.cast(pl.Int64, strict=False)


def _middle(number: pl.Expr, answers: pl.Expr) -> pl.Expr:
    """Position of answer ``number``: the middle of its share of the context, never 1/3 or 2/3 exactly."""
    return (2 * number - 1) / (2 * answers)


def _in(third: str, place: pl.Expr) -> pl.Expr:
    if third == "front":
        return place < 1 / 3
    return place > 2 / 3 if third == "rear" else place.is_between(1 / 3, 2 / 3)


def _answers_in(third: str, answers: pl.Expr) -> pl.Expr:
    """How many of the answers are in a third: those with 2 * number - 1 below two thirds of ``answers``."""
    outer = (2 * answers + 3) // 6
    return answers - 2 * outer if third == "middle" else outer


@dataclass(frozen=True, slots=True)
class Third:
    """Answers in one third of the context: by their number among all answers, else by their depth.

    Attributes:
        name: ``front``, ``middle`` or ``rear``.
        gold: Share of the samples whose correct answer is here.
        accuracy: Mean score of those samples; None without any.
        chosen: Share of the readable choices that are here, whatever the correct answer; None if answers have no
            numbers.
        chosen_chance: The same for a random choice: the share of all answers that are here. Of 4 answers, 2 are in
            the middle.
    """

    name: str
    gold: float
    accuracy: Estimate | None
    chosen: Estimate | None
    chosen_chance: float | None


@dataclass(frozen=True, slots=True)
class AnswerPoint:
    """Answers of one model to one task at one length. Shares are in [0, 1], with 95% intervals over items.

    Attributes:
        task: Name of the task.
        length: Length in tokens.
        replies: Rows with a context, one per sample and epoch, with any outcome.
        scored: Those that count; everything below is over these.
        valid: Those among ``scored`` that have the requested form.
        accuracy: Mean score; a reply without a readable answer is wrong. The X of "X/Y" in the paper's Table 9.
        chance: Mean over samples of the chance level of each: 1/N! for an order of N segments, 1/n for one of n
            answers; None if unknown.
        followed: Share of valid replies: the rate of following instructions of Figure 2.
        accuracy_valid: Mean score of the valid replies alone, the Y of "X/Y"; None without any.
        copied: Share of the *valid* replies that give the answer of the example, as in Tables 4 and 5; None without
            an example or a valid reply. The paper does not define the denominator. Its models of 200 cases have
            rates that are whole numbers of cases if all their replies were valid, and 73.3%, 96.9% and 97.4%,
            which are not, if some were invalid.
        copied_expected: Share of the samples whose correct answer is the example: what a model that is always correct
            copies.
        longest: Score of always choosing the longest answer; None if the task has no such facet.
        first: Score of always choosing the first answer; None likewise.
        orders: Valid replies that order all segments; ``tau`` and ``adjacent`` are over these.
        tau: Mean Kendall's tau with the true order, in [-1, 1]; 0 for a random order. None without any.
        adjacent: Mean share of the adjacent pairs of the true order that are adjacent in the answer, in order.
        adjacent_chance: The same for a random order: exactly 1/N for N segments.
        thirds: Front, middle and end; () if the position of the correct answer is unknown.
        contains: Share of replies that contain a gold answer; None if the task is not scored by token F1.
        contained_f1: Mean token F1 of these replies: what is left of a score after the words around the answer.
    """

    model: str
    variant: str
    task: str
    length: int
    replies: int
    scored: int
    valid: int
    accuracy: Estimate
    chance: float | None
    followed: Estimate
    accuracy_valid: Estimate | None
    copied: Estimate | None
    copied_expected: float | None
    longest: float | None
    first: float | None
    orders: int
    tau: Estimate | None
    adjacent: Estimate | None
    adjacent_chance: float | None
    thirds: tuple[Third, ...]
    contains: Estimate | None = None
    contained_f1: Estimate | None = None

    @property
    def telling(self) -> bool:
        """Whether there is more than scores and their validity: an example, shortcuts, orders or choices."""
        chosen = any(third.chosen is not None for third in self.thirds)
        known = (self.copied_expected, self.longest, self.first, self.adjacent_chance)
        return chosen or any(fact is not None for fact in known)


def answers(rows: pl.DataFrame, *, seed: int = 0, tasks: pl.Series | None = None) -> list[AnswerPoint]:
    """Answers per model, variant, task and length.

    Tasks of which some row has a chance level above 0 or an example count as asking for one of several answers; those
    scored by token F1, as asking for free text.
    Replies count as in every mean (``fathom.stats.outcomes``): an unanswered reply scores 0 and is not valid, and a
    length without a score has no point. Epochs, and several questions of one item, are averaged within the item first.

    Args:
        seed: Seed of the intervals; those of ``accuracy`` are the same as in :func:`fathom.analysis.curve`.
        tasks: The tasks, if the rows are those of some models only; None for those of the rows.

    Returns:
        Points in the order in which the rows name models and tasks, lengths ascending; none where nothing was scored.
    """
    has_content = pl.col("outcome").is_in(["answered", "cut"])
    counts = scored_rows(rows)
    chosen = counts.filter(pl.col("task").is_in((answer_tasks(counts) if tasks is None else tasks).implode()))
    asked = over_suites(chosen).with_columns(valid=pl.col("valid") & has_content)
    if asked.is_empty():
        return []
    accuracy = {
        (point.model, point.variant, point.task, point.length): point
        for point in curve(asked, seed=seed)
        if point.task != ALL and point.mean is not None
    }
    replies = {tuple(key): number for *key, number in asked.group_by(*_KEYS, "length").len().rows()}
    replied = with_answer_columns(asked.filter(pl.col("value").is_not_null()))
    return [
        _point(accuracy[key], replies[key], cell)
        for _, group in replied.group_by(_KEYS, maintain_order=True)
        for key, cell in _cells(group, seed)
    ]


@dataclass(frozen=True, slots=True)
class _Cell:
    """One length of one model and task: measures with their intervals, and facts about the samples."""

    scored: int
    valid: int
    orders: int
    shares: Mapping[str, Estimate | None]
    facts: Mapping[str, float | None]


def _cells(group: pl.DataFrame, seed: int) -> Iterator[tuple[tuple[str, str, str, int], _Cell]]:
    """Cells of one model and task, lengths ascending; an item has one weight in all of them."""
    model, variant, task = group.select(_KEYS).row(0)
    lengths = sorted(set(group["length"]))
    items = group.group_by("name", "length", maintain_order=True).agg(
        pl.col(*SHARES, *FACTS).mean(), pl.col("cluster").first()
    )
    names = items["name"].unique().sort()
    table = np.full((len(names), len(lengths), len(SHARES)), np.nan)
    line = items["name"].cast(pl.Enum(names)).to_physical().to_numpy()
    table[line, np.searchsorted(lengths, items["length"].to_numpy())] = items.select(SHARES).to_numpy()
    known = dict(items.select("name", "cluster").iter_rows())
    scores = table.reshape(len(names), -1)
    scored = ~np.isnan(scores).all(axis=0)
    clusters = clusters_of(scores[:, scored], [known[name] for name in names])
    draws, place_of = resampled_means(clusters, seed), np.cumsum(scored) - 1
    for place, length in enumerate(lengths):
        here = group.filter(pl.col("length") == length)
        facts = items.filter(pl.col("length") == length).select(pl.col(FACTS).mean()).row(0, named=True)
        columns = [place * len(SHARES) + n for n in range(len(SHARES))]
        shares = {
            name: _estimate(clusters, draws, int(place_of[column])) if scored[column] else None
            for name, column in zip(SHARES, columns, strict=True)
        }
        orders = here["tau"].drop_nulls().len()
        yield (model, variant, task, length), _Cell(len(here), int(here["valid"].sum()), orders, shares, facts)


def _estimate(clusters: Clusters, draws: Floats, column: int) -> Estimate:
    mean = float(clusters.means[column])
    return Estimate(mean, interval_at(clusters, draws, column, mean))


def _point(accuracy: CurvePoint, replies: int, cell: _Cell) -> AnswerPoint:
    shares, facts = cell.shares, cell.facts
    followed = shares["followed"]
    assert accuracy.mean is not None  # points without a mean were left out
    assert accuracy.interval is not None
    assert followed is not None  # known for every scored reply
    every = Estimate(accuracy.mean, accuracy.interval)
    return AnswerPoint(
        model=accuracy.model,
        variant=accuracy.variant,
        task=accuracy.task,
        length=accuracy.length,
        replies=replies,
        scored=cell.scored,
        valid=cell.valid,
        accuracy=every,
        chance=accuracy.chance,
        followed=followed,
        # If all replies are valid the two are the same, including the interval.
        accuracy_valid=every if cell.valid == cell.scored else shares["accuracy_valid"],
        copied=shares["copied"],
        copied_expected=facts["copied_expected"],
        longest=facts["longest"],
        first=facts["first"],
        orders=cell.orders,
        tau=_tau(shares["tau"]),
        adjacent=shares["adjacent"],
        adjacent_chance=facts["adjacent_chance"],
        thirds=_thirds(cell),
        contains=shares["contains"],
        contained_f1=shares["contained_f1"],
    )


def _tau(half: Estimate | None) -> Estimate | None:
    """The bootstrap works on [0, 1]; tau is in [-1, 1]."""
    if half is None:
        return None
    low, high = 2 * half.interval.low - 1, 2 * half.interval.high - 1
    return Estimate(2 * half.value - 1, Interval(low, high, half.interval.level))


def _thirds(cell: _Cell) -> tuple[Third, ...]:
    golds = {name: cell.facts[f"{name}_gold"] for name in THIRDS}
    return tuple(
        Third(
            name,
            gold,
            cell.shares[f"{name}_accuracy"],
            cell.shares[f"{name}_chosen"],
            cell.facts[f"{name}_chance"],
        )
        for name, gold in golds.items()
        if gold is not None
    )
