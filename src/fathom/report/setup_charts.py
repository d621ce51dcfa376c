"""Charts of setups: score and differences against length, score against tokens; on the page and as files."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt

from fathom.analysis.setups import SetupResult
from fathom.report.colours import INK, MUTED, PAPER
from fathom.report.drawing import (
    Size,
    Style,
    axis_of,
    chart_of_records,
    layered,
    legend_of,
    length_axis,
    length_domain,
    looks_of,
    score_axis,
    style,
)
from fathom.report.figure import Figure, check_format, drawn, save
from fathom.report.setups import ComparedSetups, setup_name, tokens_at
from fathom.types import FathomError

WIDE, NARROW, TILE = Size(620, 260), Size(290, 240), Size(230, 130)
PAPER_SIZE, PAPER_TILE = Size(560, 300), Size(230, 150)
TOGETHER = 7
"""Setups that share a chart of scores; with more, each has one of its own, beside the base."""
APART = 0.04
"""Octaves between the lines of two setups at one length, so that their intervals do not hide each other."""
TITLED = {
    "title": "tokens of a question with its reply",
    "titleColor": MUTED.light,
    "titleFontSize": 11,
    "titleFontWeight": "normal",
}
"""Title of the axis of tokens."""
SAME_TOKENS = 0.05
"""The share by which tokens may differ before a setup counts as taking others than the base."""
STEPS = (0.25, 0.5)
"""Between two labels of differences: of a small range, and of one of more than 1."""
NAMED = (
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + 'M' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~r') + 'k' : format(datum.value, '~r')"
)
"""The label of a power of two."""


class PageFigures(NamedTuple):
    """The figures of the page.

    Attributes:
        scores: Score against length, of each family or, with ``tiled``, of each setup.
        differences: Difference to the base, of each setup.
        tokens: Score against tokens, of each family with setups that take another number of tokens than the base.
        with_tokens: Names of the setups in ``tokens``.
        tiled: Whether each setup has a figure of scores of its own.
    """

    scores: Sequence[Figure]
    differences: Sequence[Figure]
    tokens: Sequence[Figure]
    with_tokens: Sequence[str]
    tiled: bool


def page_figures(compared: ComparedSetups) -> PageFigures:
    """The figures of the page."""
    several = len(compared.families) > 1
    tiled = any(len(family) > TOGETHER for _, family in compared.families)
    scores: list[Figure] = []
    tokens: list[Figure] = []
    with_tokens: dict[str, None] = {}
    for title, family in compared.families:
        heading = title if several else ""
        if tiled:
            scores += [_score_tile(compared, result) for result in family[1:]]
        else:
            scores.append(_figure(score_chart, compared, family, heading, "Score against length"))
        if others := _with_other_tokens(compared, family):
            tokens.append(_figure(token_chart, compared, others, heading, "Score against tokens"))
            with_tokens |= {result.setup.name: None for result in others}
    differences = [
        Figure(
            setup_name(result.setup), drawn(chart, f"Difference of {setup_name(result.setup)} to the base by length")
        )
        for result, chart in zip(compared.others, difference_charts(compared, TILE), strict=True)
    ]
    return PageFigures(scores, differences, tokens, list(with_tokens), tiled)


def _score_tile(compared: ComparedSetups, result: SetupResult) -> Figure:
    chart = score_chart(compared, (compared.reference, result), TILE)
    return Figure(
        setup_name(result.setup),
        drawn(chart, f"Score of {setup_name(result.setup)} against length; figures in the tables"),
    )


def _with_other_tokens(compared: ComparedSetups, family: Sequence[SetupResult]) -> list[SetupResult]:
    """The base and the setups that take another number of tokens at some length; none if there are none."""
    others = [family[0]]
    for result in family[1:]:
        for length in compared.lengths:
            tokens = tokens_at(family, length)
            own, least = tokens.get(result.setup.name), tokens.get(compared.base)
            if own is not None and least is not None and abs(own.mean - least.mean) > SAME_TOKENS * least.mean:
                others.append(result)
                break
    return others if len(others) > 1 else []


def _figure(
    chart: Callable[[ComparedSetups, Sequence[SetupResult], Size], alt.LayerChart],
    compared: ComparedSetups,
    family: Sequence[SetupResult],
    title: str,
    label: str,
) -> Figure:
    description = f"{label}; figures in the tables"
    wide, narrow = (drawn(chart(compared, family, size), description) for size in (WIDE, NARROW))
    return Figure(title, wide, narrow)


def setup_figures(compared: ComparedSetups, folder: Path, suffix: str = ".svg") -> list[Path]:
    """Writes the charts of a comparison as files, for a paper or a slide.

    Args:
        compared: The comparison.
        folder: Where to write; it is made if it is missing.
        suffix: ``.svg``, ``.pdf``, ``.png``, ``.html``, or ``.json`` for Vega-Lite specifications.

    Returns:
        The files: ``scores``, ``differences`` and, if tokens are known, ``tokens``; the first and the last for each
        family of setups.

    Raises:
        FathomError: The suffix is another one, or a file cannot be written.
    """
    check_format(folder / f"scores{suffix}")
    if not compared.others:
        raise FathomError("There is nothing to draw: no setup was compared with the base.")
    several = len(compared.families) > 1
    made = []
    for title, family in compared.families:
        end = f"-{title.lower().replace(' ', '-')}" if several else ""
        chart: alt.LayerChart | alt.ConcatChart = score_chart(compared, family, PAPER_SIZE, legend=True)
        if len(family) > TOGETHER:
            parts = [
                score_chart(compared, (family[0], result), PAPER_TILE, title=setup_name(result.setup))
                for result in family[1:]
            ]
            chart = alt.ConcatChart(concat=parts, columns=3, spacing=24)
        made.append(save(chart, folder / f"scores{end}{suffix}"))
        if others := _with_other_tokens(compared, family):
            made.append(save(token_chart(compared, others, PAPER_SIZE, legend=True), folder / f"tokens{end}{suffix}"))
    tiles = difference_charts(compared, PAPER_TILE, titled=True)
    heading = alt.TitleParams(f"Difference to {setup_name(compared.base)}, in points", fontSize=14, offset=16)
    together = alt.ConcatChart(concat=tiles, columns=3, spacing=24, title=heading)
    made.append(save(together, folder / f"differences{suffix}"))
    return made


# Charts


def score_chart(
    compared: ComparedSetups, family: Sequence[SetupResult], size: Size, *, legend: bool = False, title: str = ""
) -> alt.LayerChart:
    """Score against length with 95% intervals, one line per setup, and the window as a vertical line."""
    records = [
        {
            "setup": setup_name(result.setup),
            "length": point.length * 2 ** (APART * (place - (len(family) - 1) / 2)),
            "mean": point.mean,
            "low": point.interval.low,
            "high": point.interval.high,
        }
        for place, result in enumerate(family)
        for point in result.points
        if point.mean is not None and point.interval is not None
    ]
    x, y = length_axis(compared.lengths, size), score_axis()
    layers = [*_window(compared, size), *_lines(compared, family, records, x, y, legend=_legend(size, legend))]
    return layered(layers, size, title)


def difference_charts(compared: ComparedSetups, size: Size, *, titled: bool = False) -> list[alt.LayerChart]:
    """Difference to the base against length, one chart per setup with one scale; filled points are significant."""
    gaps = [point.difference for result in compared.others for point in result.points if point.difference is not None]
    least = min([0.0, *(gap.interval.low for gap in gaps)])
    most = max([0.0, *(gap.interval.high for gap in gaps)])
    step = STEPS[most - least > 1]
    low, high = math.floor(least / step) * step, math.ceil(most / step) * step
    values = [low + step * place for place in range(round((high - low) / step) + 1)]
    label = "(datum.value > 0 ? '+' : datum.value < 0 ? '−' : '') + format(abs(datum.value) * 100, '.0f')"
    y = alt.Y(
        "difference:Q",
        scale=alt.Scale(domain=[low, max(high, low + step)], nice=False),
        axis=axis_of(values=values, labelExpr=label, grid=True),
    )
    x = length_axis(compared.lengths, size)
    return [
        layered(
            _difference_layers(compared, result, style(compared.order.index(result)), x, y, size),
            size,
            setup_name(result.setup) if titled else "",
        )
        for result in compared.others
    ]


def _difference_layers(
    compared: ComparedSetups, result: SetupResult, look: Style, x: alt.X, y: alt.Y, size: Size
) -> list[alt.Chart]:
    records = [
        {
            "length": point.length,
            "difference": point.difference.difference,
            "low": point.difference.interval.low,
            "high": point.difference.interval.high,
            "shown": bool(point.difference.sign),
        }
        for point in result.points
        if point.difference is not None
    ]
    low, high = length_domain(compared.lengths)
    zero = chart_of_records([{"length": at, "difference": 0.0} for at in (low, high)])
    layers = [
        *_window(compared, size, labelled=False),
        zero.mark_line(color=MUTED.light, strokeWidth=1.2).encode(x=x, y=y),
    ]
    if not records:
        return layers
    chart, colour = chart_of_records(records), look.colour.light
    layers.append(chart.mark_line(color=colour, strokeWidth=1.5).encode(x=x, y=y))
    layers.append(
        chart.mark_rule(color=colour, strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q", axis=y["axis"]), y2="high:Q")
    )
    for significant in (True, False):
        if chosen := [record for record in records if record["shown"] is significant]:
            fill = colour if significant else PAPER.light
            point = chart_of_records(chosen).mark_point(
                shape=look.shape, filled=True, fill=fill, stroke=colour, strokeWidth=1.5, size=40, opacity=1
            )
            layers.append(point.encode(x=x, y=y))
    return layers


def token_chart(
    compared: ComparedSetups, family: Sequence[SetupResult], size: Size, *, legend: bool = False
) -> alt.LayerChart:
    """Score against tokens of a reply, one series per setup whose points are lengths; larger points are longer."""
    records = _spent(compared, family)
    amounts = [max(1, round(record["tokens"])) for record in records]
    low, high = length_domain(amounts)
    powers = [2.0**power for power in range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)]
    inside = [power for power in powers if low <= power <= high] or amounts[:1]
    axis = axis_of(values=inside, labelExpr=NAMED, labelOverlap="greedy", grid=False, tickSize=4, ticks=True)
    for name, value in TITLED.items():
        axis[name] = value
    x = alt.X("tokens:Q", scale=alt.Scale(type="log", base=2, domain=[low, high], nice=False), axis=axis)
    return layered(_lines(compared, family, records, x, score_axis(), legend=_legend(size, legend), sized=True), size)


def _spent(compared: ComparedSetups, family: Sequence[SetupResult]) -> list[dict[str, Any]]:
    """Points with a score and known tokens."""
    made = []
    for length in compared.lengths:
        tokens = tokens_at(family, length)
        for result in family:
            point, amount = result.at(length), tokens.get(result.setup.name)
            if point is not None and point.mean is not None and point.interval is not None and amount is not None:
                made.append(
                    {
                        "setup": setup_name(result.setup),
                        "length": length,
                        "tokens": amount.mean,
                        "mean": point.mean,
                        "low": point.interval.low,
                        "high": point.interval.high,
                    }
                )
    return [record for record in made if float(str(record["tokens"])) > 0]


def _lines(
    compared: ComparedSetups,
    family: Sequence[SetupResult],
    records: Sequence[dict[str, Any]],
    x: alt.X,
    y: alt.Y,
    *,
    legend: alt.Legend | None,
    sized: bool = False,
) -> list[alt.Chart]:
    """Intervals, lines and points, one colour, dash and shape for each setup."""
    styles = [style(compared.order.index(result)) for result in family]
    looks = looks_of([setup_name(result.setup) for result in family], "setup", key=legend, styles=styles)
    chart = chart_of_records(records)
    marks = chart.mark_point(filled=True, opacity=1, size=40)
    points = marks.encode(x=x, y=y, color=looks.colour, shape=looks.shape)
    if sized:
        lengths = sorted({record["length"] for record in records})
        area = alt.Scale(
            domain=lengths, range=[18 + 82 * place / max(1, len(lengths) - 1) for place in range(len(lengths))]
        )
        points = marks.encode(
            x=x, y=y, color=looks.colour, shape=looks.shape, size=alt.Size("length:O", scale=area, legend=None)
        )
    return [
        chart.mark_rule(strokeWidth=1.2, opacity=0.75).encode(
            x=x, y=alt.Y("low:Q", axis=y["axis"], scale=y["scale"]), y2="high:Q", color=looks.colour
        ),
        chart.mark_line(strokeWidth=2).encode(
            x=x, y=y, color=looks.colour, strokeDash=looks.dash, order=alt.Order("length:Q")
        ),
        points,
    ]


def _window(compared: ComparedSetups, size: Size, *, labelled: bool = True) -> list[alt.Chart]:
    """The window as a vertical line; none if it is outside of the tested lengths."""
    low, high = length_domain(compared.lengths)
    if not low <= compared.window <= high:
        return []
    x = length_axis(compared.lengths, size)
    chart = chart_of_records([{"length": compared.window}])
    layers = [chart.mark_rule(color=INK.light, strokeDash=[4, 3], strokeWidth=1).encode(x=x)]
    if labelled:
        text = chart.mark_text(text="window", color=MUTED.light, fontSize=11, align="left", dx=4, dy=-6)
        layers.append(text.encode(x=x, y=alt.value(0)))
    return layers


def _legend(size: Size, wanted: bool) -> alt.Legend | None:
    return legend_of(2, size) if wanted else None
