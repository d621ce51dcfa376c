"""Memory and time of rows, report, compare and board on Parquet tables of 0.1, 1 and 10 million rows.

    python performance/large_tables.py FOLDER                          # makes the tables, measures every command
    python performance/large_tables.py FOLDER --rows 1000000 --commands report,compare
    python performance/large_tables.py FOLDER --source CHECKOUT/src    # the same of another version
    python performance/large_tables.py FOLDER --models 10 30 100       # of many models, with 1,000 rows each

All tables have the same groups (20 models x 10 tasks x 5 lengths) and differ in items and epochs, so that only what
grows with rows grows. Every command runs in a process of its own; memory is the highest resident set of that process
or of it and its own processes together (looked at five times a second; what they share counts once). A command above
the limit is ended and shown as such. Order: ``runs``, model after model, as `fathom rows` writes tables; or ``mixed``,
in which the rows of all models alternate. Tables of many models have five tasks at four lengths.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ITEMS = {100_000: (50, 2), 1_000_000: (200, 5), 10_000_000: (1000, 10)}
"""Items of each task and epochs of each sample, by number of rows."""
MODELS, TASKS, LENGTHS = 20, 10, (2048, 4096, 8192, 32768, 131072)
MANY_TASKS, MANY_LENGTHS = 5, (2048, 8192, 32768, 131072)
COMMANDS = {
    "rows": ("rows", "{table}", "-o", "{out}/rows.parquet"),
    "report": ("report", "{table}", "-o", "{out}/report.html", "-q"),
    "compare": ("analyze", "compare", "{table}", "--json"),
    "board": ("board", "build", "{table}", "-o", "{out}/board", "--no-published", "--no-examples"),
}
SEED = 11
GROUP = 100_000  # rows of a row group


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ITEMS), choices=list(ITEMS))
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--order", choices=("runs", "mixed"), default="runs")
    parser.add_argument("--limit", type=float, default=6.0, help="GB of memory above which a command is ended")
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1] / "src")
    parser.add_argument("--models", type=int, nargs="+", help="numbers of models, in place of --rows")
    parser.add_argument("--each", type=int, default=1_000, help="rows of each of many models")
    given = parser.parse_args()
    out: Path = given.folder / "out"
    out.mkdir(parents=True, exist_ok=True)
    mixed = given.order == "mixed"
    shapes = {given.folder / f"{given.order}-{rows}.parquet": Shape(*ITEMS[rows]) for rows in given.rows}
    if given.models:
        items = given.each // (MANY_TASKS * len(MANY_LENGTHS))
        shapes = {
            given.folder / f"models-{models}-{given.each}.parquet": Shape(items, 1, models, MANY_TASKS, MANY_LENGTHS)
            for models in given.models
        }
    for table, shape in shapes.items():
        if not table.exists():
            make(table, shape, mixed)
        for name in given.commands.split(","):
            parts = [part.format(table=table, out=out) for part in COMMANDS[name]]
            seconds, processor, peak, ended = measured(parts, given.source, out / f"{name}.txt", given.limit)
            said = f"  {ended}" if ended else ""
            times = f"{seconds:8.1f} s {processor:8.1f} s of CPU"
            written = f" {size(out / name):8.1f} MB written, {shape.models} models" if given.models else ""
            print(f"{name:8} {shape.rows:>12,} rows {times} {peak / 1e3:8,.0f} MB{written}{said}", flush=True)


class Shape(NamedTuple):
    """Size of a table."""

    items: int
    epochs: int
    models: int = MODELS
    tasks: int = TASKS
    lengths: tuple[int, ...] = LENGTHS

    @property
    def rows(self) -> int:
        return self.items * self.epochs * self.models * self.tasks * len(self.lengths)


def make(path: Path, shape: Shape, mixed: bool) -> None:
    """Write a table, a model at a time (or an epoch of all models, if mixed)."""
    import numpy as np
    import pyarrow.parquet as pq

    rng = np.random.default_rng(SEED)
    ability, ease = rng.normal(0.8, 0.7, shape.models), rng.normal(0, 1, (shape.tasks, shape.items))
    writer = None
    blocks = [(np.arange(shape.models), np.array([epoch])) for epoch in range(shape.epochs)]
    if not mixed:
        blocks = [(np.array([model]), np.arange(shape.epochs)) for model in range(shape.models)]
    part = path.with_suffix(".part")
    for models, repeats in blocks:
        table = made_rows(rng, (ability, ease), models, repeats, shape).to_arrow()
        writer = writer or pq.ParquetWriter(part, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=GROUP)
    assert writer is not None
    writer.close()
    part.rename(path)


def made_rows(rng: Any, levels: tuple[Any, Any], models: Any, repeats: Any, size: Shape) -> Any:
    """Rows of some models and epochs: short texts, a few replies unanswered, truncated or missing."""
    import numpy as np
    import polars as pl

    from fathom.rows import SCHEMA

    ability, ease = levels
    shape = (len(repeats), len(models), size.tasks, len(size.lengths), size.items)
    if len(models) == 1:
        shape = (1, size.tasks, len(size.lengths), size.items, len(repeats))
        model, task, length, item, epoch = (one.ravel() for one in np.indices(shape))
    else:
        epoch, model, task, length, item = (one.ravel() for one in np.indices(shape))
    model, epoch = models[model], repeats[epoch]
    chance = 1 / (1 + np.exp(0.25 * length - ability[model] - ease[task, item]))
    graded = task % 3 == 2  # the other tasks are right or wrong
    drawn = rng.random(len(model))
    value = np.where(graded, np.round(np.clip(chance + rng.normal(0, 0.2, len(model)), 0, 1), 4), drawn < chance)
    ended = rng.random(len(model))
    status = np.select([ended < 0.004, ended < 0.007, ended < 0.017], ["error", "refused", "incomplete"], "ok")
    frame = pl.DataFrame({"model": model, "task": task, "length": length, "item": item, "epoch": epoch}).select(
        task=pl.format("task-{}", pl.col("task") + 1),
        number=pl.col("item"),
        kind=pl.col("task"),
        item=pl.format("{}-{}", pl.col("task") + 1, pl.col("item")),
        model=pl.format("maker/model-{}", pl.col("model") + 1),
        length=pl.col("length").replace_strict(dict(enumerate(size.lengths)), return_dtype=pl.Int64),
        epoch=pl.col("epoch") + 1,
    )
    values = pl.Series("value", value, pl.Float64)
    statuses = pl.Series("status", status)
    letter = pl.col("number") % 4
    frame = frame.with_columns(
        suite=pl.lit("large"),
        sample=pl.format("{}@{}", "item", "length"),
        value=pl.when(statuses.is_in(["ok", "incomplete"])).then(values),
        variant=pl.lit(""),
        valid=statuses == "ok",
        status=statuses,
        stop=pl.lit("stop"),
        answer=pl.when(values == 1).then(letter).otherwise((letter + 1) % 4).cast(pl.String),
        target=letter.cast(pl.String),
        language=pl.when(pl.col("number") % 5 == 0).then(pl.lit("zh")).otherwise(pl.lit("en")),
        chance=pl.when(pl.col("kind") % 5 == 0).then(0.25).otherwise(0.0),
        tokens=pl.col("length") - pl.col("number") % 20,
        tokens_in=pl.col("length") - pl.col("number") % 17,
        tokens_out=40 + pl.col("number") % 300,
        tokens_reasoning=pl.lit(None, pl.Int64),
        truncated=pl.lit(0, pl.Int64),
        cost=pl.col("length") * 1e-6,
        seconds=1.0 + pl.Series(drawn) * 10,
        metric=pl.when(pl.col("kind") % 3 == 2).then(pl.lit("token_f1")).otherwise(pl.lit("exact")),
        grader=pl.lit("rule"),
        rule=pl.lit("strict"),
        tokenizer=pl.lit("o200k_base"),
        prompt_hash=pl.format("{}{}", pl.col("number").hash(1), pl.col("length")).str.slice(0, 16),
        source=pl.lit("fathom"),
        task_version=pl.lit(1, pl.Int64),
        fathom_version=pl.lit("0.1.0"),
        detail=pl.lit(""),
        answered=statuses != "refused",
        facets=pl.concat_str(
            pl.lit('{"depth": 0.'),
            (pl.col("number") % 10).cast(pl.String),
            pl.lit(', "difficulty": "'),
            (pl.col("number") % 3).replace_strict({0: "Easy", 1: "Moderate", 2: "Hard"}, return_dtype=pl.String),
            pl.lit('"}'),
        ),
    )
    frame = frame.with_columns(served=pl.lit(""), asked_again=pl.lit(0))
    return frame.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())


def measured(parts: list[str], source: Path, said: Path, limit: float) -> tuple[float, float, float, str]:
    """Seconds, those of the processors, kB of memory, and "" or why the command did not end well."""
    code = [sys.executable, "-c", "from fathom.cli import main; main()", *parts]
    environment = os.environ | {"PYTHONPATH": str(source.resolve())}
    start, ended, most = time.perf_counter(), "", 0.0
    with said.open("wb") as output:
        child = subprocess.Popen(code, env=environment, stdout=output, stderr=subprocess.STDOUT)
        while True:
            process, status, used = os.wait4(child.pid, os.WNOHANG)
            if process:
                break
            most = max(most, sum(map(resident, family(child.pid))))
            if not ended and most > limit * 1e6:
                child.kill()
                ended = f"ended: above {limit:g} GB"
            time.sleep(0.2)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if child.returncode and not ended:
        ended = f"failed: {said.read_text('utf-8', 'replace').strip().splitlines()[-1:]}"
    return seconds, used.ru_utime + used.ru_stime, max(most, used.ru_maxrss * 1.024), ended


def size(start: Path) -> float:
    """MB of what a command wrote: all files and folders whose names begin so."""
    files = [file for path in start.parent.glob(f"{start.name}*") for file in (path, *path.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def family(process: int) -> list[int]:
    """A process and all that it has started."""
    parents = dict[int, int]()
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(place.parent.name)] = int(place.read_text("ascii", "replace").rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found = [process]
    for one in found:
        found += (child for child, parent in parents.items() if parent == one)
    return found


def resident(process: int) -> float:
    """The memory of a process in kB, with its share of what it shares; 0 if it has ended."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text("ascii", "replace")
    except OSError:
        return 0.0
    return float(next((line.split()[1] for line in text.splitlines() if line.startswith("Pss:")), 0)) * 1.024


if __name__ == "__main__":
    main()
