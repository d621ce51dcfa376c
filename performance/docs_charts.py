"""Draw charts of docs/images again, by the commands of the pages that show them.

    python performance/docs_charts.py FOLDER [NAME ...]

FOLDER holds ``minilongbench`` with the released scores, and ``LongBench-Pro/output`` with the published results. With
names (redundancy, lengths, ...) only these charts are drawn. Compare the figures of each with its page before it is
committed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
STUDY = re.compile(r"^fathom (compress (?:study|validate) .*--plot) ((\w[\w-]*)\.svg)$", re.MULTILINE)
PRO = (
    "Gemini-2.5-Pro,GPT-5,Claude-4-Sonnet,DeepSeek-V3.2,Gemini-2.5-Flash,Qwen3-235B-A22B-Thinking-2507,GLM-4.6,GPT-4o,"
    "Qwen3-32B,Llama-3.1-8B-Instruct"
)
PAGES = ("explanation/compression-studies.md", "explanation/measurements/compression.md")


def commands() -> dict[str, list[list[str]]]:
    """The commands that draw each chart, by its name."""
    found = {}
    for page in PAGES:
        for words, file, name in STUDY.findall((ROOT / "docs" / page).read_text("utf-8")):
            given = words.replace(" FOLDER ", " minilongbench ")
            found[name] = [[*shlex.split(given), str(IMAGES / "compression" / file)]]
    rows = ["rows", "--from", "longbench-pro", "LongBench-Pro/output", "--out", "published.parquet"]
    heatmap = ["plot", "lengths-heatmap", "published.parquet", "--models", PRO]
    return found | {"lengths": [rows, [*heatmap, "--out", str(IMAGES / "pro" / "lengths.svg")]]}


def main() -> None:
    known = commands()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", default=[], help=", ".join(known))
    given = parser.parse_args()
    if unknown := set(given.names) - known.keys():
        parser.error(f"no chart has the name {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for name in given.names or known:
        print(name, flush=True)
        for words in known[name]:
            line = [sys.executable, "-c", "from fathom.cli import main; main()", *words]
            subprocess.run(line, cwd=given.folder, env=environment, check=True)


if __name__ == "__main__":
    main()
