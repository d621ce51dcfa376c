"""Types of values that several options take, and their readers.

A reader takes what a command line, a TOML file or Python gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from fathom.options.declare import Read, opt
from fathom.types import FathomError

DEPTHS = {"front": 0.0, "middle": 0.5, "end": 1.0, "rear": 1.0}
"""Names of places in the context; ``rear`` is a former name."""


def length_of(given: int | str) -> int:
    """A length in tokens: ``"8k"`` is 8,192."""
    from fathom.tokens.length import parse_length

    return parse_length(str(given))


def window_of(given: int | str) -> int:
    """The window of a model in tokens, which can be larger than the longest length: ``"2m"`` is 2,097,152."""
    from fathom.tokens.length import WIDEST, parse_length

    return parse_length(str(given), WIDEST)


def lengths_of(given: Sequence[int | str] | str | int) -> tuple[int, ...]:
    """Lengths in tokens, of ``"2k,8k"`` or of ``["2k", 8192]``."""
    return tuple(map(length_of, _parts(given)))


def names_of(given: Sequence[object] | str) -> tuple[str, ...]:
    """Names, of a list or of text with commas."""
    return tuple(map(str, _parts(given)))


def place_of(given: str | Path) -> str | Path:
    """A folder, or the address of an object store as it stands: a path would lose one of its slashes.

    Raises:
        ValueError: The text is empty.
    """
    if isinstance(given, str) and "://" in given:
        return given
    if given == "":
        raise ValueError("expected a path")
    return Path(given)


def depths_of(given: Sequence[float | str] | str | float) -> tuple[float, ...]:
    """Depths in the context, as numbers or as names of ``DEPTHS``; none for ``random``.

    Raises:
        FathomError: One is neither a number nor such a name.
    """
    if given == "random":
        return ()
    parts = [part.lower() if isinstance(part, str) else part for part in _parts(given)]
    try:
        return tuple(DEPTHS[part] if part in DEPTHS else float(part) for part in parts)
    except (TypeError, ValueError):
        raise FathomError(
            "expected random, or depths separated by commas: front, middle, end, or numbers from 0 to 1, for instance "
            "0,0.5,1"
        ) from None


def pairs_of(given: Mapping[str, Any] | Sequence[str]) -> dict[str, Any]:
    """``NAME=VALUE`` pairs, or a mapping; values are read as JSON where they are JSON, else they are text.

    Raises:
        FathomError: A pair has no name or no ``=``.
    """
    return dict(given) if isinstance(given, Mapping) else {name: _json(text) for name, text in _split(given)}


def texts_of(given: Mapping[str, Any] | Sequence[str]) -> dict[str, str]:
    """``NAME=VALUE`` pairs as texts, or a mapping.

    Raises:
        FathomError: A pair has no name or no ``=``.
    """
    return {name: str(value) for name, value in given.items()} if isinstance(given, Mapping) else dict(_split(given))


def _split(given: Sequence[str]) -> Iterator[tuple[str, str]]:
    for pair in [given] if isinstance(given, str) else map(str, given):
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise FathomError("expected NAME=VALUE")
        yield name, text


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def levels_of(given: Mapping[str, Any] | Sequence[str]) -> dict[str, float]:
    """Chance levels by task: ``TASK=LEVEL`` texts, or a mapping.

    Raises:
        FathomError: A text is not of that form, or a level is not from 0 to 1.
    """
    try:
        levels = {task: float(text) for task, text in texts_of(given).items()}
    except ValueError:
        levels = {"": -1.0}
    if not all(0 <= level < 1 for level in levels.values()):
        raise FathomError("expected TASK=LEVEL with a level from 0 to 1, for instance qa=0.2")
    return levels


def choices_of(given: Mapping[str, Any] | Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Values by name: ``NAME=VALUE,VALUE`` texts, or a mapping.

    Raises:
        FathomError: A name or its values are missing.
    """
    named: list[tuple[str, tuple[str, ...]]] = []
    if isinstance(given, Mapping):
        named = [(name, tuple(map(str, _parts(values)))) for name, values in given.items()]
    else:
        for pair in [given] if isinstance(given, str) else map(str, given):
            name, _, text = pair.partition("=")
            named.append((name.strip(), tuple(_parts(text))))
    chosen: dict[str, tuple[str, ...]] = {}
    for name, values in named:
        if not name or not values:
            raise FathomError("expected FACET=VALUE,VALUE, for instance difficulty=Hard,Extreme")
        chosen[name] = (*chosen.get(name, ()), *values)
    return chosen


