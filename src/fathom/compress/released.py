"""MiniLongBench's released data from a local copy: scores of 40 models on LongBench's 4,750 items."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.compress.irt import ItemParameters
from fathom.compress.matrix import Floats, ScoreMatrix, balanced, checked_matrix
from fathom.types import FathomError

SCORES, MODELS, TASKS = "performance.parquet", "models.json", "tasks.json"
ANCHORS, PARAMETERS, EMBEDDINGS = "anchors.npz", "irt_params.npz", "embeddings_pca.npz"
CATEGORIES = {
    "Single-Document QA": "single_doc_qa",
    "Multi-Document QA": "multi_doc_qa",
    "Summarization": "summarization",
    "Few-shot Learning": "few_shot",
    "Synthetic Task": "synthetic",
    "Code Completion": "code",
}
"""Categories as named in the data, and as in LongBench's samples here."""


@dataclass(frozen=True)
class Layout:
    """The items of the released scores, in their order.

    Attributes:
        items: Names as ``longbench_hotpotqa/en/0017``.
        tasks: Task of each item.
        categories: Category of each item.
        weights: Share of each item: tasks have equal weight in a category, categories in the whole.
    """

    items: tuple[str, ...]
    tasks: tuple[str, ...]
    categories: tuple[str, ...]
    weights: Floats


def is_released(path: Path) -> bool:
    """Whether a folder contains the released scores."""
    return path.is_dir() and all((path / name).is_file() for name in (SCORES, MODELS, TASKS))


def read_released(folder: Path) -> ScoreMatrix:
    """The released scores.

    Raises:
        FathomError: A file is missing, cannot be read, or does not match the others.
    """
    layout = read_layout(folder)
    names = read_models(folder)
    try:
        frame = pl.read_parquet(folder / SCORES, glob=False)
        scores = frame.select(names).cast(pl.Float64).to_numpy().T
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FathomError(f"{folder / SCORES}: cannot be read: {error}") from error
    if scores.shape[1] != len(layout.items):
        raise FathomError(f"{folder}: {scores.shape[1]:,} rows of scores, but {TASKS} has {len(layout.items):,} items")
    return checked_matrix(
        str(folder),
        names,
        list(layout.items),
        np.ascontiguousarray(scores),
        tasks=layout.tasks,
        categories=layout.categories,
        weights=layout.weights,
    )


def read_layout(folder: Path) -> Layout:
    """Names, tasks, categories and weights of the items.

    Raises:
        FathomError: ``tasks.json`` is missing or invalid.
    """
    path = folder / TASKS
    items: list[str] = []
    tasks: list[str] = []
    categories: list[str] = []
    try:
        for record in sorted(_records(path), key=lambda one: int(str(one["start"]))):
            count, language, name = int(str(record["n"])), str(record["language"]), str(record["task"])
            shown = "zh" if language == "zh" else "en"
            items += [f"longbench_{name}/{shown}/{index:04d}" for index in range(count)]
            tasks += [f"longbench_{name}"] * count
            categories += [CATEGORIES[str(record["group"])]] * count
    except (KeyError, TypeError, ValueError) as error:
        raise FathomError(
            f"{path}: expected a list of tasks with start, n, language and group, each group one of "
            f"{', '.join(CATEGORIES)}: {error!r}"
        ) from error
    return Layout(tuple(items), tuple(tasks), tuple(categories), balanced(tasks, categories))


def read_models(folder: Path) -> list[str]:
    """Names of the models, in the order of the scores.

    Raises:
        FathomError: ``models.json`` is missing or has no such list.
    """
    found = _json(folder / MODELS)
    names = found.get("models") if isinstance(found, dict) else None
    if not isinstance(names, list):
        raise FathomError(f"{folder / MODELS}: expected an object with a list of models")
    return [str(name) for name in names]


def read_split(folder: Path) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of the models that the benchmark was made with, and of those it was tested with.

    Raises:
        FathomError: ``models.json`` is missing or has no such lists.
    """
    found = _json(folder / MODELS)
    lists = [found.get(name) if isinstance(found, dict) else None for name in ("train_indices", "test_indices")]
    if not all(isinstance(one, list) and all(isinstance(number, int) for number in one) for one in lists):
        raise FathomError(f"{folder / MODELS}: expected the lists of numbers train_indices and test_indices")
    train, test = (tuple(map(int, one or ())) for one in lists)
    return train, test


def read_anchors(folder: Path) -> NDArray[np.int64]:
    """Numbers of the 237 published items, in ascending order.

    Raises:
        FathomError: ``anchors.npz`` is missing or has no array ``anchor``.
    """
    return np.sort(array_of(folder / ANCHORS, "anchor").astype(np.int64))


def read_parameters(folder: Path) -> ItemParameters:
    """The published parameters of all items; their difficulty counts once for every dimension.

    Raises:
        FathomError: ``irt_params.npz`` is missing or lacks an array.
    """
    path = folder / PARAMETERS
    slopes = array_of(path, "irt_model__best_parameters__disc").astype(np.float64)
    difficulty = array_of(path, "irt_model__best_parameters__diff").astype(np.float64)
    if slopes.ndim != 2 or difficulty.size != len(slopes):
        raise FathomError(f"{path}: discriminations {slopes.shape} and difficulties {difficulty.shape} do not match")
    return ItemParameters(slopes, difficulty.reshape(-1), multiplicity=slopes.shape[1])


def read_embeddings(folder: Path) -> Floats:
    """The published embeddings after PCA, shape (4,750, 10).

    Raises:
        FathomError: ``embeddings_pca.npz`` is missing or has no array ``embeddings``.
    """
    return array_of(folder / EMBEDDINGS, "embeddings").astype(np.float64)


def array_of(path: Path, name: str) -> NDArray[np.generic]:
    """One array of an ``.npz`` file without Python objects.

    Raises:
        FathomError: There is no such file or array, or it cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found: NDArray[np.generic] = arrays[name]
            return found
    except FileNotFoundError as error:
        raise FathomError(f"{path}: no such file; it is part of MiniLongBench's released data") from error
    except KeyError as error:
        raise FathomError(f"{path}: no array {name!r}") from error
    except (OSError, ValueError, EOFError) as error:
        raise FathomError(f"{path}: cannot be read as arrays without Python objects: {error}") from error


def _records(path: Path) -> list[dict[str, object]]:
    found = _json(path)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise TypeError("not a list of objects")
    return found


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise FathomError(f"{path}: no such file; it is part of MiniLongBench's released data") from error
    except (OSError, ValueError) as error:
        raise FathomError(f"{path}: cannot be read as JSON: {error}") from error
