"""Profiles of a table of scores, so that every analysis of profiles works on published figures too.

A score s over n items is taken for the share of right ones among n independent right-or-wrong items. Its replicates are
those of the Bayesian bootstrap over such items: Beta(n s + 1/2, n (1 - s) + 1/2), the posterior under Jeffreys' prior.
For graded scores (F1, judges) that is the widest that they can be. Lengths are independent of each other: a table does
not say which items were right, so that nothing is paired.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fathom.analysis.base import BASE_RULES, BaseRule, GivenBase
from fathom.analysis.grid import ALL
from fathom.analysis.profile import Profile, mean_profile
from fathom.analysis.scores_table import ScoreCell, ScoreTable
from fathom.stats.intervals import REPLICATES, Floats, generator, means_of_sums
from fathom.stats.outcomes import added
from fathom.types import FathomError


def score_profiles(
    table: ScoreTable, *, base: BaseRule | None = None, seed: int = 0, replicates: int = REPLICATES
) -> list[Profile]:
    """Profiles of every model and variant of a table: each of its tasks, then ``all``.

    Args:
        table: The cells; for a model, a task has one cell at a length.
        base: ``given``: the cell of length 0; ``paper``: the mean at 2k, 4k and 6k; by default ``given`` where the
            table has such a cell.
        seed: Seed of the replicates.
        replicates: Number of replicates.

    Raises:
        FathomError: The base is unknown, or that of the code, which needs rows; or there is no score.
    """
    if base is not None and base not in BASE_RULES:
        raise FathomError(f"--base {base}: choose {', '.join(BASE_RULES)}")
    if base == "code":
        raise FathomError("--base code needs rows: a table of scores does not hold what the released code pools")
    if not table.cells:
        raise FathomError("the table holds no score at a length")
    given = any(cell.length == 0 for cell in table.cells) if base is None else base == "given"
    models: dict[tuple[str, str], dict[str, list[ScoreCell]]] = {}
    for cell in table.cells:
        models.setdefault((cell.model, cell.variant), {}).setdefault(cell.task, []).append(cell)
    found = []
    for tasks in models.values():
        shares = [
            _profile(cells, 1 / len(tasks), given=given, seed=seed, replicates=replicates, note=table.note)
            for cells in tasks.values()
        ]
        if list(tasks) != [ALL]:
            found += [
                _profile(cells, 1.0, given=given, seed=seed, replicates=replicates, note=table.note)
                for cells in tasks.values()
            ]
        found.append(mean_profile(shares))
    return found


def _profile(
    cells: Sequence[ScoreCell], prior: float, *, given: bool, seed: int, replicates: int, note: str
) -> Profile:
    one = cells[0]
    tested = sorted((cell for cell in cells if cell.length), key=lambda cell: cell.length)
    rng = generator(seed, f"{one.model}\x1f{one.variant}\x1f{one.task}")
    sums = _sums(tested, rng, replicates)
    chance = np.array([_level(cell) for cell in tested], dtype=np.float64)
    items = np.array([cell.items for cell in tested], dtype=np.int64)
    means = np.array([cell.score for cell in tested], dtype=np.float64)
    return Profile(
        model=one.model,
        variant=one.variant,
        task=one.task,
        tasks=(one.task,),
        lengths=np.array([cell.length for cell in tested], dtype=np.int64),
        means=means,
        draws=means_of_sums(sums, rng, prior=prior),
        chance=chance,
        chance_draws=np.tile(chance, (replicates, 1)),
        items=items,
        scored=items,
        complete=np.ones(len(tested), dtype=np.bool_),
        other=means,
        gaps=(None,) * len(tested),
        tallies=(added(()),) * len(tested),
        sums=(sums,),
        seed=seed,
        base=_given([cell for cell in cells if not cell.length], prior, rng, replicates) if given else None,
        note=note,
    )


def _sums(cells: Sequence[ScoreCell], rng: np.random.Generator, replicates: int) -> tuple[Floats, Floats]:
    """Weighted sums of right items, and sums of all weights: gamma variables, as those of a Bayesian bootstrap."""
    right = np.array([cell.items * cell.score for cell in cells], dtype=np.float64)
    wrong = np.array([cell.items * (1 - cell.score) for cell in cells], dtype=np.float64)
    scored = rng.standard_gamma(right, (replicates, len(cells)))
    return scored, scored + rng.standard_gamma(wrong, (replicates, len(cells)))


def _given(cells: Sequence[ScoreCell], prior: float, rng: np.random.Generator, replicates: int) -> GivenBase:
    if not cells:
        nothing = np.full(replicates, math.nan)
        return GivenBase(math.nan, nothing, math.nan, nothing, 0, (), "")
    (cell,) = cells
    draws = means_of_sums(_sums(cells, rng, replicates), rng, prior=prior)[:, 0]
    level = _level(cell)
    return GivenBase(cell.score, draws, level, np.full(replicates, level), cell.items, (), "base as given in the table")


def _level(cell: ScoreCell) -> float:
    return math.nan if cell.chance is None else cell.chance
