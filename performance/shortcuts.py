"""What replies are worth that nobody has read for: dumps of the context, and blind rules for choosing a candidate.

    python performance/shortcuts.py starter --lengths 2k,8k --items 100
    python performance/shortcuts.py tsort,bestanswer --data FOLDER --lengths 2k,8k --items 100 --seed 1

The tasks are built into a temporary folder, and each sample gets a reply from every rule that applies to it
(``fathom.models.baselines.shortcuts``). The table has the best of each kind by mean score, under the rules ``strict``
and ``official``, beside the chance that the samples declare. ``!`` marks those that clearly exceed it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from fathom.models.baselines.shortcuts import Shortcut, shortcuts
from fathom.suites.build import build, configure
from fathom.suites.settings import BuildSettings
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import format_length


def cell(found: Shortcut | None) -> str:
    """A cell of the table, in percent."""
    return "-" if found is None else f"{found.score:.0%} {found.rule}" + (" !" if found.clear else "")


def table(suite: BuiltSuite) -> Iterator[str]:
    """The table of a suite, row by row."""
    yield "| task | length | samples | chance | best dump, strict | official | best blind rule, strict | official |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    recipes = suite.by_id()
    samples = [recipes[sample.id] for sample in suite.samples() if sample.length]
    found = shortcuts(samples, suite.texts())
    for (task, length), group in groupby(found, lambda one: (one.task, one.length)):
        best = {(one.kind, one.grader): one for one in group}
        one = next(iter(best.values()))
        kinds = [(kind, grader) for kind in ("dump", "blind") for grader in ("strict", "official")]
        cells = " | ".join(cell(best.get(kind)) for kind in kinds)
        yield f"| `{task}` | {format_length(length)} | {one.samples} | {one.chance:.1%} | {cells} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", help="a suite, or tasks separated by commas")
    parser.add_argument("--lengths", default="2k,8k")
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    for name in ("--data", "--books", "--threads"):
        parser.add_argument(name, action="append", default=[], help=f"as {name} of `fathom build`")
    options = vars(parser.parse_args())
    target = options.pop("target")
    settings = BuildSettings(**{name: value for name, value in options.items() if value not in ([], None)})
    with tempfile.TemporaryDirectory() as folder:
        build(configure(target, settings), Path(folder) / "suite")
        for line in table(open_suite(Path(folder) / "suite")):
            print(line, flush=True)


if __name__ == "__main__":
    main()
