"""Chance that is the same on every platform and Python version."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draws keyed by a path of words and numbers.

    Only ``Random.random`` is promised to be stable between Python versions, so every draw is built on it.
    """

    __slots__ = ("random",)

    def __init__(self, *key: object) -> None:
        digest = blake2b("/".join(str(part) for part in key).encode(), digest_size=16).digest()
        self.random = Random(int.from_bytes(digest, "big")).random

    def between(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""
        return low + int(self.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """Say yes with the given probability."""
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Draw one of ``items``."""
        return items[int(self.random() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Give ``items`` in random order."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            result[last], result[other] = result[other], result[last]
        return result

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw ``count`` different items, or all of them where there are fewer."""
        return self.shuffled(items)[:count]

    def round_number(self, low: int, high: int) -> int:
        """Draw an amount that looks like a human one: two or three leading figures, then any."""
        value = self.between(low, high)
        return value if self.random() < 0.6 or value < 200 else value - value % 10
