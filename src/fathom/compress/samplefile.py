"""Files of a sampled subset: the subset, and beside it the scores of the known models that it was chosen by.

Estimates need those scores: they say what the items measure. They are a table like any other (``tables``), so that
people can look at them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fathom.checksums import check_file, file_facts
from fathom.compress.matrix import ScoreMatrix
from fathom.compress.tables import read_matrix, write_matrix
from fathom.subsetfile import read_subset, write_subset
from fathom.types import FathomError, Subset

BESIDE = ".known.parquet"


def write_sampled(subset: Subset, known: ScoreMatrix, path: Path) -> None:
    """Write a subset and the known scores beside it (``NAME.known.parquet``), the scores first.

    Args:
        subset: The subset.
        known: The scores that it was chosen by; none are written where there is no model.
        path: The subset's file.

    Raises:
        FathomError: A file cannot be written.
    """
    design = dict(subset.design)
    if known.models:
        beside = path.with_suffix(BESIDE)
        beside.parent.mkdir(parents=True, exist_ok=True)
        write_matrix(known, beside)
        design |= {"known": beside.name, "known_file": file_facts(beside)}
    write_subset(replace(subset, design=design), path)


def read_sampled(path: Path) -> tuple[Subset, ScoreMatrix | None]:
    """A subset and the scores that it was chosen by, None where it names none.

    Raises:
        FathomError: The subset names scores that are not there, or a file cannot be read.
    """
    subset = read_subset(path)
    name = subset.design.get("known")
    if not isinstance(name, str):
        return subset, None
    beside = path.parent / Path(name).name
    if not beside.is_file():
        raise FathomError(
            f"{beside}: not there; {path} was chosen by the scores in it, and estimates need them. Put it beside the "
            "subset, or name the scores with --known"
        )
    if stated := subset.design.get("known_file"):  # subsets of earlier versions do not state it
        check_file(beside, stated, f"restore it from a copy, choose {path.name} again, or name the scores with --known")
    return subset, read_matrix(beside)
