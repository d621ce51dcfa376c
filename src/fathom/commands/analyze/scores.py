"""How the studies of scores by length are printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fathom.commands.analyze.shared import print_json, print_section, print_tables, score_tables, telling
from fathom.names import system_name
from fathom.options.values import paths_of
from fathom.printing import printable
from fathom.terminal import print_records

if TYPE_CHECKING:
    from fathom.analysis import CurvePoint, EffectiveLength, LongScore, Steady
    from fathom.analysis.effective import Reach
    from fathom.analysis.steady import Estimate
    from fathom.report.table import Cell, Column, Table
    from fathom.stats.intervals import Interval


def print_study(
    line: Any, body: Callable[[Any], Sequence[Any]], shown: Callable[[Any], None], section: str = ""
) -> None:
    """Print a study of scores by length, with its notes.

    Args:
        line: Its options.
        body: The study.
        shown: How its results are printed: one of the functions that follow.
        section: The section of the report that shows the same of rows without further options; "" where there is none.
    """
    line = telling(line)
    chosen = line.as_json or line.base or line.lengths or score_tables(paths_of(line.sources))
    if section and not chosen:
        return print_section(line, section)
    found = body(line)
    if line.as_json:
        return print_json(found)
    kept = _broken_down(found)
    shown(kept)
    for note in _notes_of(kept):
        print(printable(note))


def print_longscore(found: Sequence[LongScore]) -> None:
    """Base, mean LongScore and LongScore at each length."""
    print_tables(_longscore_tables(found))


def print_steady(found: Sequence[Steady]) -> None:
    """Base, retention, log-ratio, area, L85 and L50."""
    print_tables(_steady_tables(found))


def print_curve(found: Sequence[CurvePoint]) -> None:
    """A line for each model, task and length."""
    print_records(_curve_lines(found), as_json=False)


def print_length(found: Sequence[EffectiveLength]) -> None:
    """A line for each model, task and definition."""
    print_records(_length_lines(found), as_json=False)


def _broken_down(found: Sequence[Any]) -> list[Any]:
    """The results without the mean over tasks of a model that has one task only: it says the same again."""
    tasks: dict[tuple[str, str], set[str]] = {}
    for one in found:
        tasks.setdefault((one.model, one.variant), set()).add(one.task)
    return [one for one in found if one.task != "all" or len(tasks[one.model, one.variant]) != 2]


def _longscore_tables(found: Sequence[LongScore]) -> list[Table]:
    """Base, mean LongScore over the lengths that all models have, and LongScore at each length, in percent."""
    from fathom.length import format_length
    from fathom.report.table import Cell, Column

    lengths = sorted({point.length for one in found for point in one.points})

    def cells(one: LongScore) -> list[Cell]:
        values = {point.length: point.value for point in one.points}
        mean = Cell(_percent(one.shared_average, "+"), _whole(one.shared_interval, "+"))
        return [
            Cell(_percent(one.base), _whole(one.base_interval)),
            Cell("undefined") if one.undefined else mean,
            *(Cell(_rounded(values.get(length))) for length in lengths),
        ]

    columns = ("base", "LongScore", *map(format_length, lengths))
    return _tables(found, [Column(name) for name in columns], cells)


def _steady_tables(found: Sequence[Steady]) -> list[Table]:
    """Base, retention, log-ratio, area, L85 and L50, with their intervals beneath them."""
    from fathom.report.table import Cell, Column

    def cells(one: Steady) -> list[Cell]:
        return [
            Cell(_percent(one.base.value), _whole(one.base.interval)) if one.base else Cell(),
            *(_figure(each, sign) for each, sign in ((one.retention, ""), (one.log_ratio, "+"), (one.area, ""))),
            *(Cell(*_reach(each)) for each in (one.l85, one.l50)),
        ]

    columns = ("base", "retention", "log-ratio", "area", "L85", "L50")
    return _tables(found, [Column(name) for name in columns], cells)


def _tables(found: Sequence[Any], columns: Sequence[Column], cells: Callable[[Any], list[Cell]]) -> list[Table]:
    """The mean over tasks model by model, then each model task by task; one table where there is one task only."""
    from fathom.report.table import Cell, Column, Table

    tasks = list(dict.fromkeys(one.task for one in found))
    overall = "all" if len(tasks) > 1 and "all" in tasks else tasks[0] if len(tasks) == 1 else None
    groups = [("all tasks" if overall == "all" else overall, "model", [one for one in found if one.task == overall])]
    if len(tasks) > 1:
        for name in dict.fromkeys(_name(one) for one in found):
            groups.append((name, "task", [one for one in found if _name(one) == name and one.task != overall]))
    return [
        Table(
            name=str(title),
            section="",
            title=printable(str(title)),
            about="",
            columns=(Column(heading, number=False), *columns),
            rows=tuple((Cell(printable(_name(one) if heading == "model" else one.task)), *cells(one)) for one in lines),
        )
        for title, heading, lines in groups
        if lines
    ]


def _curve_lines(found: Sequence[CurvePoint]) -> list[dict[str, str]]:
    """One line for each model, task and length of a table of scores."""
    from fathom.length import format_length

    return [
        _names(one)
        | {
            "length": format_length(one.length),
            "score": f"{_percent(one.mean)} {_bounds(one.interval)}".rstrip(),
        }
        for one in found
    ]


def _length_lines(found: Sequence[EffectiveLength]) -> list[dict[str, str]]:
    """One line for each model, task and definition of effective length."""
    return [_names(one) | {"definition": one.definition, "length": " ".join(_reach(one)).rstrip()} for one in found]


def _notes_of(found: Sequence[LongScore | Steady | CurvePoint | EffectiveLength]) -> list[str]:
    """What the reader should know: what is undefined and why, and notes that concern a line or all of them.

    Of curves and effective lengths, whose lines stand alone, only what concerns all.
    """
    from fathom.analysis import CurvePoint, EffectiveLength
    from fathom.analysis.ability import APART

    shared: dict[str, None] = {}
    own = []
    for one in found:
        if isinstance(one, CurvePoint | EffectiveLength):
            shared |= {APART: None} if APART in one.note else {}
            continue
        if one.undefined:
            own.append(f"{one.model}, {one.task}: {one.undefined}")
        for note in filter(None, one.note.split("; ")):
            if note.startswith("the base is known only"):
                own.append(f"{one.model}, {one.task}: {note}")
            else:
                shared[note] = None
    return [*shared, *own]


def _name(one: LongScore | Steady | CurvePoint | EffectiveLength) -> str:
    return system_name(one.model, one.variant)


def _names(one: CurvePoint | EffectiveLength) -> dict[str, str]:
    return {"model": _name(one), "task": one.task}


def _percent(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{100 * value:{sign}.1f}"


def _rounded(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:+.0f}"


def _bounds(interval: Interval | None) -> str:
    return "" if interval is None else f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _whole(interval: Interval | None, sign: str = "") -> str:
    return "" if interval is None else f"[{100 * interval.low:{sign}.0f}, {100 * interval.high:{sign}.0f}]"


def _figure(one: Estimate | None, sign: str = "") -> Cell:
    from fathom.report.table import Cell

    if one is None:
        return Cell("undefined")
    return Cell(f"{one.value:{sign}.2f}", f"[{one.interval.low:{sign}.2f}, {one.interval.high:{sign}.2f}]")


def _reach(one: Reach | EffectiveLength | None) -> tuple[str, str]:
    """A length and its interval."""
    if one is None or one.interval is None:
        return "undefined", ""
    bounds = f"[{_tokens(one.interval.low)}, {_tokens(one.interval.high)}]"
    if one.censored == "above":
        return f"≥ {_tokens(one.tokens or 0)}", bounds
    return ("< shortest" if one.tokens is None else _tokens(one.tokens)), bounds


def _tokens(length: float) -> str:
    from fathom.length import format_length

    if length == 0 or math.isinf(length):
        return "0" if length == 0 else "∞"
    return format_length(length) if length % 1024 == 0 else f"{length / 1024:.3g}k"
