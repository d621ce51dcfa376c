"""Names: suggestions for unknown ones, and lists of them in sentences."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from fathom.types import FathomError

Name = TypeVar("Name", bound=str)


def similar(name: str, known: Iterable[str], most: int = 3, cutoff: float = 0.4) -> list[str]:
    """The known names that are similar to one, the most similar first.

    Args:
        name: The name that was given.
        known: The existing names.
        most: At most so many.
        cutoff: Similarity from 0 to 1, the share of letters in common, that a name needs.
    """
    return difflib.get_close_matches(name, list(known), n=most, cutoff=cutoff)


def did_you_mean(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """ "; did you mean NAME?", or "" where no known name is similar; the arguments are those of ``similar``."""
    near = similar(name, known, most, cutoff)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def beside(path: Path) -> str:
    """``did_you_mean`` for a path that does not exist, of the names beside it."""
    try:
        near = similar(path.name, sorted(file.name for file in path.parent.iterdir()), most=1, cutoff=0.6)
    except OSError:
        near = []
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


def unknown(kind: str, name: str, known: Iterable[str], see: str = "fathom list") -> FathomError:
    """The error for a name that is not in ``known``, with similar names.

    Args:
        kind: What is named, for the message: ``task``, ``metric`` or ``offline baseline``.
        see: The command that lists them.
    """
    names = sorted(known)
    hint = did_you_mean(name, names, 3, 0.4) or f"; known: {', '.join(names) or 'none'}"
    return FathomError(f"unknown {kind} {name!r}{hint} (see `{see}`)")


def chosen(option: str, names: Sequence[str], known: Sequence[Name]) -> tuple[Name, ...]:
    """Those of the known names that are among ``names``, in their order.

    Raises:
        FathomError: One is unknown, or none is given; the message begins with the option.
    """
    strange = next((name for name in names if name not in known), "")
    if strange or not names:
        hint = did_you_mean(strange, known)
        raise FathomError(f"{option} {strange}".rstrip() + f": expected some of {', '.join(known)}{hint}")
    return tuple(name for name in known if name in names)


def listed(names: Sequence[str], word: str = "and") -> str:
    """ "a", "a and b", "a, b and c"; or with another word than "and"."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def first_of(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are: "a, b and 3 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def system_name(model: str, variant: str) -> str:
    """A model with its variant, if it has one."""
    return f"{model} · {variant}" if variant else model


def folder_name(name: str) -> str:
    """A name as one folder name: letters, digits, dots and dashes."""
    return "".join(letter if letter.isalnum() or letter in "._" else "-" for letter in name).strip(".-") or "unnamed"
