"""The order in which the samples of a run are asked: every task and length grows evenly, and prefixes still meet."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from fathom.types import Sample
from fathom.types.samples import place_of


def even_order(samples: Iterable[Sample]) -> list[int]:
    """The places of samples in the order in which they are asked.

    What is finished at any moment is an even part of the whole, so that a score by length can be read before a run has
    ended, and a run that is stopped early has measured everything a little. A group is what a suite has next to each
    other of one item at one length: its questions on one context, which a prefix cache computes once. Groups are never
    divided. Of two cells (a task in one language at one length) the shares that are finished differ by at most the
    share of one group of either.

    Within a cell, groups are in an order that is as good as random (``fathom.types.samples.place_of``), the same at
    every length, so that what is finished is no easier than the rest, and tests that look at any time hold
    (``fathom.analysis.sequential``). Groups are sorted by the share of their cell that is finished with them: an item
    with as many groups at every length is asked at all of them in a row.

    Args:
        samples: In the order of the suite; recipes are not needed.
    """
    sizes: Counter[object] = Counter()
    groups: list[_Group] = []
    tasks: dict[str, int] = {}
    last: object = None
    for place, sample in enumerate(samples):
        # Controls and truncated prompts are none of their length.
        kind = sample.facets.get("cut_from", sample.facets.get("context"))
        cell = sample.task, sample.language, sample.length, kind
        if (cell, sample.item) == last:
            groups[-1] = groups[-1]._replace(places=range(groups[-1].places.start, place + 1))
        else:
            key = place_of(sample.task, sample.item, sample.facets.get("cluster"))
            groups.append(_Group(tasks.setdefault(sample.task, len(tasks)), key, range(place, place + 1), cell))
        sizes[cell] += 1
        last = cell, sample.item
    groups.sort(key=lambda group: (group.task, group.key, group.places.start))
    finished: Counter[object] = Counter()
    shares = []
    for group in groups:
        finished[group.cell] += len(group.places)
        shares.append(finished[group.cell] / sizes[group.cell])
    order = sorted(range(len(groups)), key=lambda number: shares[number])
    return [place for number in order for place in groups[number].places]


class _Group(NamedTuple):
    """What a suite has next to each other of one item at one length."""

    task: int
    key: bytes
    places: range
    cell: tuple[object, ...]
