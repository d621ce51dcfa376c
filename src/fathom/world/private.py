"""Private families: names and sentence forms of a lab's own, from a folder of files like the packaged ones.

A file of the folder has the tables or rules of the packaged file of its name, or some of them; what is missing is the
packaged one. ``fathom.world.private_proof`` proves a folder before texts are written from it.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fathom.storage.encodings import decode
from fathom.storage.foreign import content_of
from fathom.storage.toml import parse_toml
from fathom.types import FathomError
from fathom.world.plans import add_rules

FILES: Mapping[str, str] = {
    **{name: f"grammar/{name}.toml" for name in (
        "en", "zh", "names", "real_names", "ledger", "other_words", "questions")},
    **{name: f"grammar/{name}" for name in ("en.txt", "zh.txt")},
    **{name: f"{name}.toml" for name in (
        "people", "remarks", "inventory", "charter", "rules", "dialogue", "code")},
}  # fmt: skip
"""The files that a folder may have, those of TOML without their ending, and where their packaged ones are."""


FACET = "private_family"
"""The facet of rows that has the start of the digest."""


@dataclass(frozen=True, slots=True, eq=False)
class Private:
    """What a private family replaces.

    Attributes:
        digest: SHA-256 of its tables; "" for the packaged names and forms.
        tables: Its own tables, by file.
    """

    digest: str = ""
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


PACKAGED = Private()
_CHOSEN: ContextVar[Private] = ContextVar("private family", default=PACKAGED)


def private_of(tables: Mapping[str, Mapping[str, Any]]) -> Private:
    """A private family of given tables, by file."""
    own = {name: table for name, table in sorted(tables.items()) if table}
    text = json.dumps(own, ensure_ascii=False, sort_keys=True, default=str)
    return Private(hashlib.sha256(text.encode()).hexdigest() if own else "", own)


def read_private(folder: Path) -> Private:
    """The private family of a folder, not yet checked.

    Raises:
        FathomError: There is no such folder, it has no file of a family or another file, or one cannot be read.
    """
    if not folder.is_dir():
        raise FathomError(f"`family` {folder}: no such folder; `fathom data family {folder}` writes one to start from")
    known = {file_name(name): name for name in FILES}
    present = sorted(path for path in folder.iterdir() if path.suffix in (".toml", ".txt"))
    if unknown := [path for path in present if path.name not in known]:
        raise FathomError(f"`family` {unknown[0]}: no such file of a family; its files are {', '.join(known)}")
    if not present:
        raise FathomError(f"`family` {folder}: it has none of the files {', '.join(known)}")
    return private_of({known[path.name]: _parsed(known[path.name], content_of(path), str(path)) for path in present})


def file_name(name: str) -> str:
    """The name of a file in a folder."""
    return FILES[name].rpartition("/")[2]


def _parsed(name: str, content: bytes, where: str) -> Mapping[str, Any]:
    """The tables of a file, or its rules."""
    if not name.endswith(".txt"):
        return parse_toml(content, where)
    try:
        return add_rules({}, decode(content), where)
    except UnicodeDecodeError:
        raise FathomError(f"{where}: not UTF-8; save it as UTF-8") from None


@contextmanager
def using(family: Private) -> Iterator[None]:
    """All texts of the world are written with the names and forms of a family."""
    token = _CHOSEN.set(family)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def chosen() -> Private:
    """The family with whose names and forms texts are written."""
    return _CHOSEN.get()


def digest() -> str:
    """What a cache of texts must tell apart: the digest of the family that is used."""
    return _CHOSEN.get().digest


def own(name: str) -> Mapping[str, Any]:
    """The tables of a file that the family has itself."""
    return _CHOSEN.get().tables.get(name, {})


def tables(name: str) -> Mapping[str, Any]:
    """The tables of a file: the family's own, the packaged ones where it has none."""
    return _merged_tables(name, _CHOSEN.get())


@cache
def _merged_tables(name: str, family: Private) -> Mapping[str, Any]:
    return merged(packaged(name), family.tables.get(name, {}))


@cache
def packaged(name: str) -> Mapping[str, Any]:
    """The tables of a packaged file."""
    return _parsed(name, packaged_text(name).encode(), file_name(name))


def packaged_text(name: str) -> str:
    """A packaged file."""
    return (files("fathom.world") / FILES[name]).read_text("utf-8")


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Tables with some of their values replaced, at any depth."""
    both = dict(base)
    for key, value in over.items():
        both[key] = merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
    return both
