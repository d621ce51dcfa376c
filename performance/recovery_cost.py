"""Tokens that recovery costs beyond the whole prompts, of a suite: python performance/recovery_cost.py SUITE.

Prints for each length the tokens of the whole prompts, those of prompts over neutral text, and the ratio of everything
that is asked to the whole prompts. Questions with the evidence alone and without context are asked once for all
lengths; here each length pays for them whole, as if it were the only one.
"""

import sys
from collections import Counter
from pathlib import Path

from fathom.suites.suitefile import open_suite


def main(folder: Path) -> None:
    """Print a line for each length."""
    tokens: Counter[tuple[str, int]] = Counter()
    for sample in open_suite(folder).samples(parts=False):
        tokens[str(sample.facets.get("context", "whole")), sample.length] += sample.tokens
    short = tokens["alone", 0] + tokens["none", 0]
    print("| length | whole | neutral | evidence alone and without | all / whole |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for length in sorted(length for context, length in tokens if context == "whole"):
        whole, neutral = tokens["whole", length], tokens["padded", length]
        print(f"| {length:,} | {whole:,} | {neutral:,} | {short:,} | {(whole + neutral + short) / whole:.3f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
