"""Print the map of relative positions that a method gives."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from string import ascii_letters, digits
from typing import Annotated, Any

from fathom.commands.lab.shared import Maps, MethodName, method_of, tokens
from fathom.options.declare import Read, at_least, command, given, opt
from fathom.printing import readable

SYMBOLS = digits + ascii_letters
PICTURED = 64
"""Tokens of the longest map that is drawn."""


class PositionsOptions(Maps):
    method: MethodName
    _: KW_ONLY
    length: Annotated[
        Read[int | str, int],
        opt("Tokens of the text; at most 4k.", metavar="TOKENS", read=tokens, check=at_least(1)),
    ] = given(40)


@readable
@dataclass(frozen=True)
class Positions:
    """The map of relative positions of a method.

    Attributes:
        method: Name, options and source.
        length: Tokens of the text.
        map: For each query i, and each key j, the relative position that they have; None where j is not seen.
    """

    method: dict[str, Any]
    length: int
    map: tuple[tuple[float | None, ...], ...]


@command(PositionsOptions)
def lab_positions(options: PositionsOptions) -> Positions:
    """Print the map of relative positions that a method gives.

    A row is a query, a column a key. Methods that change frequencies leave positions as they are.
    """
    from fathom.extend.positions import relative_positions

    values = {name: getattr(options, name) for name in ("window", "group", "chunk", "local", "sinks")}
    method = method_of(options.method, options, **values)
    rows = relative_positions(method, options.length).tolist()
    return Positions(method.record(), options.length, tuple(tuple(map(_number, row)) for row in rows))


def main(line: PositionsOptions) -> None:
    """Print a picture and the last row in words, or JSON."""
    from fathom.options.terminal import print_json

    result = lab_positions.body(line)
    if line.as_json:
        return print_json(result)
    if result.length <= PICTURED:
        print("\n".join("".join(map(_symbol, row)) for row in result.map))
        print("A row is a query, a column a key: 0-9, a-z, A-Z stand for 0 to 61, + for more, a dot for not seen.\n")
    print(f"Query {result.length - 1}:")
    for part in _parts(result.map[-1]):
        print(f"  {part}")


def _number(value: float) -> float | None:
    if math.isnan(value):
        return None
    return int(value) if value == int(value) else value


def _symbol(value: float | None) -> str:
    if value is None:
        return "."
    return SYMBOLS[int(value)] if value < len(SYMBOLS) else "+"


def _parts(row: Sequence[float | None]) -> list[str]:
    """Ranges of keys whose relative positions change evenly, in words."""
    parts, start = [], 0
    while start < len(row):
        end, step = start + 1, _step(row, start)
        while end < len(row) and _step(row, end - 1) == step and (row[end] is None) == (row[start] is None):
            end += 1
        keys = f"key {start}" if end == start + 1 else f"keys {start} to {end - 1}"
        first, last = row[start], row[end - 1]
        words = "not seen" if first is None else f"{first:g}" if first == last else f"{first:g} to {last:g}"
        parts.append(f"{keys}: {words}")
        start = end
    return parts


def _step(row: Sequence[float | None], place: int) -> float | None:
    """What the relative position changes by at the next key; None at the end."""
    here, after = row[place], row[place + 1] if place + 1 < len(row) else None
    return None if here is None or after is None else after - here
