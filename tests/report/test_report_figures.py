"""Figures: valid specifications, drawings that follow the page's colours, files of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from needle_rows import make_needle
from pro_rows import make_pro
from report_rows import make_rows, with_cuts, with_evidence_alone
from vega_lite import read_by_altair

from fathom.analysis import read_scores, score_profiles
from fathom.report.colours import (
    ABILITY,
    CHANGE,
    GRID,
    HEAT,
    INK,
    NAMES,
    PAPER,
    SERIES,
    Colour,
    ability_step,
    change_step,
    heat_step,
)
from fathom.report.curves import curve_chart
from fathom.report.drawing import Size, style
from fathom.report.figure import inline
from fathom.report.measure import measure
from fathom.report.plot import KINDS, chart_of, plot
from fathom.report.results import ALL, Results
from fathom.report.sections import breakdown, repeats
from fathom.rows.schema import to_frame
from fathom.types import FathomError
from fathom.types.choices import Figure
from fathom.types.samples import STEP
from made_facts import rows_of

pytestmark = pytest.mark.slow
GROUPED = [chart.kind for section in (breakdown.BREAKDOWN, repeats.SECTION) for chart in section.charts]


@pytest.fixture(scope="module")
def results() -> Results:
    return measure(with_evidence_alone(with_cuts(make_rows(tasks=3, items=5))))


@pytest.fixture(scope="module")
def repeated() -> Results:
    return measure(make_pro(questions=30))


@cache
def checkpoints() -> Results:
    """Two steps of a training, with items enough at each depth."""
    rows = with_evidence_alone(make_rows(models=1, tasks=1, items=60))
    steps = [
        rows.with_columns(
            variant=pl.lit(f"step {step}"), facets=pl.col("facets").str.replace(r"^\{", f'{{"{STEP}": {step}, ')
        )
        for step in (1, 2)
    ]
    return measure(pl.concat(steps))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_valid_vega_lite(results: Results, repeated: Results, kind: Figure) -> None:
    own: dict[str, Callable[[], Results]] = {
        "needle": lambda: measure(make_needle()),
        "recovery-depth": checkpoints,
        "recovery-steps": checkpoints,
        "survival": lambda: measure(to_frame(rows_of("summary", 0.8, Random(1)))),
    }
    chart = chart_of(repeated if kind in GROUPED else own.get(kind, lambda: results)(), kind)
    assert read_by_altair(chart)


def test_a_curve_holds_the_means_and_the_intervals(results: Results) -> None:
    points = [point for (_, task, _), point in results.curve.items() if task == ALL]
    drawn = json.dumps(curve_chart(points, results.systems, Size(300, 200)).to_dict())
    for point in points:
        if point.mean is not None and point.interval is not None:
            assert f'"mean": {point.mean}, "low": {point.interval.low}, "high": {point.interval.high}' in drawn
    assert '"mean": null' not in drawn


def test_a_mean_over_fewer_tasks_is_drawn_hollow(results: Results) -> None:
    points = [point for (system, task, _), point in results.curve.items() if task == ALL and system.variant]
    whole = json.dumps(curve_chart(points, results.systems, Size(300, 200)).to_dict())
    assert '"filled": false' not in whole
    holed = measure(
        make_rows(models=1, items=3, failures=False).filter((pl.col("task") != "passkey") | (pl.col("length") < 9000))
    )
    points = [point for (_, task, _), point in holed.curve.items() if task == ALL]
    assert '"filled": false' in json.dumps(curve_chart(points, holed.systems, Size(300, 200)).to_dict())


def test_an_inline_drawing_follows_the_page(results: Results) -> None:
    points = [point for (_, task, _), point in results.curve.items() if task == ALL]
    text = inline(curve_chart(points, results.systems, Size(300, 200)), 'a "label" <&>')
    root = ElementTree.fromstring(text)
    assert root.tag == "svg"
    assert root.attrib["aria-label"] == 'a "label" <&>'
    assert root.attrib["viewBox"].startswith("0 0 ")
    assert "width" not in root.attrib
    painted = re.findall(r' (?:fill|stroke)="([^"]*)"', text)
    assert {colour for colour in painted if colour.startswith("#")} == set()
    assert f"var(--series-0, {SERIES[0].light})" in painted
    assert "font-family" not in text
    # Names are in the key of the page; a mark says its own under the pointer.
    assert not any(system.name in (one.text or "") for system in results.systems for one in root.iter("text"))


def test_a_drawing_with_names_keeps_them_as_text() -> None:
    hostile = '<script>alert(1)</script>"& opacity="1"\x07'
    measured = measure(make_rows(models=2, tasks=1, items=3).with_columns(model=pl.lit(hostile) + pl.col("model")))
    points = [point for (_, task, _), point in measured.curve.items() if task == ALL]
    text = inline(curve_chart(points, measured.systems, Size(900, 200), legend=1), "curve")
    assert "<script" not in text
    assert any("alert(1)" in (element.text or "") for element in ElementTree.fromstring(text).iter("text"))


def test_systems_look_different_without_colour_too() -> None:
    styles = [style(number) for number in range(24)]
    assert len({(one.dash, one.shape) for one in styles}) == 24
    assert len(set(styles)) == 24


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_lines_stand_out_in_both_themes(theme: str) -> None:
    def pick(colour: Colour) -> str:
        return str(getattr(colour, theme))

    for colour in (INK, NAMES["muted"], *SERIES):
        assert contrast(pick(colour), pick(PAPER)) >= 4.5
    for step in (*HEAT, *CHANGE, GRID):
        assert contrast(pick(INK), pick(step)) >= 4.5
    shades = [contrast(pick(step), pick(PAPER)) for step in ABILITY]
    assert shades == sorted(shades), "the stronger a model, the more its line stands out"
    assert shades[0] >= 2.8


def test_heat_steps() -> None:
    assert [heat_step(value) for value in (0.0, 0.0999, 0.1, 0.95, 1.0)] == [0, 0, 1, 9, 9]
    assert len({colour.light for colour in NAMES.values()}) == len(NAMES)


def test_steps_of_change_and_of_ability() -> None:
    assert [change_step(value) for value in (-1.0, -0.3, -0.01, 0.0, 0.02, 0.15, 5.0)] == [0, 2, 5, 5, 5, 7, 10]
    assert [ability_step(rank, 8) for rank in range(8)] == list(range(8))
    assert [ability_step(rank, 3) for rank in range(3)] == [0, 4, 7]
    assert ability_step(0, 1) == 7


@pytest.mark.parametrize(
    ("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".json", b"{")]
)
def test_a_figure_as_a_file(tmp_path: Path, suffix: str, start: bytes) -> None:
    rows = make_rows(models=2, tasks=2, items=3, lengths=(2048, 8192))
    out = plot(rows, "curve", tmp_path / f"figure{suffix}")
    assert out.read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_what_cannot_be_drawn_says_why(tmp_path: Path) -> None:
    rows = make_rows(models=1, tasks=1, items=2, lengths=(2048,), depths=False)
    with pytest.raises(FathomError, match="no depth varies"):
        plot(rows, "position", tmp_path / "a.svg")
    with pytest.raises(FathomError, match=r"a\.gif: a figure must end in one of \.svg"):
        plot(rows, "curve", tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_base_that_a_table_gives_is_drawn_before_the_lengths(tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    lines = [
        "model,task,length,score",
        "a,t,base,60",
        "a,t,8k,50",
        "a,t,16k,40",
        "a,u,base,80",
        "a,u,8k,70",
        "a,u,16k,20",
    ]
    table.write_text("\n".join(lines) + "\n", "utf-8")
    given = score_profiles(read_scores(table))
    text = plot(given, "curve", tmp_path / "curve.json").read_text("utf-8")
    assert "'base'" in text
    assert {(4096, 0.7), (8192, 0.6), (16384, 0.3)} == {
        (one["length"], round(one["mean"], 9)) for one in records_in(json.loads(text)) if "mean" in one
    }
    assert "Score against length, mean over tasks" in text
    assert "'base'" in plot(given, "task-curves", tmp_path / "tasks.json").read_text("utf-8")


def test_base_lengths_that_were_measured_stay_where_they_are(tmp_path: Path) -> None:
    assert "'base'" not in plot(make_rows(), "curve", tmp_path / "curve.json").read_text("utf-8")


def records_in(specification: Any) -> list[dict[str, Any]]:
    """The records of a Vega-Lite specification, which Altair collects in ``datasets``."""
    return [one for records in specification["datasets"].values() for one in records]
