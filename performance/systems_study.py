"""The whole prompt or a system around the model? Scores and tokens of offline baselines on real documents.

    python performance/systems_study.py DATA OUT [--items 12] [--lengths 2k,8k,32k,64k] [--tasks NAME,...]

DATA is a folder with L-Eval's files, of which the suite `hundred` is built in OUT. `fathom/lexical` with a window of 8k
tokens, from which longer prompts are truncated in the middle, is asked through each system; without a window it reads
all of a prompt, which is what a system can hope for. Every row is a system at a length: its mean score, its tokens for
a sample (the model's prompts), and its difference from the whole prompt in the same window, paired by item.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from fathom import api
from fathom.tokens.length import format_length

WINDOW = "fathom/lexical?window=8k&truncate=middle"
ALL = "fathom/lexical"
TASKS = "kv_retrieval,counting_stars,passage_retrieval,passage_count"
SYSTEMS = (
    *(f"retrieval?top={top}" for top in (1, 2, 4, 8, 16)),
    "map-reduce",
    "map-reduce?chunk=2k",
    "compaction",
    "compaction?chunk=2k",
)


def run(suite: Path, out: Path, model: str, system: str, tasks: list[str]) -> Path:
    """The folder of a run, which is made or resumed."""
    folder = out / f"{'all' if model == ALL else '8k'}-{system.replace('?', '-')}"
    api.run(suite, model, folder, system=system, tasks=tasks)
    return folder


def tokens(rows: pl.DataFrame) -> dict[tuple[str, str, int], float]:
    """Mean tokens of the model's prompts for a sample, by model, variant and length.

    A whole prompt beyond the window counts as the window that is left of it.
    """
    left = pl.coalesce("tokens_in", pl.col("tokens") - pl.col("truncated"))
    found = rows.group_by("model", "variant", "length").agg(left.mean().alias("read")).rows()
    return {(model, variant, length): read for model, variant, length, read in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--items", type=int, default=12)
    parser.add_argument("--lengths", default="2k,8k,32k,64k")
    parser.add_argument("--tasks", default=TASKS)
    given = parser.parse_args()
    suite, tasks = given.out / "suite", given.tasks.split(",")
    api.build(
        "hundred", suite, data=[str(given.data)], lengths=given.lengths, items=given.items, languages=["en"], seed=1
    )
    folders = [run(suite, given.out, ALL, "whole", tasks), run(suite, given.out, WINDOW, "whole", tasks)]
    folders += [run(suite, given.out, WINDOW, system, tasks) for system in SYSTEMS]
    report(api.rows(folders).filter((pl.col("length") > 0) & pl.col("task").is_in(tasks)))


def report(rows: pl.DataFrame) -> None:
    """Print a table for every group of tasks: all, then each."""
    for task in (None, *sorted(rows["task"].unique())):
        part = rows if task is None else rows.filter(pl.col("task") == task)
        print(f"\n{task or 'all tasks'}\n\n| system | length | score | tokens | difference from the whole prompt |")
        print("| --- | --: | --: | --: | --- |")
        read = tokens(part)
        systems = part.select("model", "variant").unique(maintain_order=True).rows()
        for model, variant in systems:
            for _, cell in part.filter((pl.col("model") == model) & (pl.col("variant") == variant)).group_by(
                "length", maintain_order=True
            ):
                size = int(cell["length"][0])
                name = f"{variant or 'whole'}{', no window' if model == ALL else ''}"
                gap = "" if (model, variant) == (WINDOW, "") else difference(part, model, variant, size)
                mean = cell.select(pl.col("value").mean()).item()
                print(f"| `{name}` | {format_length(size)} | {mean:.3f} | {read[model, variant, size]:,.0f} | {gap} |")


def difference(rows: pl.DataFrame, model: str, variant: str, length: int) -> str:
    """The difference from the whole prompt in the window at one length, with its 95% interval."""
    from fathom.analysis import compare

    at = rows.filter(pl.col("length") == length)
    found = compare(at, model, WINDOW, variant_a=variant, variant_b="")
    tasks = rows["task"].unique()
    wanted = "all" if len(tasks) > 1 else tasks[0]
    one = next((one for one in found if one.task == wanted), None)
    if one is None:
        return ""
    return f"{one.difference:+.3f} [{one.interval.low:+.3f}, {one.interval.high:+.3f}]"


if __name__ == "__main__":
    main()
