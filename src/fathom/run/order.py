"""The order in which the samples of a run are asked: every task and length grows evenly, and prefixes still meet."""

from collections import Counter
from collections.abc import Iterable

from fathom.types import Sample
from fathom.types.samples import place_of


def even_order(samples: Iterable[Sample]) -> list[int]:
    """The places of samples in the order in which they are asked.

    What is finished at any moment is an even part of the whole, so that a score by length can be read before a run has
    ended, and a run that is stopped early has measured everything a little. A group is what a suite has next to each
    other of one item at one length: its questions on one context, which a prefix cache computes once. Groups are never
    divided. Of two cells (a task in one language at one length) the shares that are finished differ by at most the
    share of one group of either.

    Groups are sorted by the share of their cell that is finished with them, and are otherwise in the order of the
    suite: an item with as many groups at every length is asked at all of them in a row.

    Args:
        samples: In the order of the suite; recipes are not needed.
    """
    sizes: Counter[object] = Counter()
    groups: list[tuple[object, range, int]] = []  # cell, places, samples of the cell up to the end of the group
    last: object = None
    for place, sample in enumerate(samples):
        # Controls and truncated prompts are none of their length.
        kind = sample.facets.get("cut_from", sample.facets.get("context"))
        cell = sample.task, sample.language, sample.length, kind
        sizes[cell] += 1
        if (cell, sample.item) == last:
            groups[-1] = cell, range(groups[-1][1].start, place + 1), sizes[cell]
        else:
            groups.append((cell, range(place, place + 1), sizes[cell]))
        last = cell, sample.item
    groups.sort(key=lambda group: group[2] / sizes[group[0]])
    return [place for _, places, _ in groups for place in places]


def random_order(samples: Iterable[Sample]) -> list[int]:
    """The places of samples in an order that is as good as random, for runs that stop as soon as something is decided.

    What is finished is no easier than the rest, and a gate that looks at any time bets on items in the same order
    (``fathom.analysis.sequential``). An item is asked at all lengths in a row; items of one document are next to each
    other.

    Args:
        samples: In the order of the suite; recipes are not needed.
    """
    keys = [place_of(sample.task, sample.item, sample.facets.get("cluster")) for sample in samples]
    return sorted(range(len(keys)), key=keys.__getitem__)
