"""Finds the parts of a document in records that nest them: by paths of names, in lists of objects, in cells with lists.

A path joins names by dots, ``haystack_sessions.content``; it goes through lists, and ``*`` stands for every name.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from fathom.documents.records.cells import CellError, as_listed, texts_in

EVERY = "*"
SHOWN_FIELDS = 12
PROBED = 20  # records in which the field of the text is looked for
MOST_VALUES = 20_000  # in a record that are looked at
MOST_DEPTH = 12


class Missing:
    """The type of ``MISSING``."""


MISSING: Final = Missing()
"""What a record has at a path that it does not have."""


def lookup(record: Mapping[str, object], path: str) -> object:
    """The value at a path.

    Args:
        path: A field's own name, in any case if only one has it; or a path.

    Returns:
        The value; a flat list of the values if the path goes through a list; ``MISSING`` if there is none.
    """
    if path in record:
        return record[path]
    alike = [name for name in record if name.casefold() == path.casefold()]
    if len(alike) == 1:
        return record[alike[0]]
    values, several = _values(record, path, 0)
    if not values:
        return MISSING
    return values if several else values[0]


def _values(value: object, path: str, depth: int) -> tuple[list[object], bool]:
    """The values at a path, and whether it goes through a list or several names."""
    if isinstance(value, list | tuple) and depth < MOST_DEPTH:
        inner = [_values(each, path, depth + 1)[0] for each in value]
        return [each for values in inner for each in values], True
    if not path:
        return [value], False
    if not isinstance(value, Mapping):
        return [], False
    name, dot, rest = path.partition(".")
    if name == EVERY:
        return [each for inner in value.values() for each in _values(inner, rest, depth + 1)[0]], True
    while name not in value and dot:  # names may have dots
        more, dot, rest = rest.partition(".")
        name = f"{name}.{more}"
    return _values(value[name], rest, depth + 1) if name in value else ([], False)


def inner_records(record: Mapping[str, object], path: str) -> Iterator[Mapping[str, object]]:
    """The objects at a path of a record, each with the texts and numbers of the objects around it.

    Args:
        path: A path to objects, or to lists or objects of them.
    """
    name, _, rest = path.partition(".")
    around = {key: value for key, value in record.items() if isinstance(value, str | int | float)}
    if name == EVERY:
        listed: list[object] = [{"id": key, **value} for key, value in record.items() if isinstance(value, Mapping)]
    else:
        value = record.get(name)
        listed = list(value) if isinstance(value, list | tuple) else [value]
    for each in listed:
        if isinstance(each, Mapping):
            whole = {**around, **each}
            yield from inner_records(whole, rest) if rest else [whole]


def split_by_itself(record: Mapping[str, object], text: str) -> str:
    """The path of the records in an object without a text: the only list of objects with one, or all its values.

    Args:
        text: Name of the field with the text.

    Returns:
        The path; "" if there are no such records.
    """
    if lookup(record, text) is not MISSING:
        return ""
    if len(record) > 1 and all(isinstance(each, Mapping) and text in each for each in record.values()):
        return EVERY
    listed = [
        name
        for name, value in record.items()
        if isinstance(value, list) and value and all(isinstance(each, Mapping) and text in each for each in value)
    ]
    return listed[0] if len(listed) == 1 else ""


def longest_text(records: Iterable[Mapping[str, object]]) -> str:
    """The path of the longest text of some records, those in one list together; "" if there is none."""
    lengths = Counter[str]()
    for record in records:
        left = MOST_VALUES
        waiting: list[tuple[str, object, int]] = [("", record, 0)]
        while waiting and left > 0:
            path, value, depth = waiting.pop()
            left -= 1
            if isinstance(value, str):
                lengths[path] += len(value)
            elif depth < MOST_DEPTH:
                waiting += ((inner, each, depth + 1) for inner, each in _inside(path, value))
    return max(lengths, key=lengths.__getitem__, default="")


def _inside(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, list | tuple):
        yield from ((path, each) for each in value)
    elif isinstance(value, Mapping):
        keyed = len(value) > 1 and _alike(list(value.values()))
        yield from ((f"{path}.{EVERY if keyed else name}".lstrip("."), each) for name, each in value.items())


def _alike(values: Sequence[object]) -> bool:
    """Whether all values are objects with the same names, so that the names of the values are those of records."""
    first = values[0]
    return isinstance(first, Mapping) and all(
        isinstance(each, Mapping) and each.keys() == first.keys() for each in values
    )


def describe_fields(records: Sequence[Mapping[str, object]], *, whole: bool = False) -> str:
    """The fields of some records, and how to name the one with the longest text, for messages.

    Args:
        records: Records of one kind; the fields of the first one are listed.
        whole: Whether it is the only object of a file, whose records may be in it.
    """
    if not records or not records[0]:
        return "the row has no fields"
    names = list(records[0])
    shown = ", ".join(map(repr, names[:SHOWN_FIELDS])) + (", ..." if len(names) > SHOWN_FIELDS else "")
    path = longest_text(records[:PROBED])
    outer, _, last = path.rpartition(".")
    named = f"text={_quoted(path)}" if path else "text=NAME"
    if whole and outer:
        named = f"records={_quoted(outer)}&text={_quoted(last)}"
    return f"the row has {shown}; name its text field, as in FILE?{named}"


def _quoted(path: str) -> str:
    return quote(path, safe=EVERY, errors="replace")


def joined(value: object) -> object:
    """A text of several, which are those of a list; any other value as it is."""
    if isinstance(value, list | tuple) and value and all(isinstance(each, str | None) for each in value):
        return "\n\n".join(filter(None, value))
    return value


def listed_answers(value: object) -> tuple[object, str]:
    """Questions or answers of a field, which may be a list in a cell, or an object with the texts; and what is wrong.

    Returns:
        The value, None if it looks like a list and is none; and the reason, or "".
    """
    try:
        value = as_listed(value)
        return (list(texts_in(value)), "") if isinstance(value, Mapping) else (value, "")
    except CellError as error:
        return None, str(error)
