"""The section of a report on setups: tables, charts, sentences, and the same as files, Markdown and numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import pytest
from vega_lite import read_by_altair

from chromium import browsers, violations
from fathom.analysis import Setup, compare_setups
from fathom.report.charts import LayerChart, Numbers, Size
from fathom.report.made import Report, measured
from fathom.report.setup_charts import difference_charts, score_chart, setup_figures, token_chart
from fathom.report.setups import ComparedSetups, answer, on_frontier, share_of
from fathom.report.table import Cell, Column, Table
from fathom.report.words import moment, size
from fathom.types import FathomError
from made_setups import DEMO, LENGTHS, TUNED, WHOLE, WINDOW, Made, rows_of, timings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

browser = pytest.fixture(browsers, scope="module")
HOSTILE = "<script>alert(1)</script> & \x1b[31m`x`"
ROWS = ((Cell("<b>PI</b>"),),)
PUBLISHED = Table("theirs", "other", "Published", "From a paper.", (Column("Method"),), ROWS, denominator="none")
SIZE = Size(300, 200)


def made_of(setups: Sequence[Made], *, seed: int = 0) -> tuple[pl.DataFrame, ComparedSetups]:
    rows = rows_of(setups, np.random.default_rng(seed), items=30)
    found = compare_setups(rows, [one.setup for one in setups], WHOLE, WINDOW, timings=timings(setups))
    return rows, ComparedSetups(tuple(found), WINDOW, WHOLE, TUNED, (PUBLISHED,))


@pytest.fixture(scope="module")
def found() -> tuple[pl.DataFrame, ComparedSetups]:
    hostile = replace(DEMO[2], setup=Setup(HOSTILE, HOSTILE, chosen=HOSTILE))
    return made_of([*DEMO[:2], hostile, *DEMO[3:]])


@pytest.fixture(scope="module")
def made(found: tuple[pl.DataFrame, ComparedSetups]) -> Report:
    return measured(found[0], setups=found[1])


@pytest.fixture(scope="module")
def page(made: Report) -> str:
    return made.html()


def table(report: Report, name: str) -> Table:
    (one,) = [table for table in report if table.name == name]
    return one


def column(one: Table, label: str) -> list[str]:
    place = [column.label for column in one.columns].index(label)
    return [str(row[place]) for row in one.rows]


@pytest.mark.slow
def test_the_section_comes_first_and_is_open(page: str) -> None:
    sections = [part.split('"')[0] for part in page.split('<details class="section" id="')[1:]]
    assert sections[0] == "section-setups"
    assert 'id="section-setups" open' in page
    assert "Compared with the whole prompt: " in page


@pytest.mark.slow
def test_without_setups_there_is_no_section(found: tuple[pl.DataFrame, ComparedSetups]) -> None:
    report = measured(found[0])
    assert "setups" not in report.numbers()
    assert "Setups compared" not in report.markdown()


@pytest.mark.slow
def test_names_are_escaped_everywhere(made: Report, page: str) -> None:
    assert "<script>alert" not in page
    assert "<b>PI</b>" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in made.markdown()
    assert "<script>" not in made.markdown()


@pytest.mark.slow
def test_trained_setups_have_tables_of_their_own(made: Report) -> None:
    names = [one.name for one in made if one.section == "setups"]
    assert [name for name in names if name in ("setups-1", "setups-2")] == ["setups-1", "setups-2"]
    assert column(table(made, "setups-2"), "Setup")[1].startswith("pi, tuned")
    assert not any("pi, tuned" in name for name in column(table(made, "setups-1"), "Setup"))
    # They are not ranked against the others anywhere.
    assert made.results.ranked == ()
    assert "Trained setups are not ranked" in made.markdown()
    rows, compared = made_of(DEMO[:4])
    report = measured(rows, setups=compared)
    assert "setups-2" not in [one.name for one in report]
    assert len(report.results.ranked) == 4


@pytest.mark.slow
def test_the_main_table_has_gain_cost_and_verdict(made: Report, found: tuple[pl.DataFrame, ComparedSetups]) -> None:
    main = table(made, "setups-1")
    results = [found[1].reference, *(one for one in found[1].others if not one.setup.trained)]
    assert column(main, "Verdict")[0] == "base"
    for one, verdict, gain in zip(results[1:], column(main, "Verdict")[1:], column(main, "Gain")[1:], strict=True):
        assert verdict.startswith(one.verdict)
        if one.gain is not None:
            sign = "+" if one.gain.difference > 0 else "−"
            assert gain.startswith(f"{sign}{abs(100 * one.gain.difference):.1f} [")
    assert column(main, "Peak cache")[0] == "128 MiB"
    assert column(main, "First token")[0] == "3.64 s"
    retrieval = [name.startswith("retrieval") for name in column(main, "Setup")].index(True)
    assert column(main, "Tokens")[retrieval] == "909 3%"
    assert "at most 0.025 for the gain" in main.about


def test_differences_say_why_there_is_none(made: Report) -> None:
    gaps = table(made, "setups-differences-1")
    refused = gaps.rows[[str(row[0]).startswith("dca") for row in gaps.rows].index(True)]
    assert (refused[-1].text, refused[-1].note) == ("–", "30 of 30 prompts did not fit.")
    assert "against" in str(refused[-2])


@pytest.mark.slow
def test_a_floor_is_called_one() -> None:
    flat = dict.fromkeys(LENGTHS, 0.0)
    rows, compared = made_of([replace(DEMO[0], truth=flat), replace(DEMO[1], truth=flat)])
    gaps = table(measured(rows, setups=compared), "setups-differences-1")
    assert {cell.text for cell in gaps.rows[0][1:]} == {"cannot tell"}
    assert {cell.below[-1] for cell in gaps.rows[0][1:]} == {"both at the floor"}


def test_costs_name_the_frontier(made: Report, found: tuple[pl.DataFrame, ComparedSetups]) -> None:
    costs = table(made, "setups-costs-1")
    family = found[1].families[0][1]
    marked = [
        (row[0].text, row[1].text)
        for row in costs.rows
        if row[[one.label for one in costs.columns].index("Frontier")].text == "yes"
    ]
    assert len(marked) == sum(len(on_frontier(family, length)) for length in LENGTHS)
    assert ("retrieval (top 8)", "32k") in marked
    assert "eager loop" in column(costs, "Kernel")


def test_hyper_parameters_and_published_tables_are_there(made: Report, page: str) -> None:
    tried = table(made, "setups-tried")
    assert column(tried, "Value") == ["factor=4", "factor=8", "factor=16"]
    assert column(tried, "Chosen") == ["–", "yes", "–"]
    assert column(tried, "Beyond the window") == ["41.0", "71.0", "–"]
    assert table(made, "setups-published-1").section == "setups"
    assert "Hyper-parameters tried" in page
    assert "From a paper." in page


def test_sentences(found: tuple[pl.DataFrame, ComparedSetups]) -> None:
    by_name = {one.setup.name: one for one in found[1].others}
    one = by_name["retrieval (top 8)"]
    gap = one.at(one.first_better or 0)
    assert gap is not None
    assert gap.difference is not None
    said = answer(one, WHOLE)
    assert said.startswith(
        f"From {(one.first_better or 0) // 1024}k on, retrieval (top 8) scores higher than the whole "
    )
    assert f"+{100 * gap.difference.difference:.1f} points [" in said
    assert f"with {share_of(one.tokens_ratio or 0)} of its tokens" in said
    refused = answer(by_name["dca, refused at 32k"], WHOLE)
    assert refused.startswith("No length was found from which on “dca, refused at 32k” scores higher than the whole")
    assert "no score at 32k (30 of 30 prompts did not fit)" in refused
    only = replace(one, first_better=LENGTHS[-1], tokens_ratio=1.0, dollars_ratio=0.004)
    assert answer(only, WHOLE).startswith("Only at 32k, the longest tested length, retrieval")
    assert answer(only, WHOLE).endswith("with 0.4% of its cost.")


def test_numbers_and_markdown_have_the_comparison(made: Report, found: tuple[pl.DataFrame, ComparedSetups]) -> None:
    numbers: dict[str, Any] = json.loads(made.text("json"))["setups"]
    assert (numbers["window"], numbers["base"], numbers["lengths"]) == (WINDOW, WHOLE, list(LENGTHS))
    own = {one["setup"]["name"]: one for one in numbers["setups"]}
    retrieval = next(one for one in found[1].others if one.setup.kind == "system")
    assert retrieval.gain is not None
    shown = own[retrieval.setup.name]
    assert shown["gain"]["difference"] == pytest.approx(retrieval.gain.difference)
    assert shown["verdict"] == retrieval.verdict
    assert 32768 in shown["on_frontier"]
    assert numbers["tuned"][0]["trials"][1]["chosen"] is True
    assert numbers["published"][0]["rows"] == [["<b>PI</b>"]]
    text = made.markdown()
    assert "**Setups compared**" in text
    assert "| Setup | Gain | Up to the window | Verdict | 85% of base | Tokens |" in text


@pytest.mark.slow
def test_rows_of_other_setups_are_refused(found: tuple[pl.DataFrame, ComparedSetups]) -> None:
    with pytest.raises(FathomError, match="no rows of the setup"):
        measured(found[0].filter(pl.col("model") != WHOLE), setups=found[1])


# Charts


def data_of(chart: LayerChart) -> list[Any]:
    """The records of all layers."""
    return list(chart.to_dict(validate=False)["datasets"].values())


@pytest.mark.slow
def test_charts_are_valid_and_show_the_window(found: tuple[pl.DataFrame, ComparedSetups]) -> None:
    compared = found[1]
    family = compared.families[0][1]
    score, tokens = score_chart(compared, family, SIZE, legend=True), token_chart(compared, family, SIZE, legend=True)
    gaps = difference_charts(compared, SIZE, titled=True)
    for chart in (score, tokens, gaps[0]):
        assert read_by_altair(chart)
    for chart in (score, gaps[0]):
        assert [{"length": WINDOW}] in data_of(chart)
    beyond = replace(compared, window=10 * max(LENGTHS))
    assert [{"length": beyond.window}] not in data_of(score_chart(beyond, family, SIZE))
    assert len(gaps) == len(compared.others)


def test_intervals_that_stand_beside_each_other_are_all_within_the_plot(
    found: tuple[pl.DataFrame, ComparedSetups],
) -> None:
    chart = score_chart(found[1], found[1].families[0][1], SIZE)
    assert isinstance(chart.x, Numbers)
    places = [float(str(record["length"])) for layer in chart.layers for record in layer.records]
    assert chart.x.low < min(places) < max(places) < chart.x.high


def test_points_of_charts_are_those_of_the_results(found: tuple[pl.DataFrame, ComparedSetups]) -> None:
    compared = found[1]
    (records,) = [
        found
        for found in data_of(difference_charts(compared, SIZE)[0])
        if "shown" in found[0] and len(found) == len(LENGTHS)
    ]
    gaps = [point.difference for point in compared.others[0].points if point.difference]
    assert [record["difference"] for record in records] == [gap.difference for gap in gaps]
    assert [record["shown"] for record in records] == [gap.sign != 0 for gap in gaps]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_charts_are_written_as_files(found: tuple[pl.DataFrame, ComparedSetups], tmp_path: Path, suffix: str) -> None:
    files = setup_figures(found[1], tmp_path / "figures", suffix)
    starts = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    # The trained setup takes as many tokens as the base: there is nothing to draw.
    assert {file.stem for file in files} == {
        "scores-weights-unchanged", "scores-trained", "tokens-weights-unchanged", "differences",
    }  # fmt: skip
    assert all(file.read_bytes().startswith(starts[suffix]) for file in files)
    with pytest.raises(FathomError, match="must end in"):
        setup_figures(found[1], tmp_path, ".gif")
    with pytest.raises(FathomError, match="nothing to draw"):
        setup_figures(replace(found[1], results=(found[1].reference,)), tmp_path)


@pytest.mark.slow
def test_setups_without_tokens_or_times_have_no_such_columns() -> None:
    rows = rows_of(DEMO[:2], np.random.default_rng(0), items=12)
    bare = rows.with_columns(
        pl.lit(None, pl.Int64).alias(name) for name in ("tokens", "tokens_in", "tokens_out")
    ).with_columns(cost=pl.lit(None, pl.Float64), seconds=pl.lit(None, pl.Float64))
    found = compare_setups(bare, [one.setup for one in DEMO[:2]], WHOLE, WINDOW)
    report = measured(bare, setups=ComparedSetups(tuple(found), WINDOW, WHOLE))
    labels = {column.label for column in table(report, "setups-1").columns}
    assert not labels & {"Tokens", "Cost", "First token", "Tokens/s", "Peak cache"}
    assert "Score against tokens" not in report.html()


def test_words_for_times_and_sizes() -> None:
    assert [moment(value) for value in (None, 0.1138, 3.64, 41.2, 412, 0.0)] == [
        "–", "0.114 s", "3.64 s", "41.2 s", "6.9 min", "0.0 s",
    ]  # fmt: skip
    assert [size(value) for value in (None, 512, 3.6 * 2**20, 128 * 2**20, 1.5 * 2**30)] == [
        "–", "512 B", "3.6 MiB", "128 MiB", "1.5 GiB",
    ]  # fmt: skip


# In a browser


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
def test_the_section_fits_and_follows_the_theme(
    browser: Browser, page: str, tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    file = tmp_path / "page.html"
    file.write_text(page, "utf-8")
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(file.as_uri())
    assert violations(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    sizes = tab.evaluate(
        "[...document.querySelectorAll('#section-setups svg text')].filter(text => text.getClientRects().length)"
        ".map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )
    assert len(sizes) > 40
    assert min(sizes) >= 8.5
    fixed = "[...document.querySelectorAll('#section-setups figure svg [fill^=\"#\"]')].length"
    assert tab.evaluate(fixed) == 0
    tab.close()
