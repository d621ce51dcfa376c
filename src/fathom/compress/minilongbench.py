"""MiniLongBench's method: items that represent clusters, and the whole score predicted from their scores.

Scores are binarised at one threshold, item response theory gives every item parameters, k-means in every category
finds clusters of them, and the item nearest to each centre is asked. A new model's ability is fitted to its scores
there. (MiniLongBench, sections 3 and 4.2, and appendix G; the procedure as in its released code.)
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.compress import released
from fathom.compress.abilities import numbered
from fathom.compress.embedding import reduced
from fathom.compress.irt import Fit, ItemParameters, Rule, ability, binarised, fit, threshold
from fathom.compress.matrix import Floats, ScoreMatrix, balanced
from fathom.compress.released import array_of
from fathom.parallel.units import one_thread
from fathom.storage.atomic import whole_file
from fathom.storage.checksums import check_file, file_facts
from fathom.suites.subsetfile import read_subset, write_subset
from fathom.types import FathomError, Json, Member, Subset

METHOD = "minilongbench"
DIMENSIONS = 10
FITS = 16
"""Fits that stay in memory: budgets of one split, and of one draw of a study, share theirs."""
Use: TypeAlias = Literal["start", "prior"]
_fits: dict[str, Fit] = {}


@dataclass(frozen=True)
class MiniBenchmark:
    """A subset with everything that is needed to predict the whole benchmark's score.

    Attributes:
        subset: The items to ask.
        items: All N items of the benchmark.
        weights: Share of each in the benchmark's score, shape (N,).
        parameters: Of all N items.
    """

    subset: Subset
    items: tuple[str, ...]
    tasks: tuple[str, ...]
    categories: tuple[str, ...]
    weights: Floats
    parameters: ItemParameters

    def seen(self) -> NDArray[np.bool_]:
        """Which of all items are in the subset, shape (N,).

        Raises:
            FathomError: The subset has an item that is not in the benchmark.
        """
        asked = {member.item for member in self.subset.members}
        if unknown := sorted(asked - set(self.items)):
            raise FathomError(
                f"subset {self.subset.name!r}: item {unknown[0]!r} is not among the {len(self.items):,} items of its "
                f"benchmark ({len(unknown):,} such items)"
            )
        return np.array([item in asked for item in self.items])


@dataclass(frozen=True)
class MiniScore:
    """The scores of one model from a subset.

    Attributes:
        predicted: The whole benchmark's score, predicted.
        direct: Mean over categories of the mean over tasks of the observed scores.
        weighted: Mean of the observed scores, by the weights of the subset's members: the shares of their
            clusters, which the released code does not use. For the published subset it is the direct score.
        categories: Predicted score of each category.
        tasks: Predicted score of each task.
        items: Number of the subset's items with a score.
        full: The whole score itself, if all items have one.
    """

    model: str
    predicted: float
    direct: float
    weighted: float
    categories: Mapping[str, float]
    tasks: Mapping[str, float]
    direct_categories: Mapping[str, float]
    items: int
    full: float | None


def select(
    matrix: ScoreMatrix,
    budget: int,
    *,
    embeddings: Floats | None = None,
    use: Use = "start",
    dimensions: int = DIMENSIONS,
    bias: bool = True,
    bias_start: Floats | None = None,
    rule: Rule | Literal["none"] = "coded",
    seed: int = 0,
) -> MiniBenchmark:
    """Chooses items by MiniLongBench's method, from the scores of known models.

    Args:
        matrix: Scores of two models or more; gaps are left out of the fit.
        budget: Items to choose.
        embeddings: A vector for each item, shape (N, F); if F is above ``dimensions`` they are reduced by PCA. By
            default the start values are random.
        use: Use of embeddings: the ``start`` values, as in the paper, or the mean of the ``prior``. The fit here ends
            at one optimum for any start, so that only the second lets texts matter.
        dimensions: Dimensions of the model.
        bias: Whether items have a difficulty.
        bias_start: Start values of the difficulties; by default 0.
        rule: Of the threshold, see ``irt.threshold``; ``none`` fits the scores themselves. With a threshold, tasks
            whose scores are all on one side of it, such as summaries, look as if no model or every model passed.
        seed: Seed of all draws.

    Raises:
        FathomError: The budget is impossible, or the matrix or the embeddings cannot be used.
    """
    if use not in ("start", "prior"):
        raise FathomError(f"unknown use of embeddings {use!r}: choose start or prior")
    places = _places(matrix, embeddings, dimensions, seed)
    cut = None if rule == "none" else threshold(matrix.scores, rule)
    fitted = _remembered(
        partial(
            fit,
            np.ascontiguousarray(matrix.scores if cut is None else binarised(matrix.scores, cut)),
            dimensions,
            start=places,
            expected=places if use == "prior" else None,
            bias=bias,
            bias_start=bias_start,
            seed=seed,
        )
    )
    points = np.column_stack([fitted.items.discrimination, fitted.items.difficulty])
    chosen = anchors(points, matrix.weights, matrix.categories, budget, seed=seed)
    members = tuple(
        Member(matrix.items[item], float(weight), matrix.categories[item])
        for item, weight in sorted(zip(chosen.items.tolist(), chosen.weights.tolist(), strict=True))
    )
    design: dict[str, Json] = {
        "budget": budget,
        "seed": seed,
        "dimensions": dimensions,
        "bias": bias,
        "embeddings": "none" if embeddings is None else use,
        "rule": rule,
        "threshold": cut,
        "weights": "clusters",
        "converged": fitted.converged,
    }
    subset = Subset(METHOD, members, METHOD, design, {"models": list(matrix.models), "items": len(matrix.items)})
    return MiniBenchmark(subset, matrix.items, matrix.tasks, matrix.categories, matrix.weights, fitted.items)


def published(folder: Path) -> MiniBenchmark:
    """The published benchmark of 237 items, from a local copy of the released data.

    The weights of its members are those of the direct score, because the released code never uses cluster sizes.

    Raises:
        FathomError: A file is missing or does not match the others.
    """
    layout = released.read_layout(folder)
    parameters = released.read_parameters(folder)
    chosen = released.read_anchors(folder).tolist()
    if len(parameters.difficulty) != len(layout.items) or not all(0 <= item < len(layout.items) for item in chosen):
        raise FathomError(f"{folder}: {released.PARAMETERS}, {released.ANCHORS} and {released.TASKS} do not match")
    shares = balanced([layout.tasks[item] for item in chosen], [layout.categories[item] for item in chosen])
    members = tuple(
        Member(layout.items[item], float(share), layout.categories[item])
        for item, share in zip(chosen, shares, strict=True)
    )
    design: dict[str, Json] = {"budget": len(members), "dimensions": parameters.discrimination.shape[1]}
    subset = Subset("mini", members, METHOD, design | {"weights": "tasks"}, {"released": "MiniLongBench"})
    return MiniBenchmark(subset, layout.items, layout.tasks, layout.categories, layout.weights, parameters)


def aligned(mini: MiniBenchmark, matrix: ScoreMatrix) -> Floats:
    """Scores of models in the order of the benchmark's items, shape (M, N); NaN without a score.

    Raises:
        FathomError: The matrix has an item that is not in the benchmark, or none of the subset's items.
    """
    places = {item: place for place, item in enumerate(mini.items)}
    if unknown := [item for item in matrix.items if item not in places]:
        raise FathomError(
            f"item {unknown[0]!r} is not among the {len(mini.items):,} items of the benchmark of subset "
            f"{mini.subset.name!r} ({len(unknown):,} of {len(matrix.items):,} items); its names are like "
            f"{mini.items[0]!r}"
        )
    scores = np.full((len(matrix.models), len(mini.items)), np.nan)
    scores[:, [places[item] for item in matrix.items]] = matrix.scores
    return scores


def predict(mini: MiniBenchmark, matrix: ScoreMatrix, *, prior: float | None = None) -> list[MiniScore]:
    """Scores of models on the whole benchmark, from their scores on the subset alone.

    The ability is fitted to the observed scores; the predicted score is the weighted mean of these, and of the
    probabilities of scoring on the other items.

    Args:
        mini: The subset and the parameters of all items.
        matrix: Scores of the models to predict, on the subset's items or more.
        prior: Standard deviation of a prior of abilities; by default none, as in the released code.

    Raises:
        FathomError: An item is unknown, or a model has no score on a category of the subset.
    """
    scores = aligned(mini, matrix)
    seen = mini.seen()
    return [
        _predicted(mini, name, row, np.where(seen, row, np.nan), prior)
        for name, row in zip(matrix.models, scores, strict=True)
    ]


def _remembered(request: "partial[Fit]") -> Fit:
    """The result of a fit, or of an equal one before. Its arrays cannot be changed."""
    import joblib

    key = joblib.hash((request.args, request.keywords))
    if key not in _fits:
        if len(_fits) == FITS:
            del _fits[next(iter(_fits))]
        fitted = _fits[key] = request()
        for part in (fitted.items.discrimination, fitted.items.difficulty, fitted.abilities):
            part.flags.writeable = False
    return _fits[key]


def _places(matrix: ScoreMatrix, embeddings: Floats | None, dimensions: int, seed: int) -> Floats | None:
    if embeddings is None:
        return None
    if len(embeddings) != len(matrix.items):
        raise FathomError(f"{len(embeddings):,} embeddings for {len(matrix.items):,} items: expected one for each")
    return embeddings if embeddings.shape[1] == dimensions else reduced(embeddings, dimensions, seed)


def _predicted(mini: MiniBenchmark, model: str, row: Floats, known: Floats, prior: float | None) -> MiniScore:
    scored = ~np.isnan(known)
    filled = np.where(scored, np.nan_to_num(known), mini.parameters.chances(ability(known, mini.parameters, prior)))
    direct = _direct(mini, model, known)
    complete = not np.isnan(row[mini.weights > 0]).any()
    return MiniScore(
        model=model,
        predicted=float(mini.weights @ filled),
        direct=float(np.mean(list(direct.values()))),
        weighted=_weighted(mini, known),
        categories=_means(mini.categories, mini.weights, filled),
        tasks=_means(mini.tasks, mini.weights, filled),
        direct_categories=direct,
        items=int(scored.sum()),
        full=float(mini.weights @ np.nan_to_num(row)) if complete else None,
    )


def _weighted(mini: MiniBenchmark, known: Floats) -> float:
    """Mean of the observed scores by the members' weights."""
    weight_of = {member.item: member.weight for member in mini.subset.members}
    shares = np.array([weight_of.get(item, 0.0) for item in mini.items]) * ~np.isnan(known)
    return float(shares @ np.nan_to_num(known)) / max(float(shares.sum()), 1e-300)


