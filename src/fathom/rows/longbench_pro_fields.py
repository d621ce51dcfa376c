"""What results of LongBench Pro's released code are of, and their fields, read with errors that name file and field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fathom.printing import printable
from fathom.types import Facet, FathomError

SUITE = "longbench_pro"
SOURCE = "longbench-pro"
LONGEST = 60


@dataclass(frozen=True, slots=True)
class Published:
    """What a file's name and ``model_info.json`` say of the results in it.

    Attributes:
        model: Name of the model.
        thinking: Whether it was asked with thinking.
        context: Tokens that prompts were cut to.
        repeats: How often every question was asked.
        kind: ``thinking``, ``mixed`` or ``instruct``; "" where it is not known.
    """

    model: str
    thinking: bool
    context: int
    repeats: int
    kind: str = ""

    @property
    def variant(self) -> str:
        """The mode as a variant."""
        return "thinking" if self.thinking else "non-thinking"

    @property
    def facets(self) -> dict[str, Facet]:
        """What all rows of these results can be broken down by."""
        known: dict[str, Facet] = {"thinking": "on" if self.thinking else "off", "max_context": self.context}
        return known | ({"model_kind": self.kind} if self.kind else {})


def score_of(record: Mapping[str, object], name: str, place: str) -> float:
    """A number from 0 to 1.

    Raises:
        FathomError: It is missing or something else.
    """
    value = _value(record, name, place)
    # NaN is in no range.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _wrong(place, name, value, "a number from 0 to 1")
    return float(value)


def count_of(record: Mapping[str, object], name: str, place: str, *, least: int = 0) -> int:
    """A whole number, ``least`` or more.

    Raises:
        FathomError: It is missing or something else.
    """
    value = _value(record, name, place)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _wrong(place, name, value, f"a whole number, {least} or more")
    return value


def mapping_of(record: Mapping[str, object], name: str, place: str) -> Mapping[str, object]:
    """An object.

    Raises:
        FathomError: It is missing or something else.
    """
    value = _value(record, name, place)
    if not isinstance(value, dict):
        raise _wrong(place, name, value, "an object")
    return value


def text_of(record: Mapping[str, object], name: str, place: str) -> str:
    """A text that is not empty.

    Raises:
        FathomError: It is missing or something else.
    """
    value = _value(record, name, place)
    if not isinstance(value, str) or not value.strip():
        raise _wrong(place, name, value, "a text")
    return value


def choice_of(record: Mapping[str, object], name: str, choices: Iterable[str], place: str) -> str:
    """One of some texts.

    Raises:
        FathomError: It is missing or something else.
    """
    value, known = _value(record, name, place), tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise _wrong(place, name, value, f"one of {', '.join(known)}")
    return value


def shown(value: object) -> str:
    """A value for a message: short, and fit for a terminal."""
    text = printable(repr(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _value(record: Mapping[str, object], name: str, place: str) -> object:
    if name not in record:
        raise FathomError(f"{place}: {name!r} is missing; expected what LongBench Pro's released code writes")
    return record[name]


def _wrong(place: str, name: str, value: object, expected: str) -> FathomError:
    return FathomError(f"{place}: {name!r} is {shown(value)}, expected {expected}")
