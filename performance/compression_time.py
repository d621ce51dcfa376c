"""CPU seconds of one draw of a validation, for each method.

    python performance/compression_time.py SCORES [--budget 237] [--splits 2]

SCORES are MiniLongBench's released ones. A draw chooses items by the known models, and estimates the new ones' scores.
The first draw of a method, which loads libraries, is not counted.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from statistics import median

from fathom.compress.matrix import Floats, ScoreMatrix
from fathom.compress.methods import METHODS
from fathom.compress.released import read_embeddings, read_split
from fathom.compress.tables import read_matrix
from fathom.compress.validate import Draw, Rows, rows_of_draw, splits_of
from fathom.parallel.units import run_units


def timed(matrix: ScoreMatrix, embeddings: Floats, draw: Draw) -> tuple[float, list[Rows]]:
    started = time.process_time()
    rows = rows_of_draw(matrix, embeddings, draw)
    return time.process_time() - started, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path)
    parser.add_argument("--budget", type=int, default=237)
    parser.add_argument("--splits", type=int, default=2)
    given = parser.parse_args()
    matrix = read_matrix(given.scores)
    splits = splits_of(matrix, given.splits, published=read_split(given.scores))
    work = partial(timed, matrix, read_embeddings(given.scores))
    together = 0.0
    for method in METHODS:
        draws = {draw.name: draw for draw in (Draw(method, (given.budget,), split) for split in splits)}
        seconds = [spent for spent, _ in run_units(draws, work)][1:]
        together += median(seconds)
        print(f"{method:14} {median(seconds):6.2f} s  ({min(seconds):.2f} to {max(seconds):.2f})")
    print(f"{'together':14} {together:6.2f} s")


if __name__ == "__main__":
    main()
