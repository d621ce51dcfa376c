"""Charts of setups: score and differences against length, score against tokens; on the page and as files."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from fathom.analysis.setups import SetupResult
from fathom.report import words
from fathom.report.charts import (
    Chart,
    ConcatChart,
    Labels,
    Layer,
    LayerChart,
    Line,
    Numbers,
    Points,
    Rule,
    Series,
    Size,
)
from fathom.report.colours import INK, MUTED
from fathom.report.drawing import length_axis, length_domain, length_label, score_axis, style
from fathom.report.figure import Figure, check_format, drawn, save
from fathom.report.setups import ComparedSetups, setup_name, tokens_at
from fathom.types import FathomError

WIDE, NARROW, TILE = Size(620, 260), Size(290, 240), Size(230, 130)
PAPER_SIZE, PAPER_TILE = Size(560, 300), Size(230, 150)
TOGETHER = 7
"""Setups that share a chart of scores; with more, each has one of its own, beside the base."""
APART = 0.04
"""Octaves between the lines of two setups at one length, so that their intervals do not hide each other."""
TITLED = "tokens of a question with its reply"
"""Title of the axis of tokens."""
SAME_TOKENS = 0.05
"""The share by which tokens may differ before a setup counts as taking others than the base."""
STEPS = (0.25, 0.5)
"""Between two labels of differences: of a small range, and of one of more than 1."""


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
    chart: Callable[[ComparedSetups, Sequence[SetupResult], Size], LayerChart],
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
        chart: Chart = score_chart(compared, family, PAPER_SIZE, legend=True)
        if len(family) > TOGETHER:
            parts = [
                score_chart(compared, (family[0], result), PAPER_TILE, title=setup_name(result.setup))
                for result in family[1:]
            ]
            chart = ConcatChart(concat=parts, columns=3)
        made.append(save(chart, folder / f"scores{end}{suffix}"))
        if others := _with_other_tokens(compared, family):
            made.append(save(token_chart(compared, others, PAPER_SIZE, legend=True), folder / f"tokens{end}{suffix}"))
    tiles = difference_charts(compared, PAPER_TILE, titled=True)
    heading = f"Difference to {setup_name(compared.base)}, in points"
    together = ConcatChart(concat=tiles, columns=3, title=heading)
    made.append(save(together, folder / f"differences{suffix}"))
    return made


# Charts


def score_chart(
    compared: ComparedSetups, family: Sequence[SetupResult], size: Size, *, legend: bool = False, title: str = ""
) -> LayerChart:
    """Score against length with 95% intervals, one line per setup, and the window as a vertical line."""
    records = [
        {
            "setup": setup_name(result.setup),
            "length": point.length * 2 ** (APART * (place - (len(family) - 1) / 2)),
            "mean": point.mean,
            "low": point.interval.low,
            "high": point.interval.high,
            "says": f"{setup_name(result.setup)}, {words.length(point.length)}: "
            + words.scored(point.mean, point.interval),
        }
        for place, result in enumerate(family)
        for point in result.points
        if point.mean is not None and point.interval is not None
    ]
    x, outer = length_axis(compared.lengths, size), 2 ** (APART * (len(family) - 1) / 2)
    return LayerChart(
        layers=[*_window(compared), *_lines(records, "length")],
        size=size,
        x=replace(x, low=x.low / outer, high=x.high * outer),
        y=score_axis(),
        series=_series(compared, family, legend),
        title=title,
    )


def difference_charts(compared: ComparedSetups, size: Size, *, titled: bool = False) -> list[LayerChart]:
    """Difference to the base against length, one chart per setup with one scale; filled points are significant."""
    gaps = [point.difference for result in compared.others for point in result.points if point.difference is not None]
    least = min([0.0, *(gap.interval.low for gap in gaps)])
    most = max([0.0, *(gap.interval.high for gap in gaps)])
    step = STEPS[most - least > 1]
    low, high = math.floor(least / step) * step, math.ceil(most / step) * step
    values = [low + step * place for place in range(round((high - low) / step) + 1)]
    y = Numbers(
        low=low,
        high=max(high, low + step),
        ticks=[(value, words.minus(f"{100 * value:{'+' if value else ''}.0f}")) for value in values],
        grid=True,
    )
    return [
        LayerChart(
            layers=_difference_layers(compared, result),
            size=size,
            x=length_axis(compared.lengths, size),
            y=y,
            series=_series(compared, [result], legend=False),
            title=setup_name(result.setup) if titled else "",
        )
        for result in compared.others
    ]


def _difference_layers(compared: ComparedSetups, result: SetupResult) -> list[Layer]:
    name = setup_name(result.setup)
    records = [
        {
            "setup": name,
            "length": point.length,
            "difference": point.difference.difference,
            "low": point.difference.interval.low,
            "high": point.difference.interval.high,
            "shown": bool(point.difference.sign),
            "says": f"{name}, {words.length(point.length)}: {words.change(point.difference.difference)} "
            + words.bounds(point.difference.interval, signed=True),
        }
        for point in result.points
        if point.difference is not None
    ]
    low, high = length_domain(compared.lengths)
    zero = [{"length": at, "difference": 0.0} for at in (low, high)]
    layers: list[Layer] = [
        *_window(compared, labelled=False),
        Line(records=zero, x="length", y="difference", colour=MUTED.light, width=1.2),
    ]
    if not records:
        return layers
    layers.append(Line(records=records, x="length", y="difference", width=1.5))
    layers.append(Rule(records=records, x="length", low="low", high="high"))
    for significant in (True, False):
        if chosen := [record for record in records if record["shown"] is significant]:
            layers.append(Points(records=chosen, x="length", y="difference", size=40, hollow=not significant))
    return layers


def token_chart(
    compared: ComparedSetups, family: Sequence[SetupResult], size: Size, *, legend: bool = False
) -> LayerChart:
    """Score against tokens of a reply, one series per setup whose points are lengths; larger points are longer."""
    records = _spent(compared, family)
    amounts = [max(1, round(record["tokens"])) for record in records]
    low, high = length_domain(amounts)
    powers = [2.0**power for power in range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)]
    inside = [power for power in powers if low <= power <= high] or amounts[:1]
    lengths = sorted({record["length"] for record in records})
    for record in records:
        # The area of a point grows with its length.
        record["area"] = 18 + 82 * lengths.index(record["length"]) / max(1, len(lengths) - 1)
    ticks = [(power, length_label(power)) for power in inside]
    return LayerChart(
        layers=_lines(records, "tokens", size="area"),
        size=size,
        x=Numbers(low=low, high=high, ticks=ticks, log=True, marks=True, title=TITLED),
        y=score_axis(),
        series=_series(compared, family, legend),
    )


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
                        "says": f"{setup_name(result.setup)}, {words.length(length)}, "
                        f"{words.tokens(amount.mean)} tokens: {words.scored(point.mean, point.interval)}",
                    }
                )
    return [record for record in made if float(str(record["tokens"])) > 0]


def _series(compared: ComparedSetups, family: Sequence[SetupResult], legend: bool) -> Series:
    """One colour, dash and marker for each setup, the same in all charts."""
    styles = {setup_name(result.setup): style(compared.order.index(result)) for result in family}
    return Series(field="setup", styles=styles, columns=2 if legend else 0, dashed=True)


def _lines(records: Sequence[dict[str, Any]], x: str, *, size: float | str = 40) -> list[Layer]:
    """Intervals, lines and points."""
    return [
        Rule(records=records, x=x, low="low", high="high", width=1.2, opacity=0.75),
        Line(records=records, x=x, y="mean", order="length"),
        Points(records=records, x=x, y="mean", size=size),
    ]


def _window(compared: ComparedSetups, *, labelled: bool = True) -> list[Layer]:
    """The window as a vertical line; none if it is outside of the tested lengths."""
    low, high = length_domain(compared.lengths)
    if not low <= compared.window <= high:
        return []
    records = [{"length": compared.window}]
    line = Rule(records=records, x="length", colour=INK.light, dash=(4, 3), width=1)
    if not labelled:
        return [line]
    return [line, Labels(records=records, x="length", fixed="window", colour=MUTED.light, dx=4, dy=-6)]
