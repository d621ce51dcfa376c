"""The order of pieces of one text by their words: what one piece ends with is what the next begins with.

A piece is known by the words near its two edges. They weigh more the nearer they stand to the edge and the rarer they
are near the other edges; the order whose neighbours have most weight in common is the best one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import nlargest
from itertools import pairwise
from math import exp, log, sqrt
from random import Random

from fathom.run.readers.retrieval import terms

_EDGE = 600  # words of a piece that belong to an edge
_LETTERS = 10  # to a word at most, space included, so that only edges are read
_NEAR = 100  # words from the edge at which a word weighs 1/e
_STRETCH = 200  # words that count as one text where it is counted how common a word is
_STATES = 70_000  # of the search and piece: all there are up to 12 pieces, the best ones for more


def in_order(before: str, pieces: Mapping[int, str], after: str, rng: Random) -> list[int]:
    """The numbers of pieces in the order in which their edges match best.

    Args:
        before: Text before the first piece; may be empty.
        pieces: The pieces by their numbers, at least one.
        after: Text after the last piece; may be empty.
        rng: Dice, for ties.
    """
    numbers = sorted(pieces)
    rng.shuffle(numbers)
    texts = [pieces[number] for number in numbers]
    common = _matches([_end(text) for text in (before, *texts)], [_start(text) for text in (*texts, after)])
    return [numbers[place] for place in _best_path(common)]


def _end(text: str) -> list[str]:
    """The last words, the last one first."""
    return terms(text[-_EDGE * _LETTERS :])[: -_EDGE - 1 : -1]


def _start(text: str) -> list[str]:
    return terms(text[: _EDGE * _LETTERS])[:_EDGE]


def _matches(ends: Sequence[Sequence[str]], starts: Sequence[Sequence[str]]) -> list[list[float]]:
    """For every end and every start: the cosine of their words and pairs of neighbouring words."""
    features = [[(words, [f"{b} {a}" for a, b in pairwise(words)]) for words in ends]]
    features += [[(words, [f"{a} {b}" for a, b in pairwise(words)]) for words in starts]]
    stretches = [
        set(kind[place : place + _STRETCH])
        for side in features
        for edge in side
        for kind in edge
        for place in range(0, len(kind), _STRETCH)
    ]
    holding = Counter(feature for stretch in stretches for feature in stretch)
    total = len(stretches) / 2  # words and pairs of a stretch are counted apart
    rarity = {feature: log((total + 1) / (count + 0.5)) for feature, count in holding.items()}
    first, second = ([_vector(edge, rarity) for edge in side] for side in features)
    return [[sum(weight * b.get(feature, 0.0) for feature, weight in a.items()) for b in second] for a in first]


def _vector(edge: Sequence[Sequence[str]], rarity: Mapping[str, float]) -> dict[str, float]:
    near: dict[str, float] = {}
    for kind in edge:
        for distance, feature in enumerate(kind):
            near[feature] = near.get(feature, 0.0) + exp(-distance / _NEAR)
    # The second time that a word comes says less than the first, as in BM25.
    weights = {feature: found / (found + 1) * max(0.0, rarity[feature]) for feature, found in near.items()}
    norm = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {feature: weight / norm for feature, weight in weights.items()}


def _best_path(common: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """The pieces (from 0) in the order with the highest sum.

    Args:
        common: What ends and starts share: row 0 is the end of the text before, row i + 1 that of piece i; the last
            column is the start of the text after.
    """
    size = len(common) - 1
    # Of the paths through the same pieces to the same last one only the best can be part of the best order.
    paths: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {(0, -1): (0.0, ())}
    for _ in range(size):
        longer: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {}
        for (through, last), (total, path) in paths.items():
            for piece, shared in enumerate(common[last + 1][:-1]):
                if not through >> piece & 1:
                    reached, score = (through | 1 << piece, piece), total + shared
                    if reached not in longer or score > longer[reached][0]:
                        longer[reached] = (score, (*path, piece))
        kept = nlargest(_STATES // size, longer, key=lambda state: longer[state][0])
        paths = {state: longer[state] for state in kept}
    return max((total + common[path[-1] + 1][-1], path) for total, path in paths.values())[1]
