"""Score the replies to BABILong that its authors released, and print them as rows of a file of published results.

    git clone https://github.com/booydar/babilong
    python performance/babilong_replies.py babilong/babilong_evals --source NAME [--strict]

The folder has ``ORG/MODEL/TASK_LENGTH_SETTINGS.csv``, each with the columns target, output and question. Rows are of
the tasks qa1 to qa5 where they were asked with instruction, examples and post-prompt, under the released rule.
``src/fathom/benchmarks/babilong/published.csv`` has those of two branches of the repository, without repeated models.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from pathlib import Path

from fathom.score.registry import ScoringRow, get_scorer

NAMES = ("1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1M")
LENGTHS = {name: 1024 * 2**n for n, name in enumerate(NAMES)}
FILE = re.compile(r"(qa[1-5])_([0-9]+[kM])_instruction_yes_examples_yes_post_prompt_yes(?:_chat_template_no)?")


def share_right(path: Path, task: str, rule: str) -> tuple[float, int]:
    """The share of right replies in a file, in percent, and the number of all."""
    score = get_scorer("babilong/babilong", rule)
    with path.open(encoding="utf-8", newline="") as stream:
        replies = list(csv.DictReader(stream))
    values = [
        score(ScoringRow(row["output"], [row["target"]], dataset=task, extra={"question": row["question"]})).value
        for row in replies
    ]
    return 100 * sum(value or 0.0 for value in values) / len(values), len(values)


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", required=True, help="name of the source in the rows")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    out = csv.writer(sys.stdout, lineterminator="\n")
    for folder in sorted({path.parent for path in options.folder.rglob("*.csv")}):
        files = {match.groups(): path for path in folder.glob("*.csv") if (match := FILE.fullmatch(path.stem))}
        for (task, length), path in sorted(files.items(), key=lambda item: (item[0][0], LENGTHS.get(item[0][1], 0))):
            if length in LENGTHS:
                value, n = share_right(path, task, "strict" if options.strict else "official")
                name = f"babilong_published_{task}"
                at = LENGTHS[length]
                out.writerow(("babilong", folder.name, "", name, at, f"{value:.2f}", n, "replies", options.source))


if __name__ == "__main__":
    main()
