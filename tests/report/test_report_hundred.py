"""The paper's figures: on the page of its suite, as files, and from its published scores."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hundred_rows import make_hundred
from report_rows import make_rows

from fathom.analysis import LongScore, LongScorePoint, read_scores, score_profiles
from fathom.report import words
from fathom.report.colours import GRID
from fathom.report.drawing import Size
from fathom.report.figure import save
from fathom.report.heatmaps import longscore_map
from fathom.report.measure import measure, measure_profiles
from fathom.report.page import page
from fathom.report.parts import Figures, Folded, Key
from fathom.report.plot import chart_of, chosen
from fathom.report.results import ALL, Results, System
from fathom.report.sections.hundred import SECTION, abilities, is_hundred, longscore_lines, span_of
from fathom.report.sections.lengths import longscores
from fathom.report.summary import summary
from fathom.types import FathomError
from fathom.types.choices import Figure

pytestmark = pytest.mark.slow

LARGE, MIDDLE, SMALL = (System(f"lab/{name}", "") for name in ("large", "middle", "small"))
FIGURES: tuple[Figure, ...] = ("tasks", "task-curves", "longscore", "longscore-heatmap")


@pytest.fixture(scope="module")
def results() -> Results:
    return measure(make_hundred(items=8))


@cache
def measured(path: Path) -> Results:
    return measure_profiles(score_profiles(read_scores(path, where={"set": "open_models"})))


@pytest.fixture
def published(shared: Path) -> Results:
    return measured(shared / "data/100longbench/scores_per_length.csv")


def values(chart: Any) -> list[dict[str, Any]]:
    """All records of a chart."""
    spec = chart.to_dict(validate=False)
    sets = [*spec.get("datasets", {}).values(), spec.get("data", {}).get("values", [])]
    return [record for records in sets for record in records]


def test_the_view_is_on_the_page_of_its_suite_only(results: Results) -> None:
    assert is_hundred(results)
    text = page(results)
    assert 'id="section-hundred"' in text
    assert len(text.encode()) < 600_000
    other = measure(make_rows(models=1, tasks=2, items=3))
    assert SECTION.page(other, ()) == []
    assert 'id="section-hundred"' not in page(other)
    renamed = measure(make_hundred(items=3, models=1).with_columns(suite=pl.lit("mine")))
    assert is_hundred(renamed)
    assert is_hundred(measure(make_hundred(items=3, models=1).with_columns(suite=pl.lit("hundred#0a1b2c3d"))))
    few = make_hundred(items=3, models=1).filter(pl.col("task").is_in(["kv_retrieval", "passage_count"]))
    assert not is_hundred(measure(few.with_columns(suite=pl.lit("mine"))))
    assert is_hundred(measure(few.with_columns(suite=pl.lit("hundred_domains#0a1b2c3d"))))


def test_the_page_has_a_figure_for_every_task_and_names_what_is_undefined(results: Results) -> None:
    _, tasks, lines, maps, _ = SECTION.page(results, ())
    assert isinstance(tasks, Folded)
    assert isinstance(lines, Folded)
    assert isinstance(maps, Folded)
    (key,) = [part for part in lines.parts if isinstance(part, Key)]
    (line_figures,) = [part.figures for part in lines.parts if isinstance(part, Figures)]
    (map_figures,) = [part.figures for part in maps.parts if isinstance(part, Figures)]
    assert [figure.title for figure in line_figures] == [*results.tasks, "all tasks"]
    assert [figure.title for figure in map_figures] == [figure.title for figure in line_figures]
    for figure in line_figures:
        task = ALL if figure.title == "all tasks" else figure.title
        lacking = [system.name for system in results.systems if results.longscore[system, task].undefined]
        assert all(name in figure.note for name in lacking)
        assert bool(figure.note) == bool(lacking)
    assert any(figure.note for figure in line_figures)
    bases = [results.longscore[System(mark.name, ""), ALL].base or 0.0 for mark in key.marks]
    assert bases == sorted(bases, reverse=True)
    assert [mark.colour for mark in key.marks] == ["ability-7", "ability-4", "ability-0"]


def test_no_score_beyond_the_base_lengths_gives_no_such_section() -> None:
    short = make_hundred(items=3, models=1).filter(pl.col("length") <= 4096)
    assert SECTION.page(measure(short), ()) == []
    with pytest.raises(FathomError, match="no score beyond the base lengths"):
        chart_of(measure(short), "longscore")


def test_lines_hold_the_values_and_leave_out_what_is_undefined(results: Results) -> None:
    scores = [one for (_, task), one in results.longscore.items() if task == "passage_count"]
    steps = abilities(results)
    chart = longscore_lines(scores, results.systems, steps, span_of(scores), Size(200, 100))
    drawn = {(line["system"], line["length"]): line["change"] for line in values(chart) if "system" in line}
    expected = {
        (one.model, point.length): min(point.value, 1.0)
        for one in scores
        for point in one.points
        if point.value is not None
    }
    assert drawn == expected
    assert any(one.undefined for one in scores)


def test_what_lies_above_the_axis_is_drawn_at_its_edge_with_its_figure() -> None:
    points = (LongScorePoint(8192, 2.96, None), LongScorePoint(16384, -0.5, None))
    one = LongScore("lab/large", "", "passage_count", 0.04, None, points, 1.23, None, "")
    chart = longscore_lines([one], [LARGE], {LARGE: 7}, span_of([one]), Size(200, 100))
    drawn = {record["length"]: (record["change"], record["beyond"]) for record in values(chart) if "system" in record}
    assert drawn == {8192: (1.0, "+296"), 16384: (-0.5, "")}
    assert span_of([one]) == (-0.5, 1.25)


def test_a_map_prints_every_value_and_greys_what_is_undefined(results: Results) -> None:
    scores = [one for (_, task), one in results.longscore.items() if task == "passage_count"]
    chart = longscore_map(scores, results.systems, [8192, 16384], Size(200, 100))
    tiles = {(one["line"], one["column"]): one["label"] for one in values(chart)}
    for one in scores:
        for point in one.points:
            said = tiles[one.model, f"{point.length // 1024}k"]
            if point.value is None:
                assert said == "undef."
            else:
                assert float(said.strip("()").replace("−", "-")) == pytest.approx(100 * point.value, abs=0.51)


def test_the_stronger_the_base_the_darker(results: Results) -> None:
    steps = abilities(results)
    bases = {system: results.longscore[system, ALL].base or -1 for system in results.systems}
    assert sorted(bases, key=lambda one: bases[one]) == sorted(steps, key=lambda one: steps[one])
    assert (min(steps.values()), max(steps.values())) == (0, 7)


@pytest.mark.parametrize("kind", FIGURES)
def test_every_figure_as_a_file(results: Results, tmp_path: Path, kind: Figure) -> None:
    chart = chart_of(chosen(results, [system.model for system in results.systems[:2]]), kind)
    for suffix, start in ((".svg", b"<svg"), (".pdf", b"%PDF")):
        assert save(chart, tmp_path / f"{kind}{suffix}").read_bytes().startswith(start)


@pytest.mark.parametrize("kind", ["curve", "scores", *FIGURES])
def test_every_figure_from_published_scores(published: Results, kind: Figure) -> None:
    chart = chart_of(published, kind)
    chart.to_dict(validate=True)
    assert {record["system"] for record in values(chart) if "system" in record} <= {
        system.name for system in published.systems
    }
    assert values(chart)


def test_published_longscores_are_drawn_as_printed(published: Results, shared: Path) -> None:
    """Figure 8 of the paper: the printed changes, rounded to whole percent."""
    table = pl.read_csv(shared / "data/100longbench/longscore_tables.csv").filter(
        (pl.col("set") == "open_models") & (pl.col("table") == "new_metrics") & (pl.col("length_k") > 0)
    )
    printed = {(one["task"], one["model"], one["length_k"]): one["value"] for one in table.iter_rows(named=True)}
    compared = 0
    for (system, task), one in published.longscore.items():
        scores = longscore_map([one], [system], [], Size(100, 20))
        for tile in values(scores):
            value = printed.get((task, system.model, int(tile["column"].removesuffix("k"))))
            if value is not None and tile["label"] != "undef.":
                assert float(tile["label"].strip("()").replace("−", "-")) == pytest.approx(value, abs=0.51)
                compared += 1
    assert compared > 300


def test_models_are_chosen_and_ordered_by_name(results: Results) -> None:
    pair = chosen(results, ["lab/small", "lab/large"])
    assert pair.systems == (SMALL, LARGE)
    assert {system for system, _, _ in pair.curve} == {SMALL, LARGE}
    assert "lab/middle" not in json.dumps(chart_of(pair, "tasks").to_dict(validate=True))
    with pytest.raises(FathomError, match="there is no model 'lab/huge': choose from lab/large"):
        chosen(results, ["lab/huge"])


def test_averages_over_other_lengths_are_hollow(results: Results) -> None:
    assert '"alike": false' not in json.dumps(chart_of(results, "tasks").to_dict(validate=False))
    rows = make_hundred(items=4).filter((pl.col("model") != "lab/small") | (pl.col("length") < 60_000))
    drawn = chart_of(measure(rows), "tasks").to_dict(validate=False)
    hollow = {one["system"] for one in values(chart_of(measure(rows), "tasks")) if one.get("alike") is False}
    assert hollow == {"lab/small"}
    assert "Hollow" in json.dumps(drawn)


def test_a_gain_on_a_base_that_is_hardly_known_does_not_look_like_one() -> None:
    points = (LongScorePoint(8192, 0.3, None), LongScorePoint(16384, 1.5, None))
    sure, unsure = (
        LongScore(name, "", "t", 0.4, None, points, 0.9, None, "", base_factor=factor)
        for name, factor in (("lab/large", 1.2), ("lab/small", 5.0))
    )
    tiles = {
        (one["line"], one["column"]): (one["label"], one["heat"] == GRID.light)
        for one in values(longscore_map([sure, unsure], [LARGE, SMALL], [8192, 16384], Size(100, 40)))
    }
    assert tiles["lab/large", "8k"] == ("+30", False)
    assert tiles["lab/large", "16k"] == ("(+150)", True)
    assert tiles["lab/small", "8k"] == ("(+30)", True)


def test_the_longscore_of_the_page_is_over_the_lengths_of_all_models() -> None:
    rows = make_hundred(items=4).filter((pl.col("model") != "lab/small") | (pl.col("length") < 60_000))
    found = measure(rows)
    assert "LongScores are averaged over" in str(summary(found))
    one = found.longscore[LARGE, ALL]
    assert 65536 in [point.length for point in one.points]
    assert 65536 not in one.shared_lengths
    assert words.change(one.shared_average) in str(longscores(found, None).rows)


def test_heat_maps_of_many_models_stand_side_by_side(results: Results) -> None:
    assert chart_of(results, "scores").to_dict(validate=False)["columns"] == 3
