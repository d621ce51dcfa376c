"""How often do intervals include the truth, and how often are findings wrong? Simulated replies with known truth.

Every scenario is simulated many times; the public commands measure the rows, as users do. A reply is right if a latent
normal variable is high enough for the true score at its length. The variable is the sum of what the document, the item,
the question and the epoch contribute; of each a share is common to all models (difficulty) and the rest is the model's
luck. Both are correlated between lengths: with luck 1 and the same true score at all lengths, the very same items fail
at every length. Continuous scores are the quantiles of a beta distribution at the same variable. So true scores are
those of the population, exactly.

The limits: 95% intervals include the truth in at least 92% of simulations (90% with at most five items), p-values below
.05 and gates that fail between equal models in at most 6%, tables of equal models with any adjusted p-value below .05
in at most 6%, rankings with any wrong range of ranks in at most 8%. A rate outside its limit by less than two standard
errors is "unsure": simulate more.

    python performance/coverage.py                                   # 1,000 simulations of each scenario: hours
    python performance/coverage.py --simulations 100 --json now.json
    python performance/coverage.py --only luck --list
    python performance/coverage.py --widths before.json after.json   # mean widths of two files beside each other
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # the processes share the cores

import numpy as np
import polars as pl

from fathom import api
from fathom.analysis import Setup, compare_setups
from fathom.rows import to_frame, write_rows
from fathom.types import Row

Kind: TypeAlias = Literal["coverage", "false alarms", "families", "rank ranges"]
LIMITS: Mapping[Kind, float] = {"coverage": 0.92, "false alarms": 0.06, "families": 0.06, "rank ranges": 0.08}
FEW_ITEMS, COVERAGE_OF_FEW = 5, 0.90
ALL = "all"
NORMAL = NormalDist()
GRID = np.linspace(-8, 8, 3201)
CUMULATIVE = np.array([NORMAL.cdf(value) for value in GRID])
NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(101)
WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
DIFFICULTY = 0.5
"""Share of the latent variable that is common to all models."""
ITEM, DOCUMENT, REPLY = 0.6, 0.5, 0.3
"""Share of the item among questions, of the document among items, and of chance among repeats."""
CONCENTRATION = 4.0
"""Sum of the two parameters of the beta distribution of continuous scores."""
ADJUSTED = ("adjusted", "p_adjusted", "adjusted_p_value", "p_value_adjusted", "p_holm")
"""Names of adjusted p-values in versions of the program that have them."""
MARGIN = 0.05


# -------------------------------------------------------------------------------------------------------- scenarios


@dataclass(frozen=True, slots=True)
class Column:
    """One way of asking an item.

    Attributes:
        length: Length in tokens.
        facets: Facets of its samples.
    """

    length: int
    facets: tuple[tuple[str, str | float], ...] = ()


@dataclass(frozen=True)
class Scenario:
    """What is simulated.

    Attributes:
        name: Its name in the table.
        levels: True scores, tasks x columns.
        items: Numbers of items of the tasks.
        luck: Correlation of an item's luck between columns.
        commands: Names of the functions of ``COMMANDS`` that measure it.
        models: Number of models.
        shifts: Added to the true scores of the models; none for equal models.
        continuous: Whether scores are continuous.
        questions: Numbers of questions of items, in turn.
        epochs: Epochs of every sample.
        per_document: Items that share a document; 0 without documents.
        columns: How items are asked; () for the lengths from ``start`` on, each twice the one before.
        start: The shortest length in tokens.
        model_facets: Facets of the replies of each model.
        chance: Chance level; None if unknown.
    """

    name: str
    levels: tuple[tuple[float, ...], ...]
    items: tuple[int, ...]
    luck: float
    commands: tuple[str, ...]
    models: int = 2
    shifts: tuple[float, ...] = ()
    continuous: bool = False
    questions: tuple[int, ...] = (1,)
    epochs: int = 1
    per_document: int = 0
    columns: tuple[Column, ...] = ()
    start: int = 4096
    model_facets: tuple[Mapping[str, str], ...] = ()
    chance: float | None = None

    @cached_property
    def asked(self) -> tuple[Column, ...]:
        """How items are asked."""
        return self.columns or tuple(Column(self.start << power) for power in range(len(self.levels[0])))

    @cached_property
    def lengths(self) -> list[int]:
        """The lengths of the columns, in tokens."""
        return [column.length for column in self.asked]

    @cached_property
    def truth(self) -> np.ndarray:
        """True scores, models x tasks x columns."""
        shifts = np.array(self.shifts or [0.0] * self.models)
        return np.clip(np.array(self.levels) + shifts[:, None, None], 0.01, 0.99)

    @property
    def equal(self) -> bool:
        """Whether all models have the same true scores."""
        return bool((self.truth == self.truth[0]).all())

    @cached_property
    def weights(self) -> np.ndarray:
        """Numbers of questions of the tasks."""
        cycle = self.questions
        return np.array([sum(cycle[item % len(cycle)] for item in range(count)) for count in self.items], dtype=float)

    def by_question(self, model: int, column: int | None = None) -> float:
        """True mean over questions."""
        each = self.truth[model].mean(axis=1) if column is None else self.truth[model, :, column]
        return float(each @ self.weights / self.weights.sum())


def level(score: float, lengths: int) -> tuple[float, ...]:
    return (score,) * lengths


NEAR_CEILING = (0.97, 0.965, 0.96, 0.955, 0.95)
FALLING = (0.95, 0.93, 0.9, 0.8, 0.65, 0.45, 0.3)
ONE_RUN = ("report", "compare", "adjacent", "breakdown")
SCENARIOS = (
    Scenario("25 items, 95-97%, 5 lengths, luck 0", (NEAR_CEILING,), (25,), 0.0, ("report", "compare", "adjacent")),
    Scenario("25 items, 95-97%, 5 lengths, luck .5", (NEAR_CEILING,), (25,), 0.5, ("report", "compare", "adjacent")),
    Scenario("25 items, 95-97%, 5 lengths, luck .8", (NEAR_CEILING,), (25,), 0.8, (*ONE_RUN, "gate")),
    Scenario("25 items, 95-97%, 5 lengths, luck 1", (NEAR_CEILING,), (25,), 1.0, (*ONE_RUN, "gate", "repeats")),
    Scenario("5 items, 90%, 3 lengths, luck .8", (level(0.9, 3),), (5,), 0.8, (*ONE_RUN, "gate")),
    Scenario("5 items, 50%, 5 lengths, luck 1", (level(0.5, 5),), (5,), 1.0, (*ONE_RUN, "gate")),
    Scenario("10 items, 3-8%, 3 lengths, luck .8", ((0.08, 0.05, 0.03),), (10,), 0.8, ("report", "compare", "adjacent")),
    Scenario("20 items, 80%, 1 length", ((0.8,),), (20,), 0.0, ("report", "compare", "adjacent", "gate")),
    Scenario(
        "200 items, 95% to 30%, 7 lengths, luck .8",
        (FALLING,), (200,), 0.8, ("report", "compare", "retention"), start=2048,
    ),
    Scenario("40 items, 95% to 30%, 7 lengths, luck .5", (FALLING,), (40,), 0.5, ("report", "retention"), start=2048),
    Scenario(
        "continuous, 20 items, 80%, 5 lengths, luck .8",
        (level(0.8, 5),), (20,), 0.8, (*ONE_RUN, "gate"), continuous=True,
    ),
    Scenario(
        "continuous, 60 items, 97%, 3 lengths, luck 1",
        (level(0.97, 3),), (60,), 1.0, ("report", "compare", "adjacent"), continuous=True,
    ),
    Scenario(
        "4 tasks of 10 items, 97%, 3 lengths, luck 1",
        (level(0.97, 3),) * 4, (10,) * 4, 1.0, ("report", "compare", "adjacent", "gate"),
    ),
    Scenario(
        "4 tasks of 8 to 60 items, 97% to 10%, 3 lengths, luck .8",
        (level(0.97, 3), (0.9, 0.8, 0.7), level(0.5, 3), level(0.1, 3)), (8, 15, 30, 60), 0.8,
        (*ONE_RUN, "categories", "gate"),
    ),
    Scenario(
        "1 to 5 questions for each of 25 items, 85%, 3 lengths, luck .8",
        (level(0.85, 3),), (25,), 0.8, (*ONE_RUN, "repeats"), questions=(1, 3, 5),
    ),
    Scenario(
        "4 epochs, 25 items, 70%, 3 lengths, luck .8",
        (level(0.7, 3),), (25,), 0.8, ("report", "compare", "repeats", "best of n"), epochs=4,
    ),
    Scenario(
        "60 items, 5 to a document, 80%, 3 lengths, luck .8",
        (level(0.8, 3),), (60,), 0.8, (*ONE_RUN, "gate"), per_document=5,
    ),
    Scenario(
        "20 equal models, 30 items, 85%, 3 lengths, luck .8",
        (level(0.85, 3),), (30,), 0.8, ("report", "adjacent", "board"), models=20,
    ),
    Scenario(
        "20 models, 40 items, 45% to 95%, 3 lengths, luck .8",
        (level(0.7, 3),), (40,), 0.8, ("report", "adjacent", "board"),
        models=20, shifts=tuple(np.linspace(-0.25, 0.25, 20).tolist()),
    ),
    Scenario(
        "a loss of the margin, 2 tasks of 60 items, 90%, 3 lengths, luck .8",
        (level(0.9, 3),) * 2, (60, 60), 0.8, ("gate at the margin",), shifts=(-MARGIN, 0.0),
    ),
    Scenario(
        "a loss of the margin, 400 items, 50%, 1 length",
        ((0.5,),), (400,), 0.0, ("gate at the margin",), shifts=(-MARGIN, 0.0),
    ),
    Scenario(
        "5 setups, 30 items, 90% to 50%, 5 lengths, luck .8",
        ((0.9, 0.88, 0.7, 0.6, 0.5),), (30,), 0.8, ("setups",), models=5,
    ),
    Scenario(
        "with and without thinking, 25 items, 85%, 4 lengths, luck 1",
        (level(0.85, 4),), (25,), 1.0, ("thinking",), model_facets=({"thinking": "off"}, {"thinking": "on"}),
    ),
    Scenario(
        "3 depths at 3 lengths, 25 items, 85%, luck .8",
        (level(0.85, 9),), (25,), 0.8, ("position",),
        columns=tuple(Column(4096 << power, (("depth", depth),)) for power in range(3) for depth in (0.0, 0.5, 1.0)),
    ),
    Scenario(
        "truncated prompts, 2 tasks of 20 items, 90%, 3 lengths, luck .8",
        (level(0.9, 3),) * 2, (20, 20), 0.8, ("truncation",), models=1,
        columns=(Column(65536), Column(32768, (("cut_from", 65536),)), Column(8192, (("cut_from", 65536),))),
    ),
    Scenario(
        "a judge and labels, answers alike, 25 items, 80%, 3 lengths, luck .8",
        (level(0.8, 3),), (25,), 0.8, ("judge", "agreement", "answers"), chance=0.25,
    ),
    Scenario(
        "closed-book, 2 questions for each of 20 items, 30%, luck .8",
        ((0.8, 0.3),), (20,), 0.8, ("closed-book",), models=1, questions=(2,),
        columns=(Column(8192), Column(0, (("context", "none"),))),
    ),
)  # fmt: skip


# -------------------------------------------------------------------------------------------------------- simulation


def normals(rng: np.random.Generator, models: int, *shape: int) -> np.ndarray:
    """Standard normal numbers, models x shape, of which a share is common to all models."""
    return mixed(DIFFICULTY, rng.normal(size=(1, *shape)), rng.normal(size=(models, *shape)))


def mixed(share: float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The standard normal sum of two independent ones, the first of which has a share of the variance."""
    return math.sqrt(share) * first + math.sqrt(1 - share) * second


