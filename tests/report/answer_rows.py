"""Rows of made-up models on a task with numbered answers and one that asks for an order, as suite ``ada`` has them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import polars as pl

from fathom.rows import to_frame
from fathom.types import Facet, Row

LENGTHS = (1024, 2048, 4096, 8192, 16384)
# model, how well it reads, how it follows the instructions, how it copies, how far each fades at the longest length
MODELS = (("acme/long-1", 0.8, 1.0, 0.05), ("lab/copies-7b", 0.3, 0.95, 0.6), ("orca/babbles-6b", 0.35, 0.7, 0.2))


def make_answers(*, models: int = 3, items: int = 40, lengths: Sequence[int] = LENGTHS, seed: int = 5) -> pl.DataFrame:
    """A rows table of tasks ``bestanswer`` and ``tsort``."""
    rng = np.random.default_rng(seed)
    rows = []
    for model, reads, follows, copies in MODELS[:models]:
        for place, length in enumerate(lengths):
            fade = 1 - 0.2 * place
            rates = (reads * fade, follows ** (1 + 2 * place), min(1.0, copies * (1 + place / 4)))
            for item in range(items):
                rows.append(_best(model, length, item, rates, rng))
                rows.append(_sorted(model, length, item, rates, rng))
    return to_frame(rows)


def _best(model: str, length: int, item: int, rates: tuple[float, float, float], rng: np.random.Generator) -> Row:
    n = max(3, length // 256)
    gold, longest, example, guess = (f"A{number}" for number in rng.integers(1, n + 1, 4))
    if rng.random() < 0.4:
        longest = gold
    if rng.random() < 0.5:
        guess = f"A{rng.integers(1, n // 3 + 2)}"
    facets: dict[str, Facet] = {"answers": n, "gold": int(gold[1:]), "first": "A1"}
    facets |= {"longest": longest, "example": example, "depth": round((int(gold[1:]) - float(rng.random())) / n, 3)}
    return _row("bestanswer", model, length, item, _said(gold, example, guess, rates, rng), gold, 1 / n, facets)


def _sorted(model: str, length: int, item: int, rates: tuple[float, float, float], rng: np.random.Generator) -> Row:
    true, example, guess = (json.dumps((rng.permutation(4) + 1).tolist()) for _ in range(3))
    reads, *rest = rates
    answer = _said(true, example, guess, (reads / 4, rest[0], rest[1]), rng)
    return _row("tsort", model, length, item, answer, true, 1 / 24, {"segments": 4, "example": example})


def _said(
    gold: str, example: str, guess: str, rates: tuple[float, float, float], rng: np.random.Generator
) -> str | None:
    reads, follows, copies = rates
    if rng.random() > follows:
        return None
    if rng.random() < copies:
        return example
    return gold if rng.random() < reads else guess


def _row(
    task: str,
    model: str,
    length: int,
    item: int,
    answer: str | None,
    target: str,
    chance: float,
    facets: dict[str, Facet],
) -> Row:
    return Row(
        suite="ada",
        task=task,
        item=f"{task}-{item}",
        sample=f"{task}-{item}@{length}",
        model=model,
        length=length,
        value=float(answer == target),
        valid=answer is not None,
        answer=answer,
        target=target,
        chance=chance,
        facets=facets,
        tokens=length,
        metric="label",
        grader="rule",
        tokenizer="tekken",
        fathom_version="0.1.0",
    )
