"""How long scorers, extractors, segmenters and readers take for 10, 100 and 1,000 kB of hostile text.

    python performance/growth.py --most 100    # up to 100 kB: minutes
    python performance/growth.py               # all: much longer

Each is measured as in tests/linear_time.py: processor time, the best of two. Ratios are to a tenth of the text, where
that takes at least two milliseconds; what would take more than a minute is not tried, and said. A ratio above 12 is
that of memory rather than of steps if twice the longest text takes no more than 3.5 times as long, where a square would
take four times: both are printed. Exits with 1 if it takes more, or if a function was not tried.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / "tests" / name) for name in ("", "score")]

import test_linear_time as scorers  # noqa: E402

import test_linear_readers as readers  # noqa: E402
from linear_time import seconds  # noqa: E402

KINDS = ("1", "?", "{'a': ", "图", "\n- but (B), ")
SIZES = (10_000, 100_000, 1_000_000)
MOST_RATIO, MOST_OF_DOUBLE, LEAST_SECONDS, MOST_SECONDS = 12.0, 3.5, 0.002, 60.0


def measured() -> Iterator[tuple[str, Callable[[str], float]]]:
    """Each function by its name, as the seconds that a text takes."""
    for name, read in scorers._scorers():
        yield name, partial(scorers._seconds, read)
    for name, read in readers.READERS.items():
        yield name, partial(seconds, partial(readers._quietly, read))


def ratio_of(time: Callable[[str], float], kind: str, most: int) -> tuple[float, float]:
    """The largest ratio of the times for a text and for a tenth of it, and the time for the longest."""
    worst, before = 0.0, 0.0
    for size in (size for size in SIZES if size <= most):
        if before * MOST_RATIO > MOST_SECONDS:
            return worst, float("inf")
        text = (kind * size)[:size]
        took = min(time(text) for _ in range(2))
        if before >= LEAST_SECONDS:
            worst = max(worst, took / before)
        before = took
    return worst, before


def main() -> int:
    """Print the slowest and the steepest of each kind of text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1000, help="longest text in kB")
    most = 1000 * parser.parse_args().most
    above = 0
    print("| text | functions | steepest: ratio | slowest: ms |\n| --- | --- | --- | --- |")
    for kind in KINDS:
        functions = list(measured())
        figures = [(name, *ratio_of(time, kind, most)) for name, time in functions]
        steepest, slowest = max(figures, key=lambda line: line[1]), max(figures, key=lambda line: line[2])
        shown = "not tried" if slowest[2] == float("inf") else f"{1000 * slowest[2]:,.0f}"
        print(f"| `{kind!r}` | {len(figures)} | {steepest[0]}: {steepest[1]:.1f} | {slowest[0]}: {shown} |", flush=True)
        for (name, time), (_, ratio, longest) in zip(functions, figures, strict=True):
            if longest == float("inf"):
                above += 1
                print(f"  not tried: {name}: {ratio:.1f}", file=sys.stderr)
            elif ratio > MOST_RATIO:
                doubled = min(time((kind * 2 * most)[: 2 * most]) for _ in range(2)) / longest
                above += doubled > MOST_OF_DOUBLE
                print(f"  above {MOST_RATIO:g}: {name}: {ratio:.1f}; twice the text: {doubled:.1f}", file=sys.stderr)
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