def latent(rng: np.random.Generator, scenario: Scenario, items: int) -> tuple[np.ndarray, np.ndarray]:
    """The latent variables of one task without and with what is drawn anew for every reply.

    Returns:
        Models x items x questions x columns, and models x items x questions x columns x epochs.
    """

    def lucky(*units: int) -> np.ndarray:
        columns = len(scenario.asked)
        shared = normals(rng, scenario.models, *units, 1)
        return mixed(scenario.luck, shared, normals(rng, scenario.models, *units, columns))

    each = lucky(items)
    if scenario.per_document:
        document = np.arange(items) // scenario.per_document
        each = mixed(DOCUMENT, lucky(int(document[-1]) + 1)[:, document], each)
    questions = max(scenario.questions)
    each = each[:, :, None]
    if questions > 1:
        each = mixed(ITEM, each, lucky(items, questions))
    if scenario.epochs == 1:
        return each, each[..., None]
    return each, mixed(1 - REPLY, each[..., None], normals(rng, scenario.models, *each.shape[1:], scenario.epochs))


@cache
def beta_quantiles(mean: float) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative probabilities and values of a beta distribution."""
    odds = np.linspace(-300, 300, 60_001)
    first, second = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
    mass = np.cumsum(np.exp(CONCENTRATION * (mean * first + (1 - mean) * second)))
    return mass / mass[-1], np.exp(first)


def scores_of(scenario: Scenario, task: int, variable: np.ndarray) -> np.ndarray:
    """Scores of one task: models x items x questions x columns x epochs."""
    scores = np.empty(variable.shape)
    for model in range(scenario.models):
        for column in range(len(scenario.asked)):
            true, own = float(scenario.truth[model, task, column]), variable[model, :, :, column]
            if scenario.continuous:
                probability, values = beta_quantiles(true)
                scores[model, :, :, column] = np.interp(np.interp(own, GRID, CUMULATIVE), probability, values)
            else:
                scores[model, :, :, column] = own > -NORMAL.inv_cdf(true)
    return scores


@cache
def other_columns() -> pl.DataFrame:
    """A row with the values that all rows have."""
    return to_frame([Row("s", "", "", "", "", 0, None, valid=True, answered=True, target="answer")])


def frame_of(scenario: Scenario, task: int, scores: np.ndarray) -> pl.DataFrame:
    """The rows of one task."""
    models, items, questions, columns, _ = scores.shape
    documents = range(items // scenario.per_document + 1) if scenario.per_document else [None]
    facets = np.array(
        [
            json.dumps(
                {"question": f"{question}", "category": f"c{task % 2}"}
                | ({} if document is None else {"cluster": f"d{task}-{document}"})
                | dict(column.facets)
                | dict(scenario.model_facets[model] if scenario.model_facets else {})
            )
            for model in range(models)
            for document in documents
            for question in range(questions)
            for column in scenario.asked
        ],
        dtype=object,
    ).reshape(models, len(documents), questions, columns)
    number = np.array([scenario.questions[item % len(scenario.questions)] for item in range(items)])
    model, item, question, column, epoch = (axis.ravel() for axis in np.indices(scores.shape))
    kept = question < number[item]
    model, item, question, column, epoch = (axis[kept] for axis in (model, item, question, column, epoch))
    document = item // scenario.per_document if scenario.per_document else np.zeros_like(item)
    value = scores.ravel()[kept]
    # Of models that differ in a facet alone, the facet tells the variant.
    variants = [next(iter(own.values()), "") for own in scenario.model_facets] or [""] * models
    names = ["m" if scenario.model_facets else f"m{number:02}" for number in range(models)]
    made = pl.DataFrame(
        {
            "task": f"t{task}",
            "item": [f"t{task}-{n}" for n in item.tolist()],
            "sample": [
                f"t{task}-{n}-{q}@{c}" for n, q, c in zip(item.tolist(), question.tolist(), column.tolist(), strict=True)
            ],
            "model": np.array(names)[model],
            "variant": np.array(variants)[model],
            "length": np.array(scenario.lengths)[column],
            "value": value,
            "epoch": epoch + 1,
            "answer": [f"{score:g}" for score in value.tolist()],
            "language": np.where(item % 2, "zh", "en"),
            "chance": np.full(len(value), math.nan if scenario.chance is None else scenario.chance),
            "facets": facets[model, document, question, column].tolist(),
        }
    ).with_columns(pl.col("chance").fill_nan(None))
    rest = other_columns()
    return made.with_columns(
        pl.lit(rest[name][0], dtype=rest.schema[name]).alias(name) for name in rest.columns if name not in made.columns
    ).select(pl.col(name).cast(kind) for name, kind in rest.schema.items())


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulated study.

    Attributes:
        scenario: What was simulated.
        rows: The rows table.
        file: It as a file.
        drawn: True means of the models on the drawn questions, over repeats.
    """

    scenario: Scenario
    rows: pl.DataFrame
    file: Path
    drawn: tuple[float, ...]

    def of_model(self, model: int) -> Path:
        """A file with the rows of one model."""
        path = self.file.with_name(f"m{model:02}.parquet")
        write_rows(self.rows.filter(model=f"m{model:02}"), path)
        return path


