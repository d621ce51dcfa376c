"""Definitions of Base Ability: the paper's mean over base lengths, the released code's base, or the base of a table.

100-LongBench defines it (section 3.2, equation 1) as the mean of the scores at 2k, 4k and 6k. Its released code does
so for four tasks, as one pooled mean over all their items; for questions and summaries it uses natural documents
shorter than the first length, without distractors. Here those are rows whose context is the gold document alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from fathom.stats.intervals import OWN, Clusters, Floats, clusters_of, resampled_sums, shuffled
from fathom.stats.outcomes import Unmeasured
from fathom.stats.strata import within_stratum
from fathom.types.choices import BaseRule as BaseRule

BASE_RULES: tuple[BaseRule, ...] = get_args(BaseRule)
BASE_LENGTHS = (2048, 4096, 6144)
"""2k, 4k and 6k: the paper's base lengths, in tokens."""
POOLED_TASKS = ("kv_retrieval", "counting_stars", "passage_retrieval", "passage_count")
"""Tasks whose base the released code takes at 2k, 4k and 6k; the others use documents without distractors."""


@dataclass(frozen=True, slots=True)
class GivenBase:
    """A base that is not the mean of the base lengths of a profile.

    Attributes:
        value: The base, in [0, 1]; NaN where it is missing.
        draws: Its replicates, from the same items as those of the lengths if there are items.
        chance: Chance level of the same questions; NaN if unknown.
        chance_draws: Replicates of ``chance``.
        items: Scores that it is the mean of.
        lengths: Tested lengths that it covers; only longer ones are compared with it.
        note: Its origin.
        gap: Why it is missing although it was asked; "" otherwise.
    """

    value: float
    draws: Floats
    chance: float
    chance_draws: Floats
    items: int
    lengths: tuple[int, ...]
    note: str
    gap: str = ""


def code_base(
    task: str,
    short: tuple[Floats, Floats],
    alone: tuple[Floats, Floats],
    groups: tuple[Sequence[str], Sequence[str]],
    *,
    gap: Unmeasured | None,
    prior: float,
    seed: int,
    replicates: int,
) -> GivenBase:
    """The base of one task as in the released code of 100-LongBench.

    Args:
        short: Scores and chance levels at the base lengths: items x lengths, NaN without a score.
        alone: The same with the gold document alone: one per item.
        groups: The cluster of each item, and all clusters of the task's stratum (``fathom.stats.strata``).
        gap: Why those cannot be used; then a base from the gold document is missing, without a replacement.
        prior: Weight of the pseudo-item (``fathom.stats.intervals``).
    """
    pooled = task in POOLED_TASKS or (gap is None and bool(np.isnan(alone[0]).all()))
    scores, chances = short if pooled else (alone[0][:, None], alone[1][:, None])
    if not pooled:
        note = "base is the score with the gold document alone, as in the released code"
    elif task in POOLED_TASKS:
        note = "base is the pooled mean at 2k, 4k and 6k, as in the released code"
    else:
        note = "no rows with the gold document alone (fathom build --alone): base is the pooled mean at 2k, 4k and 6k"
    known, sure = ~np.isnan(scores), ~np.isnan(chances)
    lost = "" if pooled or gap is None else f"the base is not measured with the gold document alone ({gap})"
    # As many clusters as at the task's lengths, so that one has the same weight.
    both = [within_stratum(clusters_of(table, groups[0]), *groups) for table in (scores, chances)]
    totals, counts = (
        np.stack([part.sum(axis=1) for part in side], axis=1)
        for side in ([clusters.totals for clusters in both], [clusters.counts for clusters in both])
    )
    sums = resampled_sums(Clusters(totals, counts), seed, replicates=replicates)
    draws = np.stack([sums.means(seed, prior, OWN)[:, 0], sums.means(seed, 0)[:, 1]], axis=1)
    return GivenBase(
        value=float(scores[known].mean()) if known.any() and not lost else math.nan,
        draws=draws[:, 0],
        chance=float(chances[sure].mean()) if sure.any() else math.nan,
        chance_draws=draws[:, 1],
        items=int(known.sum()),
        lengths=BASE_LENGTHS,
        note=note,
        gap=lost,
    )


def shuffled_base(base: GivenBase, place: int) -> GivenBase:
    """The base with its replicates in another order (``fathom.stats.intervals.shuffled``)."""
    return replace(base, draws=shuffled(base.draws, place), chance_draws=shuffled(base.chance_draws, place))


def mean_base(bases: Sequence[GivenBase]) -> GivenBase:
    """The base over several tasks, with equal weight; NaN if one has none."""
    notes = dict.fromkeys(base.note for base in bases)
    return GivenBase(
        value=float(np.mean([base.value for base in bases])),
        draws=np.mean([base.draws for base in bases], axis=0),
        chance=float(np.mean([base.chance for base in bases])),
        chance_draws=np.mean([base.chance_draws for base in bases], axis=0),
        items=sum(base.items for base in bases),
        lengths=bases[0].lengths,
        note=next(iter(notes)) if len(notes) == 1 else "base is taken task by task",
        gap=next((base.gap for base in bases if base.gap), ""),
    )
