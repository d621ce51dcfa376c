"""Evidence that two servers differ, which may be looked at after every prompt: pure functions of replies.

Each prompt is sent twice to A and twice to B. If both behave alike, the four replies are exchangeable: each of the
three ways to part them into two pairs is as likely as the others to have the most alike pairs. A bet that it is A with
A and B with B pays ``PAYS[0]`` if it is, ``PAYS[1]`` or ``PAYS[2]`` if it is not; ties share. Its expected value is 1
without a difference, however noisy both are, so that the money of the bettor reaches 1/alpha with a probability of at
most alpha (Ville 1939), at any look and whichever length is asked next. A repetition that may come from a prefix cache
has only two replies, one of each side: there the bet is on which of the two changed.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from fathom.run.bisect.outcomes import (
    LEAST_NATS,
    SIDES,
    Answer,
    Item,
    Kind,
    answers_distance,
    numbers_distance,
    texts_distance,
)

PAYS = (2.85, 0.075, 0.075)
"""What a bet on the pairs of one side pays where these are the most alike, the second, the last; the mean is 1."""
SURE = 0.97
"""The share of the money that is on one side in a bet on which of two repetitions changed."""


def bet(item: Item, distance: Callable[[Answer, Answer], float | None]) -> float:
    """What a bet pays that replies of one side are more alike than those of both.

    Args:
        item: Replies to a prompt.
        distance: Of two replies; None if it cannot be said, which pays 1.
    """
    (a1, a2), (b1, b2) = (item.cold[side] for side in SIDES)
    ways = []
    for pairs in (((a1, a2), (b1, b2)), ((a1, b1), (a2, b2)), ((a1, b2), (a2, b1))):
        apart = [distance(*pair) for pair in pairs]
        if None in apart:
            return 1.0
        ways.append(round(sum(filter(None, apart)) / LEAST_NATS))
    places = [place for place, other in enumerate(sorted(ways)) if other == ways[0]]
    return sum(PAYS[place] for place in places) / len(places)


def change(item: Item) -> int:
    """Which side a repetition from the cache changed more: 1 for A, -1 for B, 0 if neither or both."""
    if not item.warm:
        return 0
    for distance in (answers_distance, texts_distance):
        a, b = (min(distance(cold, item.warm[side]) for cold in item.cold[side]) for side in SIDES)
        if a != b:
            return 1 if a > b else -1
    return 0


def log_evidence(items: Sequence[Item]) -> dict[Kind, float]:
    """The money of the bettors after these prompts, by kind of difference, as logarithms.

    Args:
        items: In the order in which they were asked. Log-probabilities count where the same characters were sent twice.
    """
    return {
        "answers": sum(math.log(bet(item, answers_distance)) for item in items),
        "texts": sum(math.log(bet(item, texts_distance)) for item in items),
        "numbers": sum(math.log(bet(item, numbers_distance)) for item in items if item.same_prompt),
        "repeats": _of_changes([change(item) for item in items]),
    }


def _of_changes(changes: Sequence[int]) -> float:
    """Half of the money is on A, half on B."""
    right, wrong = math.log(2 * SURE), math.log(2 * (1 - SURE))
    a, b = changes.count(1), changes.count(-1)
    return _log_mean([a * right + b * wrong, b * right + a * wrong])


def evidence_at(items: Sequence[Item]) -> dict[int, float]:
    """The evidence of any difference at each length, as a logarithm."""
    return {length: _log_mean(list(log_evidence(own).values())) for length, own in by_length(items).items()}


def evidence_of(items: Sequence[Item], lengths: int) -> float:
    """The evidence of any difference anywhere, as a logarithm.

    Half of the money is on a difference at all lengths, half divided among the lengths.

    Args:
        items: In the order in which they were asked.
        lengths: Number of lengths that may be asked.
    """
    everywhere = _log_mean(list(log_evidence(items).values()))
    own = list(evidence_at(items).values())
    somewhere = _log_mean([*own, *[0.0] * (lengths - len(own))])
    return _log_mean([everywhere, somewhere])


def by_length(items: Sequence[Item]) -> Mapping[int, list[Item]]:
    """Items by length, from the shortest."""
    parted: dict[int, list[Item]] = defaultdict(list)
    for item in items:
        parted[item.length].append(item)
    return dict(sorted(parted.items()))


def _log_mean(logs: Sequence[float]) -> float:
    top = max(logs)
    return top + math.log(sum(math.exp(value - top) for value in logs) / len(logs))
