"""The section on position: score by depth with intervals; front, middle and end compared; needle in a haystack."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from fathom.analysis import DepthCell, PositionContrast, PositionPoint, depth_grid, position, position_contrasts
from fathom.parallel.units import MOST_PROCESSES, cores, run_units
from fathom.printing import printable
from fathom.report import parts, words
from fathom.report.charts import (
    Labels,
    Layer,
    LayerChart,
    Line,
    Names,
    Numbers,
    Points,
    Rule,
    Series,
    Size,
    Style,
    Tiles,
)
from fathom.report.colours import HEAT, NAMES, ability_step, heat_step
from fathom.report.drawing import SHAPES, percents, score_axis
from fathom.report.figure import SMALL, Figure, drawn
from fathom.report.heatmaps import depth_name, position_chart
from fathom.report.results import Measurement, Results, System, grouped, system_of, task_title
from fathom.report.section import COLUMNS, PANEL, TILE, Chart, Section
from fathom.report.table import SHOWN as SHOWN_ROWS
from fathom.report.table import Cell, Column, Table, score_cell
from fathom.report.tally import ALPHA, replies_of
from fathom.stats.ranks import with_adjusted

ABOUT = (
    "Difference in score between two positions of the answer, in percentage points, with 95% intervals. Paired: the "
    "same items were asked at both positions. Unpaired: depths were drawn at random, so that each third of the context "
    "has other items, whose difficulty widens the interval."
)
PLACES = {"front": "front", "middle": "middle", "rear": "end"}
"""Names of positions in tables; results call the end of the context ``rear``."""
POSITION = Measurement("position", lambda rows, _: position(rows.scored, seed=rows.seed))
DEPTHS = Measurement("depths", lambda rows, _: depth_grid(rows.scored))
CONTRASTS = Measurement(
    "contrasts",
    lambda rows, _: position_contrasts(rows.scored, seed=rows.seed),
    finish=with_adjusted,
)
Depths = TypeVar("Depths", PositionPoint, DepthCell)
MANY = 8
"""Lengths beyond which the page draws the grid itself, instead of pooled depths and one line per length."""
CELL, NARROW = Size(38, 22), Size(12, 18)
"""A cell with its score as text, and a cell of a grid with more lengths than ``FIGURES``."""
FIGURES = 20
"""Lengths beyond which cells have no text."""
MAP = Size(230, 130)
"""A heat map of positions on the page."""
MANY_DRAWINGS = 100
"""Drawings of positions from which several processes are worth their start; each drawing takes 40 ms."""
ABOUT_FIGURES = (
    "Score in percent by the position of the answer. Heat maps: depth downwards, from the start of the context to its "
    "end; length to the right; blank cells were not measured."
)
ABOUT_LINES = " Line charts: the same scores with 95% intervals over items, depth to the right, one line per length."
ABOUT_GRIDS = " In a grid of many lengths each cell is one item or a few."
MORE = "Differences between positions"
NO_DEPTHS = "no depth varies in these rows"
ABOUT_POINTS = "Scores in percent, with 95% intervals. Depth 0% is the start of the context, 100% its end."
STEPS = tuple(f"{10 * step}–{10 * step + 10}%" for step in range(len(HEAT)))
HEATS = tuple(zip(STEPS, HEAT, strict=True))


def length_styles(lengths: Sequence[int]) -> list[tuple[int, str, str]]:
    """Style of the line of each length: length, colour in ``colours.NAMES``, marker. Longer ones have more contrast."""
    return [
        (length, f"ability-{ability_step(rank, len(lengths))}", SHAPES[rank % len(SHAPES)])
        for rank, length in enumerate(lengths)
    ]


def position_lines(
    points: Iterable[PositionPoint], lengths: Sequence[int], size: Size, *, title: str = "", legend: int = 0
) -> LayerChart:
    """Score by depth with intervals, one line per length, for one system on one task.

    Args:
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
            "says": f"{words.tokens(point.length)}, {depth_name(point)}: {words.scored(point.mean, point.interval)}",
        }
        for point in points
    ]
    styles = {
        words.tokens(length): Style(NAMES[colour], colour, (1, 0), shape)
        for length, colour, shape in length_styles(lengths)
    }
    return LayerChart(
        layers=[
            Rule(records=records, x="depth", low="low", high="high", width=1.2, opacity=0.55),
            Line(records=records, x="depth", y="mean"),
            Points(records=records, x="depth", y="mean"),
        ],
        size=size,
        x=_depth_axis(points),
        y=score_axis(),
        series=Series(field="length", styles=styles, columns=legend, title="Length in tokens"),
        title=title,
    )


