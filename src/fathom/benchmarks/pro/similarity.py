"""How alike two texts are by their characters: a stand-in where no embedding model is at hand.

The cosine of the counts of two and three characters in a row, each count as one plus its logarithm. It needs no model,
gives the same everywhere, and serves English and Chinese alike. It is not comparable with the similarity of any
embedding model: it sees letters, not meaning.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

SIZES = (2, 3)


def character_similarity(first: str, second: str) -> float:
    """The cosine of two texts by their characters, whatever their case and spaces.

    Returns:
        A number in [0, 1]: 1.0 for equal texts, 0.0 where they share no two characters in a row or one says nothing.
    """
    return nearest(first, [second])


def nearest(text: str, others: Sequence[str]) -> float:
    """The best ``character_similarity`` of a text, which may be long, with any of some others; at least one."""
    mine = _weights(text)
    size = _squares(mine)
    return max(_cosine(mine, size, _weights(other)) for other in others)


def _cosine(mine: Mapping[str, float], size: float, theirs: Mapping[str, float]) -> float:
    if not mine or not theirs:
        return 0.0
    shared = math.fsum(weight * theirs[run] for run, weight in mine.items() if run in theirs)
    return min(1.0, shared / math.sqrt(size * _squares(theirs)))


def _weights(text: str) -> Mapping[str, float]:
    # The spaces at both ends mark where a text begins and ends, so that one letter is a run of two as well.
    folded = " ".join(text.lower().split())
    padded = f" {folded} " if folded else ""
    runs = Counter(padded[start : start + size] for size in SIZES for start in range(len(padded) - size + 1))
    return {run: 1.0 + math.log(count) for run, count in runs.items()}


def _squares(weights: Mapping[str, float]) -> float:
    return math.fsum(weight * weight for weight in weights.values())
