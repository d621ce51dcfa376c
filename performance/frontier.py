"""How fast the generated tasks of the frontier suites are built, and what a blind reader scores.

    python performance/frontier.py --lengths 128k --items 4

Each task is built alone at one length; the table has CPU seconds per prompt, the least and the largest share of the
budget that is filled, and the mean score, under ``strict``, of replies that dump every answer of the kind in question.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from fathom.models.baselines.shortcuts import shortcuts
from fathom.suites.build import build, configure
from fathom.suites.registry import get_suite
from fathom.suites.settings import BuildSettings
from fathom.suites.suitefile import open_suite

SUITES = ("mrcr", "graphwalks", "ruler", "nolima", "babilong")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="128k", help="one length")
    parser.add_argument("--items", type=int, default=4)
    options = parser.parse_args()
    settings = BuildSettings(lengths=options.lengths, items=options.items, languages="en")
    print("| task | CPU seconds per prompt | budget filled | best shortcut, strict |")
    print("| --- | --- | --- | --- |")
    names = [task for suite in SUITES for task in get_suite(suite).tasks if "published" not in task]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.process_time()
            suite = open_suite(build(configure(name, settings), Path(folder) / "suite").folder)
            seconds = time.process_time() - begin
            recipes = suite.by_id()
            samples = [recipes[sample.id] for sample in suite.samples() if sample.length]
            filled = [sample.tokens / sample.length for sample in samples]
            scores = [each.score for each in shortcuts(samples, suite.texts()) if each.grader == "strict"]
            best = max(scores, default=0.0)
            print(f"| `{name}` | {seconds / len(samples):.2f} | {min(filled):.1%} to {max(filled):.1%} | {best:.0%} |")


if __name__ == "__main__":
    main()
