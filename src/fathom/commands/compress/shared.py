"""What commands about smaller benchmarks share: options, and how results are printed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fathom.options.declare import arg, opt
from fathom.options.values import ManyPaths, MaybePath

if TYPE_CHECKING:
    from fathom.compress.matrix import Floats, ScoreMatrix

Scores: TypeAlias = Annotated[
    ManyPaths,
    arg(
        "Scores of models on items: a table with a column for each model, run folders, rows files, or the folder of "
        "MiniLongBench's released scores."
    ),
]
Embeddings: TypeAlias = Annotated[
    MaybePath, opt("An .npz file with a vector for each item, for methods that use texts.")
]
Published: TypeAlias = Annotated[
    MaybePath, opt("Folder of MiniLongBench's released data: its 237 items and their parameters.", metavar="FOLDER")
]


def half_width(value: float) -> str:
    """The check of half-widths of intervals."""
    return "" if 0 < value < 0.5 else "expected a half-width between 0 and 0.5, for instance 0.02"


def vectors_of(path: Path | None, matrix: "ScoreMatrix") -> "Floats | None":
    """The embeddings of a file, a row for each item of the matrix; None where no file is given."""
    from fathom.compress.embedding import read_vectors

    return None if path is None else read_vectors(path).of(matrix.items)
