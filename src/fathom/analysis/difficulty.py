"""Difficulty: which questions even strong models get wrong, from the replies of three tiers of models.

LongBench Pro, section 3.5: a question is Extreme if at most one model of the high tier answers it correctly; else Hard
if at most one of the middle tier does; else Moderate if at most one of the low tier does; else Easy. The paper has five
models in each tier and asks each of them three times, but does not define a correct answer of a model that was asked
three times. Here more than half of its scored repeats must pass, unless another rule is chosen.

The labels depend on the models of a tier. Their stability is the probability that as many other models of the same
tiers give a question the same label. Resampling the models themselves would overestimate it, because a tier without
any correct model stays so in every draw; and because difficulty is correlated between tiers, the tiers cannot be
treated separately. Both are fitted to the replies.

The model for the answers of other models of the tiers is a logistic-normal model of random effects (as in item
response theory; Bock and Aitkin 1981, Psychometrika 46, for the marginal likelihood by quadrature). Of the models of
tier t, Binomial(size, p) answer question q correctly:

    logit p = centre_t + spread_t * (sin(a) * u_q + cos(a) * e_qt)

u is the easiness of the question for all tiers, e its deviation for the tier; both are standard normal. sin(a)^2 is the
correlation of two tiers, which determines how likely other models agree on all three. Given u, the tiers are
independent, so that the sums over e are computed for each tier separately and no array is larger than nodes x
questions.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.analysis.questions import ModelReplies, asked, passed, row_means
from fathom.plugins.names import system_name, unknown
from fathom.stats.columns import facet
from fathom.stats.intervals import Floats
from fathom.stats.outcomes import LOST, outcome, scored_rows
from fathom.storage.toml import read_toml
from fathom.types import FathomError
from fathom.types.choices import Correct as Correct

TIERS = ("high", "middle", "low")
_ALSO = {"mid": "middle"}
"""Other names of tiers that are read."""
_EXPECTED = 'expected three lists of models, for example high = ["model a", "model b"], and middle and low likewise'
# Values of u and of e at which the model is computed. They are evenly spaced: for steep logistic curves, the nodes of
# Gauss-Hermite quadrature are too far apart in the middle, and twice as many were still worse.
NODES = np.linspace(-4.0, 4.0, 33)
WEIGHTS = np.exp(-(NODES**2) / 2)
WEIGHTS /= WEIGHTS.sum()
# Means and standard deviations of weak normal priors of the three centres, the three spreads and the angle. They matter
# with few or identical questions; with the bounds they keep every estimate finite.
MEANS = np.array([0.0] * 3 + [2.0] * 3 + [math.pi / 4])
DEVIATIONS = np.array([2.0] * 6 + [0.5])
BOUNDS = [(-8.0, 8.0)] * 3 + [(0.0, 6.0)] * 3 + [(0.0, math.pi / 2)]
TINY = 1e-300
"""Added to products of probabilities that may underflow."""
CORRECT: tuple[Correct, ...] = get_args(Correct)
LABELS = ("Easy", "Moderate", "Hard", "Extreme")


def read_tiers(path: Path) -> dict[str, tuple[str, ...]]:
    """Reads tiers from a TOML file with the lists ``high``, ``middle`` (or ``mid``) and ``low``.

    Raises:
        FathomError: It cannot be read, or is invalid (see ``checked_tiers``).
    """
    try:
        given = read_toml(path)
    except FathomError as error:
        raise FathomError(f"{error}; {_EXPECTED}") from None
    return checked_tiers(given, f"{path}: ")


def checked_tiers(given: Mapping[str, object], source: str = "") -> dict[str, tuple[str, ...]]:
    """Tiers with the three required lists of names.

    Args:
        source: Their source, for messages.

    Raises:
        FathomError: A tier is missing, unknown, empty or not a list of texts, or a model is listed twice.
    """
    if both := [name for name, tier in _ALSO.items() if {name, tier} <= set(given)]:
        raise FathomError(f"{source}tiers {both[0]!r} and {_ALSO[both[0]]!r} are the same; keep one")
    given = {_ALSO.get(name, name): models for name, models in given.items()}
    if other := sorted(set(given) - set(TIERS)):
        raise FathomError(f"{source}unknown tier {other[0]!r}; {_EXPECTED}")
    tiers: dict[str, tuple[str, ...]] = {}
    for tier in TIERS:
        names = given.get(tier)
        if names is None:
            raise FathomError(f"{source}no tier {tier!r}; {_EXPECTED}")
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise FathomError(f"{source}tier {tier!r} is not a list of texts; {_EXPECTED}")
        if not names:
            raise FathomError(f"{source}tier {tier!r} names no model; {_EXPECTED}")
        tiers[tier] = tuple(names)
    _check_once(((tier, name) for tier in TIERS for name in tiers[tier]), source)
    return tiers


def models_of(tiers: Mapping[str, Sequence[str]], known: Sequence[ModelReplies]) -> dict[str, tuple[ModelReplies, ...]]:
    """The replies of the models of each tier.

    Args:
        tiers: Names from ``checked_tiers``: of a model with one variant, with its provider or without, or
            ``model · variant``.

    Raises:
        FathomError: There is no such model, it has several variants or providers, or two names are of the same model.
    """
    full = {system_name(model.model, model.variant): model for model in known}
    chosen = {tier: tuple(_find(name, full) for name in names) for tier, names in tiers.items()}
    _check_once((tier, system_name(model.model, model.variant)) for tier, models in chosen.items() for model in models)
    return chosen


def _find(name: str, full: Mapping[str, ModelReplies]) -> ModelReplies:
    if name in full:
        return full[name]
    variants = [key for key, model in full.items() if model.model == name]
    # Papers name models without their providers.
    variants = variants or [
        key
        for key, model in full.items()
        if name in (last := model.model.rpartition("/")[2], system_name(last, model.variant))
    ]
    if len(variants) > 1:
        raise FathomError(f"model {name!r} has several variants: choose one of {', '.join(map(repr, variants))}")
    if not full:
        raise FathomError(
            f"no reply of model {name!r}, or of any other, has a score: averages alone cannot label questions"
        )
    if not variants:
        raise unknown("model", name, full, "fathom analyze counts")
    return full[variants[0]]


def _check_once(named: Iterable[tuple[str, str]], source: str = "") -> None:
    seen: dict[str, str] = {}
    for tier, name in named:
        if name in seen:
            where = f"in the tiers {seen[name]!r} and {tier!r}" if seen[name] != tier else f"twice in the tier {tier!r}"
            raise FathomError(f"{source}model {name!r} is {where}; list it once")
        seen[name] = tier


def beyond_others(right: NDArray[np.int64], sizes: tuple[int, int, int], allowed: int) -> Floats:
    """Probability that a question is beyond each set of tiers, if as many other models of the same tiers are asked.

    Args:
        right: How many models of each tier are right, questions x 3.
        allowed: How many models of a tier may be correct on a question that is beyond it.

    Returns:
        Shape (questions, 2, 2, 2): 1 on the axis of each tier that the question is beyond, else 0.
    """
    kinds, kind, times = np.unique(right, axis=0, return_inverse=True, return_counts=True)
    if not len(kinds):
        return np.zeros((0, 2, 2, 2))
    packed = _fitted(kinds, times.astype(np.float64), sizes)
    easiness = WEIGHTS * np.ones((len(kinds), 1))  # distribution of u, kinds x nodes
    sides = []
    for tier, (size, chances) in enumerate(zip(sizes, _chances(packed), strict=True)):
        table = _binomial(size, chances)
        asked = table[kinds[:, tier]] * WEIGHTS  # kinds x nodes of u x nodes of e
        known = asked.sum(axis=-1)
        beyond = (asked * table[: allowed + 1].sum(axis=0)).sum(axis=-1) / np.maximum(known, TINY)
        easiness *= known
        sides.append(np.stack([1 - beyond, beyond]))
    easiness /= easiness.sum(axis=1, keepdims=True)
    joint: Floats = np.einsum("qu,aqu,bqu,cqu->qabc", easiness, *sides, optimize=True)
    return joint[kind.ravel()]


def _fitted(kinds: NDArray[np.int64], times: Floats, sizes: tuple[int, int, int]) -> Floats:
    """The most probable three centres, three spreads and angle, from counts and their frequencies."""
    from scipy.optimize import minimize

    def loss(packed: Floats) -> float:
        likelihood = WEIGHTS * np.ones((len(kinds), 1))
        for tier, (size, chances) in enumerate(zip(sizes, _chances(packed), strict=True)):
            likelihood *= (_binomial(size, chances) @ WEIGHTS)[kinds[:, tier]]
        return float(
            -times @ np.log(likelihood.sum(axis=1) + TINY) + 0.5 * (((packed - MEANS) / DEVIATIONS) ** 2).sum()
        )

    return np.asarray(minimize(loss, MEANS, method="L-BFGS-B", bounds=BOUNDS).x, dtype=np.float64)


def _chances(packed: Floats) -> Floats:
    """Probability that a model of each tier is correct, 3 x nodes of u x nodes of e."""
    from scipy.special import expit

    mixed = math.sin(packed[6]) * NODES[:, None] + math.cos(packed[6]) * NODES
    chances: Floats = expit(packed[:3, None, None] + packed[3:6, None, None] * mixed)
    return chances


def _binomial(size: int, chances: Floats) -> Floats:
    """Probability that 0, 1, ... of the models are correct, (size + 1) x the shape of the chances."""
    from scipy.special import comb

    counts = np.arange(size + 1).reshape(-1, *[1] * chances.ndim)
    table: Floats = comb(size, counts) * chances**counts * (1 - chances) ** (size - counts)
    return table


@dataclass(frozen=True, slots=True)
class Label:
    """The difficulty of one question.

    Attributes:
        suite: Name of its suite.
        item: Name of its item, or of its sample if items have several.
        label: One of ``LABELS``.
        right: How many models of the high, middle and low tier answer it correctly.
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
        agreement: Mean stability of the labels; NaN without labels.
        moved: For a label and one that other models may give: its mean probability over the questions with the first.
            Unchanged labels are included, so that the shares of each label add up to 1.
        notes: Caveats, as sentences.
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
    """Labels of all questions, and how much they depend on the models.

    A prompt that did not fit and an unanswered reply count as not correct. Missing replies (failed requests, replies
    without a judgement) count as not asked, question by question; a question that some model of the tiers was not asked
    has no label.

    Args:
        rows: A rows table with the replies of all models named, not counted by ``fathom.stats.outcomes``.
        tiers: Names of models by tier, ``high``, ``middle`` (or ``mid``) and ``low``; ``model · variant`` if a model
            has several.
        correct: When a model answers a question correctly: ``majority``, more than half of its repeats pass; ``any`` or
            ``all`` of them do; ``mean``, their mean score would pass.
        allowed: How many models of a tier may answer a question correctly that is beyond the tier.

    Raises:
        FathomError: A tier or one of its models is wrong, or a tier is no larger than ``allowed``.
    """
    if correct not in CORRECT:
        raise FathomError(f"unknown rule for correct answers {correct!r}: choose {', '.join(CORRECT)}")
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
    """Rows with the score of each reply, null if missing; cells do not matter for labels of questions."""
    ended = outcome()
    known = pl.when(ended.is_in(["answered", "cut"])).then("value").when(~ended.is_in(LOST)).then(0.0)
    return scored_rows(rows.with_columns(_known=known)).with_columns(value="_known", blank=pl.lit(value=False))


