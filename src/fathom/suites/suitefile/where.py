"""Filters samples by facets, and explains filters that match nothing."""

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any, TypeAlias

from fathom.printing import printable
from fathom.suites.registry import task_name
from fathom.tokens.length import format_length
from fathom.types import Facet, Sample

Where: TypeAlias = Mapping[str, Collection[str]]
"""Accepted values by facet: ``{"difficulty": ("Hard", "Extreme")}``."""
Values: TypeAlias = dict[str, set[str]]
"""All values of each facet of some samples."""

COUNT_AS_FACETS = ("task", "language", "item", "length")
SHOWN = 6  # values of a facet shown in a message
LONGEST = 60  # characters of one of them
_NUMBER = re.compile(r"(\d{1,18})")


def is_where(facets: Mapping[str, Facet], where: Where) -> bool:
    """Whether a sample matches.

    Args:
        facets: Its facets, and besides them its ``task``, ``language``, ``length`` (``8k``) and ``item``.
        where: Accepted values by facet, ignoring case.
    """
    known = {name: _folded(name, str(facets[name])) for name in where if name in facets}
    return all(known.get(name) in {_folded(name, value) for value in values} for name, values in where.items())


def may_match(facets: Mapping[str, Facet], where: Where) -> bool:
    """Whether samples with some known facets can match.

    Args:
        facets: Known facets, and ``task``, ``language``, ``length`` or ``item`` as in ``is_where``.
        where: See ``is_where``.
    """
    return is_where(facets, {name: accepted for name, accepted in where.items() if name in facets})


def facts_of(sample: Sample) -> dict[str, Facet]:
    """The facets of a sample as ``is_where`` uses them."""
    return facts_in({name: getattr(sample, name) for name in COUNT_AS_FACETS}, sample.facets)


def facts_in(record: Mapping[str, Any], facets: Mapping[str, Facet]) -> dict[str, Facet]:
    """The same for a stored record, whose facets are in their own column."""
    about = {name: record[name] for name in COUNT_AS_FACETS}
    return {**facets, **about, "length": format_length(record["length"])}


def values_of(facets: Iterable[Mapping[str, Facet]]) -> Values:
    """All values of each facet, of those of several samples or tasks."""
    values: Values = {}
    for name, value in chain.from_iterable(known.items() for known in facets):
        values.setdefault(name, set()).add(str(value))
    return values


def all_values(values: Iterable[Values]) -> Values:
    """The values of each facet in any of several."""
    every: Values = {}
    for name, some in chain.from_iterable(known.items() for known in values):
        every[name] = every.get(name, set()) | some
    return every


def why_none(where: Where, values: Values) -> str:
    """Why no sample matches, and the available values.

    Returns:
        A sentence, and a line for each facet with some of its values, those filtered by first. Item names are left out:
        there are too many.
    """
    words = printable(" ".join(f"`where` {name}={','.join(wanted)}" for name, wanted in where.items()))
    absent = [name for name in where if name not in values]
    unmet = [name for name, wanted in where.items() if name in values and not _overlap(name, values[name], wanted)]
    if absent:
        why = f"none has the facet {' or '.join(map(repr, absent))}"
    elif unmet:
        why = f"none has one of these values of {' or of '.join(unmet)}"
    else:
        why = "none matches all conditions"
    names = [*(name for name in where if name in values), *sorted(values.keys() - where.keys())]
    lines = "".join(f"\n  {printable(name)}: {_some(values[name])}" for name in names if name != "item")
    return f"{words} matches no sample: {why}. Available values:{lines}"


def _folded(name: str, value: str) -> str:
    """A facet's value for comparison; for tasks the current name."""
    return (task_name(value) if name == "task" else value).casefold()


def _overlap(name: str, values: Collection[str], wanted: Collection[str]) -> bool:
    return not {_folded(name, value) for value in values}.isdisjoint(_folded(name, value) for value in wanted)


def _some(values: Collection[str]) -> str:
    """The first values in numeric order, and the number of further ones."""
    ordered = sorted(values, key=_by_number)
    shown = [printable(value if len(value) <= LONGEST else f"{value[:LONGEST]}...") for value in ordered[:SHOWN]]
    more = len(ordered) - SHOWN
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _by_number(value: str) -> list[tuple[int, str]]:
    # Every other piece is a number.
    return [(int(piece) if place % 2 else 0, piece) for place, piece in enumerate(_NUMBER.split(value))]
