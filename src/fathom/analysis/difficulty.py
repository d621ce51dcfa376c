"""Difficulty: which questions even strong models get wrong, told from the replies of three tiers of models.

LongBench Pro, section 3.5: a question is Extreme if at most one model of the high tier answers it right; else Hard if
at most one of the middle tier does; else Moderate if at most one of the low tier does; else Easy. The paper has five
models in each tier and asks each of them three times; it does not say when a model that was asked three times has
answered right. Here more than half of its scored repeats must pass, unless another rule is chosen.

The labels depend on which models stand for a tier. Their stability says how much: how likely as many other models of
the same tiers give a question the same label. Drawing from the models themselves would be too kind, as a tier in which
nobody is right stays so in every draw; and a question that is hard for one tier tends to be hard for another, so that
the tiers cannot be judged each for itself. ``tier_draws`` fits both to the replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.questions import Asked, asked, passed, row_means
from fathom.analysis.tier_draws import beyond_others
from fathom.analysis.tiers import TIERS, checked_tiers, models_of
from fathom.stats.columns import facet
from fathom.stats.intervals import Floats
from fathom.stats.outcomes import outcome, scored_rows
from fathom.types import FathomError

Correct: TypeAlias = Literal["majority", "any", "all", "mean"]
CORRECT: tuple[Correct, ...] = get_args(Correct)
LABELS = ("Easy", "Moderate", "Hard", "Extreme")


@dataclass(frozen=True, slots=True)
class Label:
    """The difficulty of one question.

    Attributes:
        suite: Name of its suite.
        item: Name of its item; of its sample, where items of these rows have several.
        label: One of ``LABELS``.
        right: How many models of the high, mid and low tier answer it right.
        stability: Probability that other models of the same tiers give it the same label.
    """

    suite: str
    item: str
    label: str
    right: tuple[int, int, int]
    stability: float


@dataclass(frozen=True, slots=True)
class Difficulty:
    """The difficulty of all questions.

    Attributes:
        labels: One for each question that all models of the tiers were asked, by the names of suites and items.
        counts: Questions by label, in the order of ``LABELS``.
        agreement: Mean stability of the labels; NaN where there are none.
        moved: For a label and one that other models may give: the mean probability of it, over the questions with the
            first. Those that stay are there too, so that the shares of each label add up to 1.
        notes: What the reader should know, as sentences.
    """

    labels: tuple[Label, ...]
    counts: Mapping[str, int]
    agreement: float
    moved: Mapping[tuple[str, str], float]
    notes: tuple[str, ...]


def difficulty(
    rows: pl.DataFrame,
    tiers: Mapping[str, Sequence[str]],
    *,
    correct: Correct = "majority",
    allowed: int = 1,
) -> Difficulty:
    """Labels of all questions, and how much they depend on the models chosen.

    A prompt that did not fit and a reply that was not answered count as not right. What is missing (a request that
    failed, a reply that nobody has judged) counts as not asked, question by question; a question that some model of the
    tiers was not asked has no label.

    Args:
        rows: A rows table with the replies of all models named, not counted by ``fathom.stats.outcomes``.
        tiers: Names of models by tier, ``high``, ``mid`` and ``low``; ``model · variant`` where a model has several.
        correct: When a model answers a question right: ``majority``, more than half of its repeats pass; ``any`` or
            ``all`` of them do; ``mean``, their mean score would pass.
        allowed: How many models of a tier may answer right in spite of which a question is beyond the tier.

    Raises:
        FathomError: A tier or one of its models is wrong, or a tier is no larger than ``allowed``.
    """
    if correct not in CORRECT:
        raise FathomError(f"unknown rule of what is right {correct!r}: choose {', '.join(CORRECT)}")
    chosen = models_of(checked_tiers(tiers), asked(_known_of_each(rows)))
    _check_sizes(chosen, allowed)
    about = _questions(chosen)
    right = {tier: _right(models, about["name"], correct) for tier, models in chosen.items()}
    answered = np.all([~np.isnan(table).any(axis=1) for table in right.values()], axis=0)
    whole = [right[tier][answered] for tier in TIERS]
    codes = _codes([table.sum(axis=1) for table in whole], allowed)
    shares = _shares(whole, allowed)
    stability = shares[np.arange(len(codes)), codes]
    labelled = about.filter(pl.Series(answered))
    names = _names(about).filter(pl.Series(answered))
    return Difficulty(
        labels=tuple(
            Label(suite, name, LABELS[code], (int(counts[0]), int(counts[1]), int(counts[2])), float(stable))
            for suite, name, code, counts, stable in zip(
                labelled["suite"],
                names,
                codes,
                np.stack([table.sum(axis=1) for table in whole], axis=1),
                stability,
                strict=True,
            )
        ),
        counts={name: int((codes == code).sum()) for code, name in enumerate(LABELS)},
        agreement=float(stability.mean()) if len(codes) else float("nan"),
        moved={
            (LABELS[code], LABELS[other]): float(shares[codes == code, other].mean())
            for code in range(len(LABELS))
            if (codes == code).any()
            for other in range(len(LABELS))
        },
        notes=tuple(_notes(labelled, codes, len(about))),
    )


def _known_of_each(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the score of each reply, null where it is missing; whole cells are no part of labels of questions."""
    ended = outcome()
    known = pl.when(ended.is_in(["answered", "cut"])).then("value").when(ended != "missing").then(0.0)
    return scored_rows(rows.with_columns(_known=known)).with_columns(value="_known", blank=pl.lit(value=False))


