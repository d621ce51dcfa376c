"""The error for an unknown name, with suggestions."""

import difflib
from collections.abc import Iterable, Sequence
from typing import TypeVar

from fathom.types import FathomError

Name = TypeVar("Name", bound=str)


def unknown(kind: str, name: str, known: Iterable[str], see: str = "fathom list") -> FathomError:
    """The error for a name that is not in ``known``, with similar names.

    Args:
        kind: What is named, for the message: ``task``, ``metric`` or ``offline baseline``.
        see: The command that lists them.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
    return FathomError(f"unknown {kind} {name!r}; {hint} (see `{see}`)")


def chosen(option: str, names: Sequence[str], known: Sequence[Name]) -> tuple[Name, ...]:
    """Those of the known names that are among ``names``, in their order.

    Raises:
        FathomError: One is unknown, or none is given; the message begins with the option.
    """
    strange = next((f" {name}" for name in names if name not in known), "")
    if strange or not names:
        raise FathomError(f"{option}{strange}: expected some of {', '.join(known)}")
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
