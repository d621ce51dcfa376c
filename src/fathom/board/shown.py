"""Values in the site's files: rounded numbers, printable text, one-line scripts."""

import json
import re
from collections.abc import Mapping
from dataclasses import astuple

from fathom.board.model import Estimate, ModelFacts, Origin, Usage
from fathom.printing import printable
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import differ
from fathom.types import Json

DECIMALS = 5
_LINK = re.compile(r"https://[^\s\"'<>\\]+")


def script(name: str, value: Json) -> str:
    """A data file: one line of JavaScript that is plain ASCII.

    Args:
        name: Name of the file without its suffix.
        value: What it holds.
    """
    return f"fathom.add({json.dumps(name)}, {compact(value)});\n"


def compact(value: Json) -> str:
    """JSON in one line of plain ASCII, names in their order."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def number(value: float | None) -> float | None:
    """A rounded number, never -0; None stays."""
    return None if value is None else round(value, DECIMALS) + 0.0


def estimate(one: Estimate | None, dropped: bool = False) -> list[Json] | None:
    """``[value, [low, high], n, bound]``, and if not all replies are complete ``[..., other, ended]``.

    Args:
        one: The estimate.
        dropped: Whether it is over answered replies only.

    Returns:
        ``other`` is the mean under the other rule as text, or null if it is not needed, and ``ended`` is [replies,
        unanswered, cut, overflow, missing].
    """
    if one is None:
        return None
    plain: list[Json] = [number(one.value), interval(one.interval), one.n, int(one.bound)]
    return plain if not (counts := ended(one)) or not any(counts[1:]) else [*plain, _other(one, dropped), counts]


def interval(one: Interval | None) -> list[Json] | None:
    """``[low, high]``; None without an interval."""
    return None if one is None else [number(one.low), number(one.high)]


def ended(one: Estimate) -> list[Json]:
    """``[replies, unanswered, cut, overflow, missing]``; [] if unknown."""
    return [] if one.ended is None else list(astuple(one.ended))


def _other(one: Estimate, dropped: bool) -> str | None:
    if one.ended is None or not differ(one.value, one.other):
        return None
    other = "no score" if one.other is None else f"{100 * one.other:.1f}%"
    return f"{other} {'with' if dropped else 'without'} the {one.ended.left_out:,} unanswered"


def origin(one: Origin) -> dict[str, Json]:
    """An origin; addresses other than ``https`` links are left out."""
    return {
        "provenance": one.provenance,
        "title": printable(one.title),
        "table": printable(one.table),
        "date": printable(one.date),
        "url": one.url if _LINK.fullmatch(one.url) else "",
        "note": printable(one.note),
    }


def model_facts(one: ModelFacts) -> dict[str, Json]:
    """Facts about a model; those that are not stated are left out."""
    return {name: value for name, value in (("weights", one.weights), ("parameters", one.parameters)) if value}


def usage(one: Usage) -> dict[str, float | None] | None:
    """Usage of replies; None if unknown."""
    if one == Usage():
        return None
    values = {"cost": one.cost, "tokensIn": one.tokens_in, "tokensOut": one.tokens_out, "seconds": one.seconds}
    return {name: value if value is None else float(f"{value:.4g}") for name, value in values.items()}


def settings(value: Json) -> Json:
    """Settings from anyone: printable texts, and no names with a meaning in JavaScript."""
    if isinstance(value, Mapping):
        named = {printable(str(name)): settings(one) for name, one in value.items() if one not in (None, "", {}, [])}
        # In a script this name would set the prototype instead of a value.
        named.pop("__proto__", None)
        return named
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list | tuple):
        return [settings(one) for one in value]
    return value
