"""Hostile and damaged bundles against the check of bundles: how many are taken, and how many crash it.

A right bundle of sixteen replies (four tasks, one of them judged) is damaged in every way that
``tests/bundle_mutations.py`` knows, in turn, and each result is checked as a server does: against the suite that was
run. Bundles that are refused, or found incomplete, are counted by what was found; one that is taken or raises is kept
in a folder, and the benchmark ends with 1. The right bundle has to be taken before and after.

    python performance/bundle_fuzz.py                 # 10,000 bundles: a minute or two
    python performance/bundle_fuzz.py --count 500
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def fuzz(count: int, seed: int, folder: Path) -> int:
    """Check so many bundles and print what came of them; how many were taken or raised."""
    from bundle_mutations import hostile_bundles
    from fathom.board.bundles.check import check
    from made_bundles import make_bundle

    data, suite = make_bundle(folder)
    path = folder / "bundle.zip"
    found: dict[str, Counter[str]] = defaultdict(Counter)
    slowest, seconds, failed = 0.0, 0.0, 0

    def is_taken() -> bool:
        path.write_bytes(data)
        return check(path, [suite]).complete

    assert is_taken(), "the right bundle is not taken"
    for number, (name, made) in enumerate(hostile_bundles(seed, count, data)):
        path.write_bytes(made)
        start = time.perf_counter()
        try:
            checked = check(path, [suite])
            topic = "TAKEN" if checked.complete else (checked.of("refused") + checked.of("incomplete"))[0].topic
        except Exception:  # whatever it is, it is what this looks for
            traceback.print_exc()
            topic = "CRASH"
        took = time.perf_counter() - start
        slowest, seconds = max(slowest, took), seconds + took
        found[name][topic] += 1
        if topic in ("TAKEN", "CRASH"):
            failed += 1
            (folder / f"{topic.lower()}-{number}-{name}.zip").write_bytes(made)
    assert is_taken(), "the right bundle is not taken any more"
    print_counts(found, seconds, slowest, failed)
    return failed


def print_counts(found: dict[str, Counter[str]], seconds: float, slowest: float, failed: int) -> None:
    """A line for each kind of damage, with what was found how often."""
    total: Counter[str] = sum(found.values(), Counter())
    for name, topics in found.items():
        print(f"{name:17} {topics.total():6,}  " + ", ".join(f"{topic} {n:,}" for topic, n in topics.most_common()))
    print(f"{'all':17} {total.total():6,}  " + ", ".join(f"{topic} {n:,}" for topic, n in total.most_common()))
    taken, crashed = total["TAKEN"], total["CRASH"]
    print(f"taken: {taken:,}; crashed: {crashed:,}; {seconds:.1f} s of checking, the slowest {1000 * slowest:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="bundles")
    parser.add_argument("--seed", type=int, default=0, help="of the damages")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bundle-fuzz-"))
    failed = fuzz(given.count, given.seed, folder)
    if failed:
        print(f"what was taken or crashed is in {folder}")
        sys.exit(1)


if __name__ == "__main__":
    main()
