"""How much of two sequences is in the same order: characters of code, words of summaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence


def common_length(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence of two sequences.

    A row of the usual table is kept as the bits of one number (Hyyrö, "Bit-parallel LCS-length computation
    revisited", 2004): a bit is unset where the length grows.
    """
    places: defaultdict[Hashable, int] = defaultdict(int)
    for at, item in enumerate(second):
        places[item] |= 1 << at
    full = (1 << len(second)) - 1
    row = full
    for item in first:
        shared = row & places.get(item, 0)
        row = ((row + shared) | (row - shared)) & full
    return len(second) - row.bit_count()


def similarity(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Twice the longest common subsequence by the length of both; 1.0 for two empty sequences.

    This is ``ratio`` of python-Levenshtein, and the F1 of ROUGE-L where the items are the words of two texts.
    """
    both = len(first) + len(second)
    # As one minus the distance: the same last digits as python-Levenshtein, on which rounding may hang.
    return 1.0 - (both - 2 * common_length(first, second)) / both if both else 1.0
