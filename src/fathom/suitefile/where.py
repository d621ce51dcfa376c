"""Choices by facets: which samples are wanted, and what to choose from where none of them is."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

from fathom.length import format_length
from fathom.printing import printable
from fathom.registry import task_name
from fathom.types import Facet, Sample

Where: TypeAlias = Mapping[str, Collection[str]]
"""Values by name of a facet, any of which will do: ``{"difficulty": ("Hard", "Extreme")}``."""
Values: TypeAlias = dict[str, set[str]]
"""All values of each facet that some samples have."""

COUNT_AS_FACETS = ("task", "language", "item", "length")
SHOWN = 6  # values of a facet that a message names
LONGEST = 60  # characters of one of them
_NUMBER = re.compile(r"(\d{1,18})")


def is_where(facets: Mapping[str, Facet], where: Where) -> bool:
    """Whether a sample is among those that are wanted.

    Args:
        facets: Its facets, and besides them its ``task``, ``language``, ``length`` (``8k``) and ``item``.
        where: Values by name of a facet, any of which will do; upper and lower case are the same.
    """
    said = {name: _plain(name, str(facets[name])) for name in where if name in facets}
    return all(said.get(name) in {_plain(name, value) for value in values} for name, values in where.items())


def may_be(facets: Mapping[str, Facet], where: Where, values: Values) -> bool:
    """Whether samples can be wanted of which some facets are known already; those are added to ``values``.

    Args:
        facets: What is known: facets, and ``task``, ``language``, ``length`` or ``item`` as in ``is_where``.
        where: See ``is_where``.
        values: See ``wanted_of``.
    """
    if not where:
        return True
    for name, value in facets.items():
        values.setdefault(name, set()).add(str(value))
    return is_where(facets, {name: wanted for name, wanted in where.items() if name in facets})


def facts_of(sample: Sample) -> dict[str, Facet]:
    """What ``is_where`` looks at in a sample."""
    return facts_in({name: getattr(sample, name) for name in COUNT_AS_FACETS}, sample.facets)


def facts_in(record: Mapping[str, Any], facets: Mapping[str, Facet]) -> dict[str, Facet]:
    """The same in a record of a sample, whose facets stand apart from it."""
    about = {name: record[name] for name in COUNT_AS_FACETS}
    return {**facets, **about, "length": format_length(record["length"])}


def wanted_of(samples: Iterable[Sample], where: Where, values: Values) -> list[Sample]:
    """The samples that are wanted; the facets of all of them, wanted or not, are added to ``values``."""
    found = []
    for sample in samples:
        facts = facts_of(sample)
        for name, value in facts.items():
            values.setdefault(name, set()).add(str(value))
        if is_where(facts, where):
            found.append(sample)
    return found


def why_none(where: Where, values: Values) -> str:
    """Why no sample is wanted, and what can be chosen from.

    Args:
        where: What was asked for.
        values: The values of all samples that it was asked of.

    Returns:
        A sentence, and a line for each facet with some of its values, those asked for first. Names of items are as many
        as there are samples, and not among them.
    """
    words = printable(" ".join(f"--where {name}={','.join(wanted)}" for name, wanted in where.items()))
    absent = [name for name in where if name not in values]
    unmet = [name for name, wanted in where.items() if name in values and not _overlap(name, values[name], wanted)]
    if absent:
        why = f"none has the facet {' or '.join(map(repr, absent))}"
    elif unmet:
        why = f"none has such a value of {' or of '.join(unmet)}"
    else:
        why = "none has all of this at once"
    names = [*(name for name in where if name in values), *sorted(values.keys() - where.keys())]
    lines = "".join(f"\n  {printable(name)}: {_some(values[name])}" for name in names if name != "item")
    return f"{words} leaves no sample: {why}. There are:{lines}"


def _plain(name: str, value: str) -> str:
    """A value of a facet as it is compared; of a task, its current name."""
    return (task_name(value) if name == "task" else value).casefold()


def _overlap(name: str, values: Collection[str], wanted: Collection[str]) -> bool:
    return not {_plain(name, value) for value in values}.isdisjoint(_plain(name, value) for value in wanted)


def _some(values: Collection[str]) -> str:
    """The first values in their order, in which numbers count as numbers, and how many there are besides."""
    ordered = sorted(values, key=_by_number)
    shown = [printable(value if len(value) <= LONGEST else f"{value[:LONGEST]}...") for value in ordered[:SHOWN]]
    more = len(ordered) - SHOWN
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _by_number(value: str) -> list[tuple[int, str]]:
    # Every other piece is a number; those that are not have the same place in all values.
    return [(int(piece) if place % 2 else 0, piece) for place, piece in enumerate(_NUMBER.split(value))]