def simulate(scenario: Scenario, seed: Sequence[int], folder: Path) -> Simulated:
    rng = np.random.default_rng(seed)
    frames, sums = [], np.zeros(scenario.models)
    for task, items in enumerate(scenario.items):
        each, variable = latent(rng, scenario, items)
        frames.append(frame_of(scenario, task, scores_of(scenario, task, variable)))
        if scenario.epochs > 1:
            threshold = -np.array([[NORMAL.inv_cdf(value) for value in own[task]] for own in scenario.truth])
            high = (math.sqrt(1 - REPLY) * each - threshold[:, None, None, :]) / math.sqrt(REPLY)
            sums += np.interp(high, GRID, CUMULATIVE).mean(axis=(1, 2, 3)) / len(scenario.items)
    rows = pl.concat(frames)
    file = folder / "rows.parquet"
    write_rows(rows, file)
    return Simulated(scenario, rows, file, tuple(sums.tolist()))


# ---------------------------------------------------------------------------------------------------------- outcomes


@dataclass(frozen=True, slots=True)
class Outcome:
    """One figure of one simulated study.

    Attributes:
        figure: Its name.
        kind: What is counted.
        value: Whether an interval includes the truth, or whether a finding is wrong.
        width: Width of the interval; NaN without one.
    """

    figure: str
    kind: Kind
    value: bool
    width: float = math.nan


