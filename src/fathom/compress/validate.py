"""Validates methods on held-out models: splits of models into known and new ones.

Three kinds of split: ``random`` halves, many of them; ``extrapolation``, in which the weakest half is known and the
strongest half is new, as when new models are better than all before; and ``published``, the split of MiniLongBench.
Also: how many items are needed until intervals have a wanted width.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.compress import adaptive
from fathom.compress.assisted import Estimates
from fathom.compress.design import ADAPTIVE, Design, design, strata_of, targets_of
from fathom.compress.matrix import Floats, ScoreMatrix
from fathom.compress.methods import METHODS, Plan, has_published
from fathom.compress.ranks import spearman
from fathom.parallel.units import ResultsFile, Workers, run_units
from fathom.plugins.names import unknown
from fathom.printing import readable
from fathom.types import FathomError

Rows: TypeAlias = list[dict[str, object]]
ROUNDING = 1e-9  # sums of the same scores in another order may differ so much
FIXED = ("published",)
"""Methods whose items never change: one draw suffices."""
FIXED_DESIGNS = ("stratified", "sampled")
GUARANTEE = 0.95  # share of models for which a fixed design must reach the width, to compare with adaptive evaluation


@dataclass(frozen=True)
class Split:
    """Known and new models.

    Attributes:
        kind: ``random``, ``extrapolation`` or ``published``.
        number: Number within the kind; also the seed of the draw.
        known: Numbers of the known models.
        new: Numbers of the new models.
    """

    kind: str
    number: int
    known: tuple[int, ...]
    new: tuple[int, ...]


@dataclass(frozen=True)
class Draw:
    """A unit of a validation: one method on one split. Its budgets are together, because they share fits.

    Attributes:
        method: A name from ``METHODS``.
        budgets: Items to choose.
        split: Known and new models.
    """

    method: str
    budgets: tuple[int, ...]
    split: Split

    @property
    def name(self) -> str:
        """All that its result depends on, apart from the scores."""
        return f"{self.method} {self.budgets} {_name_of(self.split)}"


@readable
@dataclass(frozen=True)
class Validation:
    """How well methods estimate the scores of models that they have not seen.

    Attributes:
        summary: One line for each kind of split, budget, target and method (``summary``).
        reach: Items until intervals are as narrow as wanted (``reach``); None where not asked for.
        notes: What is said of scores with gaps (``gaps_in``).
    """

    summary: pl.DataFrame
    reach: pl.DataFrame | None = None
    notes: Sequence[str] = ()


def splits_of(
    matrix: ScoreMatrix, count: int, *, seed: int = 0, published: tuple[Sequence[int], Sequence[int]] | None = None
) -> list[Split]:
    """All splits of a validation.

    Args:
        matrix: Scores of the models; those without a true score (``truth_of``) are left out.
        count: Number of random splits; the other kinds are repeated as often, with other draws of the items.
        seed: Seed of the splits.
        published: Known and new models of a published split.

    Raises:
        FathomError: There are fewer than four models with true scores.
    """
    full = _overall(matrix)
    models = np.flatnonzero(~np.isnan(full))
    if len(models) < 4:
        raise FathomError(
            "a validation needs 4 models, two known and two new, with scores in every task (at each length) that "
            f"counts; there: {len(models)}"
        )
    half = len(models) // 2
    ordered = models[np.argsort(full[models], kind="stable")]
    splits = []
    for number in range(count):
        mixed = np.random.default_rng([seed, number]).permutation(models)
        splits.append(_split("random", number, mixed[:half], mixed[half:]))
    splits += [_split("extrapolation", number, ordered[:half], ordered[half:]) for number in range(count)]
    if published is not None:
        known, new = (np.array([model for model in part if model in models]) for part in published)
        splits += [_split("published", number, known, new) for number in range(count)]
    return splits


def truth_of(matrix: ScoreMatrix) -> Floats:
    """True scores of models: weighted means over the items that they have a score for.

    Items without a score are taken as missing at random within a task at a length: the others of it represent them, so
    that each keeps its share.

    Args:
        matrix: Scores of M models; NaN for gaps.

    Returns:
        For T targets (``targets_of``), shape (M, T); NaN for targets of which a task at a length has no score at all.
    """
    shares, strata = targets_of(matrix).shares, strata_of(matrix)
    answered = ~np.isnan(matrix.scores)
    truth: Floats = np.where(answered, matrix.scores, 0.0) @ shares.T
    for model in np.flatnonzero((~answered & (matrix.weights > 0)).any(axis=1)).tolist():
        for target, share in enumerate(shares):
            whole, scored = (np.bincount(strata, weights=share * part) for part in (1.0, answered[model]))
            sums = np.bincount(strata, weights=share * np.where(answered[model], matrix.scores[model], 0.0))
            counts = whole > 0
            known = np.divide(sums, scored, out=np.full(len(sums), np.nan), where=scored > 0)
            truth[model, target] = float(whole[counts] @ known[counts])
    return truth


def _overall(matrix: ScoreMatrix) -> Floats:
    """True scores of the whole benchmark, shape (M,)."""
    full = matrix.totals()
    return np.where(np.isnan(full), truth_of(matrix)[:, 0], full)


def gaps_in(matrix: ScoreMatrix) -> list[str]:
    """What a validation does with gaps, in sentences with their numbers; none without gaps.

    Args:
        matrix: Scores of models; NaN for gaps.
    """
    counts = matrix.weights > 0
    gaps = np.isnan(matrix.scores) & counts
    without = np.isnan(_overall(matrix))
    kept = gaps[~without]
    notes = []
    if kept.any():
        notes.append(
            f"{int(kept.sum()):,} of {len(kept) * int(counts.sum()):,} scores are missing, of "
            f"{int(kept.any(axis=1).sum()):,} of {len(kept):,} models: the true score of a model is over the items "
            "that it has a score for, and its estimate uses the chosen ones of these"
        )
    if without.any():
        names = [matrix.models[model] for model in np.flatnonzero(without).tolist()]
        notes.append(
            f"{len(names):,} of {len(matrix.models):,} models are left out, because they have no score in a task (at a "
            f"length) that counts: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
        )
    return notes


def validate(
    matrix: ScoreMatrix,
    budgets: Sequence[int],
    *,
    methods: Sequence[str] | None = None,
    splits: Sequence[Split],
    embeddings: Floats | None = None,
    workers: Workers = 1,
    kept: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Validates methods on splits.

    Args:
        matrix: Scores of models; NaN for gaps. The true scores of new models are those of ``truth_of``, and estimates
            use the chosen items that have a score.
        budgets: Items to choose.
        methods: Names from ``METHODS``; by default all that are possible with these scores.
        splits: See ``splits_of``.
        embeddings: A vector for each item, shape (N, F), for methods that use texts.
        workers: Processes, None for one for each core; or another engine (``fathom.parallel.units``).
        kept: A file for draws that are made, which the next call with the same scores reads.
        progress: Called with (draws made, draws in all).

    Returns:
        One row for each method, budget, split and target (``overall`` and the categories): ``spearman``, mean absolute
        ``error``, ``bias`` (estimate minus truth), ``coverage`` and ``half_width`` of the 95% intervals (null for a
        method without intervals; models without a score on any chosen item that counts are in none of these),
        ``items``, ``cost_share`` (of the whole benchmark) and ``seconds`` (what
        budgets share counts for the first).

    Raises:
        FathomError: A method is unknown, a budget does not suit it, or ``kept`` cannot be read or written.
    """
    if methods is None:
        methods = [name for name in METHODS if name != "published" or has_published(matrix, budgets)]
    for name in methods:
        if name not in METHODS:
            raise unknown("method", name, METHODS)
    for budget in budgets:
        if not 1 <= budget <= len(matrix.items):
            raise FathomError(f"a budget of {budget:,}: expected 1 to {len(matrix.items):,} items")
    draws = [
        Draw(name, tuple(dict.fromkeys(budgets)), split)
        for name in methods
        for split in splits
        if not (name in FIXED and split.kind != "random" and split.number)
    ]
    lines = run_units(
        {draw.name: draw for draw in draws},
        partial(rows_of_draw, matrix, embeddings),
        keep=None if kept is None else ResultsFile(kept, *_of(matrix), embeddings),
        workers=workers,
        progress=progress,
    )
    ordered = [line for of_budgets in zip(*lines, strict=True) for rows in of_budgets for line in rows]
    return pl.DataFrame(ordered, infer_schema_length=None)


