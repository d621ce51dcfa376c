"""Samples chosen by one table of models, tried on other models' own replies, scored here.

    python performance/compression_outside.py SCORES PREDICTIONS [--share 0.05] [--draws 50]

SCORES are MiniLongBench's released ones. PREDICTIONS holds a folder for each model with files ``TASK.jsonl.zst`` of
LongBench replies (rows in LongBench's order, with ``pred``, ``answers`` and ``all_classes``). The models are not among
the known ones, were run by other people, and their replies are scored by LongBench's official rules. Each is estimated
on the tasks for which it has replies; its true score is the balanced mean over them.
"""

from __future__ import annotations

import argparse
import io
import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from fathom.benchmarks.longbench.tasks import TASKS
from fathom.compress.matrix import Floats, ScoreMatrix, balanced
from fathom.compress.methods import METHODS
from fathom.compress.tables import read_matrix
from fathom.parallel.units import one_thread
from fathom.score.registry import ScoringRow, get_scorer

OFFICIAL = {task.name: task.official for task in TASKS}
CHINESE = ("multifieldqa_zh", "dureader", "vcsum", "lsht", "passage_retrieval_zh")


def scored(path: Path) -> Floats:
    """Scores of all rows of a file; NaN where a row cannot be scored."""
    dataset = path.name.removesuffix(".jsonl.zst")
    score = get_scorer(OFFICIAL[f"longbench_{dataset}"], "official")
    with path.open("rb") as raw, import_module("zstandard").ZstdDecompressor().stream_reader(raw) as stream:
        rows = [json.loads(line) for line in io.TextIOWrapper(stream, encoding="utf-8")]
    language = "zh" if dataset in CHINESE else "en"
    made = [ScoringRow(row["pred"], row["answers"], row["all_classes"], language, dataset) for row in rows]
    values = [score(row).value for row in made]
    return np.array([np.nan if value is None else value for value in values])


def of_tasks(matrix: ScoreMatrix, tasks: set[str]) -> ScoreMatrix:
    """The same benchmark with some of its tasks."""
    kept = np.array([task in tasks for task in matrix.tasks])
    names = [task for task in matrix.tasks if task in tasks]
    categories = [category for category, keep in zip(matrix.categories, kept, strict=True) if keep]
    return replace(
        matrix,
        items=tuple(item for item, keep in zip(matrix.items, kept, strict=True) if keep),
        scores=matrix.scores[:, kept],
        tasks=tuple(names),
        categories=tuple(categories),
        lengths=matrix.lengths[kept],
        weights=balanced(names, categories),
        costs=matrix.costs[kept],
    )


@one_thread("scipy.cluster.hierarchy")
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--draws", type=int, default=50)
    arguments = parser.parse_args()
    whole = read_matrix(arguments.scores)
    for folder in sorted(path for path in arguments.predictions.iterdir() if path.is_dir()):
        files = {path.name.removesuffix(".jsonl.zst"): scored(path) for path in sorted(folder.glob("*.jsonl.zst"))}
        sizes = {task: whole.tasks.count(f"longbench_{task}") for task in files}
        used = {task: values for task, values in files.items() if len(values) == sizes[task]}
        matrix = of_tasks(whole, {f"longbench_{task}" for task in used})
        row = np.concatenate([used[task.removeprefix("longbench_")] for task in dict.fromkeys(matrix.tasks)])
        row = np.nan_to_num(row)
        truth, budget = float(row @ matrix.weights), round(arguments.share * len(matrix.items))
        print(f"{folder.name}: {len(used)} tasks, {len(matrix.items):,} items, true score {100 * truth:.2f}")
        for name in ("sampled", "stratified"):
            found = []
            for seed in range(arguments.draws):
                plan = METHODS[name](matrix, budget, seed, None)
                one = plan.estimate(row[None, plan.items])
                value, low, high = (float(part[0, 0]) for part in (one.values, one.low, one.high))
                found.append((abs(value - truth), value - truth, low <= truth <= high, (high - low) / 2))
            error, bias, held, half = np.mean(found, axis=0)
            print(
                f"  {name:10} {budget} items: error {100 * error:.2f}, bias {100 * bias:+.2f}, "
                f"95% interval holds {held:.0%}, half-width {100 * half:.2f}"
            )


if __name__ == "__main__":
    main()
