"""Figures with equal weight for every question: best of n, and scores by groups of questions."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import altair as alt

from fathom.analysis import GroupScore
from fathom.report import words
from fathom.report.breakdown import REQUIREMENT, cells_of, groups_of, label, legend
from fathom.report.breakdown import title as headed
from fathom.report.by_question import ByQuestion
from fathom.report.colours import CHANGE, change_step
from fathom.report.drawing import Size, axis_of, chart_of_records, layered, style
from fathom.report.figure import Figure, drawn
from fathom.report.heatmaps import Tile, heat_map, scored_tile
from fathom.report.results import ALL, Results, System

TITLES = {"best_of": "Best of n: mean score over questions", "pass_at": "Pass at n: share of questions"}
MOST = 8
"""Most lines in a chart, unless the models are chosen by name."""
LINE = 14  # pixels per name
ROOM, NARROW_ROOM = 300, 200  # pixels for names next to the plot, and next to a narrow plot
STEP = 0.05  # the axis begins and ends at a multiple of this
CELL = Size(46, 19)
WIDEST = 330
DIFFERENCE = "Partial − Full"
# Names of tasks in one line under the heading.
NAMES = 3
MAPPED = {
    "lengths-heatmap": "length",
    "tasks-heatmap": "primary_task",
    "requirement-heatmap": "contextual_requirement",
}
"""Kinds of heat maps, and the dimension of each."""
LINED = {"best-of-n": "best_of", "pass-at-n": "pass_at"}
"""Kinds of line charts, and the measure of each."""
WIDE, NARROW = Size(300, 280), Size(110, 260)


def trend_chart(found: ByQuestion, measure: str, size: Size, *, title: bool = False) -> alt.LayerChart | None:
    """Best of n or pass at n against n; None without repeats.

    Args:
        found: What was measured over questions.
        measure: ``best_of`` or ``pass_at``.
        size: Plotting area in pixels; names are to its right.
        title: Whether the chart has a title.

    Returns:
        A chart of the first n replies to each question; of many models those with the highest scores at the largest n.
    """
    lines = _trend_lines(found, measure)
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
    """Which models a chart leaves out; "" if none."""
    lines = _trend_lines(found, measure)
    if found.chosen or len(lines) <= MOST:
        return ""
    rest = len(lines) - MOST
    return f"The {MOST} models with the highest scores; {rest} left out (choose models with fathom plot --models)"


def _trend_lines(found: ByQuestion, measure: str) -> dict[tuple[str, str], dict[int, float]]:
    """Scores by n of each system, in the order of their last points, or in the order they were chosen."""
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
    """Names at the right, as near to the ends of their lines as possible without overlap."""
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
        align="left", fontSize=11, limit=ROOM if size.width > NARROW_ROOM else NARROW_ROOM
    )
    y, hue = alt.Y("place:Q", scale=None, axis=None), alt.Color("hue:N", scale=None)
    named: alt.Chart = marks.encode(x=alt.value(size.width + 8), y=y, text="said:N", color=hue)
    return named


def apart(places: Sequence[float], least: float, height: float) -> list[float]:
    """Moves positions in pixels so that no two are nearer than ``least``, within ``height`` if possible.

    Args:
        places: Wanted positions, ascending.
        least: The minimum distance.
        height: The lower end of the room; the upper end is 0.
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + least) if moved else max(place, 0.0))
    limit = max(height, least * (len(moved) - 1))
    for number in range(len(moved) - 1, -1, -1):
        moved[number] = min(moved[number], limit)
        limit = moved[number] - least
    return moved


def group_map(found: ByQuestion, dimension: str, *, title: bool = False) -> alt.LayerChart | None:
    """Scores of models by groups of questions; None without groups.

    Args:
        found: What was measured over questions.
        dimension: The dimension of the groups.
        title: Whether the chart has a title.

    Returns:
        A chart with a row per model, the highest overall score first, and a column per group after the mean over all
        questions; scores in percent without decimals.
    """
    cells, groups = cells_of(found, dimension), groups_of(found, dimension)
    if not cells:
        return None
    names = {group: label(dimension, group) for group in groups}
    columns, differing = ["all", *names.values()], tuple(groups) == REQUIREMENT
    tiles = [
        tile for system, scores in cells.items() for tile in _tiles(System(*system).name, scores, names, differing)
    ]
    if differing:
        columns.append(DIFFERENCE)
    width = (2 if differing else 1) * CELL.width
    size = Size(width * len(columns), CELL.height * len(cells))
    heading = f"{headed(dimension)}, percent" if title else ""
    return heat_map(
        tiles,
        columns,
        [System(*system).name for system in cells],
        size,
        title=heading,
        note=_name_lines(legend(groups)) if title else (),
        widest=WIDEST,
    )


def _tiles(line: str, scores: Mapping[str, GroupScore], names: Mapping[str, str], differing: bool) -> Iterable[Tile]:
    for group, one in scores.items():
        yield scored_tile("all" if group == ALL else names[group], line, one.score)
    full, partial = (scores.get(group) for group in REQUIREMENT)
    if differing and full and partial:
        change = partial.score - full.score
        yield Tile(DIFFERENCE, line, CHANGE[change_step(change)].light, words.change(change))


def _name_lines(names: Sequence[str]) -> list[str]:
    return [" · ".join(names[start : start + NAMES]) for start in range(0, len(names), NAMES)]


def group_charts() -> dict[str, Callable[[Results], list[alt.LayerChart]]]:
    """How each kind is drawn as a separate figure."""
    maps = {kind: _mapped(dimension) for kind, dimension in MAPPED.items()}
    return maps | {kind: _lined(measure) for kind, measure in LINED.items()}


def _mapped(dimension: str) -> Callable[[Results], list[alt.LayerChart]]:
    def made(results: Results) -> list[alt.LayerChart]:
        chart = group_map(results.by_question, dimension, title=True)
        return [chart] if chart is not None else []

    return made


def _lined(measure: str) -> Callable[[Results], list[alt.LayerChart]]:
    def made(results: Results) -> list[alt.LayerChart]:
        chart = trend_chart(results.by_question, measure, WIDE, title=True)
        return [chart] if chart is not None else []

    return made


def map_figures(found: ByQuestion) -> tuple[Figure, ...]:
    """The heat maps for the page, if there are models to compare."""
    if len(found.systems) < 2:
        return ()
    charts = {dimension: group_map(found, dimension) for dimension in MAPPED.values()}
    return tuple(
        Figure(headed(dimension), drawn(chart, f"{headed(dimension)}; figures in the tables above", whole=True))
        for dimension, chart in charts.items()
        if chart is not None
    )


def trend_figures(found: ByQuestion) -> tuple[Figure, ...]:
    """Best of n and pass at n for the page."""
    made = []
    for measure in LINED.values():
        wide, narrow = (trend_chart(found, measure, size) for size in (WIDE, NARROW))
        if wide is not None and narrow is not None:
            said = left_out(found, measure)
            about = f"{TITLES[measure]}; figures in the table"
            made.append(Figure(TITLES[measure], drawn(wide, about), drawn(narrow, about), f"{said}." if said else ""))
    return tuple(made)
