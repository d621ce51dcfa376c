"""Values of the studio as JSON, and back with every field checked: what is read may come from anybody."""

import dataclasses
import json
import types
import typing
from functools import cache
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

from fathom.types import FathomError

Value = TypeVar("Value")
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
    return cast(Value, _read(kind, record, where or kind.__name__))


def _read(kind: Any, value: Any, where: str) -> Any:
    origin = get_origin(kind)
    if origin is Literal:
        if value not in get_args(kind):
            raise RecordError(f"{where}: expected {', '.join(map(str, get_args(kind)))}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise RecordError(f"{where}: expected a list")
        if len(value) > MOST_ITEMS:
            raise RecordError(f"{where}: {len(value):,} items; at most {MOST_ITEMS:,} are allowed")
        return tuple(_read(get_args(kind)[0], one, f"{where}[{at}]") for at, one in enumerate(value))
    if origin in (types.UnionType, typing.Union):  # with None
        return None if value is None else _read(get_args(kind)[0], value, where)
    if dataclasses.is_dataclass(kind):
        return _read_fields(kind, value, where)
    return _plain(kind, value, where)


def _read_fields(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise RecordError(f"{where}: expected an object")
    fields = _fields(kind)
    if unknown := sorted(str(name) for name in value.keys() - fields.keys()):
        raise RecordError(f"{where}: unknown field {unknown[0][:60]!r}; expected {', '.join(fields)}")
    required = (one.name for one in dataclasses.fields(kind) if one.default is dataclasses.MISSING)
    if missing := [name for name in required if name not in value]:
        raise RecordError(f"{where}: {missing[0]} is missing")
    return kind(**{name: _read(fields[name], one, f"{where}.{name}") for name, one in value.items()})


def _plain(kind: type, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < 1e15:
            raise RecordError(f"{where}: expected a number of at least 0")
        return float(value)
    if kind is int and isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53:
        return value
    if kind is bool and isinstance(value, bool):
        return value
    if kind is str and isinstance(value, str):
        return checked_text(value, where)
    words = {str: "text", int: "a whole number of at least 0", float: "a number", bool: "true or false"}[kind]
    raise RecordError(f"{where}: expected {words}")


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
