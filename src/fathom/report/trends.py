"""Best of n and pass at n against n (LongBench Pro, figures 5 and 6): one line a model, its name at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import altair as alt

from fathom.report.by_question import ByQuestion
from fathom.report.drawing import Size, axis_of, chart_of_records, layered, style
from fathom.report.results import System

TITLES = {"best_of": "Best of n: mean score over questions", "pass_at": "Pass at n: share of questions"}
MOST = 8
"""Lines in a chart, unless the models are chosen by name."""
LINE = 14  # pixels that a name takes
ROOM, NARROW = 300, 200  # pixels beside the plot for names, and beside a narrow one
STEP = 0.05  # the axis begins and ends at a multiple of it


def trend_chart(found: ByQuestion, measure: str, size: Size, *, title: bool = False) -> alt.LayerChart | None:
    """Best of n or pass at n against n; None where no questions were repeated.

    Args:
        found: What was measured over questions.
        measure: ``best_of`` or ``pass_at``.
        size: Plotting area in pixels; names stand to its right.
        title: Whether the chart says itself what it shows.

    Returns:
        A chart of the first n replies to each question; of many models those with the highest scores at the largest n.
    """
    lines = _lines(found, measure)
    if not lines:
        return None
    kept = lines if found.chosen else dict(list(lines.items())[:MOST])
    values = [score for points in kept.values() for score in points.values()]
    low, high = math.floor(min(values) / STEP), min(round(1 / STEP), math.floor(max(values) / STEP) + 1)
    size = Size(size.width, max(size.height, LINE * len(kept)))
    names = [System(*system).name for system in kept]
    records = [
        {"system": System(*system).name, "n": n, "score": score, "figure": f"{100 * score:.1f}"}
        for system, points in kept.items()
        for n, score in points.items()
    ]
    most = max(record["n"] for record in records if isinstance(record["n"], int))
    layers = _layers(records, names, (low * STEP, high * STEP), most)
    ends = {System(*system).name: points[max(points)] for system, points in kept.items()}
    layers.append(_names(ends, (low * STEP, high * STEP), size))
    said = left_out(found, measure)
    return layered(layers, size, TITLES[measure] if title else "", said if title else "")


def left_out(found: ByQuestion, measure: str) -> str:
    """Which models a chart shows, where it does not show all; "" where it does."""
    lines = _lines(found, measure)
    if found.chosen or len(lines) <= MOST:
        return ""
    rest = len(lines) - MOST
    return f"The {MOST} highest; {rest} {'is' if rest == 1 else 'are'} left out: choose by name (fathom plot --models)"


def _lines(found: ByQuestion, measure: str) -> dict[tuple[str, str], dict[int, float]]:
    """Scores by n of each system, in the order of their last points, or as they were chosen."""
    lines: dict[tuple[str, str], dict[int, float]] = {system: {} for system in found.systems}
    for one in found.trends:
        if one.measure == measure:
            lines.setdefault((one.model, one.variant), {})[one.n] = one.score
    several = {system: points for system, points in lines.items() if len(points) > 1}
    if found.chosen:
        return several
    return dict(sorted(several.items(), key=lambda line: -line[1][max(line[1])]))


def _layers(
    records: Sequence[Mapping[str, object]], names: Sequence[str], ends: tuple[float, float], most: int
) -> list[alt.Chart]:
    styles = [style(number) for number in range(len(names))]
    colour = alt.Color(
        "system:N", scale=alt.Scale(domain=names, range=[one.colour.light for one in styles]), legend=None
    )
    dash = alt.StrokeDash(
        "system:N", scale=alt.Scale(domain=names, range=[list(one.dash) for one in styles]), legend=None
    )
    shape = alt.Shape("system:N", scale=alt.Scale(domain=names, range=[one.shape for one in styles]), legend=None)
    x = alt.X(
        "n:Q",
        scale=alt.Scale(domain=[0.9, most + 0.1], nice=False),
        axis=axis_of(values=list(range(1, most + 1)), format="d", grid=False),
    )
    y = alt.Y(
        "score:Q", scale=alt.Scale(domain=list(ends), nice=False), axis=axis_of(format=".0%", grid=True, tickCount=6)
    )
    chart = chart_of_records(records)
    return [
        chart.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash),
        chart.mark_point(filled=True, size=34, opacity=1).encode(x=x, y=y, color=colour, shape=shape),
    ]


def _names(ends: Mapping[str, float], domain: tuple[float, float], size: Size) -> alt.Chart:
    """Names at the right, as near to the ends of their lines as they can stand without touching."""
    low, high = domain
    order = sorted(ends, key=lambda name: -ends[name])
    places = apart([size.height * (high - ends[name]) / (high - low) for name in order], LINE, size.height)
    numbers = {name: number for number, name in enumerate(ends)}
    records = [
        {
            "said": f"{100 * ends[name]:.1f}  {name}",
            "place": place,
            "hue": style(numbers[name]).colour.light,
        }
        for name, place in zip(order, places, strict=True)
    ]
    marks = chart_of_records(records).mark_text(
        align="left", fontSize=11, limit=ROOM if size.width > NARROW else NARROW
    )
    y, hue = alt.Y("place:Q", scale=None, axis=None), alt.Color("hue:N", scale=None)
    named: alt.Chart = marks.encode(x=alt.value(size.width + 8), y=y, text="said:N", color=hue)
    return named


def apart(places: Sequence[float], least: float, height: float) -> list[float]:
    """Places in pixels moved so that no two are nearer than ``least``, and within ``height`` if they can be.

    Args:
        places: Where they would stand, ascending.
        least: The least distance.
        height: The lower end of the room; the upper one is 0.
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + least) if moved else max(place, 0.0))
    limit = max(height, least * (len(moved) - 1))
    for number in range(len(moved) - 1, -1, -1):
        moved[number] = min(moved[number], limit)
        limit = moved[number] - least
    return moved
