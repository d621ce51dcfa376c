"""Writes stand-ins for published records of Graphwalks and MRCR: generated items in the published form.

``python performance/frontier_records.py FOLDER --lengths 8k,32k,128k --items 10``; then ``fathom run frontier --data
FOLDER``. Their seed is another one; published and generated items are then of one kind, without a true difference.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from fathom import api
from fathom.benchmarks.mrcr.scoring import PREFIX
from fathom.score.released import GOLD
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.types import Sample

TASKS = "mrcr_8,graphwalks_bfs,graphwalks_parents"
SEED = 7


def samples(lengths: str, items: int) -> Iterator[tuple[Sample, str]]:
    """The samples with their prompts, a little shorter than the lengths, so that they are counted at these."""
    with tempfile.TemporaryDirectory() as folder:
        shorter = ",".join(str(int(length[:-1]) * 1000) for length in lengths.split(","))
        api.build(TASKS, Path(folder) / "suite", lengths=shorter, items=items, seed=SEED, languages="en")
        suite = open_suite(Path(folder) / "suite")
        texts = suite.texts()
        for sample in suite.samples():
            yield sample, render(sample, texts)


def main() -> None:
    """Write the records, and say how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lengths", default="8k,32k,128k")
    parser.add_argument("--items", type=int, default=10)
    given = parser.parse_args()
    graphs, conversations = [], []
    for number, (sample, prompt) in enumerate(samples(given.lengths, given.items)):
        about = f"Record {number}.\n\n{prompt}"
        if sample.task == "mrcr_8":
            turns = [{"role": "user", "content": about}]
            hashed = str(sample.inputs[PREFIX])
            record = {"prompt": json.dumps(turns), "answer": sample.targets[0], "n_needles": 8}
            conversations.append({**record, "random_string_to_prepend": hashed})
        else:
            kind = sample.task.removeprefix("graphwalks_")
            nodes = json.loads(str(sample.inputs[GOLD]))
            record = {"prompt": about, "answer_nodes": nodes, "problem_type": kind}
            graphs.append({**record, "prompt_chars": len(about), "date_added": "2026-11-30"})
    for name, rows, schema in (
        ("openai--graphwalks/graphwalks_128k_and_shorter.parquet", graphs, {"answer_nodes": pl.List(pl.String)}),
        ("openai--mrcr/8needle/8needle_0.parquet", conversations, {}),
    ):
        path = given.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(rows, schema_overrides=schema).write_parquet(path)
        print(f"{path}: {len(rows)} records")


if __name__ == "__main__":
    main()
