"""Rows of the suite ``hundred``: eight tasks, closed-book questions, several questions over one context, a judge."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from fathom.rows import to_frame
from fathom.types import Facet, Row

LENGTHS = (2048, 4096, 6144, 8192, 16384, 32768, 65536)
# Task: chance, ease, questions over one context.
TASKS = {
    "kv_retrieval": (0.0, 1.0, 1),
    "counting_stars": (0.2, 0.8, 1),
    "passage_retrieval": (0.02, 1.0, 1),
    "passage_count": (0.05, 0.1, 1),
    "single_doc_qa": (0.0, 0.7, 3),
    "multi_doc_qa": (0.0, 0.6, 1),
    "single_doc_summary": (0.0, 0.5, 1),
    "multi_doc_summary": (0.0, 0.4, 1),
}
# Model: ability at short lengths, window in tokens, share of questions that it knows.
MODELS = {
    "lab/large": (0.95, 60_000, 0.4),
    "lab/middle": (0.8, 20_000, 0.25),
    "lab/small": (0.4, 30_000, 0.05),
}
JUDGE = "judge lab/judge (qa v1)"


def make_hundred(*, models: int = 3, items: int = 16, judged: bool = True, seed: int = 3) -> pl.DataFrame:
    """A table of rows as ``fathom rows`` writes it, with failed judgements among those of a judge."""
    rng = np.random.default_rng(seed)
    rows = []
    for model, (ability, window, knows) in list(MODELS.items())[:models]:
        for task, (chance, ease, questions) in TASKS.items():
            qa, graded = task.endswith("qa"), task.endswith(("qa", "summary"))
            grader = (JUDGE if judged else "token F1" if qa else "ROUGE-L") if graded else "exact match"
            for item in range(items):
                for question in range(1, questions + 1):
                    known = qa and (item * 7 + question * 3) % 20 < 20 * knows
                    for length in (*([0] if qa else []), *LENGTHS):
                        fade = 1 / (1 + math.exp(3 * (math.log2(max(length, 1)) - math.log2(window))))
                        right = chance + (1 - chance) * ability * ease * fade
                        value: float | None = float(known or (length > 0 and rng.random() < right))
                        # Of the questions without a context: a cell of so few items has no score where one is missing.
                        if judged and graded and rng.random() < (0 if length else 0.1):
                            value = None
                        facets: dict[str, Facet] = {"question": question} if questions > 1 else {}
                        if not length:
                            facets["context"] = "none"
                        name = f"{task}/en/{item:04d}"
                        rows.append(
                            Row(
                                suite="hundred",
                                task=task,
                                item=name,
                                sample=f"{name}@{length or 'none'}" + (f"/q{question}" if questions > 1 else ""),
                                model=model,
                                length=length,
                                value=value,
                                valid=True,
                                answer="unanswerable" if not length and not known else "7",
                                target="7",
                                chance=chance,
                                tokens=length,
                                metric="accuracy",
                                grader=grader,
                                tokenizer="tekken",
                                facets=facets,
                            )
                        )
    return to_frame(rows)
