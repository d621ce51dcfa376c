"""Files of MiniLongBench's method: a subset, and the parameters of all items beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fathom.atomic import whole_file
from fathom.checksums import check_file, file_facts
from fathom.compress.irt import ItemParameters
from fathom.compress.minilongbench import METHOD, MiniBenchmark
from fathom.compress.released import array_of
from fathom.subsetfile import read_subset, write_subset
from fathom.types import FathomError


def write_mini(mini: MiniBenchmark, path: Path) -> None:
    """Writes the subset, and beside it the parameters of all items (``NAME.irt.npz``).

    Raises:
        FathomError: A file cannot be written.
    """
    beside = path.with_suffix(".irt.npz")
    with whole_file(beside, "wb") as stream:
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
    design = {**mini.subset.design, "parameters": beside.name, "parameters_file": file_facts(beside)}
    write_subset(replace(mini.subset, design=design), path)


def read_mini(path: Path) -> MiniBenchmark:
    """Reads what ``write_mini`` wrote.

    Raises:
        FathomError: The subset was chosen by another method, or its parameters are missing or do not fit.
    """
    subset = read_subset(path)
    name = subset.design.get("parameters")
    if subset.method != METHOD or not isinstance(name, str):
        raise FathomError(f"{path}: a subset of method {subset.method!r} without parameters, expected one of {METHOD}")
    beside = path.parent / Path(name).name
    if stated := subset.design.get("parameters_file"):  # subsets of earlier versions do not state it
        check_file(beside, stated, f"restore it from a copy, or choose {path.name} again")
    parts = {
        part: array_of(beside, part)
        for part in ("items", "tasks", "categories", "weights", "discrimination", "difficulty", "multiplicity")
    }
    lengths = {len(part) for field, part in parts.items() if field != "multiplicity"}
    if len(lengths) != 1 or parts["discrimination"].ndim != 2:
        raise FathomError(f"{beside}: its arrays do not fit each other; write the subset again")
    names = {part: tuple(map(str, parts[part])) for part in ("items", "tasks", "categories")}
    numbers = {part: parts[part].astype(np.float64) for part in ("weights", "discrimination", "difficulty")}
    parameters = ItemParameters(
        numbers["discrimination"], numbers["difficulty"], int(parts["multiplicity"].astype(np.int64))
    )
    return MiniBenchmark(subset, weights=numbers["weights"], parameters=parameters, **names)
