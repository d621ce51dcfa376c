"""Charts as drawings: places, labels and texts against numbers of others; values under the pointer and by keyboard."""

from __future__ import annotations

import html
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import polars as pl
import pytest
from report_rows import make_rows

from chromium import browsers
from fathom.plugins.extras import MissingLibraryError
from fathom.report.charts import ConcatChart, LayerChart, Line, Names, Numbers, Points, Series, Size, Tiles
from fathom.report.drawing import length_axis, length_label, percents, round_numbers, score_axis, styles_of
from fathom.report.figure import inline, save
from fathom.report.made import report
from fathom.report.sections.lengths import first_figure
from fathom.report.svg import document, shortened, text_width
from fathom.report.vegalite import specification

if TYPE_CHECKING:
    from playwright.sync_api import Browser

browser = pytest.fixture(browsers, scope="module")
HOSTILE = '</title><script>alert(1)</script>"&\x07'


def chart(names: tuple[str, ...] = ("a",), title: str = "") -> LayerChart:
    """A line for each name, from 50% at 1k to 25% at 4k."""
    records = [
        {"system": name, "length": length, "mean": mean, "says": f"{name}, {length}"}
        for name in names
        for length, mean in ((1024, 0.5), (4096, 0.25))
    ]
    return LayerChart(
        layers=[Line(records=records, x="length", y="mean"), Points(records=records, x="length", y="mean")],
        size=Size(200, 100),
        x=Numbers(low=512, high=8192, ticks=[(1024, "1k"), (4096, "4k")], log=True),
        y=score_axis(),
        series=Series(field="system", styles=styles_of(names), columns=1),
        title=title,
    )


def test_points_and_lines_are_where_their_values_are() -> None:
    text = document(chart())
    # 1k is a quarter of the four octaves from 512 to 8192, 4k three quarters; scores go upwards.
    places = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', text)]
    assert places[:2] == [(50, 50), (150, 75)]
    assert 'd="M50 50L150 75"' in text
    labels = {label: float(x) for x, label in re.findall(r'<text x="([\d.]+)" y="[\d.]+">(\dk)</text>', text)}
    assert labels == {"1k": 50, "4k": 150}


def test_tiles_fill_the_bands_of_their_names() -> None:
    tile = {"column": "c", "line": "l", "heat": "#123456"}
    two = LayerChart(
        layers=[Tiles(records=[tile], x="column", y="line", heat="heat")],
        size=Size(80, 60),
        x=Names(names=["b", "c"]),
        y=Names(names=["l", "m", "n"]),
    )
    assert 'd="M40 0h40v20h-40z" fill="#123456"' in document(two)


def test_text_is_as_wide_as_in_helvetica() -> None:
    metrics = pytest.importorskip("reportlab.pdfbase.pdfmetrics")
    for letter in map(chr, range(32, 127)):
        assert text_width(letter, 1000) == pytest.approx(metrics.stringWidth(letter, "Helvetica", 1000))
    assert text_width("长度", 10) == 20
    assert shortened("a" * 50, 11, 60).endswith("…")
    assert text_width(shortened("a" * 50, 11, 60), 11) <= 60


