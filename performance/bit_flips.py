"""Single flipped bits in everything that fathom reads back: how many are refused, and how many change what is read.

A suite, a judged run, a subset, a bundle and a board's downloads are made; then one bit of one file is flipped at a
time, and prompts, gold answers, scores and settings are compared with those before (``tests/flipped_bits.py``). A bit
that changes nothing (of an empty page, or of a space) is counted as the same. Ends with 1 where a flip changes
anything without an error, or where an error is not one of fathom's.

    python performance/bit_flips.py --flips 2000
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def main() -> int:
    """Flip bits of each kind of file and print what came of it; the number of flips that changed or crashed."""
    from flipped_bits import KINDS, OUTCOMES, flip_bits, make_all

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=2000, help="bits of each file")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_all(folder)
        print(f"{'file':24} {'bytes':>9} " + " ".join(f"{outcome:>14}" for outcome in OUTCOMES) + "   seconds")
        for kind in KINDS:
            start, size = time.perf_counter(), (folder / kind.file).stat().st_size
            counts, wrong = flip_bits(kind, folder, chosen.flips, chosen.seed)
            figures = " ".join(f"{counts[outcome]:>14,}" for outcome in OUTCOMES)
            print(f"{kind.file:24} {size:>9,} {figures} {time.perf_counter() - start:>9.1f}", flush=True)
            for line in wrong[:20]:
                print(f"    {line}")
            failed += len(wrong)
    print(f"{failed:,} flips changed something without an error, or ended in a traceback")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