def _depth_axis(points: Sequence[PositionPoint]) -> Numbers:
    """An axis with the depths that were asked, or the middle of ranges of random depths."""
    depths = sorted({_middle(point) for point in points})
    ticks = depths if len(depths) <= 6 else [0, 0.25, 0.5, 0.75, 1]
    return Numbers(low=-0.04, high=1.04, ticks=percents(ticks), marks=True)


def _middle(point: PositionPoint) -> float:
    return (point.depth_low + point.depth_high) / 2


# ------------------------------------------------------------------------------------------- which points are shown


def lengths_of(points: Iterable[PositionPoint]) -> list[int]:
    """Lengths at which depth varies, ascending."""
    return sorted({point.length for point in points})


def by_system(values: Iterable[Depths]) -> dict[System, dict[str, list[Depths]]]:
    """Points or cells of each model by task."""
    return {system: grouped(own, lambda value: value.task) for system, own in grouped(values, system_of).items()}


def pooled(results: Results) -> list[PositionPoint]:
    """The points of tasks that the page does not draw as grids."""
    whole = drawn_as_grids(results)
    return [point for point in results[POSITION] if (system_of(point), point.task) not in whole]


def grids(results: Results) -> dict[tuple[System, str], list[DepthCell]]:
    """The cells of every model and task whose depths are a grid, in the order of models."""
    cells = by_system(results[DEPTHS])
    return {(system, task): own for system in results.systems for task, own in cells.get(system, {}).items()}


def drawn_as_grids(results: Results) -> dict[tuple[System, str], list[DepthCell]]:
    """The grids that the page draws."""
    every = grids(results)
    large = {task for task in {task for _, task in every} if len(_lengths(results, task)) > MANY}
    return {pair: cells for pair, cells in every.items() if pair[1] in large}


# ----------------------------------------------------------------------------------------------- needle in a haystack


