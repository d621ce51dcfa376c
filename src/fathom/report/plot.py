"""One figure as a file of its own, for a paper or a slide."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import altair as alt
import polars as pl
import vl_convert

from fathom.atomic import whole_file
from fathom.report import figures, svg
from fathom.report.colours import PAPER
from fathom.report.figures import Size
from fathom.report.results import ALL, Results, measure, system_of
from fathom.types import FathomError

Kind: TypeAlias = Literal["curve", "scores", "position"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FORMATS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    ".svg": lambda spec: str(vl_convert.vegalite_to_svg(spec)).encode(),
    ".png": lambda spec: bytes(vl_convert.vegalite_to_png(spec, scale=3)),
    ".pdf": lambda spec: bytes(vl_convert.vegalite_to_pdf(spec)),
    ".json": lambda spec: json.dumps(spec, ensure_ascii=False, indent=1).encode(),
}


def plot(rows: pl.DataFrame, kind: Kind, out: Path, *, seed: int = 0) -> Path:
    """Draws one figure.

    Args:
        rows: A rows table (``fathom.rows``).
        kind: ``curve``: score against length with bands; ``scores``: heat maps of task by length;
            ``position``: heat maps of depth by length.
        out: A ``.svg``, ``.png`` or ``.pdf`` file, or ``.json`` for the Vega-Lite specification.
        seed: Seed of the bootstrap.

    Returns:
        ``out``.

    Raises:
        FathomError: Unknown kind or format, nothing to draw, or the file cannot be written.
    """
    if kind not in KINDS:
        raise FathomError(f"Unknown kind of figure {kind!r}: choose one of {', '.join(KINDS)}.")
    convert = FORMATS.get(out.suffix.lower())
    if convert is None:
        raise FathomError(
            f"{out}: a figure is a {', '.join(FORMATS)} file, not {out.suffix or 'one without a suffix'!r}."
        )
    chart = chart_of(measure(rows, seed=seed), kind)
    drawn = convert(svg.specification(chart, PAPER.light))
    with whole_file(out, "wb") as stream:
        stream.write(drawn)
    return out


def chart_of(results: Results, kind: Kind) -> alt.TopLevelMixin:
    """The chart of one kind, over all that was measured."""
    charts = {"curve": _curve, "scores": _scores, "position": _position}[kind](results)
    if not charts:
        lacking = "no depth varies in these rows" if kind == "position" else "no reply has a score"
        raise FathomError(f"There is nothing to draw for {kind!r}: {lacking}.")
    return charts[0] if len(charts) == 1 else alt.VConcatChart(vconcat=charts, spacing=28)


def _curve(results: Results) -> list[alt.LayerChart]:
    points = [point for (_, task, _), point in results.curve.items() if task == ALL and point.mean is not None]
    return [figures.curve_chart(points, results.systems, Size(560, 300), legend=True)] if points else []


def _scores(results: Results) -> list[alt.LayerChart]:
    tasks = (*results.tasks, ALL)
    size = Size(46 * len(results.lengths), 26 * len(tasks))
    made = []
    for system in results.systems:
        points = [point for (name, _, _), point in results.curve.items() if name == system]
        if any(point.mean is not None for point in points):
            made.append(figures.score_chart(points, results.lengths, tasks, size, title=system.name))
    return made


def _position(results: Results) -> list[alt.LayerChart]:
    size = Size(46 * len(results.lengths), 130)
    made = []
    for system in results.systems:
        for task in results.tasks:
            points = [point for point in results.position if system_of(point) == system and point.task == task]
            if points:
                made.append(figures.position_chart(points, results.lengths, size, title=f"{system.name}: {task}"))
    return made
