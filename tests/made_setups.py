"""Rows of setups of one model whose true scores are known, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis import Setup, Timing, Trial, Tuned
from fathom.rows import to_frame
from fathom.types import Row

WINDOW = 4096
LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)
WHOLE = "the whole prompt"


@dataclass(frozen=True)
class Made:
    """A setup with its true score at each length, and what a reply takes."""

    setup: Setup
    truth: Mapping[int, float]
    tokens_in: int | None = None  # None: the whole prompt
    tokens_out: int | None = 12
    refuses_from: int | None = None


def falling(start: float, *, after: int = WINDOW, rate: float = 0.28, floor: float = 0.02) -> dict[int, float]:
    """A score that is constant up to a length and then falls with every doubling."""
    return {length: max(floor, start - rate * max(0.0, float(np.log2(length / after)))) for length in LENGTHS}


def flat(score: float) -> dict[int, float]:
    return dict.fromkeys(LENGTHS, score)


NONE = Made(Setup(WHOLE, "none", kernel="sdpa"), falling(0.9))
DEMO = (
    NONE,
    Made(Setup("yarn, factor 8", "position", chosen="factor=8 of 4, 8, 16, on 20 other items", kernel="sdpa"),
         falling(0.86, after=8192, rate=0.12)),
    Made(Setup("pi, factor 8", "position", kernel="sdpa"), flat(0.05)),
    Made(Setup("rerope, window 2048", "position", kernel="eager loop"), falling(0.9, after=16384, rate=0.1)),
    Made(Setup("snapkv, budget 1024", "cache", kernel="sdpa"), falling(0.8, after=4096, rate=0.3)),
    Made(Setup("retrieval (top 8)", "system", kernel="sdpa"), flat(0.78), tokens_in=900),
    Made(Setup("dca, refused at 32k", "position"), falling(0.9, after=16384), refuses_from=32768),
    Made(Setup("pi, tuned", "position", trained="1,000 steps on PG-19 at 32k", kernel="sdpa"),
         falling(0.84, after=16384, rate=0.1)),
)  # fmt: skip
TUNED = (
    Tuned(
        "yarn, factor 8",
        20,
        (Trial("factor=4", 0.88, 0.41), Trial("factor=8", 0.86, 0.71, chosen=True), Trial("factor=16", 0.80, None)),
    ),
)


def rows_of(
    setups: Sequence[Made],
    rng: np.random.Generator,
    *,
    items: int = 60,
    lengths: Sequence[int] = LENGTHS,
    tasks: Sequence[str] = ("kv",),
    steady: float = 1.0,
) -> pl.DataFrame:
    """Rows of setups on one nested suite.

    Args:
        setups: The setups.
        rng: Source of the scores.
        items: Items of each task.
        lengths: Lengths of every item.
        tasks: Names of the tasks.
        steady: Spread, in logits, of the difficulty that an item has for all setups and lengths.
    """
    made: list[Row] = []
    for task in tasks:
        hard = rng.normal(0, steady, items)
        for one in setups:
            for length in lengths:
                right = rng.random(items) < shifted(one.truth[length], hard, steady)
                made += [_row(one, task, item, length, float(value)) for item, value in enumerate(right)]
    return to_frame(made)


def shifted(score: float, hard: np.ndarray, spread: float) -> np.ndarray:
    """Probabilities of items of different difficulty, whose mean over all possible items is the score."""
    if not 0 < score < 1:
        return np.full(len(hard), score)
    offsets = np.linspace(-12, 12, 2401)
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    means = (1 / (1 + np.exp(-(offsets[:, None] + spread * nodes)))) @ (weights / weights.sum())
    return np.asarray(1 / (1 + np.exp(-(np.interp(score, means, offsets) + hard))))


def _row(one: Made, task: str, item: int, length: int, value: float) -> Row:
    refused = one.refuses_from is not None and length >= one.refuses_from
    tokens = one.tokens_in or length
    return Row(
        "nested", task, f"{task}/{item}", f"{task}/{item}@{length}", one.setup.name, length, None if refused else value,
        valid=True, status="overflow" if refused else "ok", chance=0.0, tokens=length, answered=not refused,
        tokens_in=None if refused else tokens - item % 7, tokens_out=None if refused else one.tokens_out,
        cost=None if refused else 2e-6 * tokens, seconds=None if refused else 0.4 + tokens / 20_000,
    )  # fmt: skip


def timings(setups: Sequence[Made]) -> list[Timing]:
    """Times of every setup at every length that it takes."""
    return [
        Timing(one.setup.name, length, tokens / 9000, 40 - tokens / 1500, 4096 * tokens, 4096 * (tokens + 12), 5)
        for one in setups
        for length in LENGTHS
        if one.refuses_from is None or length < one.refuses_from
        for tokens in [one.tokens_in or length]
    ]
