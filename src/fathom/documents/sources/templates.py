"""Prompts by the publishers of a benchmark, read from the user's copy of their repository.

LongBench has those of version 1 in ``dataset2prompt.json`` and its output caps in ``dataset2maxlen.json``, and each
prompt of version 2 in a text file. They are not part of this package.
"""

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeVar

from fathom.documents.records import path_text, walk
from fathom.documents.sources.finder import check_folder
from fathom.storage.foreign import read_text
from fathom.storage.schema import MismatchError, read_as
from fathom.types import FathomError

PROMPTS, CAPS = "dataset2prompt.json", "dataset2maxlen.json"
T = TypeVar("T")
Entry = TypeVar("Entry", str, int)

_TEXTS = re.compile(r"0shot\w*\.txt")


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates found.

    Attributes:
        prompts: Templates by data set, or by name of the text file.
        caps: Output caps in tokens by data set.
    """

    prompts: Mapping[str, str] = field(default_factory=dict)
    caps: Mapping[str, int] = field(default_factory=dict)


def read_templates(folders: Sequence[Path], others: Set[Path] = frozenset()) -> Templates:
    """The publishers' prompts and caps under some folders.

    Args:
        folders: Folders, searched recursively, or files; archives are not opened.
        others: Files of another repository, to be ignored.

    Raises:
        FathomError: A folder cannot be read, a file has unexpected content, or two files have different templates.
    """
    prompts: dict[str, str] = {}
    caps: dict[str, int] = {}
    for path in chain.from_iterable(map(_paths, folders)):
        if path in others:
            continue
        if path.name == PROMPTS:
            prompts = _joined(prompts, _prompts(path), path)
        elif path.name == CAPS:
            caps = _joined(caps, read_object(_content(path), path_text(path), dict[str, int]), path)
        elif _TEXTS.fullmatch(path.name):
            prompts = _joined(prompts, {path.name: _content(path)}, path)
    return Templates(prompts, caps)


def read_object(content: str, where: str, schema: type[T]) -> T:
    """The object of a JSON file of the publishers.

    Args:
        where: The file, for messages.
        schema: What it should be, see ``fathom.storage.schema``.

    Raises:
        FathomError: It is not JSON, or something else.
    """
    try:
        return read_as(schema, json.loads(content))
    except MismatchError as error:
        raise FathomError(f"{where}: {error}; download the file again") from None
    except (ValueError, RecursionError) as error:
        raise FathomError(f"{where}: not JSON: {error}; download the file again") from error


def filled(template: str, values: Mapping[str, str]) -> list[tuple[str, bool]]:
    """A template in pieces: literal text, and the values of its placeholders.

    Placeholders in values and all other braces are kept as they are.

    Args:
        values: Values by placeholder, such as ``{context}``.

    Returns:
        The pieces in order, each with whether it is a value; empty pieces are left out.
    """
    pattern = "|".join(map(re.escape, values))
    pieces = re.split(f"({pattern})", template) if values else [template]
    parts = [(values[piece], True) if number % 2 else (piece, False) for number, piece in enumerate(pieces)]
    return [part for part in parts if part[0]]


def _paths(folder: Path) -> tuple[Path, ...]:
    check_folder(folder)
    return walk(folder).files


def _joined(known: Mapping[str, Entry], more: Mapping[str, Entry], path: Path) -> dict[str, Entry]:
    if differing := next((name for name, value in more.items() if known.get(name, value) != value), None):
        raise FathomError(
            f"{path_text(path)}: {path_text(differing)} differs from another file like it; keep one in `data`"
        )
    return {**known, **more}


def _prompts(path: Path) -> dict[str, str]:
    prompts = read_object(_content(path), path_text(path), dict[str, str])
    if lacking := next((name for name, prompt in prompts.items() if "{context}" not in prompt), None):
        raise FathomError(f"{path_text(path)}: {path_text(lacking)}: the template has no {{context}}")
    return prompts


def _content(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        raise FathomError(f"{path_text(path)}: cannot be read: {error}") from error
