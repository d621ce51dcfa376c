"""Values of the studio as JSON, and back with every field checked: what is read may come from anybody."""

import dataclasses
import json
import types
import typing
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args, get_origin

from fathom.types import FathomError

Value = TypeVar("Value")
_Reader: TypeAlias = Callable[[Any], Any]
MOST_TEXT = 200_000
"""Maximum characters of one text."""
MOST_ITEMS = 5_000
"""Maximum items of one list."""


class RecordError(FathomError):
    """A record does not have the expected form; the message names the field."""


def as_record(value: Any) -> Any:
    """A value as plain JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: as_record(getattr(value, name)) for name in _fields(type(value))}
    if isinstance(value, tuple | list):
        return [as_record(one) for one in value]
    return value


def canonical(value: Any) -> str:
    """A record as the one JSON text that has its hash: ASCII, sorted names, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_record(kind: type[Value], record: Any, where: str = "") -> Value:
    """A value from a record.

    Args:
        kind: Its class.
        record: What ``as_record`` gave, or anything else.
        where: Name for messages.

    Raises:
        RecordError: A field is missing, unknown, too long, or of another type.
    """
    try:
        return cast(Value, _reader(cast(Any, kind))(record))
    except RecordError as error:
        raise RecordError(f"{where or kind.__name__}{error}") from None


# A reader is made once for each type. Its errors begin after the name of the value: what contains it puts that before.


@cache
def _reader(kind: Any) -> _Reader:
    origin = get_origin(kind)
    if origin is Literal:
        return partial(_choice, get_args(kind))
    if origin is tuple:
        return partial(_items, _reader(get_args(kind)[0]))
    if origin in (types.UnionType, typing.Union):  # with None
        return partial(_optional, _reader(get_args(kind)[0]))
    return _object_reader(kind) if dataclasses.is_dataclass(kind) else _PLAIN[kind]


def _choice(choices: tuple[Any, ...], value: Any) -> Any:
    if value not in choices:
        raise RecordError(f": expected {', '.join(map(str, choices))}")
    return value


def _items(read: _Reader, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise RecordError(": expected a list")
    if len(value) > MOST_ITEMS:
        raise RecordError(f": {len(value):,} items; at most {MOST_ITEMS:,} are allowed")
    found = []
    for one in value:
        try:
            found.append(read(one))
        except RecordError as error:
            raise RecordError(f"[{len(found)}]{error}") from None
    return tuple(found)


def _optional(read: _Reader, value: Any) -> Any:
    return None if value is None else read(value)


def _object_reader(kind: Any) -> _Reader:
    fields = _fields(kind)
    readers = {name: _reader(one) for name, one in fields.items()}
    required = {one.name for one in dataclasses.fields(kind) if one.default is dataclasses.MISSING}

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise RecordError(": expected an object")
        if unknown := value.keys() - readers.keys():
            first = min(map(str, unknown))
            raise RecordError(f": unknown field {first[:60]!r}; expected {', '.join(fields)}")
        if missing := required - value.keys():
            raise RecordError(f": {next(name for name in fields if name in missing)} is missing")
        found = {}
        for name, one in value.items():
            try:
                found[name] = readers[name](one)
            except RecordError as error:
                raise RecordError(f".{name}{error}") from None
        return kind(**found)

    return read


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise RecordError(": expected a number")
    if not 0 <= value < 1e15:
        raise RecordError(": expected a number of at least 0")
    return float(value)


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 53:
        raise RecordError(": expected a whole number of at least 0")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RecordError(": expected true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise RecordError(": expected text")
    return checked_text(value, "")


_PLAIN: dict[type, _Reader] = {float: _number, int: _whole, bool: _truth, str: _text}


def checked_text(text: str, where: str, most: int = MOST_TEXT) -> str:
    """A text that every database and page can hold.

    Raises:
        RecordError: It is too long, or contains NUL or half of a surrogate pair.
    """
    if len(text) > most:
        raise RecordError(f"{where}: {len(text):,} characters; at most {most:,} are allowed")
    if "\0" in text or (not text.isascii() and any("\ud800" <= one <= "\udfff" for one in text)):
        raise RecordError(f"{where}: it contains a character that is no text (NUL or a surrogate); remove it")
    return text


@cache
def _fields(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {one.name: hints[one.name] for one in dataclasses.fields(cast(Any, kind))}