def _of(matrix: ScoreMatrix) -> Iterator[object]:
    """What draws depend on: the code, the libraries that it calculates with, and scores without how replies ended."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        yield [path.name, sha256(path.read_bytes()).hexdigest()]
    yield [version(name) for name in ("fathom-eval", "numpy", "scipy", "scikit-learn")]
    for name in ("models", "items", "scores", "tasks", "categories", "lengths", "weights", "costs"):
        yield getattr(matrix, name)


def summary(draws: pl.DataFrame) -> pl.DataFrame:
    """Means over the draws of ``validate``: one row for each kind of split, budget, method and target.

    With several draws there are columns with the standard error of a mean over the draws: ``spearman_se`` and
    ``error_se``.
    """
    deviation = [(pl.col(name).std() / pl.len().sqrt()).alias(f"{name}_se") for name in ("spearman", "error")]
    figures = ("spearman", "error", "bias", "coverage", "half_width", "items", "cost_share", "seconds")
    return draws.group_by(["split", "budget", "target", "method"], maintain_order=True).agg(
        pl.len().alias("draws"), *(pl.col(name).mean() for name in figures), *deviation
    )


def rows_of_draw(matrix: ScoreMatrix, embeddings: Floats | None, draw: Draw) -> list[Rows]:
    """Make one draw: for each of its budgets the rows of ``validate`` for the targets."""
    return [_rows_of_budget(matrix, embeddings, draw.method, budget, draw.split) for budget in draw.budgets]


def _rows_of_budget(matrix: ScoreMatrix, embeddings: Floats | None, method: str, budget: int, split: Split) -> Rows:
    new = matrix.of_models(split.new)
    targets = targets_of(matrix)
    started = time.perf_counter()
    plan: Plan = METHODS[method](matrix.of_models(split.known), budget, split.number, embeddings)
    estimates = plan.estimate(new.scores[:, plan.items])
    seconds = time.perf_counter() - started
    truth = truth_of(new)
    spent = float(matrix.costs[plan.items].sum() / matrix.costs.sum())
    rows: Rows = []
    for place, target in enumerate(targets.names):
        estimated = ~np.isnan(estimates.values[:, place])
        values, low, high, true = (
            part[estimated, place] for part in (estimates.values, estimates.low, estimates.high, truth)
        )
        apart = values - true
        with_interval = ~np.isnan(low)
        covered = ((low - ROUNDING <= true) & (true <= high + ROUNDING))[with_interval]
        half = ((high - low) / 2)[with_interval]
        rows.append(
            {
                "split": split.kind,
                "number": split.number,
                "budget": budget,
                "target": target,
                "method": method,
                "spearman": _or_none(spearman(values, true)),
                "error": float(np.abs(apart).mean()) if len(apart) else None,
                "bias": float(apart.mean()) if len(apart) else None,
                "coverage": float(covered.mean()) if len(covered) else None,
                "half_width": float(half.mean()) if len(half) else None,
                "items": len(plan.items),
                "cost_share": spent,
                "seconds": seconds,
            }
        )
    return rows


def _split(kind: str, number: int, known: NDArray[np.int64], new: NDArray[np.int64]) -> Split:
    return Split(kind, number, tuple(map(int, known)), tuple(map(int, new)))


def _name_of(split: Split) -> str:
    return f"{split.kind} {split.number} {split.known} {split.new}"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def reach(
    matrix: ScoreMatrix,
    width: float,
    *,
    splits: Sequence[Split],
    workers: Workers = 1,
    kept: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Items until the 95% interval of the whole score has a wanted half-width.

    Args:
        matrix: Scores of models.
        splits: Known and new models, see ``validate.splits_of``.
        workers: Processes, None for one for each core; or another engine (``fathom.parallel.units``).
        kept: A file for splits that are done, which the next call with the same scores reads.
        progress: Called with (splits done, splits in all).

    Returns:
        One row for each split and method: ``mean_items``, the items with which the mean half-width over the new models
        is the wanted one (for ``adaptive``: the mean over models of the items at the stop), ``most_items``, with which
        95% of the new models have it (for ``adaptive``: which 95% of them did not exceed), and at ``mean_items`` the
        ``coverage``, mean absolute ``error`` and ``bias``.

    Raises:
        FathomError: The width is not between 0 and 0.5.
    """
    if not 0 < width < 0.5:
        raise FathomError(f"a half-width of {width:g}: expected more than 0 and less than 0.5, for example 0.02")
    most = len(matrix.items)
    lines = run_units(
        {f"reach {width} {most} {_name_of(split)}": split for split in splits},
        partial(_reached, matrix, width, most),
        keep=None if kept is None else ResultsFile(kept, *_of(matrix)),
        workers=workers,
        progress=progress,
    )
    return pl.DataFrame([line for draw in lines for line in draw])