def _direct(mini: MiniBenchmark, model: str, known: Floats) -> dict[str, float]:
    """Mean over tasks of the observed scores, in each category."""
    scored = np.flatnonzero(~np.isnan(known))
    asked = {member.stratum for member in mini.subset.members}
    if missing := sorted(asked - {mini.categories[place] for place in scored}):
        raise FathomError(f"{model} has no score on the subset's items of {missing[0] or 'its category'}")
    tasks = tuple(mini.tasks[place] for place in scored)
    categories = tuple(mini.categories[place] for place in scored)
    return _means(categories, balanced(tasks, categories), known[scored])


def _means(labels: tuple[str, ...], weights: Floats, values: Floats) -> dict[str, float]:
    means, numbers = {}, numbered(labels)
    for number, label in enumerate(dict.fromkeys(labels)):
        inside = numbers == number
        if (total := float(weights[inside].sum())) > 0:
            means[label] = float(weights[inside] @ values[inside]) / total
    return means


@dataclass(frozen=True)
class Anchors:
    """Items that represent clusters of items.

    Attributes:
        items: Numbers of K items, unique, category by category.
        weights: Share of each cluster in the benchmark's score, shape (K,), summing to 1.
        clusters: The anchor of each item, shape (N,), as an index of ``items``.
    """

    items: NDArray[np.int64]
    weights: Floats
    clusters: NDArray[np.int64]


