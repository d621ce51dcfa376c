"""MiniLongBench's studies on any score matrix: the effect of each choice of the method on the rank correlation.

Every function returns a table with the columns ``setting`` (the changed choice), ``draw`` (a number, for repeated
draws), ``models`` (``known``: those that items were chosen with, ``new``: all others, ``all``), ``estimate``
(``predicted`` or ``direct``, and ``weighted`` for the whole score), ``category`` (``all`` for the whole score),
``spearman``, ``error`` (mean absolute) and ``bias``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.compress.matrix import Floats, ScoreMatrix
from fathom.compress.minilongbench import DIMENSIONS, MiniBenchmark, Use, predict, published, select
from fathom.compress.ranks import agreement
from fathom.parallel.units import one_thread
from fathom.types import FathomError

Tell: TypeAlias = Callable[[str], None]
ALL = "all"
ESTIMATES = ("predicted", "direct", "weighted")
AT_ONCE = 200
"""Draws in memory at once."""


@dataclass(frozen=True)
class Plan:
    """Common settings of the studies.

    Attributes:
        known: Numbers of the models that items are chosen with; the others are new.
        budget: Items to choose.
        embeddings: A vector for each item, shape (N, F); None for none.
        use: Use of embeddings, see ``minilongbench.select``.
        dimensions: Dimensions of the model.
        seed: Seed of all draws.
        tell: Called with each setting before it is tried.
    """

    known: tuple[int, ...]
    budget: int
    embeddings: Floats | None = None
    use: Use = "start"
    dimensions: int = DIMENSIONS
    seed: int = 0
    tell: Tell = lambda words: None


VALUES = {
    "redundancy": (0.99, 0.98, 0.95),
    "dimensions": (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 50.0, 70.0, 100.0),
    "ratios": (0.99, 0.98, 0.97, 0.96, 0.95, 0.9),
    "numbers": (5.0, 10.0, 15.0, 20.0, 25.0, 30.0),
}
OF_ONE = ("categories", "rankings", "neighbours")
"""Studies of one subset, which may be the published one."""
UNDRAWN = ("categories", "neighbours")
"""Studies without draws."""
DRAWS = {"redundancy": 10_000, "choices": 20, "numbers": 5, "rankings": 16}
PERPLEXITY = 30.0  # of t-SNE: about how many neighbours an item has
ROWS_SHOWN = 60
"""Rows of a study that a terminal shows."""


@dataclass(frozen=True)
class StudySettings:
    """What is asked of one study, where it is not what the study does by itself.

    Attributes:
        values: What is tried: shares, dimensions, or numbers of models.
        draws: Subsets or choices of models that are drawn, or seeds for each setting.
        published: Folder of the published subset, for studies of one subset.
        tasks: Only items of these tasks, for ``neighbours``.
    """

    values: Sequence[float] | None = None
    draws: int | None = None
    published: Path | None = None
    tasks: Sequence[str] | None = None


def check(name: str, asked: StudySettings) -> None:
    """Refuse what a study does not have.

    Raises:
        FathomError: It has no values or draws, or takes no published subset; or a value is no whole number.
    """
    values = asked.values
    if values is not None and name not in VALUES:
        raise FathomError(f"the study {name} has no values to try; those of {', '.join(VALUES)} have")
    if asked.draws is not None and name in UNDRAWN:
        raise FathomError(f"the study {name} draws nothing: leave out `draws`")
    if asked.published is not None and name not in OF_ONE:
        raise FathomError(f"the study {name} chooses items itself; those of {', '.join(OF_ONE)} take published ones")
    if name in ("dimensions", "numbers") and (broken := [value for value in values or () if value != int(value)]):
        raise FathomError(f"{name} {broken[0]:g}: expected a whole number")


def study(
    name: str, matrix: ScoreMatrix, plan: Plan, asked: StudySettings, kinds: Mapping[str, Floats]
) -> pl.DataFrame:
    """One study by its name.

    Args:
        name: One of the functions of this module: ``bias`` is ``biases``, ``neighbours`` ``neighbourhoods``, and
            ``categories`` ``measured``.
        matrix: Scores of all models on all items.
        plan: What the studies have in common; its embeddings are the one kind that is given.
        kinds: Kinds of embeddings by name.

    Raises:
        FathomError: The study takes fewer or more kinds, or see its function.
    """
    if name == "embeddings" and not kinds:
        raise FathomError("the study embeddings compares embeddings with none: name them with `embeddings` FILE.npz")
    if name != "embeddings" and len(kinds) > 1:
        raise FathomError(f"the study {name} takes one kind of embeddings; got {', '.join(kinds)}")
    plan = replace(plan, embeddings=next(iter(kinds.values()), None))
    draws = DRAWS.get(name, 1) if asked.draws is None else asked.draws
    values = VALUES.get(name, ()) if asked.values is None else asked.values
    if asked.values is None and name == "numbers":
        values = tuple(value for value in values if value < len(matrix.models))
    whole, few = [int(value) for value in values], min(8, len(matrix.models))

    def mini() -> MiniBenchmark:
        return _chosen(matrix, plan) if asked.published is None else published(asked.published)

    made: dict[str, Callable[[], pl.DataFrame]] = {
        "redundancy": lambda: redundancy(matrix, values, draws=draws, seed=plan.seed),
        "categories": lambda: measured(mini(), matrix, plan.known),
        "dimensions": lambda: dimensions(matrix, plan, whole, draws),
        "ratios": lambda: ratios(matrix, plan, values, draws),
        "embeddings": lambda: embeddings(matrix, plan, {"none": None, **kinds}, draws),
        "components": lambda: components(matrix, plan, draws),
        "bias": lambda: biases(matrix, plan, draws),
        "choices": lambda: choices(matrix, plan, draws),
        "numbers": lambda: numbers(matrix, plan, whole, draws),
        "rankings": lambda: rankings(mini(), matrix, models=few, draws=draws, seed=plan.seed),
        "neighbours": lambda: neighbourhoods(mini(), tasks=asked.tasks, seed=plan.seed),
    }
    return made[name]()


def measured(mini: MiniBenchmark, matrix: ScoreMatrix, known: Sequence[int]) -> pl.DataFrame:
    """Rank correlations of a subset's estimates, over all models, known and new ones, and by category.

    (MiniLongBench, figures 5 and 13.)

    Args:
        matrix: Scores of all models on all items.
        known: Numbers of the models that the subset was chosen with.

    Raises:
        FathomError: A model has no score on a category.
    """
    scores = predict(mini, matrix)
    new = [model for model in range(len(matrix.models)) if model not in set(known)]
    groups = {ALL: range(len(matrix.models)), "known": known, "new": new}
    labels = np.array(matrix.categories)
    records: list[dict[str, object]] = []
    for category in (ALL, *dict.fromkeys(matrix.categories)):
        weights = matrix.weights if category == ALL else np.where(labels == category, matrix.weights, 0.0)
        if weights.sum() == 0 or (category != ALL and category not in scores[0].direct_categories):
            continue
        truth = replace(matrix, weights=weights / weights.sum()).totals()
        if category == ALL:
            estimates = {name: np.array([getattr(score, name) for score in scores]) for name in ESTIMATES}
        else:
            estimates = {
                "predicted": np.array([score.categories[category] for score in scores]),
                "direct": np.array([score.direct_categories[category] for score in scores]),
            }
        for correlation in agreement(truth, estimates, groups):
            records.append(
                {
                    "models": correlation.models,
                    "estimate": correlation.estimate,
                    "category": category,
                    "spearman": correlation.spearman,
                    "error": correlation.error,
                    "bias": correlation.bias,
                }
            )
    return pl.DataFrame(records)


def dimensions(matrix: ScoreMatrix, plan: Plan, values: Sequence[int], draws: int = 1) -> pl.DataFrame:
    """The number of dimensions d (figure 6); several draws use different seeds of the clusters."""
    return _of_plans(matrix, {str(value): replace(plan, dimensions=value) for value in values}, plan, draws)


def ratios(matrix: ScoreMatrix, plan: Plan, values: Sequence[float], draws: int = 1) -> pl.DataFrame:
    """The share p of items left out (figure 7a): a budget of ``int((1 - p) N)``.

    Raises:
        FathomError: A share is not between 0 and 1, or leaves too few items.
    """
    if wrong := [value for value in values if not 0 <= value < 1]:
        raise FathomError(f"a ratio of {wrong[0]:g}: expected a share of items to leave out, for example 0.95")
    size = len(matrix.items)
    # A tiny addition for shares such as .95, for which 1 - p is slightly too small.
    plans = {f"{value:g}": replace(plan, budget=int((1 - value) * size + 1e-9)) for value in values}
    return _of_plans(matrix, plans, plan, draws)


def embeddings(matrix: ScoreMatrix, plan: Plan, kinds: Mapping[str, Floats | None], draws: int = 1) -> pl.DataFrame:
    """Kinds of embeddings by name, None for none (figure 7b)."""
    return _of_plans(matrix, {name: replace(plan, embeddings=vectors) for name, vectors in kinds.items()}, plan, draws)


def components(matrix: ScoreMatrix, plan: Plan, draws: int = 1) -> pl.DataFrame:
    """With and without the reduction of embeddings by PCA (section 5, question 2).

    Raises:
        FathomError: The plan has no embeddings.
    """
    if plan.embeddings is None:
        raise FathomError("whether to reduce embeddings by PCA can only be tried with embeddings")
    width = plan.embeddings.shape[1]
    plans = {f"PCA to {plan.dimensions}": plan, f"all {width} dimensions": replace(plan, dimensions=width)}
    return _of_plans(matrix, plans, plan, draws)


def biases(matrix: ScoreMatrix, plan: Plan, draws: int = 1) -> pl.DataFrame:
    """The difficulty: started at 0, at uniform or at normal draws, or left out (figure 7c)."""
    size = len(matrix.items)
    starts: dict[str, Callable[[np.random.Generator], Floats | None]] = {
        "zero": lambda rng: None,
        "uniform": lambda rng: rng.random(size),
        "normal": lambda rng: rng.standard_normal(size),
        "none": lambda rng: None,
    }
    frames = []
    for name, start in starts.items():
        for draw, own in enumerate(_seeds(plan, draws)):
            plan.tell(name)
            begun = start(np.random.default_rng(own.seed))
            mini = _chosen(matrix, own, bias=name != "none", bias_start=begun)
            frames.append(_with_setting(mini, matrix, own, name, draw))
    return pl.concat(frames)


def choices(matrix: ScoreMatrix, plan: Plan, draws: int) -> pl.DataFrame:
    """Choice of the known models: as many as in the plan, drawn at random (figure 8)."""
    return numbers(matrix, plan, [len(plan.known)], draws)


def numbers(matrix: ScoreMatrix, plan: Plan, values: Sequence[int], draws: int) -> pl.DataFrame:
    """The number of known models: each number several times, drawn at random (figure 9).

    Raises:
        FathomError: A number is below 2, or above the number of models.
    """
    frames = []
    for value in values:
        if not 2 <= value <= len(matrix.models):
            raise FathomError(f"{value} known models of {len(matrix.models)}: expected 2 to {len(matrix.models)}")
        for draw in range(draws):
            rng = np.random.default_rng([plan.seed, value, draw])
            known = tuple(sorted(rng.permutation(len(matrix.models))[:value].tolist()))
            plan.tell(f"{value} models, draw {draw + 1} of {draws}")
            own = replace(plan, known=known)
            frames.append(_with_setting(_chosen(matrix, own), matrix, own, str(value), draw))
    return pl.concat(frames)


def rankings(
    mini: MiniBenchmark, matrix: ScoreMatrix, *, models: int = 8, draws: int = 16, seed: int = 0
) -> pl.DataFrame:
    """Ranks of some models drawn at random, by the whole benchmark and by the subset (figures 10 and 12).

    Returns:
        Columns ``draw``, ``model``, ``full``, ``predicted`` and ``direct``: ranks from 1 for the best.

    Raises:
        FathomError: There are too few models.
    """
    from scipy.stats import rankdata

    if not 2 <= models <= len(matrix.models):
        raise FathomError(f"{models} of {len(matrix.models)} models: expected 2 to {len(matrix.models)}")
    scores = predict(mini, matrix)
    columns = {
        "full": matrix.totals(),
        "predicted": np.array([score.predicted for score in scores]),
        "direct": np.array([score.direct for score in scores]),
    }
    rng = np.random.default_rng(seed)
    frames = []
    for draw in range(draws):
        drawn = np.sort(rng.permutation(len(matrix.models))[:models])
        ranks = {name: rankdata(-values[drawn]) for name, values in columns.items()}
        names = [matrix.models[model] for model in drawn]
        frames.append(pl.DataFrame({"draw": [draw] * models, "model": names, **ranks}))
    return pl.concat(frames)


@one_thread("sklearn.manifold")
def neighbourhoods(mini: MiniBenchmark, *, tasks: Sequence[str] | None = None, seed: int = 0) -> pl.DataFrame:
    """Items projected by t-SNE of their discriminations and difficulty (figure 11).

    Args:
        mini: The subset with its items.
        tasks: Only items of these tasks; by default all, which takes half a minute for 5,000.

    Returns:
        Columns ``item``, ``task``, ``category``, ``chosen``, ``x`` and ``y``.

    Raises:
        FathomError: A task is unknown, or there are too few items.
    """
    from sklearn.manifold import TSNE

    wanted = set(mini.tasks if tasks is None else tasks)
    if unknown := sorted(wanted - set(mini.tasks)):
        raise FathomError(f"unknown task {unknown[0]!r}: choose {', '.join(dict.fromkeys(mini.tasks))}")
    inside = [place for place, task in enumerate(mini.tasks) if task in wanted]
    if len(inside) < 4:
        raise FathomError(f"{len(inside)} items: t-SNE needs 4 or more")
    points = np.column_stack([mini.parameters.discrimination, mini.parameters.difficulty])[inside]
    near = min(PERPLEXITY, (len(inside) - 1) / 3)
    plane: NDArray[np.float32] = TSNE(perplexity=near, random_state=seed, init="pca").fit_transform(points)
    chosen = mini.seen()
    return pl.DataFrame(
        {
            "item": [mini.items[place] for place in inside],
            "task": [mini.tasks[place] for place in inside],
            "category": [mini.categories[place] for place in inside],
            "chosen": [bool(chosen[place]) for place in inside],
            "x": plane[:, 0].astype(np.float64),
            "y": plane[:, 1].astype(np.float64),
        }
    )


def summarised(table: pl.DataFrame) -> pl.DataFrame:
    """A table with several draws of each setting in one row each: their number, median and middle 90% of Spearman.

    Other tables are unchanged.
    """
    if not {"draw", "spearman"} <= set(table.columns) or table["draw"].n_unique() < 2:
        return table.drop("draw", strict=False) if "spearman" in table.columns else table
    keys = [name for name in table.columns if name not in ("draw", "spearman", "error", "bias")]
    known = pl.col("spearman").fill_nan(None)
    summary = [
        pl.len().alias("draws"),
        known.median().alias("spearman"),
        known.quantile(0.05, "linear").alias("low"),
        known.quantile(0.95, "linear").alias("high"),
        *(pl.col(name).mean() for name in ("error", "bias") if name in table.columns),
    ]
    return table.group_by(keys, maintain_order=True).agg(summary)


def terminal_records(table: pl.DataFrame) -> tuple[list[dict[str, object]], list[str]]:
    """A study's summary for a terminal: its first rows, with four decimals, and notes on what is left out."""
    frame, notes = summarised(table), []
    if "setting" in frame.columns and frame["category"].n_unique() > 1:
        frame = frame.filter(category="all").drop("category")
        notes.append("estimates of the whole score; `out` FILE or `as_json` gives those of each category too")
    if len(frame) > ROWS_SHOWN:
        notes.append(f"the first {ROWS_SHOWN} of {len(frame):,} rows; `out` FILE or `as_json` gives all of them")
    rounded = (
        {name: f"{value:.4f}" if isinstance(value, float) else value for name, value in row.items()}
        for row in frame.head(ROWS_SHOWN).to_dicts()
    )
    return list(rounded), notes


