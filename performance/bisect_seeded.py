"""How many seeded faults `fathom bisect` finds and names, on a fake server whose model reads prompts of 128k tokens.

    PYTHONPATH=src python performance/bisect_seeded.py [--longest TOKENS] [--drawn NUMBER]

Each line is a comparison of a server without a fault and one with it: the name that was expected and the one that was
given, the side, requests and seconds. With --drawn, faults of random kind and size instead, in A or B.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "run"), str(ROOT / "tests")]

from bisect_faults import drawn, faults, lengths_of  # noqa: E402
from bisect_server import BisectServer, Fault  # noqa: E402

from fathom.models.settings import Reasoning, Sampling  # noqa: E402
from fathom.run.bisect import Bisection, Comparing, bisect  # noqa: E402
from fathom.run.chosen import choose  # noqa: E402


def compared(a: Fault, b: Fault, longest: int, seed: int = 0) -> Bisection:
    """The comparison of two servers with these faults."""
    with BisectServer(a) as first, BisectServer(b, 1) as second, tempfile.TemporaryDirectory() as folder:
        sides = [
            choose("vllm/tiny", Sampling(model_base_url=server.base_url), Reasoning()) for server in (first, second)
        ]
        comparing = Comparing(sides[0], sides[1], lengths_of(longest), 200, 0.01, 0.25, seed)
        return bisect(comparing, Path(folder), timeout=600, retries=0)


def main() -> None:
    """Print a line for each fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=131_072)
    parser.add_argument("--drawn", type=int, default=0)
    chosen = parser.parse_args()
    cases: list[tuple[str, str, str, Fault, Fault]] = [
        (title, name, "B", a, b) for title, (name, a, b) in faults(chosen.longest).items()
    ]
    if chosen.drawn:
        cases = []
        for seed in range(chosen.drawn):
            name, letter, a, b = drawn(chosen.longest, Random(seed))
            cases.append((str(b if letter == "B" else a), name, letter, a, b))
    found = named = asked = 0
    for seed, (title, name, side, a, b) in enumerate(cases):
        begun = time.monotonic()
        result = compared(a, b, chosen.longest, seed)
        right = result.named.fault == name and result.named.side in ("", side)
        found, named, asked = found + (result.decision == "FAIL"), named + right, max(asked, result.requests)
        print(
            f"{'right' if right else 'WRONG'} | {title} | {name} | {result.decision} {result.named.fault} "
            f"{result.named.side} | {result.requests} | {time.monotonic() - begun:.0f} s | "
            f"{'; '.join(result.named.because)}",
            flush=True,
        )
    print(f"of {len(cases)}: {found} found, {named} named, with {asked} requests at most")


if __name__ == "__main__":
    main()
