"""How many seeded faults `fathom bisect` finds and names, on a fake server whose model reads prompts of 128k tokens.

    PYTHONPATH=src python performance/bisect_faults.py [LENGTH] [FAULT ...]

Each line is a comparison of a server without a fault and one with it: the name that was expected and the one that was
given, the side, requests and seconds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "run"), str(ROOT / "tests")]

from bisect_server import BisectServer, Fault  # noqa: E402

from fathom.models.settings import Reasoning, Sampling  # noqa: E402
from fathom.run.bisect import Bisection, Comparing, bisect  # noqa: E402
from fathom.run.chosen import choose  # noqa: E402

K = 1024
BARE = Fault(logprobs=False, counts=False, salted=False)
"""A server that gives no log-probabilities, hides its cache and takes no salt."""
FAULTS: dict[str, tuple[str, Fault, Fault]] = {
    "positions garbled beyond 32k": ("wrong rope factor", Fault(), Fault(rope=32 * K)),
    "positions worse and worse beyond 16k": ("wrong rope factor", Fault(), Fault(rope=16 * K, graded=True)),
    "the same, bare servers": ("wrong rope factor", BARE, replace(BARE, rope=32 * K, graded=True)),
    "window of 4k": ("sliding window", Fault(), Fault(window=4 * K)),
    "window of 32k": ("sliding window", Fault(), Fault(window=32 * K)),
    "window of 8k, both drawn at temperature": (
        "sliding window",
        Fault(sampled=0.1),
        Fault(sampled=0.1, window=8 * K),
    ),
    "beginning cut at 32k": ("cut prompt", Fault(), Fault(cut=32 * K)),
    "end cut at 64k": ("cut prompt", Fault(), Fault(cut=64 * K, lost="end")),
    "middle cut at 16k": ("cut prompt", Fault(), Fault(cut=16 * K, lost="middle")),
    "middle cut at 32k, counted before": (
        "cut prompt",
        Fault(),
        Fault(cut=32 * K, lost="middle", hidden=True),
    ),
    "refused above 64k": ("smaller window", Fault(), Fault(refuse=64 * K)),
    "every repetition from wrong blocks": ("prefix-cache corruption", Fault(), Fault(stale=1.0)),
    "most repetitions, bare servers": ("prefix-cache corruption", BARE, replace(BARE, stale=0.8)),
    "noise of the cache": ("cache precision", Fault(), Fault(cache=0.05)),
    "noise of the cache, bare servers": ("cache precision", BARE, replace(BARE, cache=0.1)),
    "noise of the weights": ("weights precision", Fault(), Fault(weights=0.05)),
    "template without a system prompt": ("wrong template", Fault(), Fault(template=9)),
    "template whose marks leak, bare servers": (
        "wrong template",
        replace(BARE, raw=False),
        replace(BARE, template=0, leaks=True, raw=False),
    ),
    "another model with the same tokenizer": ("another model", Fault(), Fault(other=True, weaker=0.3)),
    "another tokenizer": ("another model", Fault(), Fault(other=True, characters=5)),
    "temperature ignored": ("sampling", Fault(), Fault(sampled=0.6)),
}


def compared(a: Fault, b: Fault, longest: int, requests: int = 200) -> Bisection:
    """The comparison of two servers with these faults."""
    lengths = tuple(max(512, longest >> shift) for shift in (7, 5, 3, 1, 0))
    with BisectServer(a) as first, BisectServer(b) as second, tempfile.TemporaryDirectory() as folder:
        sides = [
            choose("vllm/tiny", Sampling(model_base_url=server.base_url), Reasoning()) for server in (first, second)
        ]
        comparing = Comparing(sides[0], sides[1], tuple(dict.fromkeys(lengths)), requests, 0.01, 0.25, 0)
        return bisect(comparing, Path(folder), timeout=120, retries=0)


def main(longest: int, names: list[str]) -> None:
    """Print a line for each fault."""
    right = asked = 0
    for name in names or FAULTS:
        expected, a, b = FAULTS[name]
        begun = time.monotonic()
        result = compared(a, b, longest)
        right += result.named.fault == expected
        asked = max(asked, result.requests)
        mark = "right" if result.named.fault == expected else "WRONG"
        print(
            f"{mark} | {name} | {expected} | {result.decision} {result.named.fault} {result.named.side} | "
            f"{result.requests} | {time.monotonic() - begun:.0f} s | {'; '.join(result.named.because)}",
            flush=True,
        )
    print(f"{right} of {len(names or FAULTS)} named, with {asked} requests at most")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 128 * K, sys.argv[2:])
