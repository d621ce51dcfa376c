"""Tasks that share clusters: items of several tasks about one document are resampled together.

Tasks are independent, unless a suite names a document, book or thread (the facet ``cluster``) that items of several
tasks have in common. Those tasks are a stratum: within a replicate, and in a vector of random signs, a cluster has one
weight, or sign, in all of them.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fathom.stats.columns import NAMED
from fathom.stats.intervals import Clusters, Floats

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Stratum:
    """What a task is resampled with.

    Attributes:
        place: Number of the stratum among those of all tasks, in the order of their first tasks: strata are
            independent (``fathom.stats.intervals.shuffled``).
        clusters: The clusters of all its tasks, in the order of their names; () for a task that shares none.
    """

    place: int
    clusters: tuple[str, ...] = ()


def strata(groups: Mapping[str, Collection[str]]) -> dict[str, Stratum]:
    """The stratum of each task.

    Args:
        groups: Names of the clusters of each task; any order, repeated or not.
    """
    tasks = sorted(groups)
    own = {task: {name for name in groups[task] if NAMED in name} for task in tasks}
    parts: list[tuple[list[str], set[str]]] = []
    for task in tasks:
        together = [part for part in parts if part[1] & own[task]]
        parts = [part for part in parts if part not in together]
        members = [name for part in together for name in part[0]] + [task]
        parts.append((members, own[task].union(*(part[1] for part in together))))
    strata: dict[str, Stratum] = {}
    for place, members in enumerate(sorted(sorted(members) for members, _ in parts)):
        every = {name for task in members for name in groups[task]} if len(members) > 1 else ()
        strata |= dict.fromkeys(members, Stratum(place, tuple(sorted(every))))
    return strata


def cluster_key(task: str, name: str) -> tuple[str, str]:
    """What a cluster is among those of all tasks: itself if the suite names it, or else one of the task."""
    return ("", name) if NAMED in name else (task, name)


def within(clusters: Clusters, names: Sequence[str], every: Sequence[str]) -> Clusters:
    """The clusters of a task among those of its stratum; the others have no scores.

    Args:
        names: Their names, ascending.
        every: The names of all clusters, ascending.
    """
    totals, counts = (np.zeros((len(every), side.shape[1])) for side in (clusters.totals, clusters.counts))
    rows = np.searchsorted(np.asarray(every, dtype=str), np.asarray(names, dtype=str))
    totals[rows], counts[rows] = clusters.totals, clusters.counts
    return Clusters(totals, counts)


def within_stratum(clusters: Clusters, groups: Collection[str], every: Sequence[str]) -> Clusters:
    """The same from the cluster of each item; unchanged for a task that is a stratum by itself.

    Args:
        every: The names of all clusters of the stratum; empty for such a task.
    """
    return within(clusters, sorted(set(groups)), every) if every else clusters


def added_up(parts: Iterable[tuple[Name, Floats]]) -> dict[Name, Floats]:
    """The sum of the parts of each name, in the order in which they come first."""
    levels: dict[Name, Floats] = {}
    for name, part in parts:
        levels[name] = levels[name] + part if name in levels else part
    return levels