def label_table(result: Difficulty) -> pl.DataFrame:
    """The labels as a table: ``suite``, ``item``, ``id`` (the last part of the item), ``label``, the number of models
    of each tier that are correct, and ``stability``."""
    columns: dict[str, list[str] | list[int] | list[float]] = {
        "suite": [label.suite for label in result.labels],
        "item": [label.item for label in result.labels],
        "id": [label.item.rsplit("/", 1)[-1] for label in result.labels],
        "label": [label.label for label in result.labels],
        **{f"right_{tier}": [label.right[place] for label in result.labels] for place, tier in enumerate(TIERS)},
        "stability": [label.stability for label in result.labels],
    }
    return pl.DataFrame(columns)


def _check_sizes(chosen: Mapping[str, Sequence[ModelReplies]], allowed: int) -> None:
    if allowed < 0:
        raise FathomError(f"`allowed` {allowed}: expected 0 or more models")
    for tier, models in chosen.items():
        if len(models) <= allowed:
            raise FathomError(
                f"tier {tier!r} has too few models ({len(models)}): {allowed} may be correct on a question beyond the "
                "tier, so that no question can be within it. Give more models, or allow fewer"
            )


def _questions(chosen: Mapping[str, Sequence[ModelReplies]]) -> pl.DataFrame:
    every = pl.concat([model.about for models in chosen.values() for model in models])
    return every.unique("name", keep="first", maintain_order=True).sort("name")