def _reached(matrix: ScoreMatrix, width: float, budget: int, split: Split) -> Rows:
    fixed: Rows = [
        {**_split_columns(split, method), **_fixed(matrix, split, method, width)} for method in FIXED_DESIGNS
    ]
    return [*fixed, {**_split_columns(split, ADAPTIVE), **_adaptive(matrix, split, width, budget)}]


def _split_columns(split: Split, method: str) -> dict[str, object]:
    return {"split": split.kind, "number": split.number, "method": method}


def _fixed(matrix: ScoreMatrix, split: Split, method: str, width: float) -> dict[str, object]:
    new = matrix.of_models(split.new)
    known = matrix.of_models(split.known)
    tried: dict[int, tuple[Estimates, Floats]] = {}

    def widths(items: int) -> Floats:
        if items not in tried:
            plan = METHODS[method](known, items, split.number, None)
            estimates = plan.estimate(new.scores[:, plan.items])
            tried[items] = estimates, (estimates.high[:, 0] - estimates.low[:, 0]) / 2
        return tried[items][1]

    least = int(strata_of(matrix).max()) + 1
    mean = _fewest(lambda items: float(widths(items).mean()) <= width, least, len(matrix.items))
    most = _fewest(lambda items: float(np.quantile(widths(items), GUARANTEE)) <= width, mean, len(matrix.items))
    widths(mean)
    return {"mean_items": float(mean), "most_items": float(most), **_quality(tried[mean][0], _overall(new))}