def _of_plans(matrix: ScoreMatrix, plans: Mapping[str, Plan], plan: Plan, draws: int) -> pl.DataFrame:
    frames = []
    for name, varied in plans.items():
        for draw, own in enumerate(_seeds(varied, draws)):
            plan.tell(name)
            frames.append(_with_setting(_chosen(matrix, own), matrix, own, name, draw))
    return pl.concat(frames)


def _seeds(plan: Plan, draws: int) -> list[Plan]:
    return [replace(plan, seed=plan.seed + draw) for draw in range(draws)]


def _chosen(matrix: ScoreMatrix, plan: Plan, *, bias: bool = True, bias_start: Floats | None = None) -> MiniBenchmark:
    return select(
        matrix.of_models(plan.known),
        plan.budget,
        embeddings=plan.embeddings,
        use=plan.use,
        dimensions=plan.dimensions,
        bias=bias,
        bias_start=bias_start,
        seed=plan.seed,
    )


def _with_setting(mini: MiniBenchmark, matrix: ScoreMatrix, plan: Plan, setting: str, draw: int = 0) -> pl.DataFrame:
    figures = measured(mini, matrix, plan.known)
    return figures.select(pl.lit(setting).alias("setting"), pl.lit(draw, dtype=pl.Int64).alias("draw"), pl.all())