def covers(figure: str, interval: Any, truth: float) -> Iterator[Outcome]:
    if interval is not None:
        held = interval.low - 1e-9 <= truth <= interval.high + 1e-9
        yield Outcome(figure, "coverage", held, interval.high - interval.low)


def alarm(figure: str, wrong: bool) -> Outcome:
    return Outcome(figure, "false alarms", wrong)


def adjusted(measure: Any) -> float:
    """The p-value of a table of many: adjusted in versions of the program that do."""
    found = (getattr(measure, name, None) for name in ADJUSTED)
    return next((value for value in found if value is not None), measure.p_value)


def family(figure: str, measures: Iterable[Any]) -> Outcome:
    return Outcome(figure, "families", any(adjusted(one) < 0.05 for one in measures))


def rank_ranges(figure: str, ranges: Iterable[tuple[float, tuple[int, int]]]) -> Outcome:
    """Whether any range of ranks lacks a rank that the true scores leave open.

    Args:
        figure: Name of the figure.
        ranges: True score of each model, and its best and worst rank.
    """
    ranges = list(ranges)
    wrong = any(
        best > 1 + sum(other > true + 1e-9 for other, _ in ranges)
        or worst < len(ranges) - sum(other < true - 1e-9 for other, _ in ranges)
        for true, (best, worst) in ranges
    )
    return Outcome(figure, "rank ranges", wrong)


def number_of(name: str) -> int:
    """The number of a model or a task: 3 of "m03"."""
    return int(name.lstrip("mt"))


# ---------------------------------------------------------------------------------------------------------- commands


def report(made: Simulated) -> Iterator[Outcome]:
    """Everything in the report: average scores, cells, LongScore, effective lengths, drops, ranks and their pairs."""
    scenario = made.scenario
    results = api.report([made.file], out="-", format="json").results
    several = len(scenario.items) > 1
    for (system, task), score in results.average.items():
        own = scenario.truth[number_of(system.model)]
        if task == ALL:
            yield from covers("report: average score", score.interval, own.mean())
        elif several:
            yield from covers("report: average of a task", score.interval, own[number_of(task)].mean())
    for (system, task, length), point in results.curve.items():
        own = scenario.truth[number_of(system.model), :, scenario.lengths.index(length)]
        if task != ALL:
            yield from covers("report: one task at a length", point.interval, own[number_of(task)])
        elif several:
            yield from covers("report: tasks at a length", point.interval, own.mean())
    for (system, task), score in results.longscore.items():
        if task == ALL:
            yield from longscores(scenario, scenario.truth[number_of(system.model)].mean(axis=0), score)
    for (system, task, definition), found in results.effective.items():
        if task == ALL:
            curve = scenario.truth[number_of(system.model)].mean(axis=0)
            yield from effective(scenario, curve, definition, found)
    yield from drops(scenario, results.drops)
    yield from ranking(scenario, results.ranked)


