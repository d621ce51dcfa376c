"""How fast the generated tasks of the frontier suites are built, and what a blind reader scores.

    python performance/frontier.py --lengths 128k --items 4

Each task is built alone at one length; the table has CPU seconds per prompt, the least and the largest share of the
budget that is filled, and the mean score, under ``strict``, of replies that dump every answer of the kind in question.
``--floors`` prints instead what copies of a random one of the like entries score on MRCR's generated tasks, and of a
random question on those of RULERv2 that ask for copies.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from pathlib import Path
from statistics import fmean

from fathom.benchmarks.mrcr.records import NEEDLES
from fathom.benchmarks.mrcr.scoring import OTHERS, PREFIX
from fathom.models.baselines.shortcuts import shortcuts
from fathom.score.registry import RULES, get_scorer, row_of
from fathom.suites.build import build, configure
from fathom.suites.registry import get_suite, get_task
from fathom.suites.settings import BuildSettings
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.types import Sample

COPIED = ("ruler2_mk_niah_easy", "ruler2_mv_niah_easy", "ruler2_mv_niah_medium", "ruler2_mv_niah_hard")
_QUESTION = re.compile(r"^Question \d{7}: (.+ D\. \d+)$", re.MULTILINE)
SUITES = ("mrcr", "graphwalks", "ruler", "ruler2", "nolima", "babilong", "longproc", "oolong", "loft")


def _floors(settings: BuildSettings) -> None:
    for name in (f"mrcr_{kind}{needles}" for kind in ("", "google_") for needles in NEEDLES):
        with tempfile.TemporaryDirectory() as folder:
            samples = list(open_suite(build(configure(name, settings), Path(folder) / "suite").folder).samples())
        task = get_task(name)
        rows = [(sample, row_of(copy, sample)) for sample in samples for copy in _copies(sample)]
        shares = [fmean(get_scorer(task.official, rule)(row).value or 0.0 for _, row in rows) for rule in RULES]
        chance = fmean(sample.chance for sample in samples)
        print(f"{name}: " + ", ".join(f"{rule} {share:.1%}" for rule, share in zip(RULES, shares, strict=True)))
        print(f"{name}: chance of the samples {chance:.1%}")


def _copied(settings: BuildSettings) -> None:
    for name in COPIED:
        with tempfile.TemporaryDirectory() as folder:
            suite = open_suite(build(configure(name, settings), Path(folder) / "suite").folder)
            rows = [
                row_of(copy, sample)
                for sample in suite.samples()
                for copy in _QUESTION.findall(render(sample, suite.texts()))
                if copy not in sample.targets[0]
            ]
        shares = [fmean(get_scorer(get_task(name).official, rule)(row).value or 0.0 for row in rows) for rule in RULES]
        print(f"{name}: " + ", ".join(f"{rule} {share:.1%}" for rule, share in zip(RULES, shares, strict=True)))


def _copies(sample: Sample) -> list[str]:
    others = json.loads(str(sample.inputs[OTHERS]))
    return [sample.targets[0], *(f"{sample.inputs[PREFIX]}{other}" for other in others)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="128k", help="one length")
    parser.add_argument("--items", type=int, default=4)
    parser.add_argument("--floors", action="store_true")
    options = parser.parse_args()
    settings = BuildSettings(lengths=options.lengths, items=options.items, languages="en")
    if options.floors:
        _floors(settings)
        return _copied(settings)
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
