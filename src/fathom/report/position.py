"""Position: score by depth with intervals; differences between front, middle and end; needle in a haystack."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import altair as alt

from fathom.analysis import DepthCell, PositionContrast, PositionPoint
from fathom.report import words
from fathom.report.colours import ABILITY, HEAT, INK, MUTED, PAPER, ability_step, heat_step
from fathom.report.drawing import SHAPES, Size, axis_of, chart_of_records, layered, legend_of
from fathom.report.figure import Figure, Group, drawn
from fathom.report.results import Results, System, system_of
from fathom.report.table import SHOWN as SHOWN_ROWS
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import replies_of

ABOUT = (
    "Difference in score between two positions of the answer, in percentage points, with 95% intervals. Paired: the "
    "same items were asked at both positions. Unpaired: depths were drawn at random, so that each third of the context "
    "has other items, whose difficulty widens the interval."
)
LINES = Size(250, 150)
Pair: TypeAlias = tuple[System, str]
SHOWN = {"front": "front", "middle": "middle", "rear": "end"}
"""Names of positions in tables; results call the end of the context ``rear``."""
ALPHA = 0.05
"""Level of a family of differences."""
MANY = 8
"""Lengths beyond which the page draws the grid itself, instead of pooled depths and one line per length."""
CELL, NARROW = Size(38, 22), Size(12, 18)
"""A cell with its score as text, and a cell of a grid with more lengths than ``FIGURES``."""
FIGURES = 20
"""Lengths beyond which cells have no text."""
STEPS = tuple(f"{10 * step}–{10 * step + 10}%" for step in range(len(HEAT)))


def length_styles(lengths: Sequence[int]) -> list[tuple[int, str, str]]:
    """Style of the line of each length: length, colour in ``colours.NAMES``, marker. Longer ones have more contrast."""
    return [
        (length, f"ability-{ability_step(rank, len(lengths))}", SHAPES[rank % len(SHAPES)])
        for rank, length in enumerate(lengths)
    ]


def position_lines(
    points: Iterable[PositionPoint], lengths: Sequence[int], size: Size, *, title: str = "", legend: int = 0
) -> alt.LayerChart:
    """Score by depth with intervals, one line per length, for one system on one task.

    Args:
        points: Points of one system and one task.
        lengths: All lengths of the report, which determine the colours.
        size: Plotting area in pixels.
        title: A heading, "" for none.
        legend: Columns of the chart's legend; 0 for no legend.
    """
    points = sorted(points, key=lambda point: (point.length, point.depth_low))
    ranks = {length: rank for rank, length in enumerate(dict.fromkeys(point.length for point in points))}
    # Shifts lines horizontally, so that their intervals do not hide each other.
    nudge = min(0.012, 0.06 / max(1, len(ranks) - 1))
    records = [
        {
            "length": words.tokens(point.length),
            "depth": _middle(point) + nudge * (ranks[point.length] - (len(ranks) - 1) / 2),
            "mean": point.mean,
            "low": point.interval.low,
            "high": point.interval.high,
        }
        for point in points
    ]
    styles = length_styles(lengths)
    domain = [words.tokens(length) for length, _, _ in styles]
    colours = [ABILITY[ability_step(rank, len(styles))].light for rank in range(len(styles))]
    key = legend_of(legend, size, "Length in tokens")
    colour = alt.Color("length:N", scale=alt.Scale(domain=domain, range=colours), legend=key)
    shape = alt.Shape("length:N", scale=alt.Scale(domain=domain, range=[mark for _, _, mark in styles]), legend=key)
    x = _depth_axis(points)
    axis = axis_of(values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=True)
    y = alt.Y("mean:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)
    chart = chart_of_records(records)
    spread = chart.mark_rule(strokeWidth=1.2, opacity=0.55).encode(x=x, y="low:Q", y2="high:Q", color=colour)
    line = chart.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    marks = chart.mark_point(filled=True, size=34, opacity=1).encode(x=x, y=y, color=colour, shape=shape)
    return layered([spread, line, marks], size, title)


def _depth_axis(points: Sequence[PositionPoint]) -> alt.X:
    """An axis with the depths that were asked, or the middle of ranges of random depths."""
    depths = sorted({_middle(point) for point in points})
    ticks = depths if len(depths) <= 6 else [0, 0.25, 0.5, 0.75, 1]
    return alt.X(
        "depth:Q",
        scale=alt.Scale(domain=[-0.04, 1.04], nice=False),
        axis=axis_of(values=ticks, format=".0%", grid=False, ticks=True, tickSize=4),
    )


def _middle(point: PositionPoint) -> float:
    return (point.depth_low + point.depth_high) / 2


def line_figures(system: System, tasks: Mapping[str, Sequence[PositionPoint]], lengths: Sequence[int]) -> list[Figure]:
    """The lines of one model for the page, one figure per task.

    Args:
        system: The model.
        tasks: Its points by task.
        lengths: All lengths of the report, which determine the colours.
    """
    return [
        Figure(
            f"{task}, with intervals",
            drawn(
                position_lines(points, lengths, LINES),
                f"Score of {system.name} on {task} by depth, one line per length",
            ),
            replies=replies_of(system, task),
        )
        for task, points in tasks.items()
    ]


def lengths_of(points: Iterable[PositionPoint]) -> list[int]:
    """Lengths at which depth varies, ascending."""
    return sorted({point.length for point in points})


def pooled(results: Results) -> list[PositionPoint]:
    """The points of tasks that the page does not draw as grids."""
    whole = drawn_as_grids(results)
    return [point for point in results.position if (system_of(point), point.task) not in whole]


def by_system(points: Iterable[PositionPoint]) -> dict[System, dict[str, list[PositionPoint]]]:
    """Points of each model by task."""
    found: dict[System, dict[str, list[PositionPoint]]] = {}
    for point in points:
        found.setdefault(system_of(point), {}).setdefault(point.task, []).append(point)
    return found


def contrast_tables(found: Sequence[PositionContrast], systems: Sequence[System] = ()) -> list[Table]:
    """Differences between front, middle and end: one table per model, a row for each task and length.

    Args:
        found: Result of ``fathom.analysis.position.position_contrasts``.
        systems: Models in the order of the tables; by default the order of ``found``.
    """
    order = list(systems) or list(dict.fromkeys(system_of(one) for one in found))
    made: list[Table] = []
    for system in order:
        own = [one for one in found if system_of(one) == system]
        if own:
            about = "" if made else f"{ABOUT} {words.adjustment(len(found))}"
            made.append(_table(own, system.name, len(made) + 1, about))
    return made


def _table(found: Sequence[PositionContrast], title: str, number: int, about: str) -> Table:
    pairs = list(dict.fromkeys((one.first, one.second) for one in found))
    lines: dict[tuple[str, int | None], dict[tuple[str, str], PositionContrast]] = {}
    for one in found:
        lines.setdefault((one.task, one.length), {})[one.first, one.second] = one
    tasks = list(dict.fromkeys(one.task for one in found))
    ordered = sorted(lines, key=lambda line: (tasks.index(line[0]), line[1] is None, line[1] or 0))
    columns = (
        Column("Task", number=False),
        Column("Length", help="Tokens"),
        Column("Items", help="Asked at both positions; if unpaired, at either"),
        *(Column(f"{SHOWN[first]} − {SHOWN[second]}", group="Percentage points") for first, second in pairs),
    )
    rows = []
    for task, length in ordered:
        cells = lines[task, length]
        name = "all lengths" if length is None else words.tokens(length)
        items = _range([one.items for one in cells.values()])
        length_cell = Cell(name, replies=replies_of(system_of(found[0]), task, length))
        rows.append((Cell(task), length_cell, Cell(items), *(_cell(cells.get(pair)) for pair in pairs)))
    whole = tuple(number for number, (_, length) in enumerate(ordered) if length is None)
    return Table(
        f"position-{number}",
        "position",
        f"{title}: positions",
        about,
        columns,
        tuple(rows),
        detail=True,
        denominator="shared" if all(contrast.paired for contrast in found) else "scored",
        notable=_notable([list(lines[line].values()) for line in ordered]) or whole[:SHOWN_ROWS],
    )


def significant(one: PositionContrast) -> bool:
    """Whether a difference is significant among all of the table."""
    return one.p_adjusted < ALPHA


def _notable(rows: Sequence[Sequence[PositionContrast]]) -> tuple[int, ...]:
    """The rows with the largest significant differences, in the order of the table."""
    largest = {
        number: max(abs(one.difference) for one in row if significant(one))
        for number, row in enumerate(rows)
        if any(map(significant, row))
    }
    return tuple(sorted(sorted(largest, key=lambda number: -largest[number])[:SHOWN_ROWS]))


def _range(items: Sequence[int]) -> str:
    low, high = min(items), max(items)
    return words.count(low) if low == high else f"{words.count(low)}–{words.count(high)}"


def _cell(one: PositionContrast | None) -> Cell:
    if one is None:
        return Cell()
    below = (*words.chances_of(one.p_value, one.p_adjusted), *([] if one.paired else ["unpaired"]))
    return Cell(words.change(one.difference), words.bounds(one.interval, signed=True), below=below)


def grids(results: Results) -> dict[Pair, list[DepthCell]]:
    """The cells of every model and task whose depths are a grid, in the order of models."""
    found: dict[System, dict[str, list[DepthCell]]] = {}
    for cell in results.depths:
        found.setdefault(system_of(cell), {}).setdefault(cell.task, []).append(cell)
    return {(system, task): cells for system in results.systems for task, cells in found.get(system, {}).items()}


def drawn_as_grids(results: Results) -> dict[Pair, list[DepthCell]]:
    """The grids that the page draws."""
    found = grids(results)
    large = {task for task in {task for _, task in found} if len(_lengths(results, task)) > MANY}
    return {pair: cells for pair, cells in found.items() if pair[1] in large}


def needle_chart(
    cells: Sequence[DepthCell], lengths: Sequence[int], *, title: str = "", key: bool = False
) -> alt.LayerChart:
    """Depth downwards, length to the right, the score as colour and, if there is room, in percent.

    Args:
        cells: Cells of one system and one task.
        lengths: Lengths from left to right; those without a cell, such as beyond a model's window, are blank.
        title: A heading, "" for none.
        key: Whether the chart has a legend and titles of axes.
    """
    depths = sorted({cell.depth for cell in cells})
    names = _names(lengths)
    wide = len(lengths) <= FIGURES
    each = CELL if wide else NARROW
    size = Size(each.width * len(lengths), each.height * len(depths))
    records = [
        {
            "length": names[cell.length],
            "depth": _depth(cell.depth),
            "step": STEPS[heat_step(cell.mean)],
            "said": f"{100 * cell.mean:.0f}",
        }
        for cell in cells
    ]
    titles = {"titleColor": MUTED.light, "titleFontSize": 11, "titleFontWeight": "normal"} if key else {}
    across = axis_of(grid=False, labelAngle=0, values=_shown([*names.values()]), **titles)
    down = axis_of(grid=False, labelOverlap="greedy", **titles)
    if key:
        across["title"], down["title"] = "Length in tokens", "Depth"
    x = alt.X("length:N", scale=alt.Scale(domain=[*names.values()], padding=0), axis=across)
    y = alt.Y("depth:N", scale=alt.Scale(domain=list(map(_depth, depths)), padding=0), axis=down)
    scale = alt.Scale(domain=list(STEPS), range=[colour.light for colour in HEAT])
    legend = alt.Legend(title="Score", orient="right", symbolType="square", symbolSize=120) if key else None
    chart = chart_of_records(records)
    tiles = chart.mark_rect(stroke=PAPER.light, strokeWidth=1 if wide else 0.6)
    layers = [tiles.encode(x=x, y=y, fill=alt.Fill("step:N", scale=scale, legend=legend))]
    if wide:
        layers.append(chart.mark_text(fontSize=10, color=INK.light).encode(x=x, y=y, text="said:N"))
    return layered(layers, size, title)


def needle_charts(results: Results) -> list[alt.LayerChart]:
    """One chart for each model and task, with a legend of the colours."""
    found = grids(results)
    several = len({task for _, task in found}) > 1
    return [
        needle_chart(
            cells, _lengths(results, task), title=f"{system.name}: {task}" if several else system.name, key=True
        )
        for (system, task), cells in found.items()
    ]


def needle_groups(results: Results) -> tuple[Group, ...]:
    """The grids for the page, one group per model."""
    found: dict[System, list[Figure]] = {}
    for (system, task), cells in drawn_as_grids(results).items():
        drawing = drawn(
            needle_chart(cells, _lengths(results, task)),
            f"Score of {system.name} on {task} by depth and length",
            whole=True,
        )
        found.setdefault(system, []).append(Figure(task, drawing))
    return tuple(Group(system.name, tuple(figures)) for system, figures in found.items())


def _lengths(results: Results, task: str) -> list[int]:
    """Lengths at which any model was asked a task, ascending."""
    return sorted({length for _, about, length in results.by_cell if about == task and length})


def _names(lengths: Sequence[int]) -> dict[int, str]:
    """Unique names of lengths: if two would be "7k" (7,000 and 7,168), all are written in full."""
    names = {length: words.tokens(length) for length in lengths}
    return names if len({*names.values()}) == len(names) else {length: f"{length:,}" for length in lengths}


def _shown(names: Sequence[str]) -> list[str]:
    """The names on the axis: all, or every fourth including the last."""
    step = 1 if len(names) <= FIGURES else 4
    return [name for number, name in enumerate(reversed(names)) if number % step == 0]


def _depth(depth: float) -> str:
    return f"{100 * depth:.0f}%"
