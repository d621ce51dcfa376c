"""Two ways to choose an order of segments by how likely a model finds the text: all orders, or pairs of neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, TypeAlias

from fathom.types import Ordering

Method: TypeAlias = Literal["orders", "pairs"]
METHODS: tuple[Method, ...] = ("orders", "pairs")
MOST_SEGMENTS = 12
"""Segments up to which the best chain of pairs is found: the work doubles with each."""

JOIN = "\n\n"
Name: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One text to be scored.

    Attributes:
        name: Numbers of the segments in this text, from 1; in a pair 0 is what stands before all segments and N + 1
            what stands after them.
        text: The whole text.
        start: Character from which on tokens count.
    """

    name: Name
    text: str
    start: int


def candidates(ordering: Ordering, method: Method) -> Iterator[Candidate]:
    """The texts of one question, those with a common beginning next to each other.

    Args:
        ordering: The segments and what stands around them.
        method: ``orders``: before, the segments in one order, after; N! texts. ``pairs``: each segment after what
            stands before and after each other one, and what stands after behind each; N^2 + N texts, fewer where
            nothing stands after.
    """
    return _orders(ordering) if method == "orders" else _pairs(ordering)


def how_many(segments: int, method: Method) -> int:
    """Texts for a question of so many segments with text on both sides."""
    return math.factorial(segments) if method == "orders" else segments * (segments + 1)


def _orders(ordering: Ordering) -> Iterator[Candidate]:
    start = len(_joined(ordering.before, "x")) - 1
    for order in permutations(range(len(ordering.segments))):
        segments = [ordering.segments[i] for i in order]
        yield Candidate(tuple(i + 1 for i in order), _joined(ordering.before, *segments, ordering.after), start)


def _pairs(ordering: Ordering) -> Iterator[Candidate]:
    pieces = (ordering.before, *ordering.segments, ordering.after)
    last = len(ordering.segments) + 1
    for first in range(last):
        for second in range(1, last + 1):
            if second != first and (first, second) != (0, last) and pieces[second]:
                text = _joined(pieces[first], pieces[second])
                yield Candidate((first, second), text, len(text) - len(pieces[second]))


def _joined(*pieces: str) -> str:
    return JOIN.join(piece for piece in pieces if piece)


def perplexity(total: float, tokens: int) -> float:
    """``exp(-total / tokens)``; infinite where a float cannot hold it."""
    try:
        return math.exp(-total / tokens)
    except OverflowError:
        return math.inf


def least_perplexed(scores: Mapping[Name, tuple[float, int]]) -> Name:
    """The order whose tokens have the least perplexity; of equal ones the first in the order of the numbers.

    Args:
        scores: For each order the sum of the log-probabilities of its tokens, and their number.
    """
    return min(sorted(scores), key=lambda name: -scores[name][0] / scores[name][1])


def best_chain(segments: int, scores: Mapping[Name, float]) -> Name:
    """The order of all segments whose pairs have the greatest sum, exact (Held and Karp 1962).

    Args:
        segments: Number of segments.
        scores: Log-probability of the second piece after the first, by pair (see ``Candidate.name``); pairs with what
            stands after all segments may be absent.

    Returns:
        Numbers of the segments from 1; of equal orders the first in the order of the numbers.
    """
    last = segments + 1
    # Best way on from a segment when a set of others is still to come: its sum, and the order (negated, so that the
    # greater of two equal sums is the one with smaller numbers).
    ways: dict[tuple[int, int], tuple[float, Name]] = {
        (0, end): (scores.get((end, last), 0.0), ()) for end in range(1, last)
    }
    for rest in range(1, 1 << segments):
        members = [number for number in range(1, last) if rest >> (number - 1) & 1]
        for end in range(last):
            if end == 0 and rest != (1 << segments) - 1:
                continue
            if end and rest >> (end - 1) & 1:
                continue
            options = []
            for number in members:
                total, order = ways[rest & ~(1 << (number - 1)), number]
                options.append((total + scores[end, number], (-number, *order)))
            ways[rest, end] = max(options)
    return tuple(-number for number in ways[(1 << segments) - 1, 0][1])
