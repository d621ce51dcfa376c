"""What commands about smaller benchmarks share: options, and how results are printed."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from fathom.commands.shared import MaybePath
from fathom.options.declare import arg, opt
from fathom.options.values import paths_of

if TYPE_CHECKING:
    from fathom.compress.matrix import Floats, ScoreMatrix

Scores: TypeAlias = Annotated[
    Iterable[Path | str] | Path | str,
    arg(
        "Scores of models on items: a table with a column for each model, run folders, rows files, or the folder of "
        "MiniLongBench's released scores.",
        many=True,
        read=paths_of,
    ),
]
Embeddings: TypeAlias = Annotated[
    MaybePath, opt("An .npz file with a vector for each item, for methods that use texts.", metavar="FILE")
]
Published: TypeAlias = Annotated[
    MaybePath,
    opt("Folder of MiniLongBench's released data: its 237 items and their parameters.", metavar="FOLDER"),
]


def half_width(value: float) -> str:
    """The check of half-widths of intervals."""
    return "" if 0 < value < 0.5 else "expected a half-width between 0 and 0.5, for instance 0.02"


def vectors_of(path: Path | None, matrix: "ScoreMatrix") -> "Floats | None":
    """The embeddings of a file, a row for each item of the matrix; None where no file is given."""
    from fathom.compress.embedding import read_vectors

    return None if path is None else read_vectors(path).of(matrix.items)


def print_json(value: Any) -> None:
    """A result as JSON."""
    from fathom.commands.analyze.shared import finite
    from fathom.printing import printable_json

    print(printable_json(json.dumps(finite(value), indent=2, ensure_ascii=False)))