def _names(about: pl.DataFrame) -> pl.Series:
    one_each = about.select("suite", "item").is_unique().all()
    return about["item" if one_each else "sample"]


def _right(models: Sequence[ModelReplies], names: pl.Series, correct: Correct) -> Floats:
    """Which models answer which questions correctly, questions x models; NaN if not asked."""
    line = pl.Enum(names)
    table = np.full((len(names), len(models)), np.nan)
    for column, model in enumerate(models):
        table[model.about["name"].cast(line).to_physical().to_numpy(), column] = _answers(model, correct)
    return table


def _answers(model: ModelReplies, correct: Correct) -> Floats:
    if correct == "mean":
        return passed(model.means, model.threshold)
    share = row_means(model.passes)
    right: NDArray[np.bool_] = {"majority": share > 0.5, "any": share > 0, "all": share == 1}[correct]
    return right.astype(np.float64)


def _codes(right: Sequence[Floats], allowed: int) -> NDArray[np.int64]:
    """Number of each question's label, from how many models of the high, middle and low tier are correct."""
    high, middle, low = (counts <= allowed for counts in right)
    return np.where(high, 3, np.where(middle, 2, np.where(low, 1, 0))).astype(np.int64)


def _shares(right: Sequence[Floats], allowed: int) -> Floats:
    """Probability that other models of the same tiers give a question each label, questions x labels."""
    counts = np.stack([table.sum(axis=1) for table in right], axis=1).astype(np.int64)
    high, middle, low = (table.shape[1] for table in right)
    joint = beyond_others(counts, (high, middle, low), allowed)
    easy, moderate = joint[:, 0, 0, 0], joint[:, 0, 0, 1]
    return np.stack([easy, moderate, joint[:, 0, 1].sum(axis=-1), joint[:, 1].sum(axis=(-2, -1))], axis=1)


def _notes(labelled: pl.DataFrame, codes: NDArray[np.int64], asked_of_any: int) -> Iterable[str]:
    if without := asked_of_any - len(labelled):
        yield f"{without} of {asked_of_any} questions have no label: some models of the tiers have no reply to them."
    stated = labelled.select(facet("difficulty").alias("stated"))["stated"]
    known = stated.is_in(LABELS).fill_null(False)
    if known.any():
        same = sum(LABELS[code] == name for code, name in zip(codes, stated, strict=True))
        yield f"{same} of {int(known.sum())} questions have the same label as in their records."


def difficulty_record(result: Difficulty) -> dict[str, Any]:
    """The result as an object for JSON, which has no pairs as keys."""
    return {
        "counts": dict(result.counts),
        "agreement": result.agreement,
        "moved": [{"from": label, "to": other, "share": share} for (label, other), share in result.moved.items()],
        "notes": list(result.notes),
        "labels": label_table(result).to_dicts(),
    }