def label_table(found: Difficulty) -> pl.DataFrame:
    """The labels as a table: ``suite``, ``item``, ``id`` (the last part of the item), ``label``, the number of models
    of each tier that are right, and ``stability``."""
    columns: dict[str, list[str] | list[int] | list[float]] = {
        "suite": [one.suite for one in found.labels],
        "item": [one.item for one in found.labels],
        "id": [one.item.rsplit("/", 1)[-1] for one in found.labels],
        "label": [one.label for one in found.labels],
        **{f"right_{tier}": [one.right[place] for one in found.labels] for place, tier in enumerate(TIERS)},
        "stability": [one.stability for one in found.labels],
    }
    return pl.DataFrame(columns)


def _check_sizes(chosen: Mapping[str, Sequence[Asked]], allowed: int) -> None:
    if allowed < 0:
        raise FathomError(f"{allowed} models are allowed to be right: expected 0 or more")
    for tier, models in chosen.items():
        if len(models) <= allowed:
            raise FathomError(
                f"tier {tier!r} has too few models ({len(models)}): {allowed} may be right although a question is "
                "beyond it, so that no question could be within it. Name more models, or allow fewer"
            )


def _questions(chosen: Mapping[str, Sequence[Asked]]) -> pl.DataFrame:
    every = pl.concat([one.about for models in chosen.values() for one in models])
    return every.unique("name", keep="first", maintain_order=True).sort("name")


def _names(about: pl.DataFrame) -> pl.Series:
    one_each = about.select("suite", "item").is_unique().all()
    return about["item" if one_each else "sample"]


def _right(models: Sequence[Asked], names: pl.Series, correct: Correct) -> Floats:
    """Which models answer which questions right, questions x models; NaN where one was not asked."""
    line = pl.Enum(names)
    table = np.full((len(names), len(models)), np.nan)
    for column, one in enumerate(models):
        table[one.about["name"].cast(line).to_physical().to_numpy(), column] = _answers(one, correct)
    return table


def _answers(one: Asked, correct: Correct) -> Floats:
    if correct == "mean":
        return passed(one.means, one.threshold)
    share = row_means(one.passes)
    right: NDArray[np.bool_] = {"majority": share > 0.5, "any": share > 0, "all": share == 1}[correct]
    return right.astype(np.float64)


def _codes(right: Sequence[Floats], allowed: int) -> NDArray[np.int64]:
    """Number of each question's label, from how many models of the high, mid and low tier are right."""
    high, mid, low = (counts <= allowed for counts in right)
    return np.where(high, 3, np.where(mid, 2, np.where(low, 1, 0))).astype(np.int64)


def _shares(right: Sequence[Floats], allowed: int) -> Floats:
    """Probability that other models of the same tiers give a question each label, questions x labels."""
    counts = np.stack([table.sum(axis=1) for table in right], axis=1).astype(np.int64)
    high, mid, low = (table.shape[1] for table in right)
    joint = beyond_others(counts, (high, mid, low), allowed)
    easy, moderate = joint[:, 0, 0, 0], joint[:, 0, 0, 1]
    return np.stack([easy, moderate, joint[:, 0, 1].sum(axis=-1), joint[:, 1].sum(axis=(-2, -1))], axis=1)


def _notes(labelled: pl.DataFrame, codes: NDArray[np.int64], asked_of_any: int) -> Iterable[str]:
    if without := asked_of_any - len(labelled):
        yield f"{without} of {asked_of_any} questions have no label: not every model of the tiers has a reply to them."
    stated = labelled.select(facet("difficulty").alias("stated"))["stated"]
    known = stated.is_in(LABELS).fill_null(False)
    if known.any():
        same = sum(LABELS[code] == name for code, name in zip(codes, stated, strict=True))
        yield f"{same} of {int(known.sum())} questions have the label that their own records give."