def base_of(scenario: Scenario, curve: np.ndarray) -> float:
    return float(curve[np.array(scenario.lengths) <= 6144].mean()) if min(scenario.lengths) <= 6144 else math.nan


def longscores(scenario: Scenario, curve: np.ndarray, score: Any) -> Iterator[Outcome]:
    base = base_of(scenario, curve)
    beyond = curve[np.array(scenario.lengths) > 6144]
    yield from covers("LongScore: mean", score.average_interval, float(beyond.mean() / base - 1))
    for point in score.points:
        true = curve[scenario.lengths.index(point.length)] / base - 1
        yield from covers("LongScore: at a length", point.interval, float(true))


def effective(scenario: Scenario, curve: np.ndarray, definition: str, found: Any) -> Iterator[Outcome]:
    """An interval is right if it reaches from the last length that passes to the first that fails."""
    if found.interval is None:
        return
    base = base_of(scenario, curve)
    threshold = {"ruler": 0.856, "own_base": 0.85 * base, "half_base": 0.5 * base}.get(definition, math.nan)
    if math.isnan(threshold):
        return
    passing = int(np.cumprod(curve >= threshold - 1e-12).sum())
    ends = [0.0, *map(float, scenario.lengths), math.inf]
    held = found.interval.low <= ends[passing] and found.interval.high >= ends[passing + 1]
    high = min(found.interval.high, 2.0 * scenario.lengths[-1])
    width = math.log2(high / max(found.interval.low, scenario.lengths[0] / 2))
    yield Outcome(f"effective length: {definition} (octaves)", "coverage", held, width)


def drops(scenario: Scenario, found: Sequence[Any]) -> Iterator[Outcome]:
    falls = np.diff(scenario.truth, axis=2).any()
    if not falls and len(scenario.lengths) > 1:
        yield Outcome("largest drops: any of a flat curve", "families", bool(found))
    for drop in found if falls else ():
        own = scenario.truth[number_of(drop.model), number_of(drop.task)]
        before, after = (own[scenario.lengths.index(length)] for length in (drop.shortest, drop.length))
        yield from covers("largest drops: the loss", drop.interval, float(after - before))


def ranking(scenario: Scenario, ranked: Sequence[Any]) -> Iterator[Outcome]:
    if len(ranked) < 2:
        return
    truths = [float(scenario.truth[number_of(one.model)].mean()) for one in ranked]
    ranges = zip(truths, ((one.best, one.worst) for one in ranked), strict=True)
    yield rank_ranges("report: ranks", ranges)
    for place, one in enumerate(ranked):
        for other in range(place + 1, len(ranked)):
            gap = one.gaps[other]
            yield from covers("report: difference of two", gap.interval, truths[place] - truths[other])
            if scenario.equal:
                yield alarm("report: difference of two", gap.p_value < 0.05)