def needle_chart(
    cells: Sequence[DepthCell], lengths: Sequence[int], *, title: str = "", key: bool = False
) -> LayerChart:
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
            "says": f"{names[cell.length]}, depth {_depth(cell.depth)}: {words.scored(cell.mean)}",
        }
        for cell in cells
    ]
    layers: list[Layer] = [Tiles(records=records, x="length", y="depth", gap=1 if wide else 0.6)]
    if wide:
        layers.append(Labels(records=records, x="length", y="depth", text="said", font=10, left=False))
    steps = {name: Style(colour, f"heat-{number}", (1, 0), "tile") for number, (name, colour) in enumerate(HEATS)}
    shown = _axis_labels([*names.values()])
    return LayerChart(
        layers=layers,
        size=size,
        x=Names(names=[*names.values()], labels=shown, title="Length in tokens" if key else ""),
        y=Names(names=[*map(_depth, depths)], title="Depth" if key else ""),
        series=Series(field="step", styles=steps, columns=len(HEATS) // 2 if key else 0, title="Score"),
        title=title,
    )


def needle_charts(results: Results) -> list[LayerChart]:
    """One chart for each model and task, with a legend of the colours."""
    every = grids(results)
    several = len({task for _, task in every}) > 1
    return [
        needle_chart(
            cells, _lengths(results, task), title=f"{system.name}: {task}" if several else system.name, key=True
        )
        for (system, task), cells in every.items()
    ]


def _lengths(results: Results, task: str) -> list[int]:
    """Lengths at which any model was asked a task, ascending."""
    return sorted({length for _, about, length in results.by_cell if about == task and length})


def _names(lengths: Sequence[int]) -> dict[int, str]:
    """Unique names of lengths: if two would be "7k" (7,000 and 7,168), all are written in full."""
    names = {length: words.tokens(length) for length in lengths}
    return names if len({*names.values()}) == len(names) else {length: f"{length:,}" for length in lengths}


def _axis_labels(names: Sequence[str]) -> list[str]:
    """The names on the axis: all, or every fourth including the last."""
    step = 1 if len(names) <= FIGURES else 4
    return [name for number, name in enumerate(reversed(names)) if number % step == 0]


def _depth(depth: float) -> str:
    return f"{100 * depth:.0f}%"


# ------------------------------------------------------------------------------------------------------------ tables


def contrast_tables(contrasts: Sequence[PositionContrast], systems: Sequence[System] = ()) -> list[Table]:
    """Differences between front, middle and end: one table per model, a row for each task and length.

    Args:
        contrasts: Result of ``fathom.analysis.position.position_contrasts``.
        systems: Models in the order of the tables; by default the order of ``contrasts``.
    """
    groups = grouped(contrasts, system_of)
    tables: list[Table] = []
    for system in systems or groups:
        if system in groups:
            about = "" if tables else f"{ABOUT} {words.adjustment(len(contrasts))}"
            tables.append(_contrast_table(groups[system], system, len(tables) + 1, about))
    return tables


def _contrast_table(contrasts: Sequence[PositionContrast], system: System, number: int, about: str) -> Table:
    pairs = list(dict.fromkeys((contrast.first, contrast.second) for contrast in contrasts))
    lines = grouped(contrasts, lambda contrast: (contrast.task, contrast.length))
    tasks = list(dict.fromkeys(contrast.task for contrast in contrasts))
    ordered = sorted(lines, key=lambda line: (tasks.index(line[0]), line[1] is None, line[1] or 0))
    columns = (
        Column("Task", number=False),
        Column("Length", help="Tokens"),
        Column("Items", help="Asked at both positions; if unpaired, at either"),
        *(Column(f"{PLACES[first]} − {PLACES[second]}", group="Percentage points") for first, second in pairs),
    )
    rows = []
    for task, length in ordered:
        at = {(contrast.first, contrast.second): contrast for contrast in lines[task, length]}
        name = "all lengths" if length is None else words.tokens(length)
        length_cell = Cell(name, replies=replies_of(system, task, length))
        items = _range([contrast.items for contrast in at.values()])
        rows.append((Cell(task), length_cell, Cell(items), *(_contrast(at.get(pair)) for pair in pairs)))
    whole = tuple(number for number, (_, length) in enumerate(ordered) if length is None)
    return Table(
        *(f"position-{number}", "position", f"{system.name}: positions", about, columns, tuple(rows)),
        detail=True,
        denominator="shared" if all(contrast.paired for contrast in contrasts) else "scored",
        notable=_notable([lines[line] for line in ordered]) or whole[:SHOWN_ROWS],
    )


def significant(contrast: PositionContrast) -> bool:
    """Whether a difference is significant among all of the table."""
    return contrast.p_adjusted < ALPHA


def _notable(rows: Sequence[Sequence[PositionContrast]]) -> tuple[int, ...]:
    """The rows with the largest significant differences, in the order of the table."""
    largest = {
        number: max(abs(contrast.difference) for contrast in row if significant(contrast))
        for number, row in enumerate(rows)
        if any(map(significant, row))
    }
    return tuple(sorted(sorted(largest, key=lambda number: -largest[number])[:SHOWN_ROWS]))


def _range(items: Sequence[int]) -> str:
    low, high = min(items), max(items)
    return words.count(low) if low == high else f"{words.count(low)}–{words.count(high)}"


def _contrast(contrast: PositionContrast | None) -> Cell:
    if contrast is None:
        return Cell()
    p_values = words.chances_of(contrast.p_value, contrast.p_adjusted)
    below = (*p_values, *([] if contrast.paired else ["unpaired"]))
    return Cell(words.change(contrast.difference), words.bounds(contrast.interval, signed=True), below=below)


def _point_tables(points: Sequence[PositionPoint]) -> list[Table]:
    """Score by depth: one table per model, a row per task and length, a column per depth."""
    tables: list[Table] = []
    for system, own in grouped(points, system_of).items():
        depths = sorted({(point.depth_low, point.depth_high) for point in own})
        rows = []
        for (task, length), line in grouped(own, lambda point: (point.task, point.length)).items():
            at = {(point.depth_low, point.depth_high): score_cell(point.mean, point.interval) for point in line}
            items = Cell(words.count(max(point.items for point in line)))
            cells = (at.get(depth, Cell()) for depth in depths)
            rows.append((Cell(printable(task)), Cell(words.tokens(length)), *cells, items))
        columns = (
            Column("Task", number=False),
            Column("Length"),
            *(Column(_depths(low, high), group="Depth") for low, high in depths),
            Column("Items", help="At each depth, at most"),
        )
        about = "" if tables else ABOUT_POINTS
        title = f"{system.name}: depths"
        tables.append(Table(f"depths-{len(tables) + 1}", "", title, about, columns, tuple(rows), denominator="scored"))
    return tables


def _depths(low: float, high: float) -> str:
    return _depth(low) if low == high else f"{100 * low:.0f}–{100 * high:.0f}%"


# ------------------------------------------------------------------------------------------------------- the section


def _draw(results: Results, chart: Callable[[list[PositionPoint], System, str], LayerChart]) -> list[LayerChart]:
    """One chart for each model and task with points."""
    points = grouped(results[POSITION], lambda point: (system_of(point), point.task))
    return [
        chart(points[system, task], system, task)
        for system in results.systems
        for task in results.tasks
        if (system, task) in points
    ]


def _heat_maps(results: Results) -> list[LayerChart]:
    size = Size(TILE.width * len(results.lengths), 130)
    return _draw(
        results,
        lambda points, system, task: position_chart(points, results.lengths, size, title=f"{system.name}: {task}"),
    )


def _lines(results: Results) -> list[LayerChart]:
    lengths, several = lengths_of(results[POSITION]), len(results.systems) > 1

    def chart(points: list[PositionPoint], system: System, task: str) -> LayerChart:
        title = f"{system.name}: {task}" if several else task
        return position_lines(points, lengths, PANEL, title=title, legend=COLUMNS)

    return _draw(results, chart)


def line_figures(system: System, tasks: Mapping[str, Sequence[PositionPoint]], lengths: Sequence[int]) -> list[Figure]:
    """The lines of one model for the page, one figure per task.

    Args:
        lengths: All lengths of the report, which determine the colours.
    """
    return [
        Figure(
            f"{task}, with intervals",
            drawn(
                position_lines(points, lengths, SMALL),
                f"Score of {system.name} on {task} by depth, one line per length",
            ),
            replies=replies_of(system, task),
        )
        for task, points in tasks.items()
    ]


def _figures(
    unit: tuple[System, Mapping[str, Sequence[PositionPoint]]], *, lengths: Sequence[int], lines: Sequence[int]
) -> list[Figure]:
    """The heat maps and lines of one model."""
    system, tasks = unit
    maps = [
        Figure(
            task_title(task),
            drawn(position_chart(points, lengths, MAP), f"Score of {system.name} by depth and length"),
            replies=replies_of(system, task),
        )
        for task, points in tasks.items()
    ]
    return [*maps, *line_figures(system, tasks, lines)]


def _page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    points, gridded = pooled(results), drawn_as_grids(results)
    if not points and not gridded and not tables:
        return []
    body: list[parts.PagePart] = [parts.Scale()]
    if points:
        own, lines = by_system(points), lengths_of(points)
        units = {str(number): (system, own[system]) for number, system in enumerate(results.systems) if system in own}
        workers = cores(MOST_PROCESSES) if 2 * sum(map(len, own.values())) >= MANY_DRAWINGS else 1
        draw = partial(_figures, lengths=results.lengths, lines=lines)
        styles = length_styles(lines)
        marks = [parts.Mark(words.tokens(length), colour, (1, 0), shape) for length, colour, shape in styles]
        body.append(parts.Key("Lengths in the figures", marks, spaced=False))
        for (system, _), figures in zip(units.values(), run_units(units, draw, workers=workers), strict=True):
            body += [parts.Heading(system.name), parts.Figures(figures)]
    for system, maps in grouped(gridded.items(), lambda pair: pair[0][0]).items():
        body.append(parts.Heading(system.name))
        for (_, task), cells in maps:
            chart = needle_chart(cells, _lengths(results, task))
            drawing = drawn(chart, f"Score of {system.name} on {task} by depth and length", whole=True)
            body += [parts.Heading(task, 4), parts.Drawing(f"{system.name}: {task}", drawing)]
    return [*body, *parts.table_parts(tables, MORE)]


def _about(results: Results) -> str:
    lines, grid = bool(pooled(results)), bool(drawn_as_grids(results))
    return ABOUT_FIGURES + ABOUT_LINES * lines + ABOUT_GRIDS * grid


def _finding(results: Results) -> str:
    apart = [contrast for contrast in results[CONTRASTS] if significant(contrast)]
    if not apart:
        return "No difference between positions is significant after adjustment." if results[CONTRASTS] else ""
    largest = max(apart, key=lambda contrast: abs(contrast.difference))
    at = "all lengths" if largest.length is None else words.length(largest.length)
    return (
        f"Largest difference: {PLACES[largest.first]} − {PLACES[largest.second]} {words.change(largest.difference)} "
        f"points on {largest.task} at {at}{results.of_system(system_of(largest))}."
    )


SECTION = Section(
    name="position",
    title="Position",
    finding=_finding,
    about=_about,
    tables=lambda results: contrast_tables(results[CONTRASTS], results.systems),
    page=_page,
    measurements=(POSITION, DEPTHS, CONTRASTS),
    charts=(
        Chart(kind="position", draw=_heat_maps, lacking=NO_DEPTHS),
        Chart(
            kind="position-lines",
            draw=_lines,
            heading="Score against depth",
            caption="0% is the start of the context, 100% its end; bars are 95% intervals",
            lacking=NO_DEPTHS,
        ),
        Chart(
            kind="needle",
            draw=needle_charts,
            heading="Score by depth and length",
            caption="0% is the start of the context, 100% its end; figures are percent",
            lacking="no task has its gold text at a few evenly spaced depths, at several lengths",
            columns=1,
        ),
    ),
    studies={PositionPoint: _point_tables, PositionContrast: contrast_tables},
)