def redundancy(
    matrix: ScoreMatrix, ratios: Sequence[float], *, draws: int = 10_000, top: float = 1.0, seed: int = 0
) -> pl.DataFrame:
    """Rank correlations between random subsets of each category and the whole category.

    Args:
        matrix: Scores of all models on all items, without gaps.
        ratios: Shares of items left out, for example .99, .98 and .95.
        draws: Subsets for each category and ratio.
        top: Share of the subsets that is kept, those with the highest correlation. The paper keeps three quarters of
            its 10,000, which hides the worst subsets; by default all are kept.

    Returns:
        Columns ``category``, ``ratio``, ``items``, ``draw`` and ``spearman``, from the highest correlation down.

    Raises:
        FathomError: A ratio or ``top`` is not a share, there are fewer than two models, or a model has gaps.
    """
    if wrong := [value for value in ratios if not 0 <= value < 1]:
        raise FathomError(f"a ratio of {wrong[0]:g}: expected a share of items to leave out, for example 0.95")
    if not 0 < top <= 1 or draws < 1:
        raise FathomError(f"{draws:,} draws of which {top:g} are kept: expected 1 or more, and a share above 0")
    if len(matrix.models) < 2 or np.isnan(matrix.scores).any():
        raise FathomError("random subsets need scores of two models or more on all items, without gaps")
    rng = np.random.default_rng(seed)
    labels = np.array(matrix.categories)
    frames = []
    for category in dict.fromkeys(matrix.categories):
        inside = np.flatnonzero(labels == category)
        weights = matrix.weights[inside]
        if weights.sum() == 0:
            continue
        for ratio in ratios:
            kept = max(1, int((1 - ratio) * len(inside) + 1e-9))
            correlations = _correlations(matrix.scores[:, inside], weights, kept, draws, rng)
            best = np.sort(correlations)[::-1][: max(1, int(top * draws))]
            columns = {"draw": np.arange(len(best)), "spearman": best}
            frames.append(
                pl.DataFrame(columns).select(
                    pl.lit(category).alias("category"),
                    pl.lit(float(ratio)).alias("ratio"),
                    pl.lit(kept, dtype=pl.Int64).alias("items"),
                    pl.all(),
                )
            )
    return pl.concat(frames)


def _correlations(scores: Floats, weights: Floats, kept: int, draws: int, rng: np.random.Generator) -> Floats:
    """Spearman correlations of this many random subsets with the whole; 0 if all models have the same score."""
    whole = _standard_ranks((scores @ weights)[:, None])[:, 0]
    correlations = []
    for start in range(0, draws, AT_ONCE):
        count = min(AT_ONCE, draws - start)
        order = np.argpartition(rng.random((count, len(weights))), kept - 1, axis=1)[:, :kept]
        chosen = np.zeros((count, len(weights)))
        np.put_along_axis(chosen, order, weights[order], axis=1)
        means = scores @ (chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1e-300)).T
        correlations.append(whole @ _standard_ranks(means))
    return np.concatenate(correlations)


def _standard_ranks(values: Floats) -> Floats:
    """Ranks down each column, with mean 0 and length 1."""
    from scipy.stats import rankdata

    ranks = rankdata(values.round(12), axis=0)
    ranks = ranks - ranks.mean(axis=0)
    lengths = np.sqrt((ranks**2).sum(axis=0))
    return np.asarray(ranks / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)