def compare(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    found = api.analyze_compare([made.file])
    several = len(scenario.items) > 1
    for one in found:
        if several and one.task != ALL:
            name = "one task, all lengths" if one.length is None else "one task at a length"
        elif one.task == ALL or not several:
            name = "all lengths" if one.length is None else "at a length"
        first, second = (scenario.truth[number_of(model)] for model in (one.model_a, one.model_b))
        gaps = first - second if one.task == ALL else (first - second)[number_of(one.task)][None]
        gap = gaps.mean() if one.length is None else gaps[:, scenario.lengths.index(one.length)].mean()
        yield from covers(f"compare: {name}", one.interval, float(gap))
        if scenario.equal:
            yield alarm(f"compare: {name}", one.p_value < 0.05)
    if scenario.equal:
        yield family("compare: any of the table", found)


def adjacent(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    found = api.analyze_adjacent([made.file])
    truths = [scenario.by_question(number_of(one.model)) for one in found]
    for place, one in enumerate(found):
        yield from covers("adjacent: score", one.interval, truths[place])
        if one.gap_interval is not None:
            yield from covers("adjacent: gap", one.gap_interval, truths[place] - truths[place + 1])
            if scenario.equal:
                yield alarm("adjacent: gap", not one.tied)
    yield rank_ranges("adjacent: ranks", zip(truths, ((one.best, one.worst) for one in found), strict=True))


def breakdown(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    by = ("overall", "language", "length")
    for one in api.analyze_breakdown([made.file], by=by):
        column = None
        if one.dimension == "length":
            column = scenario.lengths.index(int(one.group.removesuffix("k")) * 1024)
        elif one.dimension == "language" and len(scenario.items) > 1:
            continue  # the shares of tasks differ between languages
        true = scenario.by_question(number_of(one.model), column)
        yield from covers(f"breakdown: {one.dimension}", one.interval, true)


def best_of_n(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    for one in api.analyze_breakdown([made.file], by=("overall", "length"), measures=("best_of", "pass_at")):
        yield from covers(f"breakdown: {one.measure}, {one.dimension}", one.interval, any_of(scenario, one.n))


def any_of(scenario: Scenario, n: int) -> float:
    """True probability that one of n repeats is right; the true scores must be the same everywhere."""
    threshold = -NORMAL.inv_cdf(float(scenario.truth.flat[0]))
    high = (math.sqrt(1 - REPLY) * NODES - threshold) / math.sqrt(REPLY)
    return float(WEIGHTS @ (1 - (1 - np.interp(high, GRID, CUMULATIVE)) ** n))


def repeats(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    for one in api.analyze_repeats([made.file]):
        model = number_of(one.model)
        yield from covers("repeats: mean", one.interval, scenario.by_question(model))
        if scenario.epochs > 1:
            yield from covers("repeats: mean on these questions", one.interval_replies, made.drawn[model])
            for trend in one.trend:
                yield from covers("repeats: best of n", trend.best_of_interval, any_of(scenario, trend.n))
                yield from covers("repeats: pass at n", trend.pass_at_interval, any_of(scenario, trend.n))


def retention(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    for one in api.analyze_retention([made.file]):
        if one.task != ALL:
            continue
        curve = scenario.truth[number_of(one.model)].mean(axis=0)
        base = base_of(scenario, curve)
        for point in one.points:
            kept = float(curve[scenario.lengths.index(point.length)] / base)
            for name, true in (("retention", kept), ("log_ratio", math.log2(kept))):
                estimate = getattr(point, name)
                if name == "retention" and estimate is not None:
                    yield from covers(f"retention: {name}", estimate.interval, true)


def categories(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    group_of = np.arange(len(scenario.items)) % 2
    for one in api.analyze_categories([made.file]):
        own = scenario.truth[number_of(one.model)].mean(axis=1)
        means = [own[group_of == group].mean() for group in range(2)]
        if one.task != ALL:
            yield from covers("categories: one task", one.interval, own[number_of(one.task)])
        elif one.group == ALL:
            yield from covers("categories: all", one.interval, float(np.mean(means)))
        else:
            yield from covers("categories: one category", one.interval, float(means[int(one.group[1:])]))


def gate(made: Simulated) -> Iterator[Outcome]:
    """The gate of two equal sides: candidate m00 against m01."""
    found = _gate(made)
    yield alarm("gate: FAIL of equal sides", found.decision == "FAIL")
    for claim in found.claims:
        yield from covers("gate: difference", claim.interval, 0.0)


def gate_at_margin(made: Simulated) -> Iterator[Outcome]:
    yield alarm("gate: PASS at a loss of the margin", _gate(made).decision == "PASS")


def _gate(made: Simulated) -> Any:
    return api.gate(candidate=made.of_model(0), baseline=made.of_model(1), margin=MARGIN)


def board(made: Simulated) -> Iterator[Outcome]:
    """The board of the models: its downloads, and the files of its pairs."""
    scenario, site = made.scenario, made.file.with_name("site")
    api.board_build([made.file], out=site, published=False, examples=False)
    (table,) = json.loads((site / "downloads" / "all.json").read_text(encoding="utf-8"))["boards"]
    truths = {line["key"]: float(scenario.truth[number_of(line["model"])].mean()) for line in table["lines"]}
    columns = {name: place for place, name in enumerate(table["columns"])}
    for line in table["lines"]:
        for figure in line["figures"]:
            value = {name: figure[place] for name, place in columns.items() if place < len(figure)}
            if value["figure"] in ("overall", "length") and value["low"] is not None:
                at = value["length"]
                own = scenario.truth[number_of(line["model"])].mean(axis=0)
                true = truths[line["key"]] if at is None else float(own[scenario.lengths.index(at)])
                held = value["low"] - 1e-5 <= true <= value["high"] + 1e-5
                width = value["high"] - value["low"]
                yield Outcome(f"board: {value['figure']} score", "coverage", held, width)
    ranges = ((truths[line["key"]], tuple(line["rank"])) for line in table["lines"] if line["rank"])
    yield rank_ranges("board: ranks", ranges)
    keys = [line["key"] for line in table["lines"]]
    for place, key in enumerate(keys):
        text = (site / "data" / "pairs" / table["id"] / f"{key}.js").read_text(encoding="utf-8")
        gaps, lows, highs, p_values, *_ = json.loads(text[text.index("{") : text.rindex("}") + 1])["overall"]
        for other in range(place + 1, len(keys)):
            gap = truths[key] - truths[keys[other]]
            # Files hold differences of either direction; the sign of the difference tells which.
            held = lows[other] - 1 <= gap * 1e5 <= highs[other] + 1
            yield Outcome("board: difference of two", "coverage", held, (highs[other] - lows[other]) / 1e5)
            if scenario.equal:
                yield alarm("board: difference of two", p_values[other] < 5000)


def setups(made: Simulated) -> Iterator[Outcome]:
    """Equal setups compared with a base, as `fathom lab compare` does with its rows."""
    scenario = made.scenario
    given = [Setup(f"m{number:02}", "position" if number else "none") for number in range(scenario.models)]
    found = compare_setups(made.rows, given, "m00", 8192)[1:]
    yield alarm("setups: any verdict", any(one.verdict in ("better", "worse") for one in found))
    yield alarm("setups: any first length", any(one.first_better is not None for one in found))
    for one in found:
        for name in ("gain", "loss"):
            yield from covers(f"setups: {name}", getattr(one, name).interval, 0.0)
        for point in one.points:
            yield from covers("setups: difference at a length", point.difference.interval, 0.0)
    for place in range(len(scenario.lengths)):
        yield family("setups: any at a length", (one.points[place].difference for one in found))


def thinking(made: Simulated) -> Iterator[Outcome]:
    for one in api.analyze_thinking([made.file], by=("overall", "language", "length")):
        yield from covers(f"thinking: gain, {one.dimension}", one.interval, 0.0)
        yield alarm(f"thinking: gain, {one.dimension}", not one.interval.low <= 0 <= one.interval.high)


def position(made: Simulated) -> Iterator[Outcome]:
    found = api.analyze_position([made.file])
    contrasts = [one for one in found if hasattr(one, "p_value")]
    for one in found:
        if one in contrasts:
            yield from covers("position: contrast", one.interval, 0.0)
            yield alarm("position: contrast", one.p_value < 0.05)
        else:
            yield from covers("position: depth", one.interval, float(made.scenario.truth.flat[0]))
    yield family("position: any contrast", contrasts)


def truncation(made: Simulated) -> Iterator[Outcome]:
    for one in api.analyze_truncation([made.file]):
        name = "all tasks" if one.task == ALL else "one task"
        true = float(made.scenario.truth.flat[0])
        yield from covers(f"truncation: whole, {name}", one.full_interval, true)
        yield from covers(f"truncation: truncated, {name}", one.interval, true)
        yield from covers(f"truncation: difference, {name}", one.difference_interval, 0.0)
        yield from covers(f"truncation: share, {name}", one.share_interval, 1.0)
        yield alarm(f"truncation: difference, {name}", one.p_value < 0.05)


def alike(scenario: Scenario) -> float:
    """True probability that two models have the same score of 0 or 1."""
    true = float(scenario.truth.flat[0])
    high = (math.sqrt(DIFFICULTY) * NODES + NORMAL.inv_cdf(true)) / math.sqrt(1 - DIFFICULTY)
    both = float(WEIGHTS @ np.interp(high, GRID, CUMULATIVE) ** 2)
    return 1 - 2 * true + 2 * both


def judge(made: Simulated) -> Iterator[Outcome]:
    """The scores of m00 are those of the judge, the scores of m01 the labels."""
    labels = made.file.with_name("labels.csv")
    with labels.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("sample", "score"))
        writer.writerows(made.rows.filter(model="m01").select("sample", "value").rows())
    for one in api.analyze_judge([made.of_model(0)], labels=labels):
        if one.by in ("all", "length"):
            yield from covers(f"judge: bias, {one.by}", one.bias_interval, 0.0)
            yield from covers(f"judge: same score, {one.by}", one.exact_interval, alike(made.scenario))


def agreement(made: Simulated) -> Iterator[Outcome]:
    for one in api.analyze_agreement([made.file]):
        name = "all lengths" if one.length is None else "at a length"
        yield from covers(f"agreement: {name}", one.interval, alike(made.scenario))


def answers(made: Simulated) -> Iterator[Outcome]:
    for one in api.analyze_answers([made.file]):
        yield from covers("answers: accuracy", one.accuracy.interval, float(made.scenario.truth.flat[0]))


def closed_book(made: Simulated) -> Iterator[Outcome]:
    for one in api.analyze_closed_book([made.file]):
        yield from covers("closed-book: score", one.interval, float(made.scenario.truth[0, 0, 1]))


COMMANDS: Mapping[str, Callable[[Simulated], Iterator[Outcome]]] = {
    "report": report,
    "compare": compare,
    "adjacent": adjacent,
    "breakdown": breakdown,
    "best of n": best_of_n,
    "repeats": repeats,
    "retention": retention,
    "categories": categories,
    "gate": gate,
    "gate at the margin": gate_at_margin,
    "board": board,
    "setups": setups,
    "thinking": thinking,
    "position": position,
    "truncation": truncation,
    "judge": judge,
    "agreement": agreement,
    "answers": answers,
    "closed-book": closed_book,
}


# ------------------------------------------------------------------------------------------------------------- rates


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a figure was right or wrong in the simulations of a scenario.

    Attributes:
        scenario: Name of the scenario.
        figure: Name of the figure.
        kind: What is counted.
        simulations: Number of simulations in which the program gave the figure.
        rate: Mean over simulations of the share that include the truth, or that are wrong.
        error: Standard error of the rate.
        width: Mean width of the intervals; None without intervals.
        limit: The limit.
        verdict: ``ok``, ``MISSED``, or ``unsure`` if it is within two standard errors of the limit.
    """

    scenario: str
    figure: str
    kind: Kind
    simulations: int
    rate: float
    error: float
    width: float | None
    limit: float
    verdict: str


def measured(task: tuple[int, int]) -> list[Outcome]:
    """The outcomes of one simulation.

    Args:
        task: Number of the scenario, and of the simulation.
    """
    scenario = SCENARIOS[task[0]]
    with tempfile.TemporaryDirectory() as folder:
        # The seed is that of the name, so that other scenarios do not change it.
        made = simulate(scenario, [*scenario.name.encode(), task[1]], Path(folder))
        return [outcome for name in scenario.commands for outcome in COMMANDS[name](made)]


def rates_of(scenario: Scenario, outcomes: Sequence[Sequence[Outcome]]) -> list[Rate]:
    shares: dict[tuple[str, Kind], list[float]] = {}
    widths: dict[tuple[str, Kind], list[float]] = {}
    for simulation in outcomes:
        own: dict[tuple[str, Kind], list[Outcome]] = {}
        for outcome in simulation:
            own.setdefault((outcome.figure, outcome.kind), []).append(outcome)
        for key, several in own.items():
            shares.setdefault(key, []).append(float(np.mean([one.value for one in several])))
            widths.setdefault(key, []).append(float(np.mean([one.width for one in several])))
    return [_rate(scenario, *key, np.array(values), float(np.mean(widths[key]))) for key, values in shares.items()]


def _rate(scenario: Scenario, figure: str, kind: Kind, values: np.ndarray, width: float) -> Rate:
    few = kind == "coverage" and min(scenario.items) <= FEW_ITEMS
    rate, limit = float(values.mean()), COVERAGE_OF_FEW if few else LIMITS[kind]
    # At least the error of one simulation that is otherwise, so that a rate of 100% is not certain.
    error = max(float(values.std()) / math.sqrt(len(values)), math.sqrt(limit * (1 - limit) / len(values)) / 2)
    beyond = limit - rate if kind == "coverage" else rate - limit
    verdict = "ok" if beyond <= 1e-9 else "unsure" if beyond <= 2 * error else "MISSED"
    known = None if math.isnan(width) else width
    return Rate(scenario.name, figure, kind, len(values), rate, error, known, limit, verdict)


HEAD = f"{'figure':42} {'counted':13} {'n':>5} {'rate':>7} {'error':>6} {'width':>7} {'limit':>7}"


def line_of(rate: Rate) -> str:
    width = "" if rate.width is None else f"{rate.width:.3f}"
    return (
        f"{rate.figure:42} {rate.kind:13} {rate.simulations:5} {rate.rate:7.1%} {rate.error:6.1%} {width:>7} "
        f"{rate.limit:7.0%} {rate.verdict}"
    )


def print_worst(rates: Sequence[Rate]) -> None:
    """For each figure the scenario in which it is worst."""
    print(f"\nThe worst scenario of each figure\n{HEAD}")
    worst: dict[tuple[str, Kind], Rate] = {}
    for rate in rates:
        known = worst.get((rate.figure, rate.kind))
        sign = -1 if rate.kind == "coverage" else 1
        if known is None or sign * (rate.rate - rate.limit) > sign * (known.rate - known.limit):
            worst[rate.figure, rate.kind] = rate
    for rate in worst.values():
        print(f"{line_of(rate):96} {rate.scenario}")
    counts = {verdict: sum(rate.verdict == verdict for rate in rates) for verdict in ("ok", "unsure", "MISSED")}
    print(f"\n{len(rates)} rates: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


def print_widths(before: Path, after: Path) -> None:
    """Rates and mean widths of two files beside each other, for figures with intervals."""
    old, new = (
        {(rate["scenario"], rate["figure"], rate["kind"]): rate for rate in json.loads(path.read_text("utf-8"))}
        for path in (before, after)
    )
    print(f"{'figure':42} {'rate before':>11} {'after':>7} {'width before':>12} {'after':>7} {'ratio':>6}")
    scenario = ""
    for key in [key for key in old if key in new]:
        if key[0] != scenario:
            scenario = key[0]
            print(f"\n{scenario}")
        first, second = old[key], new[key]
        ends = ["", "", ""]
        if first["width"] and second["width"]:
            ends = [f"{first['width']:.3f}", f"{second['width']:.3f}", f"{second['width'] / first['width']:.2f}"]
        name = key[1] if key[2] == "coverage" else f"{key[1]} ({key[2]})"
        print(f"{name:42} {first['rate']:11.1%} {second['rate']:7.1%} {ends[0]:>12} {ends[1]:>7} {ends[2]:>6}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000, help="simulations of each scenario")
    parser.add_argument("--only", default="", help="only scenarios with this text in their names")
    parser.add_argument("--commands", nargs="+", choices=list(COMMANDS), help="only these commands")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="write the rates to this file")
    parser.add_argument("--list", action="store_true", help="name the scenarios and stop")
    parser.add_argument("--widths", type=Path, nargs=2, metavar="FILE", help="compare two files of --json and stop")
    given = parser.parse_args()
    if given.widths:
        return print_widths(*given.widths)
    chosen = [number for number, one in enumerate(SCENARIOS) if given.only in one.name]
    if given.list:
        return print("\n".join(SCENARIOS[number].name for number in chosen))
    rates: list[Rate] = []
    print(HEAD)
    with ProcessPoolExecutor(given.workers) as pool:
        for number in chosen:
            scenario, start = SCENARIOS[number], time.perf_counter()
            tasks = [(number, simulation) for simulation in range(given.simulations)]
            found = rates_of(scenario, list(pool.map(measured, tasks, chunksize=2)))
            print(f"\n{scenario.name}  ({time.perf_counter() - start:.0f} s)")
            for rate in found:
                print(line_of(rate), flush=True)
            rates += found
            if given.json:
                given.json.write_text(json.dumps([asdict(rate) for rate in rates], indent=1), encoding="utf-8")
    print_worst(rates)


if __name__ == "__main__":
    main()