def shares(sizes: Sequence[int], budget: int) -> list[int]:
    """Clusters of each category: ``int(size / total * budget)``, and the last category takes the rest.

    That is the rule of MiniLongBench's code, with two changes where it would fail: every category has at least one
    cluster, and at most as many as items; the excess of the last one goes to the first ones.

    Raises:
        FathomError: The budget is below the number of categories, or above the number of items.
    """
    total = sum(sizes)
    if not len(sizes) <= budget <= total:
        raise FathomError(
            f"a budget of {budget:,} for {total:,} items in {len(sizes)} categories: expected {len(sizes)} to {total:,}"
        )
    counts = [max(1, int(size / total * budget)) for size in sizes[:-1]]
    while sum(counts) > budget - 1:  # only if small categories were given one
        counts[counts.index(max(counts))] -= 1
    counts.append(min(sizes[-1], budget - sum(counts)))
    for place, size in enumerate(sizes):
        counts[place] += min(size - counts[place], budget - sum(counts))
    return counts


def anchors(
    points: Floats, weights: Floats, categories: Sequence[str], budget: int, *, seed: int = 0, restarts: int = 1
) -> Anchors:
    """Weighted k-means in every category, and the item nearest to each centre.

    Args:
        points: Features of N items, shape (N, F); for MiniLongBench discriminations and difficulty.
        weights: Share of each item in the score, shape (N,).
        categories: Category of each item; clusters do not cross categories.
        budget: K, the number of clusters.
        seed: Seed of the first centres. The released code has none, so that its anchors cannot be reproduced.
        restarts: Number of restarts of k-means; the best result counts.

    Raises:
        FathomError: The budget is impossible, see ``shares``.
    """
    names = list(dict.fromkeys(categories))
    labels = np.array(categories)
    members = [np.flatnonzero(labels == name) for name in names]
    chosen: list[int] = []
    clusters = np.zeros(len(labels), dtype=np.int64)
    for inside, count in zip(members, shares([len(inside) for inside in members], budget), strict=True):
        centres = _centres(points[inside], weights[inside], count, seed, restarts)
        nearest = _nearest(points[inside], centres)
        clusters[inside] = len(chosen) + _closest(points[inside], points[inside[nearest]])
        clusters[inside[nearest]] = len(chosen) + np.arange(count)
        chosen.extend(int(item) for item in inside[nearest])
    cluster_weights = np.bincount(clusters, weights=weights, minlength=len(chosen))
    return Anchors(np.array(chosen, dtype=np.int64), cluster_weights / cluster_weights.sum(), clusters)