def test_ticks_are_round_and_labels_short() -> None:
    assert round_numbers(0.4, 1.01, 6) == [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert round_numbers(-3, 7, 5) == [-2, 0, 2, 4, 6]
    assert [length_label(length) for length in (512, 1024, 9300, 32000, 2**20)] == ["512", "1k", "9.08k", "32k", "1M"]
    assert percents((-0.5, 0, 0.5), "+") == [(-0.5, "−50%"), (0, "0%"), (0.5, "+50%")]
    assert dict(length_axis([1024, 3000, 4096], Size(60, 100)).ticks) == {1024: "1k", 4096: "4k"}


def test_names_are_text_wherever_they_are_drawn() -> None:
    hostile = chart((HOSTILE, "b"), title=HOSTILE)
    for text in (document(hostile), inline(hostile, HOSTILE)):
        assert "<script" not in text
        root = ElementTree.fromstring(text)
        written = [element.text or "" for element in root.iter() if element.tag.endswith(("text", "title"))]
        assert sum("alert(1)" in one for one in written) == 4  # the heading, the legend and two points
    assert "<script" not in hostile._repr_html_()


def test_a_legend_is_below_the_chart_and_within_the_drawing() -> None:
    long = "a model with a long name that is wider than the plotting area of its chart"
    root = ElementTree.fromstring(document(chart((long,))))
    assert float(root.attrib["width"]) > text_width(long, 12) > 200
    assert long in [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.slow
def test_vega_lite_draws_the_same_labels_from_the_specification() -> None:
    vl_convert = pytest.importorskip("vl_convert")
    signed = Numbers(low=-1, high=1, ticks=percents((-0.5, 0, 0.5), "+"))
    both = replace(chart(("a", "it's")), y=signed)
    for text in (vl_convert.vegalite_to_svg(specification(both)), document(both)):
        words = {element.text for element in ElementTree.fromstring(text).iter() if element.tag.endswith("text")}
        assert {"1k", "4k", "−50%", "0%", "+50%", "a", "it's"} <= words


def test_a_figure_that_needs_the_extra_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for suffix in (".png", ".pdf"):
        with pytest.raises(MissingLibraryError, match=r"pip install 'fathom-eval\[figures\]'"):
            save(chart(), tmp_path / f"figure{suffix}")
    for suffix in (".svg", ".html", ".json"):
        save(chart(), tmp_path / f"figure{suffix}")
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.browser
def test_values_are_read_with_the_pointer_and_by_arrow_keys(browser: Browser, tmp_path: Path) -> None:
    report(make_rows(models=2, tasks=1, items=3), tmp_path / "page.html")
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto((tmp_path / "page.html").as_uri())
    figure, value = tab.locator("figure svg").first, tab.locator("#value")
    assert value.inner_text() == ""
    figure.focus()
    tab.keyboard.press("ArrowRight")
    assert re.fullmatch(r"acme/long-1.*, 1k: [\d.]+% \[[\d., ]+\]", value.inner_text().splitlines()[0])
    tab.keyboard.press("ArrowRight")
    assert ", 2k: " in value.inner_text()
    tab.keyboard.press("End")
    assert "fathom/lexical" in value.inner_text()
    tab.keyboard.press("Escape")
    assert value.inner_text() == ""
    figure.locator("circle").first.hover(force=True)  # points of both models are there
    assert ", 1k: " in value.inner_text()
    tab.mouse.move(1, 1)
    assert value.inner_text() == ""
    tab.close()


@pytest.mark.browser
def test_marks_that_hide_each_other_are_all_named(browser: Browser, tmp_path: Path) -> None:
    rows = make_rows(models=1, tasks=1, items=3)
    report(pl.concat([rows, rows.with_columns(model=pl.lit("acme/copy"))]), tmp_path / "page.html")
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto((tmp_path / "page.html").as_uri())
    tab.locator("figure svg circle").first.hover(force=True)
    first, second = tab.locator("#value").inner_text().splitlines()
    assert {first.split(",")[0], second.split(",")[0]} == {"acme/long-1 · thinking", "acme/copy · thinking"}
    tab.close()


@pytest.mark.browser
def test_values_are_titles_where_scripts_do_not_run(browser: Browser, tmp_path: Path) -> None:
    report(make_rows(models=2, tasks=1, items=3), tmp_path / "page.html")
    tab = browser.new_context(java_script_enabled=False).new_page()
    tab.goto((tmp_path / "page.html").as_uri())
    assert ", 1k: " in (tab.locator("figure svg circle title").first.text_content() or "")
    tab.context.close()


@pytest.mark.parametrize("name", ["acme/{size}b", "acme/{", "{{x}}", "{0.__class__}"])
def test_braces_in_names_are_text(name: str) -> None:
    titles = [
        title.text for title in ElementTree.fromstring(document(chart((name,)))).iter() if title.tag.endswith("title")
    ]
    assert titles == [f"{name}, 1024", f"{name}, 4096"]


def test_a_length_that_is_unknown_is_before_all_others() -> None:
    axis = length_axis((0, 1024, 4096), Size(200, 100))
    assert [label for _, label in axis.ticks] == ["unknown", "1k", "4k"]
    assert axis.low == axis.ticks[0][0] < 1024
    point = {"system": "a", "length": 0, "mean": 1, "says": "a, unknown"}
    text = document(replace(chart(), x=axis, layers=[Points(records=[point], x="length", y="mean")]))
    assert '<circle cx="0"' in text
    assert [label for _, label in length_axis((0,), Size(200, 100)).ticks] == ["unknown"]


@pytest.mark.slow
def test_a_report_on_rows_of_unknown_length_is_written(tmp_path: Path) -> None:
    rows = make_rows(models=1, tasks=1, items=4, lengths=(1024, 2048))
    rows = rows.with_columns(length=pl.col("length").replace(1024, 0))
    assert "unknown" in report(rows, tmp_path / "report.html").html()


def test_long_texts_are_shortened_in_linear_time() -> None:
    assert shortened("m" * 200_000, 11, 100).endswith("…")
    assert len(shortened("m" * 200_000, 11, 100)) < 15


def test_a_long_name_does_not_push_panels_apart() -> None:
    names = ("short", "long/" + "m" * 3000)
    panels = [chart((name,), title=name) for name in names]
    text = document(ConcatChart(concat=panels, columns=2))
    assert float(re.search(r'width="([\d.]+)"', text)[1]) < 1000  # type: ignore[index]


@pytest.mark.slow
def test_lines_of_the_first_curve_have_their_names_at_their_ends(tmp_path: Path) -> None:
    made = report(make_rows(models=3, tasks=1, items=4), tmp_path / "page.html")
    figure = first_figure(made.results)
    assert figure is not None
    texts = [(float(x), text) for x, text in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)</text>', figure.wide)]
    names = {html.unescape(text) for x, text in texts if x > 430}
    assert names == {system.name for system in made.results.systems}