def dials_of(given: Mapping[str, Any] | Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Values by the dial that they are of: ``DIAL=VALUE,VALUE`` texts, or a mapping.

    Raises:
        FathomError: A dial has no name or no values.
    """
    try:
        return choices_of(given)
    except FathomError:
        raise FathomError("expected DIAL=VALUE,VALUE, for instance hops=2,3") from None


def where_of(given: Mapping[str, Any] | Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Values by the facet that they are of: ``FACET=VALUE,VALUE`` texts, or a mapping.

    Raises:
        FathomError: A facet has no name or no values, or a length cannot be read.
    """
    from fathom.tokens.length import format_length

    chosen = choices_of(given)
    if "length" in chosen:
        chosen["length"] = tuple(format_length(length_of(value)) for value in chosen["length"])
    return chosen


def temperature_of(given: float | str) -> float | None:
    """A temperature; a negative one leaves it to the provider, which is None.

    Raises:
        FathomError: It is not a finite number.
    """
    try:
        number = float(given)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise FathomError("expected a number")
    return None if number < 0 else number


def temperature_or_default(given: float | str) -> float | str | None:
    """The same, or ``"default"``."""
    return given if given == "default" else temperature_of(given)


def paths_of(given: Iterable[Path | str] | Path | str) -> tuple[Path, ...]:
    """Paths, of one or of several."""
    return (Path(given),) if isinstance(given, Path | str) else tuple(map(Path, given))


def folders_of(given: Iterable[Path | str] | Path | str) -> tuple[str, ...]:
    """Paths of folders as text, without what does not matter, such as a slash at the end."""
    return tuple(map(str, paths_of(given)))


def files_of(given: Mapping[str, Path | str] | Sequence[Path | str] | Path | str) -> dict[str, Path]:
    """Files by name: of one file, of a mapping, or of ``NAME=FILE`` texts; a file without a name has its own.

    Raises:
        FathomError: A name or a path is empty, or two files have one name.
    """
    if isinstance(given, Mapping):
        return {name: Path(path) for name, path in given.items()}
    if isinstance(given, Path | str):
        return {Path(given).stem: Path(given)}
    files: dict[str, Path] = {}
    for text in map(str, given):
        name, equals, path = text.partition("=")
        name, path = (name, path) if equals else (Path(text).stem, text)
        if not name or not path or name in files or name == "none":
            raise FathomError("expected FILE or NAME=FILE, each with a name of its own")
        files[name] = Path(path)
    return files


def numbers_of(given: Sequence[float] | str | float) -> tuple[float, ...]:
    """Numbers, of ``"5,10"`` or of ``[5, 10]``.

    Raises:
        FathomError: One is not a number.
    """
    try:
        return tuple(map(float, names_of(given if isinstance(given, Sequence) else str(given))))
    except ValueError:
        raise FathomError("expected numbers separated by commas") from None


def budgets_of(given: Sequence[int] | str | int) -> tuple[int, ...]:
    """Numbers of items, of ``"120,237"`` or of ``[120, 237]``.

    Raises:
        FathomError: There is none, or one is not a whole number.
    """
    try:
        numbers = tuple(map(int, names_of(given if isinstance(given, Sequence) else str(given))))
    except ValueError:
        numbers = ()
    if not numbers:
        raise FathomError("expected numbers of items separated by commas, for instance 120,237")
    return numbers


def methods_of(given: Sequence[str] | str) -> tuple[str, ...] | None:
    """Names of methods; None for ``all``."""
    return None if (names := names_of(given)) == ("all",) else names


def _parts(given: object) -> list[Any]:
    if isinstance(given, str):
        return [part.strip() for part in given.split(",") if part.strip()]
    if isinstance(given, Sequence):
        return [inner for part in given for inner in _parts(part)]
    return [given]


# Types that several options have, with what their options say alike.
MaybePath: TypeAlias = Annotated[Read[Path | str | None, Path | None], opt(metavar="FILE")]
Names: TypeAlias = Annotated[
    Read[Sequence[str] | str | None, tuple[str, ...] | None], opt(metavar="NAME,...", read=names_of)
]
Several: TypeAlias = Annotated[Read[Sequence[str | Path] | str | Path | None, tuple[str, ...] | None], opt(many=True)]
ManyPaths: TypeAlias = Annotated[Iterable[Path | str] | Path | str, opt(many=True, read=paths_of)]
Paths: TypeAlias = Annotated[
    Read[Iterable[Path | str] | Path | str, tuple[Path, ...]], opt(metavar="FOLDER", many=True, read=paths_of)
]
Tokens: TypeAlias = Annotated[
    Read[Sequence[int | str] | str | int | None, tuple[int, ...] | None], opt(metavar="TOKENS,...", read=lengths_of)
]
Texts: TypeAlias = Annotated[
    Read[Mapping[str, Any] | Sequence[str] | None, dict[str, str] | None],
    opt(metavar="NAME=TEXT", many=True, read=texts_of),
]
Pairs: TypeAlias = Annotated[
    Read[Mapping[str, Any] | Sequence[str] | None, dict[str, Any] | None],
    opt(metavar="NAME=VALUE", many=True, read=pairs_of),
]