@one_thread("sklearn.cluster")
def _centres(points: Floats, weights: Floats, count: int, seed: int, restarts: int) -> Floats:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    counted = weights if weights.sum() > 0 else np.ones_like(weights)
    with warnings.catch_warnings():
        # Fewer distinct points than clusters: items that all or no models solve are identical.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(n_clusters=count, n_init=restarts, random_state=seed).fit(points, sample_weight=counted)
    return np.asarray(means.cluster_centers_, dtype=np.float64)


def _nearest(points: Floats, centres: Floats) -> NDArray[np.int64]:
    """The nearest item to each centre; if an earlier centre took it, the next nearest."""
    taken = np.zeros(len(points), dtype=bool)
    nearest = []
    for centre in centres:
        distances = np.where(taken, np.inf, ((points - centre) ** 2).sum(axis=1))
        nearest.append(int(np.argmin(distances)))
        taken[nearest[-1]] = True
    return np.array(nearest, dtype=np.int64)


def _closest(points: Floats, centres: Floats) -> NDArray[np.int64]:
    squares = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :] - 2 * points @ centres.T
    return np.asarray(np.argmin(squares, axis=1), dtype=np.int64)


def write_mini(mini: MiniBenchmark, path: Path) -> None:
    """Writes the subset, and next to it the parameters of all items (``NAME.irt.npz``).

    Raises:
        FathomError: A file cannot be written.
    """
    sidecar = path.with_suffix(".irt.npz")
    with whole_file(sidecar, "wb") as stream:
        np.savez_compressed(
            stream,
            items=np.array(mini.items, dtype=np.str_),
            tasks=np.array(mini.tasks, dtype=np.str_),
            categories=np.array(mini.categories, dtype=np.str_),
            weights=mini.weights,
            discrimination=mini.parameters.discrimination,
            difficulty=mini.parameters.difficulty,
            multiplicity=np.array(mini.parameters.multiplicity, dtype=np.int64),
        )
    design = {**mini.subset.design, "parameters": sidecar.name, "parameters_file": file_facts(sidecar)}
    write_subset(replace(mini.subset, design=design), path)


def read_mini(path: Path) -> MiniBenchmark:
    """Reads what ``write_mini`` wrote.

    Raises:
        FathomError: The subset was chosen by another method, or its parameters are missing or do not match.
    """
    subset = read_subset(path)
    name = subset.design.get("parameters")
    if subset.method != METHOD or not isinstance(name, str):
        raise FathomError(f"{path}: a subset of method {subset.method!r} has no parameters; expected {METHOD}")
    sidecar = path.parent / Path(name).name
    if stated := subset.design.get("parameters_file"):  # missing in subsets of earlier versions
        check_file(sidecar, stated, f"restore it from a copy, or choose {path.name} again")
    parts = {
        part: array_of(sidecar, part)
        for part in ("items", "tasks", "categories", "weights", "discrimination", "difficulty", "multiplicity")
    }
    lengths = {len(part) for field, part in parts.items() if field != "multiplicity"}
    if len(lengths) != 1 or parts["discrimination"].ndim != 2:
        raise FathomError(f"{sidecar}: its arrays do not match; write the subset again")
    names = {part: tuple(map(str, parts[part])) for part in ("items", "tasks", "categories")}
    numbers = {part: parts[part].astype(np.float64) for part in ("weights", "discrimination", "difficulty")}
    parameters = ItemParameters(
        numbers["discrimination"], numbers["difficulty"], int(parts["multiplicity"].astype(np.int64))
    )
    return MiniBenchmark(subset, weights=numbers["weights"], parameters=parameters, **names)
