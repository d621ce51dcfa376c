"""What providers' error messages and reasons to stop mean: a table, one line for each way of saying it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

from fathom.types import FathomError
from fathom.usertable import read_table, users_table

Kind: TypeAlias = Literal["overflow", "refused", "busy", "silent", "denied", "later", "bad"]
KINDS: tuple[Kind, ...] = ("overflow", "refused", "denied", "busy", "bad")
"""Those that a line of the table can have."""

VARIABLE = "FATHOM_PROVIDER_ERRORS"
FILE = "provider_errors.toml"

LEAST_LETTERS = 4
"""A pattern holds at least so many characters between blanks and stars, so that it does not hold for any message."""

_REFUSING = frozenset({200, 400, 403, 422, 451})
_NOT_TOO_LONG = frozenset({401, 404, 429, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table.

    Attributes:
        kind: What it means.
        pattern: Words that the message holds, in any case; ``*`` stands for anything between them. "" for any message.
        status: Status codes that the line is for; where empty, those that its kind can have.
        stop: The reason with which such a reply stops, instead of a pattern and status codes.
        provider: Who says so.
        example: A message that the line is for.
        source: Where it was seen.
    """

    kind: Kind
    pattern: str = ""
    status: tuple[int, ...] = ()
    stop: str = ""
    provider: str = ""
    example: str = ""
    source: str = ""

    def holds(self, code: int | None, message: str) -> bool:
        """Whether the line is for a message (in small letters) that came with a status code."""
        return not self.stop and self._is_for(code) and _found(self.pattern.lower(), message)

    def _is_for(self, code: int | None) -> bool:
        if self.status:
            return code in self.status
        if self.kind == "refused":
            return code in _REFUSING
        return self.kind != "overflow" or code not in _NOT_TOO_LONG


def meaning(code: int | None, message: str) -> Kind | None:
    """What an error message means.

    Args:
        code: The status code that came with it; None if there was none.
        message: The message, of at most a few hundred characters.

    Returns:
        The kind of the first line of the table that holds, the user's own lines first; None if none does.

    Raises:
        FathomError: The user's table cannot be read.
    """
    small = message.lower()
    return next((line.kind for line in provider_errors().values() if line.holds(code, small)), None)


def meaning_of_stop(stop: str) -> Kind | None:
    """What the reason means with which a reply stopped; None where it says nothing of a failure."""
    return next((line.kind for line in provider_errors().values() if line.stop and line.stop == stop.lower()), None)


def provider_errors() -> Mapping[str, Line]:
    """All lines by name, the user's own before the built-in ones.

    Raises:
        FathomError: The user's table cannot be read.
    """
    return _lines(os.environ.get(VARIABLE), str(Path.home()))


@lru_cache(maxsize=4)
def _lines(named: str | None, home: str) -> Mapping[str, Line]:
    """Read once for each place where the user's table can be."""
    own = users_table(VARIABLE, FILE, _entry)
    built_in = read_table(files("fathom.run").joinpath(FILE).read_text("utf-8"), FILE, _entry)
    return {**own, **{name: line for name, line in built_in.items() if name not in own}}


def _found(pattern: str, message: str) -> bool:
    """Whether the parts of a pattern stand in a message, one after another: looked for once each, whatever they are."""
    place = 0
    for part in pattern.split("*"):
        found = message.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


def _entry(entry: object, where: str) -> Line:
    if not isinstance(entry, Mapping):
        raise FathomError(f'{where}: expected a table, as "my server" = {{ kind = "overflow", pattern = "too big" }}')
    texts = ("kind", "pattern", "stop", "provider", "example", "source")
    for name, value in entry.items():
        if name not in (*texts, "status"):
            raise FathomError(f"{where}: unknown field {name!r}; expected one of {', '.join((*texts, 'status'))}")
        if name in texts and not isinstance(value, str):
            raise FathomError(f"{where}: {name} = {value!r} is not a text")
    kind, pattern, stop = (str(entry.get(name, "")) for name in ("kind", "pattern", "stop"))
    status = _codes(entry.get("status", []), where)
    known = next((known for known in KINDS if known == kind), None)
    if known is None:
        raise FathomError(f"{where}: kind = {kind!r}; expected one of {', '.join(KINDS)}")
    if bool(stop) == bool(pattern or status):
        raise FathomError(f"{where}: expected either stop, or pattern, status or both")
    if pattern and len("".join(pattern.replace("*", "").split())) < LEAST_LETTERS:
        raise FathomError(f"{where}: pattern = {pattern!r} is too short; expected {LEAST_LETTERS} letters or more")
    said = {name: str(entry.get(name, "")) for name in ("provider", "example", "source")}
    return Line(known, pattern, status, stop.lower(), **said)


def _codes(status: object, where: str) -> tuple[int, ...]:
    codes = status if isinstance(status, list) else [status]
    if not all(isinstance(code, int) and not isinstance(code, bool) and 200 <= code <= 599 for code in codes):
        raise FathomError(f"{where}: status = {status!r}: expected status codes, as [400, 422]")
    return tuple(codes)
