"""What ways to compact cost beside what survives: the table and the chart of a report."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from fathom.report.charts import Line
from fathom.report.measure import measure
from fathom.report.results import Results
from fathom.report.sections.survival import PANELS, SECTION, dollars
from fathom.rows.schema import to_frame
from made_facts import rows_of


def results_of(costs: dict[str, float | None]) -> Results:
    rows = [
        replace(row, cost=cost)
        for at, (name, cost) in enumerate(costs.items())
        for row in rows_of(name, (0.95, 0.6, 0.3)[at], Random(1))
    ]
    return measure(to_frame(rows))


@pytest.mark.slow
def test_a_report_has_prices_beside_right_answers_and_says_which_ways_are_dominated() -> None:
    first, *_ = SECTION.tables(results_of({"good": 0.01, "cheap": 0.002, "bad": 0.02}))
    assert [str(column.label) for column in first.columns][-2:] == ["Dollars", "Frontier"]
    assert [(row[0].text, row[-2].text, row[-1].text) for row in first.rows] == [
        ("m · good", "0.0100", "yes"),
        ("m · cheap", "0.0020", "yes"),
        ("m · bad", "0.0200", "no"),
    ]
    assert "No price" not in first.about


def test_a_way_without_a_price_is_named() -> None:
    first, *_ = SECTION.tables(results_of({"good": 0.01, "cheap": None}))
    assert [row[-1].text for row in first.rows] == ["yes", "–"]
    assert "No price is known of m · cheap" in first.about


@pytest.mark.slow
def test_the_chart_against_dollars_joins_the_ways_on_the_frontier() -> None:
    chart = PANELS.draw(results_of({"good": 0.01, "cheap": 0.002, "bad": 0.02}))[-1]
    assert chart.title == "Against the dollars of a question"
    steps = chart.layers[0]
    assert isinstance(steps, Line)
    assert [record["at"] for record in steps.records] == pytest.approx([0.002, 0.01, 0.01])
    assert PANELS.draw(results_of({"good": 0.0, "cheap": 0.0}))[-1].title == "Against the tokens of a question"


def test_steps_join_no_ways_that_were_asked_other_questions() -> None:
    rows = [replace(row, cost=0.01) for row in rows_of("good", 0.95, Random(1))]
    rows += [replace(row, cost=0.002) for row in rows_of("other", 0.6, Random(1), conversations=20)]
    layers = PANELS.draw(measure(to_frame(rows)))[-1].layers
    assert not any(isinstance(layer, Line) and layer.dash for layer in layers)


def test_small_sums_keep_their_figures() -> None:
    assert [dollars(cost) for cost in (None, 0.0, 0.0123, 0.00004567)] == ["–", "0.0000", "0.0123", "0.000046"]
