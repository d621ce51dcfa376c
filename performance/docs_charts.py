"""Draw charts of docs/images again, by the commands of the pages that show them.

    python performance/docs_charts.py                      # from the numbers beside the charts: seconds
    python performance/docs_charts.py FOLDER [NAME ...]    # measured again: an hour for all

Beside most charts there is a CSV file with what it shows; a test draws them from it and compares, byte for byte. FOLDER
holds ``minilongbench`` with the released scores, and for the chart ``lengths`` ``LongBench-Pro/output`` with the
published results. With names (redundancy, lengths, ...) only these charts are drawn. Compare the figures of each with
its page before it is committed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from fathom.compress.validate import summary
from fathom.report.compression import ALL, ESTIMATES, study_chart, validation
from fathom.report.figure import save

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
STUDY = re.compile(r"^fathom (compress (?:study|validate) .*--plot) ((\w[\w-]*)\.svg)$", re.MULTILINE)
PRO = (
    "Gemini-2.5-Pro,GPT-5,Claude-4-Sonnet,DeepSeek-V3.2,Gemini-2.5-Flash,Qwen3-235B-A22B-Thinking-2507,GLM-4.6,GPT-4o,"
    "Qwen3-32B,Llama-3.1-8B-Instruct"
)
PAGES = ("explanation/compression-studies.md", "explanation/measurements/compression.md")
WITHOUT_NUMBERS = ("redundancy", "lengths")
"""Charts of too many numbers to be kept."""
SHOWN = ["setting", "draw", "models", "estimate", "category", "spearman"]
DRAWN = {"neighbours": ["task", "x", "y", "chosen"], "rankings": ["draw", "model", "full", "predicted", "direct"]}


def commands() -> dict[str, list[str]]:
    """The command that measures what each chart of a study shows, by its name; without the files that it writes."""
    found = {}
    for page in PAGES:
        for words, _, name in STUDY.findall((ROOT / "docs" / page).read_text("utf-8")):
            found[name] = shlex.split(words.replace(" FOLDER ", " minilongbench "))[:-1]
    return found


def numbers(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """What a chart shows of the table that its command writes."""
    if name == "methods":
        return summary(table).filter(target="overall").drop("seconds")
    if name in DRAWN:
        return table.select(pl.col(DRAWN[name])).with_columns(pl.col(pl.Float64).round(6))
    shown = table.filter(pl.col("estimate").is_in(list(ESTIMATES)))
    if name != "categories":
        shown = shown.filter(category=ALL)
    return shown.select([own for own in SHOWN if own in shown.columns]).with_columns(pl.col("spearman").round(8))


def draw(name: str, folder: Path) -> None:
    """Draws a chart from the numbers beside it.

    Args:
        name: Its name.
        folder: Where it is written.
    """
    table = pl.read_csv(IMAGES / "compression" / f"{name}.csv", schema_overrides={"setting": pl.String})
    study = name.removesuffix("-prior")
    chart = validation(table) if name == "methods" else study_chart(study, table)
    save(chart, folder / f"{name}.svg")


def with_numbers() -> list[str]:
    """Names of the charts whose numbers are kept."""
    return [name for name in commands() if name not in WITHOUT_NUMBERS]


def run(words: list[str], folder: Path) -> None:
    line = [sys.executable, "-c", "from fathom.cli import main; main()", *words]
    subprocess.run(line, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=True)


def measure(name: str, folder: Path) -> None:
    """Measures what a chart shows, and draws it."""
    if name == "lengths":
        run(["rows", "--from", "longbench-pro", "LongBench-Pro/output", "--out", "published.parquet"], folder)
        heatmap = ["plot", "lengths-heatmap", "published.parquet", "--models", PRO]
        return run([*heatmap, "--out", str(IMAGES / "pro" / "lengths.svg")], folder)
    if name in WITHOUT_NUMBERS:
        return run([*commands()[name], "--plot", str(IMAGES / "compression" / f"{name}.svg")], folder)
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch) / "table.parquet"
        run([*commands()[name], "--out", str(table)], folder)
        numbers(name, pl.read_parquet(table)).write_csv(IMAGES / "compression" / f"{name}.csv")
    draw(name, IMAGES / "compression")


def main() -> None:
    known = [*commands(), "lengths"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("names", nargs="*", metavar="NAME", default=[], help=", ".join(known))
    given = parser.parse_args()
    if unknown := set(given.names) - set(known):
        parser.error(f"no chart has the name {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in given.names or (known if given.folder else with_numbers()):
        print(name, flush=True)
        measure(name, given.folder) if given.folder else draw(name, IMAGES / "compression")


if __name__ == "__main__":
    main()