def _fewest(enough: Callable[[int], bool], least: int, most: int) -> int:
    """The smallest sufficient number of items, to 2%."""
    while most - least > max(1, least // 50):
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle + 1, most)
    return most


def _adaptive(matrix: ScoreMatrix, split: Split, width: float, budget: int) -> dict[str, object]:
    made = design(matrix.of_models(split.known), min(budget, len(matrix.items)), seed=split.number)
    settings = adaptive.AdaptiveSettings(width, budget)
    stretch = adaptive.stretch(made, settings)
    ends = [_end(matrix, split, made, settings, stretch, model) for model in split.new]
    counts = np.array([len(end.items) for end in ends], dtype=np.float64)
    estimates = [adaptive.current(made, end, stretch) for end in ends]
    together = Estimates(
        *(np.concatenate([getattr(estimate, part) for estimate in estimates]) for part in ("values", "low", "high"))
    )
    quality = _quality(together, _overall(matrix.of_models(split.new)))
    return {"mean_items": float(counts.mean()), "most_items": float(np.quantile(counts, GUARANTEE)), **quality}


def _end(
    matrix: ScoreMatrix,
    split: Split,
    made: Design,
    settings: adaptive.AdaptiveSettings,
    stretch: float,
    model: int,
) -> adaptive.Progress:
    rng = np.random.default_rng([split.number, model])
    rounds = adaptive.rounds(made, settings, stretch=stretch, rng=rng)
    return adaptive.drive(rounds, matrix.scores[model].__getitem__)


def _quality(estimates: Estimates, truth: Floats) -> dict[str, object]:
    apart = estimates.values[:, 0] - truth
    covered = (estimates.low[:, 0] <= truth) & (truth <= estimates.high[:, 0])
    return {"coverage": float(covered.mean()), "error": float(np.abs(apart).mean()), "bias": float(apart.mean())}
