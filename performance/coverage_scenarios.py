"""Simulated replies with known truth, for coverage.py.

A reply is right if a latent normal variable is high enough for the true score at its length. The variable is the sum of
what the document, the item, the question and the epoch contribute; of each a share is common to all models (difficulty)
and the rest is the model's luck. At every length each of these is either the value that the unit has for all lengths,
or drawn anew, so that at two lengths with the same true score "right" has the correlation of the scenario's luck: with
luck 1 the very same items fail at both. Continuous scores are the quantiles of a beta distribution at the same
variable. So true scores are those of the population, exactly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl

from fathom.rows import to_frame, write_rows
from fathom.types import Row

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
MARGIN = 0.05
"""Margin of the gates."""


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
        luck: Correlation between right and wrong at two columns with the same true score.
        commands: Names of the functions of ``COMMANDS`` that measure it.
        models: Number of models.
        shifts: Added to the true scores of the models, at all columns or at each; none for equal models.
        continuous: Whether scores are continuous.
        questions: Numbers of questions of items, in turn.
        epochs: Epochs of every sample.
        per_document: Items that share a document; 0 without documents.
        same_documents: Whether all tasks ask about the same documents.
        columns: How items are asked; () for the lengths from ``start`` on, each twice the one before.
        start: The shortest length in tokens.
        model_facets: Facets of the replies of each model.
        chance: Chance level; None if unknown.
        share: Share of the simulations that are made, for scenarios that take long.
    """

    name: str
    levels: tuple[tuple[float, ...], ...]
    items: tuple[int, ...]
    luck: float
    commands: tuple[str, ...]
    models: int = 2
    shifts: tuple[float | tuple[float, ...], ...] = ()
    continuous: bool = False
    questions: tuple[int, ...] = (1,)
    epochs: int = 1
    per_document: int = 0
    same_documents: bool = False
    columns: tuple[Column, ...] = ()
    start: int = 4096
    model_facets: tuple[Mapping[str, str], ...] = ()
    chance: float | None = None
    share: float = 1.0

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
        shifts = [np.broadcast_to(shift, len(self.asked)) for shift in self.shifts or [0.0] * self.models]
        truth: np.ndarray = np.clip(np.array(self.levels) + np.array(shifts)[:, None, :], 0.01, 0.99)
        return truth

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
    Scenario(
        "25 items, 95-97%, 5 lengths, luck 0",
        (NEAR_CEILING,), (25,), 0.0, ("report", "compare", "two models", "adjacent"),
    ),
    Scenario("25 items, 95-97%, 5 lengths, luck .5", (NEAR_CEILING,), (25,), 0.5, ("report", "compare", "two models")),
    Scenario("25 items, 95-97%, 5 lengths, luck .8", (NEAR_CEILING,), (25,), 0.8, (*ONE_RUN, "two models", "gate")),
    Scenario(
        "25 items, 95-97%, 5 lengths, luck 1",
        (NEAR_CEILING,), (25,), 1.0, (*ONE_RUN, "two models", "gate", "repeats"),
    ),
    Scenario("5 items, 90%, 3 lengths, luck .8", (level(0.9, 3),), (5,), 0.8, (*ONE_RUN, "two models", "gate")),
    Scenario(
        "5 items, 50%, 5 lengths, luck 1",
        (level(0.5, 5),), (5,), 1.0, ("report", "compare", "two models", "gate"),
    ),
    Scenario(
        "10 items, 3-8%, 3 lengths, luck .8",
        ((0.08, 0.05, 0.03),), (10,), 0.8, ("report", "compare", "breakdown"),
    ),
    Scenario("20 items, 80%, 1 length", ((0.8,),), (20,), 0.0, ("report", "compare", "adjacent", "gate")),
    Scenario(
        "200 items, 95% to 30%, 7 lengths, luck .8",
        (FALLING,), (200,), 0.8, ("report", "compare", "two models", "retention"), start=2048, share=0.5,
    ),
    Scenario("40 items, 95% to 30%, 7 lengths, luck .5", (FALLING,), (40,), 0.5, ("report", "retention"), start=2048),
    Scenario(
        "continuous, 20 items, 80%, 5 lengths, luck .8",
        (level(0.8, 5),), (20,), 0.8, (*ONE_RUN, "two models"), continuous=True,
    ),
    Scenario(
        "continuous, 60 items, 97%, 3 lengths, luck 1",
        (level(0.97, 3),), (60,), 1.0, ("report", "compare"), continuous=True,
    ),
    Scenario(
        "4 tasks of 10 items, 97%, 3 lengths, luck 1",
        (level(0.97, 3),) * 4, (10,) * 4, 1.0, ("report", "compare", "two models"),
    ),
    Scenario(
        "4 tasks of 8 to 30 items, 97% to 10%, 3 lengths, luck .8",
        (level(0.97, 3), (0.9, 0.8, 0.7), level(0.5, 3), level(0.1, 3)), (8, 12, 20, 30), 0.8,
        (*ONE_RUN, "two models", "categories", "gate"),
    ),
    Scenario(
        "1 to 5 questions for each of 25 items, 85%, 3 lengths, luck .8",
        (level(0.85, 3),), (25,), 0.8, ONE_RUN, questions=(1, 3, 5),
    ),
    Scenario(
        "4 epochs, 25 items, 70%, 3 lengths, luck .8",
        (level(0.7, 3),), (25,), 0.8, ("report", "compare", "repeats", "best of n"), epochs=4,
    ),
    Scenario(
        "60 items, 5 to a document, 80%, 3 lengths, luck .8",
        (level(0.8, 3),), (60,), 0.8, (*ONE_RUN, "two models", "gate"), per_document=5,
    ),
    Scenario(
        "4 tasks of 30 items, 2 to each of the same 15 documents, 80%, 2 lengths, luck .8",
        (level(0.8, 2),) * 4, (30,) * 4, 0.8, (*ONE_RUN, "categories"), per_document=2, same_documents=True,
    ),
    Scenario(
        "a loss of 0 to 40 points, 30 items, 90%, 5 lengths, luck .8",
        (level(0.9, 5),), (30,), 0.8, ("compare", "two models"), shifts=((0.0, -0.1, -0.2, -0.3, -0.4), 0.0),
    ),
    Scenario(
        "2 categories of 2 tasks of 30 items, 90% and 70%, 3 lengths, luck .8",
        ((0.9, 0.85, 0.8), level(0.7, 3)) * 2, (30,) * 4, 0.8, ("board parts",), shifts=(0.0, -0.1),
    ),
    Scenario(
        "2 categories of 2 tasks of 30 items, 95% and 50%, 3 lengths, luck 1",
        (level(0.95, 3), level(0.5, 3)) * 2, (30,) * 4, 1.0, ("board parts",),
    ),
    Scenario(
        "2 categories of 2 tasks of 60 items, 5 to each of the same 12 documents, 80%, 3 lengths, luck .8",
        (level(0.8, 3),) * 4, (60,) * 4, 0.8, ("board parts",), per_document=5, same_documents=True,
    ),
    Scenario(
        "20 equal models, 20 items, 85%, 3 lengths, luck .8",
        (level(0.85, 3),), (20,), 0.8, ("report", "adjacent", "board"), models=20, share=0.5,
    ),
    Scenario(
        "20 models, 30 items, 45% to 95%, 3 lengths, luck .8",
        (level(0.7, 3),), (30,), 0.8, ("report", "board"), share=0.5,
        models=20, shifts=tuple(np.linspace(-0.25, 0.25, 20).tolist()),
    ),
    Scenario(
        "a loss of the margin, 2 tasks of 60 items, 90%, 3 lengths, luck .8",
        (level(0.9, 3),) * 2, (60, 60), 0.8, ("gate at the margin",), shifts=(-MARGIN, 0.0),
    ),
    Scenario(
        "a loss of the margin, 60 items, 99%, 2 lengths, luck 1",
        (level(0.99, 2),), (60,), 1.0, ("gate at the margin",), shifts=(-MARGIN, 0.0),
    ),
    Scenario(
        "a loss of the margin, 200 items, 50%, 1 length",
        ((0.5,),), (200,), 0.0, ("gate at the margin",), shifts=(-MARGIN, 0.0),
    ),
    Scenario(
        "a loss of 15 points at one of 4 lengths, 100 items, 85%, luck .8",
        (level(0.85, 4),), (100,), 0.8, ("gate of a loss",), shifts=((0.0, 0.0, -0.15, 0.0), 0.0),
    ),
    Scenario(
        "4 setups, 30 items, 90% to 50%, 5 lengths, luck .8",
        ((0.9, 0.88, 0.7, 0.6, 0.5),), (30,), 0.8, ("setups",), models=4,
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


# --------------------------------------------------------------------------------------------------------- rows


def normals(rng: np.random.Generator, models: int, *shape: int) -> np.ndarray:
    """Standard normal numbers, models x shape, of which a share is common to all models."""
    return mixed(DIFFICULTY, rng.normal(size=(1, *shape)), rng.normal(size=(models, *shape)))


def mixed(share: float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The standard normal sum of two independent ones, the first of which has a share of the variance."""
    return math.sqrt(share) * first + math.sqrt(1 - share) * second


def lucky(rng: np.random.Generator, scenario: Scenario, *units: int) -> np.ndarray:
    """The latent variable of some units, models x units x columns."""
    columns = len(scenario.asked)
    shared, anew = (normals(rng, scenario.models, *units, size) for size in (1, columns))
    # Two columns both have the shared value with the probability of the luck.
    return np.where(rng.random((1, *units, columns)) < math.sqrt(scenario.luck), shared, anew)


def latent(
    rng: np.random.Generator, scenario: Scenario, items: int, documents: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The latent variables of one task without and with what is drawn anew for every reply.

    Args:
        rng: Source of the variables.
        scenario: The scenario.
        items: Number of items of the task.
        documents: Those of the documents, if all tasks have the same.

    Returns:
        Models x items x questions x columns, and models x items x questions x columns x epochs.
    """
    each = lucky(rng, scenario, items)
    if scenario.per_document:
        document = np.arange(items) // scenario.per_document
        own = lucky(rng, scenario, int(document[-1]) + 1) if documents is None else documents
        each = mixed(DOCUMENT, own[:, document], each)
    questions = max(scenario.questions)
    each = each[:, :, None]
    if questions > 1:
        each = mixed(ITEM, each, lucky(rng, scenario, items, questions))
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
                | ({} if document is None else {"cluster": f"d{'' if scenario.same_documents else task}-{document}"})
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
            "sample": [f"t{task}-{n}-{q}@{c}" for n, q, c in np.stack([item, question, column], axis=1).tolist()],
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
    count = max(scenario.items) // max(scenario.per_document, 1) + 1
    documents = lucky(rng, scenario, count) if scenario.same_documents else None
    for task, items in enumerate(scenario.items):
        each, variable = latent(rng, scenario, items, documents)
        frames.append(frame_of(scenario, task, scores_of(scenario, task, variable)))
        if scenario.epochs > 1:
            threshold = -np.array([[NORMAL.inv_cdf(value) for value in own[task]] for own in scenario.truth])
            high = (math.sqrt(1 - REPLY) * each - threshold[:, None, None, :]) / math.sqrt(REPLY)
            sums += np.interp(high, GRID, CUMULATIVE).mean(axis=(1, 2, 3)) / len(scenario.items)
    rows = pl.concat(frames)
    file = folder / "rows.parquet"
    write_rows(rows, file)
    return Simulated(scenario, rows, file, tuple(sums.tolist()))
