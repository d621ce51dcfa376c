"""Score matrices whose truth is known: abilities of models by task, and items of different ease and slope."""

from __future__ import annotations

import numpy as np

from fathom.compress.matrix import ScoreMatrix, checked_matrix


def made_scores(models: int, items: int = 120, *, tasks: int = 4, seed: int = 0, binary: bool = False) -> ScoreMatrix:
    """Scores of models on items of tasks in two categories, by a logistic law; right or wrong, or with noise."""
    rng = np.random.default_rng(seed)
    of_task = np.arange(items) % tasks
    ease, slopes = rng.normal(size=items), rng.uniform(0.3, 1.7, items)
    skills = 0.8 * rng.normal(size=(models, 1)) + 0.4 * rng.normal(size=(models, tasks))
    chances = 1 / (1 + np.exp(-(skills[:, of_task] * slopes + ease)))
    noisy = np.clip(chances + 0.15 * rng.normal(size=chances.shape), 0, 1)
    return checked_matrix(
        "made",
        [f"model {number}" for number in range(models)],
        [f"t{task}/{number:04d}" for number, task in enumerate(of_task)],
        (rng.random(chances.shape) < chances).astype(np.float64) if binary else noisy,
        tasks=[f"t{task}" for task in of_task],
        categories=["a" if task < tasks / 2 else "b" for task in of_task],
    )
