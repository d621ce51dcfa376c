"""Relative positions of the methods that map them.

A map has levels. For the pairs of a query i and a key j that a level covers, the query turns to ``query(i)`` and the
key to ``key(j)``, so that their relative position is ``query(i) - key(j)``. A pair that no level covers is not seen.
The functions of a level use arithmetic alone, so that they take arrays of numpy and tensors of torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.extend.methods import Method
from fathom.types import FathomError

Place: TypeAlias = Callable[[Any], Any]
MOST = 4096
"""The longest map that is made as a whole, in tokens."""


@dataclass(frozen=True, slots=True)
class Level:
    """Pairs of a query and a key, and the positions that both get.

    Attributes:
        query: Position of query i.
        key: Position of key j.
        covers: Whether the level is that of (i, j), for j <= i.
    """

    query: Place
    key: Place
    covers: Callable[[Any, Any], Any]


def levels(method: Method) -> tuple[Level, ...]:
    """The levels of a method; of one that maps nothing, a single one.

    Args:
        method: With its values (``fathom.extend.methods.settled``).
    """
    if method.name == "dca":
        return _dca(method.whole("chunk"), method.whole("chunk") - method.whole("local"))
    if method.name == "streaming":
        return _streaming(method.whole("sinks"), method.whole("window"))
    if method.kind.family != "positions":
        return (Level(_same, _same, lambda i, j: i >= j),)
    window = method.whole("window")
    near = Level(_same, _same, lambda i, j: i - j < window)
    if method.name == "rerope":
        return near, Level(lambda i: 0 * i + window, lambda j: 0 * j, lambda i, j: i - j >= window)
    group = method.number("group")
    if method.name == "leaky":
        shift = window * (group - 1)
        return near, Level(lambda i: (i + shift) / group, lambda j: j / group, lambda i, j: i - j >= window)
    shift = window - window / group
    return near, Level(lambda i: i // group + shift, lambda j: j // group, lambda i, j: i - j >= window)


def relative_position(method: Method, i: Any, j: Any) -> NDArray[np.float64]:
    """The relative positions of queries i to keys j; NaN where a key is not seen.

    Args:
        method: With its values (``settled``).
        i: Places of queries, an array or a number.
        j: Places of keys, of a shape that goes with it.
    """
    i, j = np.asarray(i, dtype=np.float64), np.asarray(j, dtype=np.float64)
    found = np.full(np.broadcast_shapes(i.shape, j.shape), np.nan)
    for level in levels(method):
        found = np.where((j <= i) & level.covers(i, j), level.query(i) - level.key(j), found)
    return found


def relative_positions(method: Method, length: int) -> NDArray[np.float64]:
    """The map of a text: the relative position of each query to each key, shape (length, length).

    Raises:
        FathomError: The map would be too large.
    """
    if length > MOST:
        raise FathomError(f"a map of {length:,} tokens is too large; expected at most {MOST:,}")
    return relative_position(method, np.arange(length)[:, None], np.arange(length)[None, :])


def _same(place: Any) -> Any:
    return place


def _dca(most: int, chunk: int) -> tuple[Level, ...]:
    """Keys keep their places within a chunk; queries of the next chunks go on counting, up to ``most``."""

    def key(j: Any) -> Any:
        return j % chunk

    return (
        Level(key, key, lambda i, j: i // chunk == j // chunk),
        Level(lambda i: (i % chunk + chunk).clip(max=most), key, lambda i, j: i // chunk == j // chunk + 1),
        Level(lambda i: 0 * i + min(2 * chunk - 1, most), key, lambda i, j: i // chunk > j // chunk + 1),
    )


def _streaming(sinks: int, window: int) -> tuple[Level, ...]:
    """The last tokens at their distance; the first ones at their distance in the cache."""
    return (
        Level(_same, _same, lambda i, j: i - j <= window),
        Level(lambda i: i.clip(max=sinks + window), _same, lambda i, j: (i - j > window) & (j < sinks)),
    )
