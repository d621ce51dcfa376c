"""Values in the site's files: rounded numbers, printable text, one-line scripts."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, astuple

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


def estimate(mean: Estimate | None, dropped: bool = False) -> list[Json] | None:
    """``[value, [low, high], n, bound]``, and if not all replies are complete ``[..., other, ended]``.

    Args:
        mean: The estimate.
        dropped: Whether it is over answered replies only.

    Returns:
        ``other`` is the mean under the other rule as text, or null if it is not needed, and ``ended`` is [replies,
        unanswered, cut, overflow, missing].
    """
    if mean is None:
        return None
    plain: list[Json] = [number(mean.value), interval(mean.interval), mean.n, int(mean.bound)]
    return plain if not (counts := ended(mean)) or not any(counts[1:]) else [*plain, _other(mean, dropped), counts]


def interval(ends: Interval | None) -> list[Json] | None:
    """``[low, high]``; None without an interval."""
    return None if ends is None else [number(ends.low), number(ends.high)]


def ended(mean: Estimate) -> list[Json]:
    """``[replies, unanswered, cut, overflow, missing]``; [] if unknown."""
    return [] if mean.ended is None else list(astuple(mean.ended))


def _other(mean: Estimate, dropped: bool) -> str | None:
    if mean.ended is None or not differ(mean.value, mean.other):
        return None
    other = "no score" if mean.other is None else f"{100 * mean.other:.1f}%"
    return f"{other} {'with' if dropped else 'without'} the {mean.ended.left_out:,} unanswered"


def origin(source: Origin) -> dict[str, Json]:
    """An origin; addresses other than ``https`` links are left out."""
    return {
        "provenance": source.provenance,
        "title": printable(source.title),
        "table": printable(source.table),
        "date": printable(source.date),
        "url": source.url if _LINK.fullmatch(source.url) else "",
        "note": printable(source.note),
        "stale": printable(source.stale),
    }


def model_facts(facts: ModelFacts) -> dict[str, Json]:
    """Facts about a model; those that are not stated are left out."""
    return {name: value for name, value in asdict(facts).items() if value}


def usage(mean: Usage) -> dict[str, float | None] | None:
    """Usage of replies; None if unknown."""
    if mean == Usage():
        return None
    values = {"cost": mean.cost, "tokensIn": mean.tokens_in, "tokensOut": mean.tokens_out, "seconds": mean.seconds}
    return {name: value if value is None else float(f"{value:.4g}") for name, value in values.items()}


def settings(value: Json) -> Json:
    """Settings from anyone: printable texts, and no names with a meaning in JavaScript."""
    if isinstance(value, Mapping):
        named = {
            printable(str(name)): settings(inner) for name, inner in value.items() if inner not in (None, "", {}, [])
        }
        # In a script this name would set the prototype instead of a value.
        named.pop("__proto__", None)
        return named
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list | tuple):
        return [settings(inner) for inner in value]
    return value
