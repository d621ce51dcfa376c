"""How numbers are written, on the page and in the terminal."""

import math
from collections.abc import Iterable

from fathom.plugins.names import listed as listed
from fathom.printing import several as several
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Bounds

ABSENT = "–"


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def percent(value: float | None) -> str:
    """A fraction as a percentage with one decimal: 0.712 is "71.2"; None is a dash."""
    if value is None or not _known(value):
        return ABSENT
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{100 * value:.1f}".replace("-", "−")
    return "0.0" if text == "−0.0" else text


def change(value: float | None) -> str:
    """A relative change as a signed percentage: -0.123 is "−12.3"; None is a dash."""
    if value is None or not _known(value):
        return ABSENT
    text = percent(value)
    return text if text.startswith("−") or text in ("0.0", "∞") else f"+{text}"


def points(value: float | None) -> str:
    """A small difference of fractions in percentage points with two decimals: 0.0092 is "0.92"; None is a dash."""
    return f"{100 * value:.2f}" if value is not None and _known(value) else ABSENT


def bounds(interval: Interval | None, *, signed: bool = False) -> str:
    """The interval of a fraction: "[64.0, 77.9]"; "" without one."""
    if interval is None or not (_known(interval.low) and _known(interval.high)):
        return ""
    write = change if signed else percent
    return f"[{write(interval.low)}, {write(interval.high)}]"


def scored(mean: float | None, interval: Interval | None = None) -> str:
    """A score in percent with its interval, as marks of charts say it: "62.3% [58.0, 66.1]"."""
    return f"{percent(mean)}% {bounds(interval)}".rstrip()


def whole_bounds(interval: Interval | None, sign: str = "") -> str:
    """The interval of a fraction in whole percent: "[64, 78]"; "" without one."""
    return minus(f"[{100 * interval.low:{sign}.0f}, {100 * interval.high:{sign}.0f}]") if interval is not None else ""


def minus(text: str) -> str:
    """Numbers with a typographic minus."""
    return text.replace("-", "−")


def length(value: float | None) -> str:
    """A length of prompts: as ``tokens``; 0 is an unknown one, since samples without context are in no table."""
    return "unknown" if value == 0 else tokens(value)


def tokens(value: float | None) -> str:
    """A length in tokens: 8192 is "8k", 9300 is "9.1k", 2 ** 20 is "1M"; 32000, a multiple of 1000, is "32k"."""
    if value is None or not _known(value):
        return ABSENT
    if math.isinf(value):
        return "∞"
    if value < 1000:
        return f"{value:.0f}"
    if value % 1000 == 0:
        return f"{value / 1_000_000:.0f}M" if value % 1_000_000 == 0 else f"{value / 1000:.0f}k"
    for unit, size in (("M", 1024 * 1024), ("k", 1024)):
        if value >= size * 0.97:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:.0f}"


def between(ends: Bounds, *, signed: bool = False) -> str:
    """What a mean would be with missing replies wrong or right: "60.0 to 73.3"."""
    write = change if signed else percent
    return f"{write(ends.low)} to {write(ends.high)}"


def token_bounds(interval: Interval | None) -> str:
    """The interval of a length: "[6.8k, 9.1k]", or "[48k, ∞)" without an upper end."""
    if interval is None:
        return ""
    return f"[{tokens(interval.low)}, {tokens(interval.high)}{')' if math.isinf(interval.high) else ']'}"


def count(value: float | None) -> str:
    """A whole number with thousands separators: "4,608"; None is a dash."""
    return f"{value:,.0f}" if value is not None and _known(value) else ABSENT


def money(value: float | None) -> str:
    """US dollars: "$1.23", "<$0.01" for less than a cent, "$0" for nothing; None is a dash."""
    if value is None or not _known(value):
        return ABSENT
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 0.005 else "<$0.01"


def duration(seconds: float | None) -> str:
    """Seconds in the largest unit that gives more than 2: "95 s", "12.4 min", "3.2 h"; None is a dash."""
    if seconds is None or not _known(seconds):
        return ABSENT
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def moment(seconds: float | None) -> str:
    """Seconds to three figures, for short times: "0.114 s", "3.64 s", "41.2 s"; None is a dash."""
    if seconds is None or not _known(seconds):
        return ABSENT
    return f"{seconds:#.3g} s" if 0 < seconds < 100 else duration(seconds)


def size(octets: float | None) -> str:
    """Bytes in a binary unit: "512 B", "128 MiB", "1.5 GiB"; None is a dash."""
    if octets is None or not _known(octets):
        return ABSENT
    for unit, whole in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if octets >= whole:
            value = octets / whole
            return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{octets:.0f} B"


def span(values: Iterable[float | None]) -> str:
    """Fractions as one percentage, or as a range if they differ: "4.5", "1.1–10.0"; a dash without any."""
    known = sorted(value for value in values if value is not None and _known(value))
    if not known:
        return ABSENT
    low, high = percent(known[0]), percent(known[-1])
    return low if low == high else f"{low}–{high}"


def chance_of(p_value: float) -> str:
    """A p-value: "p 0.031", or "p < 0.001"."""
    return "p < 0.001" if p_value < 0.001 else f"p {p_value:.3f}"


def chances_of(p_value: float, adjusted: float) -> tuple[str, ...]:
    """A p-value, and the adjusted one if it is another: "p 0.012", "adjusted 0.048"."""
    plain = chance_of(p_value)
    family = chance_of(adjusted).removeprefix("p ")
    return (plain,) if plain == f"p {family}" else (plain, f"adjusted {family}")


def adjustment(tests: int) -> str:
    """What adjusted p-values of so many differences are."""
    return (
        f"Adjusted p-values are for all {count(tests)} differences together (Holm’s method): without any true "
        "difference some of them are below 0.05 in at most 5% of cases."
    )


def independent(items: int | None, clusters: int | None, effect: float | None, effective: float | None) -> str:
    """What items that belong together count as; "" if none do.

    Args:
        items: Number of items.
        clusters: Number of clusters of these.
        effect: Design effect, None if unknown.
        effective: Effective number of items, None if unknown.
    """
    if items is None or clusters is None or clusters >= items:
        return ""
    start = f"{several(items, 'item')} in {several(clusters, 'cluster')}, which are resampled together"
    if effect is None or effective is None:
        return f"{start}."
    return f"{start}, count as {effective:.1f} independent ones (design effect {effect:.1f})."


def opening(text: str) -> str:
    """A sentence whose first small number is a word: "3 models ..." is "Three models ..."."""
    number, space, rest = text.partition(" ")
    small = ["Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"]
    return f"{small[int(number)]}{space}{rest}" if number.isdigit() and int(number) < len(small) else text


def sentence(text: str) -> str:
    """A note as a sentence, with a capital and a full stop; "" of ""."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") if text else ""
