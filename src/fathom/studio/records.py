"""Values of the studio as JSON, and back with every field checked: what is read may come from anybody."""

import json
from typing import Any

from pydantic_core import to_jsonable_python

from fathom.storage.validation import MOST_ITEMS, MOST_TEXT, RecordError, from_json, from_record

__all__ = [
    "MOST_ITEMS",
    "MOST_TEXT",
    "RecordError",
    "as_record",
    "canonical",
    "checked_text",
    "from_json",
    "from_record",
]


def as_record(value: Any) -> Any:
    """A value as plain JSON values."""
    return to_jsonable_python(value)


def canonical(value: Any) -> str:
    """A record as the one JSON text that has its hash: ASCII, sorted names, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def checked_text(text: str, where: str, most: int = MOST_TEXT) -> str:
    """A text that every database and page can hold.

    Raises:
        RecordError: It is too long, or contains NUL or half of a surrogate pair.
    """
    if len(text) > most:
        raise RecordError(f"{where}: {len(text):,} characters; at most {most:,} are allowed")
    if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise RecordError(f"{where}: it contains a character that is no text (NUL or a surrogate); remove it")
    return text
