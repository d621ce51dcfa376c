"""Difficulty tiers of samples from runs of models, with how sure they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.stats.columns import facet
from fathom.stats.outcomes import scored_rows
from fathom.storage.validation import Items, Text, read_toml
from fathom.types import FathomError

Tier: TypeAlias = Literal["high", "middle", "low"]
TIERS: tuple[Tier, ...] = get_args(Tier)
LABELS = ("Extreme", "Hard", "Moderate", "Easy")
AT_MOST = 1
"""Models of a tier that may be right about a question beyond it."""
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Difficulty:
    """A difficulty tier and how sure it is.

    Attributes:
        label: ``Extreme``, ``Hard``, ``Moderate`` or ``Easy``.
        stability: Probability that the same models asked again would give the same label, given their repetitions.
        right: Models of each tier that are right.
        models: Models of each tier.
    """

    label: str
    stability: float
    right: Mapping[Tier, int]
    models: Mapping[Tier, int]


@dataclass(frozen=True, slots=True)
class _Tiers:
    """A file of tiers: names of models, as in rows; the second one is ``middle`` or ``mid``."""

    high: Items[Text]
    low: Items[Text]
    middle: Items[Text] | None = None
    mid: Items[Text] | None = None


def difficulty(results: Mapping[str, Sequence[bool]], tiers: Mapping[str, Tier]) -> Difficulty:
    """The difficulty tier of a question from models of three tiers.

    Extreme: at most one of the high tier is right; else Hard: at most one of the middle tier; else Moderate: at most
    one of the low tier; else Easy (LongBench Pro, section 3.5, with five models in each tier). A model is right if most
    of its repetitions are.

    Args:
        results: Whether each repetition of each model is right.
        tiers: Tier of each model.

    Raises:
        FathomError: A tier has no more than ``AT_MOST`` models with results, so that it decides nothing.
    """
    by_tier: dict[Tier, list[Sequence[bool]]] = {tier: [] for tier in TIERS}
    for model, repetitions in sorted(results.items()):
        if model in tiers and repetitions:
            by_tier[tiers[model]].append(repetitions)
    if few := [tier for tier, models in by_tier.items() if len(models) <= AT_MOST]:
        raise FathomError(
            f"difficulty: {len(by_tier[few[0]])} models of the {few[0]} tier have results; more than {AT_MOST} are "
            "needed"
        )
    right = {
        tier: sum(2 * sum(repetitions) > len(repetitions) for repetitions in models) for tier, models in by_tier.items()
    }
    label = _label(right)
    rng = np.random.default_rng(0)
    # The chance that a repetition is right, by Jeffreys' rule; then repetitions drawn anew.
    drawn = {tier: sum(_are_right(repetitions, rng) for repetitions in models) for tier, models in by_tier.items()}
    same = [
        _label({tier: int(np.asarray(counts)[at]) for tier, counts in drawn.items()}) == label for at in range(_DRAWS)
    ]
    return Difficulty(label, sum(same) / _DRAWS, right, {tier: len(models) for tier, models in by_tier.items()})


def _are_right(repetitions: Sequence[bool], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Whether a model is right in each of many draws of its repetitions, shape (_DRAWS,)."""
    count, right = len(repetitions), sum(repetitions)
    return np.asarray(2 * rng.binomial(count, rng.beta(right + 0.5, count - right + 0.5, _DRAWS)) > count)


def _label(right: Mapping[Tier, int]) -> str:
    return next((label for label, tier in zip(LABELS, TIERS, strict=False) if right[tier] <= AT_MOST), LABELS[-1])


def results_of(rows: pl.DataFrame) -> dict[str, dict[str, list[bool]]]:
    """Whether each repetition of each model is right, by name of the sample in the export.

    A reply is right with full marks, or for summaries above the score that passes. Samples at shorter lengths than
    their own are left out, and so are replies that have no score.

    Args:
        rows: Rows of runs of an exported suite.
    """
    whole = scored_rows(rows).filter(facet("shortened_from").is_null(), pl.col("value").is_not_null())
    passes = facet("pass_above").cast(pl.Float64)
    right = pl.when(passes.is_null()).then(pl.col("value") >= 1).otherwise(pl.col("value") > passes)
    results: dict[str, dict[str, list[bool]]] = {}
    for item, model, is_right in whole.select("item", "model", right.alias("right")).iter_rows():
        results.setdefault(item.rpartition("/")[2], {}).setdefault(model, []).append(is_right)
    return results


def read_tiers(path: Path) -> dict[str, Tier]:
    """The tier of each model, from a TOML file with lists of models named high, middle (or mid) and low.

    Raises:
        FathomError: The file cannot be read, it lacks a tier, or a model is in two tiers.
    """
    tiers = read_toml(_Tiers, path)
    if (tiers.middle is None) == (tiers.mid is None):
        raise FathomError(f"{path}: expected one list middle or mid; it has {'none' if tiers.mid is None else 'both'}")
    models = {"high": tiers.high, "middle": tiers.middle or tiers.mid or (), "low": tiers.low}
    tier_of: dict[str, Tier] = {}
    for tier in TIERS:
        for model in models[tier]:
            if model in tier_of:
                raise FathomError(f"{path}: {model} is in the tiers {tier_of[model]} and {tier}; keep one")
            tier_of[model] = tier
    return tier_of
