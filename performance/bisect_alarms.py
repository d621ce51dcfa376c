"""How often `fathom bisect` says that two equal servers differ: simulated comparisons, without sending anything.

    PYTHONPATH=src python performance/bisect_alarms.py [COMPARISONS [NOISE ...]]

Both sides draw from the same distribution of replies, with different kinds of noise; the search and its decision are
those of the command.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "run"), str(ROOT / "tests")]

from bisect_simulated import NOISES, simulated  # noqa: E402


def main(comparisons: int, names: list[str]) -> None:
    """Print a line for each kind of noise."""
    for name in names or NOISES:
        decisions = Counter(simulated(NOISES[name], seed).decision for seed in range(comparisons))
        print(f"{name}: {decisions['FAIL']} of {comparisons} differ", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2:])
