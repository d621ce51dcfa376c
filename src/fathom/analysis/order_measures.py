"""How near an order comes to the true one: Kendall's tau and neighbours kept together.

An order is written as the numbers of the segments as one reads them: ``[2, 4, 1, 3]`` begins with segment 2. All or
nothing is a hard measure of such answers; these two say how much of an order a wrong answer has right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations, pairwise

_ORDER = re.compile(r"\s*\[\s*[0-9]{1,4}(?:\s*,\s*[0-9]{1,4})+\s*\]\s*")


def order_of(text: str | None) -> tuple[int, ...] | None:
    """The order that a target or an answer states; None where it states none.

    Args:
        text: A list of two or more different whole numbers, as JSON: "[2, 4, 1, 3]".
    """
    if text is None or not _ORDER.fullmatch(text):
        return None
    numbers = tuple(int(number) for number in re.findall(r"[0-9]+", text))
    return numbers if len(numbers) == len(set(numbers)) else None


def kendall_tau(answered: Sequence[int], true: Sequence[int]) -> float:
    """Kendall's tau (1938) of two orders of the same segments: pairs in the same order less the others, over all pairs.

    Args:
        answered: Numbers of the segments, each once.
        true: The same numbers in the true order; two or more.

    Returns:
        1 for the true order, -1 for its reverse; 0 is the mean over all orders.
    """
    place = {segment: number for number, segment in enumerate(answered)}
    pairs = list(combinations(true, 2))
    return sum(1 if place[one] < place[other] else -1 for one, other in pairs) / len(pairs)


def adjacent_share(answered: Sequence[int], true: Sequence[int]) -> float:
    """Share of the neighbours in the true order that the answer too has next to each other, in that order.

    Over all orders of N segments its mean is 1/N: of the N! orders, (N-1)! have a given segment right before another.

    Args:
        answered: Numbers of the segments, each once.
        true: The same numbers in the true order; two or more.
    """
    kept = set(pairwise(answered))
    pairs = list(pairwise(true))
    return sum(pair in kept for pair in pairs) / len(pairs)
