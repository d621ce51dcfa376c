"""Schemas of what comes from outside or is read back: typed dictionaries, which pydantic checks.

Words in an annotation say what a value should be, for messages::

    class Record(TypedDict):
        context: Annotated[str, FILLED, "a text"]
        words: NotRequired[Annotated[int, Ge(0)] | None]

Types are strict: ``true`` is no number, and neither is ``"3"``. Fields that a schema does not name are left out.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Predicate
from typing_extensions import is_typeddict

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
SHOWN = 40  # characters of a value in a message
FEW = 6  # names that are all listed in a message
_WORDS: Mapping[object, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


_LONE = re.compile("[\ud800-\udfff]")


def _has_letters(text: str) -> bool:
    return bool(text.strip())


def _is_unicode(text: str) -> bool:
    return not _LONE.search(text)


FILLED = Predicate(_has_letters)
Filled = Annotated[str, FILLED, "a text"]
"""Of a text: it has more than white space."""
UNICODE = Predicate(_is_unicode)
"""Of a text: it has no lone surrogate, which JSON can encode and UTF-8 cannot."""


class MismatchError(Exception):
    """A value is not as its schema says.

    Attributes:
        path: Names of fields and indices from 0 that lead to the value; empty for all that was read.
        value: The value; None if its field is missing.
        missing: Whether its field is missing.
        expected: What the value should be.
    """

    def __init__(self, path: Sequence[str | int], value: object, missing: bool, expected: str) -> None:
        self.path, self.value, self.missing, self.expected = tuple(path), value, missing, expected
        super().__init__(f"{_place(self.path)} {_state(value, expected)}; expected {expected}")


def read_as(schema: type[T], value: object) -> T:
    """A value as its schema says.

    Args:
        schema: A ``TypedDict``.

    Raises:
        MismatchError: It is something else; the message names the first field that differs.
    """
    from pydantic import ValidationError

    kind: Any = schema  # which is hashable, although its type does not say so
    adapter: TypeAdapter[T] = _adapter(kind)
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        path, expected = _described(schema, first["loc"])
        missing = first["type"] == "missing"
        raise MismatchError(path, None if missing else first["input"], missing, expected) from None


def among(names: Collection[str]) -> str:
    """Words for a text that must be one of some names."""
    listed = list(names)
    if len(listed) <= FEW:
        return f"one of {', '.join(listed)}"
    return f"one of {len(listed)} names, from {listed[0]!r} to {listed[-1]!r}"


@cache
def _adapter(schema: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(schema)


def _described(schema: Any, location: Sequence[str | int]) -> tuple[list[str | int], str]:
    """The part of a location that is in a schema, not in pydantic's parts of it, and words for what is expected there.

    Entries of a list without words of their own have those of the list.
    """
    path, (kind, words) = list[str | int](), _unwrapped(schema, "")
    for step in location:
        if is_typeddict(kind):
            inner, words = get_type_hints(kind, include_extras=True)[str(step)], ""
        elif isinstance(step, int) or _is_object(kind):
            inner = get_args(kind)[-1]
        else:
            break
        path.append(step)
        kind, words = _unwrapped(inner, words)
    return path, words or _WORDS.get(kind, "an object" if _is_object(kind) else "a list")


def _unwrapped(kind: Any, words: str) -> tuple[Any, str]:
    """A type without what is around it; of several the first."""
    while (origin := get_origin(kind)) in (Annotated, NotRequired, Required, Union, UnionType):
        kind, *marks = get_args(kind)
        if origin is Annotated:
            words = next((mark for mark in reversed(marks) if isinstance(mark, str)), words)
    return kind, words


def _is_object(kind: Any) -> bool:
    return is_typeddict(kind) or issubclass(get_origin(kind) or object, Mapping)


def _place(path: Sequence[str | int]) -> str:
    place = "the record"
    for number, step in enumerate(path):
        if isinstance(step, int):
            place = f"entry {step + 1} of {place}"
        else:
            place = f"the field {step!r}" + (f" of {place}" if number else "")
    return place


def _state(value: object, expected: str) -> str:
    if value is None:
        return "is missing"
    if isinstance(value, str) and not value.strip():
        return "is empty"
    if isinstance(value, list | tuple) and not value:
        return "is an empty list"
    if isinstance(value, str) and (lone := _LONE.search(value)):
        return f"has a lone surrogate at position {lone.start() + 1}"
    if isinstance(value, str) and not expected.startswith(("a list", "an object")):
        return f"is {value if len(value) <= SHOWN else f'{value[:SHOWN]}...'!r}"
    if isinstance(value, bool | int | float):
        return f"is {str(value)[:SHOWN]}"
    return f"holds a value of type {type(value).__name__}"
