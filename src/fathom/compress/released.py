"""MiniLongBench's released data from a local copy: scores of 40 models on LongBench's 4,750 items."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import ConfigDict

from fathom.compress.arrays import open_arrays
from fathom.compress.irt import ItemParameters
from fathom.compress.matrix import Floats, ScoreMatrix, balanced, checked_matrix
from fathom.rows.schema import read_table
from fathom.storage.validation import Count, Items, Text, parsed, read_json
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


def _checked_group(name: str) -> str:
    if name not in CATEGORIES:
        raise FathomError(f"expected one of {', '.join(CATEGORIES)}")
    return name


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


@dataclass(frozen=True, slots=True)
class _Task:
    """A task in ``tasks.json``: ``n`` items from number ``start``."""

    __pydantic_config__ = ConfigDict(extra="ignore")

    start: Count
    n: Count
    language: Text
    task: Text
    group: Annotated[Text, parsed(_checked_group)]


@dataclass(frozen=True, slots=True)
class _Models:
    """``models.json``: names, and numbers of the models that the benchmark was made with and tested with."""

    __pydantic_config__ = ConfigDict(extra="ignore")

    models: Items[Text]
    train_indices: Items[Count] | None = None
    test_indices: Items[Count] | None = None


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
        frame = read_table(folder / SCORES)
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
    items: list[str] = []
    tasks: list[str] = []
    categories: list[str] = []
    for task in sorted(read_json(Items[_Task], _present(folder / TASKS)), key=lambda task: task.start):
        language = "zh" if task.language == "zh" else "en"
        items += [f"longbench_{task.task}/{language}/{index:04d}" for index in range(task.n)]
        tasks += [f"longbench_{task.task}"] * task.n
        categories += [CATEGORIES[task.group]] * task.n
    return Layout(tuple(items), tuple(tasks), tuple(categories), balanced(tasks, categories))


def read_models(folder: Path) -> list[str]:
    """Names of the models, in the order of the scores.

    Raises:
        FathomError: ``models.json`` is missing or has no such list.
    """
    return list(read_json(_Models, _present(folder / MODELS)).models)


def read_split(folder: Path) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of the models that the benchmark was made with, and of those it was tested with.

    Raises:
        FathomError: ``models.json`` is missing or has no such lists.
    """
    models = read_json(_Models, _present(folder / MODELS))
    if models.train_indices is None or models.test_indices is None:
        raise FathomError(f"{folder / MODELS}: expected the lists of numbers train_indices and test_indices")
    return models.train_indices, models.test_indices


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


def _present(path: Path) -> Path:
    if not path.exists():
        raise FathomError(f"{path}: no such file; it is part of MiniLongBench's released data")
    return path


def array_of(path: Path, name: str) -> NDArray[np.generic]:
    """One array of an ``.npz`` file without Python objects.

    Raises:
        FathomError: There is no such file or array, or it cannot be read.
    """
    with open_arrays(_present(path)) as arrays:
        return arrays.read(name)
