"""Rows as runs of the suite of LongBench Pro give them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from fathom.benchmarks.pro.secondary_tasks import DIFFICULTIES, LANGUAGES, LENGTHS, SECONDARY, SecondaryTask
from fathom.rows import to_frame
from fathom.types import Facet, Row

MODELS: Mapping[tuple[str, str], float] = {
    ("deep-1", "thinking"): 0.75,
    ("deep-1", "non-thinking"): 0.6,
    ("small-7b", "non-thinking"): 0.3,
}


def make_pro(
    models: Mapping[tuple[str, str], float] = MODELS,
    *,
    questions: int = 50,
    epochs: int = 3,
    tasks: int = 25,
    seed: int = 3,
) -> pl.DataFrame:
    """Questions of so many tasks, at three lengths, of both languages and all difficulties, asked several times."""
    rng = np.random.default_rng(seed)
    rows = []
    for (model, variant), ability in models.items():
        luck = np.random.default_rng(seed + 1)
        for number in range(questions):
            lean = float(luck.normal(0, 0.15))
            for epoch in range(1, epochs + 1):
                score = float(np.clip(ability + lean + rng.normal(0, 0.1), 0, 1))
                rows.append(_row((model, variant), SECONDARY[number % tasks], number, epoch, score))
    return to_frame(rows)


def _row(system: tuple[str, str], task: SecondaryTask, number: int, epoch: int, score: float) -> Row:
    model, variant = system
    language = list(LANGUAGES.values())[number % 2]
    length = list(LENGTHS.values())[number % 3]
    facets: dict[str, Facet] = {
        "dataset": task.name,
        "primary_task": task.primary,
        "secondary_task": task.name,
        "contextual_requirement": task.requirement,
        "difficulty": DIFFICULTIES[number % 4],
        "model_kind": "mixed",
        "thinking": "on" if variant == "thinking" else "off",
    }
    if task.metric == "Summary":
        facets["pass_above"] = 0.65
    item = f"{task.task}/{language}/q{number}"
    return Row(
        suite="pro",
        task=task.task,
        item=item,
        sample=f"{item}@{length}",
        model=model,
        length=length,
        value=round(score) if score > 0.8 else score,
        variant=variant,
        epoch=epoch,
        valid=True,
        answer="d1",
        language=language,
        tokens=length,
        tokens_reasoning=900 if variant == "thinking" else None,
        tokenizer="qwen",
        facets=facets,
    )
