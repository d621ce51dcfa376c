"""Breakdowns, thinking, ranks and repeats in a report: of runs, of published averages, and of both."""

from __future__ import annotations

import json
import re
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pro_rows import make_pro
from report_rows import make_rows
from rich.console import Console

from command_line import Call
from fathom.report.drawing import apart
from fathom.report.made import report
from fathom.report.measure import measure
from fathom.report.page import page
from fathom.report.plot import chart_of, chosen, plot
from fathom.report.results import Results
from fathom.report.sections import breakdown, repeats
from fathom.report.sections.breakdown import label, legend
from fathom.report.sections.repeats import MOST, left_out
from fathom.report.summary import summary
from fathom.report.table import Table
from fathom.report.tables import tables_of
from fathom.report.terminal import show
from fathom.types import FathomError
from made_results_pro import rows_from_longbench_pro, write_results, write_summary

pytestmark = pytest.mark.slow

SECTIONS = ("breakdown", "thinking", "repeats")
KINDS = [chart.kind for section in (breakdown.BREAKDOWN, repeats.SECTION) for chart in section.charts]
EXPECTED = ["Not measured", "At a glance", "Score against length", "Scores", "Breakdown", "Thinking", "Repeats"]


@pytest.fixture(scope="module")
def own() -> Results:
    return measure(make_pro())


@pytest.fixture(scope="module")
def averages(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return rows_from_longbench_pro(write_results(tmp_path_factory.mktemp("published")))


@pytest.fixture(scope="module")
def published(averages: pl.DataFrame) -> Results:
    return measure(averages)


@pytest.fixture(scope="module")
def mixed(averages: pl.DataFrame) -> Results:
    return measure(pl.concat([make_pro(), averages]))


def named(results: Results, name: str) -> Table:
    return next(table for table in tables_of(results) if table.name == name)


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def headings(text: str) -> list[str]:
    return re.findall(r"<h2[^>]*>([^<]*)</h2>", text)


# ------------------------------------------------------------------------------------------------------------ runs


def test_every_dimension_has_a_table_of_models_with_the_highest_first(own: Results) -> None:
    tables = [table for table in tables_of(own) if table.section == "breakdown"]
    assert [table.title.removeprefix("Score by ") for table in tables] == [
        *("language", "difficulty", "length", "context that the question needs", "primary task", "secondary task")
    ]
    assert [table.detail for table in tables] == [False] * 5 + [True]
    for table in tables:
        assert [row[0].text for row in table.rows] == [
            *("deep-1 · thinking", "deep-1 · non-thinking", "small-7b · non-thinking")
        ]
        assert all(cell.interval and cell.heat is not None for row in table.rows for cell in row[1:3])
    assert [column.label for column in tables[1].columns] == [
        "Model",
        "Mean over questions",
        "Easy",
        "Moderate",
        "Hard",
        "Extreme",
    ]
    assert [column.label for column in tables[4].columns][2:] == [f"T{number}" for number in range(1, 12)]
    assert "T10 Rule Induction & In-Context Learning" in tables[4].about
    assert ["They resample clusters" in table.about for table in tables] == [True] + [False] * 5


def test_scores_are_means_over_questions_of_means_over_repeats() -> None:
    rows = make_pro(questions=40)
    found = named(measure(rows), "breakdown-difficulty")
    own = rows.filter(model="small-7b").with_columns(
        hard=pl.col("facets").str.json_path_match("$.difficulty") == "Hard"
    )
    by_question = own.group_by("sample", "hard").agg(pl.col("value").mean())
    assert found.rows[2][1].text == f"{100 * np.mean(by_question['value'].to_numpy()):.1f}"
    assert found.rows[2][4].text == f"{100 * np.mean(by_question.filter('hard')['value'].to_numpy()):.1f}"


def test_the_difference_of_partial_and_full_is_that_of_their_scores(own: Results) -> None:
    table = named(own, "breakdown-contextual-requirement")
    assert [column.label for column in table.columns] == [
        "Model",
        "Mean over questions",
        "Full",
        "Partial",
        "Partial − Full",
    ]
    scores = {(one.model, one.variant, one.group): one.score for one in own.by_question.scores}
    difference = scores["deep-1", "thinking", "Partial"] - scores["deep-1", "thinking", "Full"]
    assert table.rows[0][4].text == f"{100 * difference:+.1f}".replace("-", "−")


def test_thinking_is_there_where_a_model_has_both_modes(own: Results) -> None:
    table = named(own, "thinking")
    assert [row[0].text for row in table.rows] == ["deep-1"]
    assert [column.label for column in table.columns][:7] == [
        *("Model", "Kind", "Without", "With", "Gain", "Questions", "Tokens")
    ]
    assert [table.rows[0][place].text for place in (1, 5, 6)] == ["mixed", "50", "900"]
    assert float(table.rows[0][4].text) == pytest.approx(15, abs=5)
    assert table.rows[0][4].interval.startswith("[+")
    one_mode = measure(make_pro({("a", "thinking"): 0.5, ("b", "non-thinking"): 0.4}, questions=20, epochs=1))
    assert not [table for table in tables_of(one_mode) if table.section == "thinking"]


def test_models_without_comparable_averages_are_ranked_by_their_mean_over_questions() -> None:
    alike = {("one", ""): 0.5, ("other", ""): 0.5, ("weak", ""): 0.1}
    table = named(measure(make_pro(alike, epochs=1)), "headline")
    assert table.columns[2].label == "Mean over questions"
    assert [row[1].text for row in table.rows] == ["1–2", "1–2", "3"]
    assert {row[0].text for row in table.rows[:2]} == {"one", "other"}
    assert ["not significant" in str(row[6]) for row in table.rows] == [True, False, False]
    assert 25 < float(table.rows[1][6].text) < 40


def test_repeats_show_runs_errors_and_the_best_of_several(own: Results) -> None:
    runs, best = named(own, "repeats"), named(own, "repeats-best")
    assert [column.label for column in runs.columns] == [
        *("Model", "Questions", "Mean over questions", "Run 1", "Run 2", "Run 3"),
        *("Spread", "Standard error", "from questions", "from replies"),
    ]
    means = [float(cell.text) for cell in runs.rows[0][3:6]]
    assert float(runs.rows[0][6].text) == pytest.approx(max(means) - min(means), abs=0.11)
    whole, questions, replies = (float(cell.text) for cell in runs.rows[0][7:])
    assert whole**2 == pytest.approx(questions**2 + replies**2, rel=0.03)
    assert [column.label for column in best.columns][1:] == [
        f"{name} {n}" for name in ("Best of", "Pass at") for n in (1, 2, 3)
    ]
    expected = [float(cell.text) for cell in best.rows[0][1:4]]
    assert expected == sorted(expected)
    assert best.rows[0][3].small[1] == f"first: {best.rows[0][3].text}"


def test_the_page_has_these_sections_and_the_terminal_these_tables(own: Results) -> None:
    text = page(own)
    assert [one for one in headings(text) if one in EXPECTED] == EXPECTED
    assert "Repeats" in headings(text)
    assert all(f'id="{table.name}"' in text for table in tables_of(own))
    assert text.count("Best of n: mean score over questions</p>") == 1
    out = StringIO()
    show(tables_of(own), Console(file=out, width=200))
    for title in ("Score by language", "Score by primary task", "Thinking", "Best of n, pass at n"):
        assert f"\n{title}\n" in re.sub(r" +\n", "\n", out.getvalue())
    assert "Score by secondary task" not in out.getvalue()


def test_a_report_without_such_questions_has_no_such_sections() -> None:
    results = measure(make_rows(models=1, tasks=2, items=4))
    assert not [table for table in tables_of(results) if table.section in SECTIONS]
    text = page(results)
    assert not {"Breakdown", "Thinking", "Repeats"} & set(headings(text))
    assert "breakdown-" not in text


def test_many_unanswered_and_cut_replies_stand_in_the_first_paragraph_and_in_a_column() -> None:
    rows = make_pro()
    cut = (pl.col("model") == "small-7b") & (pl.int_range(pl.len()) % 5 == 0)
    results = measure(
        rows.with_columns(
            status=pl.when(cut).then(pl.lit("incomplete")).otherwise("status"),
            value=pl.when(cut & (pl.int_range(pl.len()) % 2 == 0)).then(None).otherwise("value"),
        )
    )
    said = [str(one) for one in summary(results).unmeasured]
    assert said == [
        "15 replies left unanswered count 0 (small-7b · non-thinking 15 of 150).",
        "15 replies were truncated at the output cap and are scored as received (small-7b · non-thinking 15 of 150).",
    ]
    counts = named(results, "counts")
    for heading in ("Unanswered", "Truncated"):
        place = [column.label for column in counts.columns].index(heading)
        assert [row[place].text for row in counts.rows] == ["0", "0", "15"]


def test_groups_with_names_from_outside_are_text_and_nothing_else() -> None:
    hostile = "<script>alert(1)</script>\x1b[31m"
    rows = make_pro(questions=20, epochs=1, tasks=3).with_columns(
        facets=pl.col("facets").str.replace("Hard", json.dumps(hostile)[1:-1], literal=True)
    )
    text = page(measure(rows))
    assert "alert(1)" in text
    assert text.count("<script") == 1
    assert "\x1b" not in text


# ------------------------------------------------------------------------------------------------------- published


def test_published_averages_alone_make_a_page(averages: pl.DataFrame, tmp_path: Path) -> None:
    tables = report(averages, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert headings(text) == ["Breakdown", "Thinking", "Repeats", "Settings", "How to read this page"]
    assert {table.section for table in tables} == {"breakdown", "thinking", "repeats", "settings"}
    assert "These are published averages of 3 models (5 with their modes)" in text
    assert "The highest overall scores: deep-1 · thinking (70.0%), only-thinks · thinking (65.0%)" in text
    assert "Of 2 models asked with and without thinking, 1 scores higher with it; deep-1 gains most, +10.0 " in text
    assert text.count('class="scroll map"') == 3
    assert len(re.findall(r"<p class=.title.>(?:Best of|Pass at) n: ", text)) == 2
    assert "NaN" not in text
    assert "None" not in text
    targets = set(re.findall(r'href="#([^"]+)"', text))
    assert targets <= set(re.findall(r'id="([^"]+)"', text))


def test_published_averages_have_no_intervals_and_are_given_as_they_are(published: Results) -> None:
    table = named(published, "breakdown-language")
    assert "are published averages" in table.about
    assert "95% intervals" not in table.about
    assert not any(cell.interval or cell.series is not None for row in table.rows for cell in row)
    assert texts(named(published, "thinking"))[0][:5] == ["deep-1", "mixed", "60.0", "70.0", "+10.0"]
    assert texts(named(published, "thinking"))[1][4] == "−10.0"
    assert texts(named(published, "settings")) == [
        ["Published averages", "longbench_pro, from longbench-pro"],
        ["Models published", "3, 5 with their modes"],
        ["Questions of each", "1,500"],
        ["Repeats of each", "3"],
        ["Failed replies of each", "4"],
    ]
    runs = named(published, "repeats-published")
    assert [column.label for column in runs.columns][:5] == ["Model", "Run 1", "Run 2", "Run 3", "Spread"]
    assert len(runs.rows) == 5


def test_own_replies_stand_beside_published_averages(own: Results, mixed: Results) -> None:
    table = named(mixed, "breakdown-difficulty")
    assert {row[0].text for row in table.rows} == {
        *("deep-1 · thinking", "deep-1 · non-thinking", "small-7b · non-thinking"),
        *("deep-1 (published) · thinking", "deep-1 (published) · non-thinking", "only-thinks · thinking"),
        *("small-7b (published) · thinking", "small-7b (published) · non-thinking"),
    }
    rows = {row[0].text: row for row in table.rows}
    assert rows["deep-1 · thinking"][1].interval
    assert not rows["deep-1 (published) · thinking"][1].interval
    whole = {name: row for name, row in rows.items() if row[0].series is not None}
    assert set(whole) == {system.name for system in own.systems}
    # What only replies can tell is as it is without the averages.
    for name in ("headline", "counts", "repeats", "repeats-best", "scores-1"):
        assert named(mixed, name) == named(own, name)
    assert [row[0].text for row in named(mixed, "thinking").rows] == [
        *("deep-1", "deep-1 (published)", "small-7b (published)")
    ]
    assert not [table for table in tables_of(mixed) if table.section == "graders"]
    assert summary(mixed).notes[-1].startswith("Published averages of 3 models (5 with their modes)")


def test_a_page_of_both_has_all_sections(averages: pl.DataFrame) -> None:
    text = page(measure(pl.concat([make_pro(questions=12, tasks=3), averages])))
    assert {*EXPECTED} <= set(headings(text))
    assert len(set(re.findall(r' id="([^"]+)"', text))) == len(re.findall(r' id="([^"]+)"', text))


def test_rows_of_no_reply_and_no_average_are_still_refused(averages: pl.DataFrame) -> None:
    with pytest.raises(FathomError, match="There are no rows to report on"):
        measure(averages.head(0))


# --------------------------------------------------------------------------------------------------------- figures


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", ["own", "published", "mixed"])
def test_figures_are_drawn_of_replies_and_of_averages(
    request: pytest.FixtureRequest, source: str, kind: str, tmp_path: Path
) -> None:
    results: Results = request.getfixturevalue(source)
    drawn = json.dumps(chart_of(results, kind).to_dict(), ensure_ascii=False)  # type: ignore[arg-type]
    for system in results.by_question.systems:
        assert " · ".join(filter(None, system)) in drawn


def test_heat_maps_have_models_down_and_groups_to_the_right(published: Results) -> None:
    chart = chart_of(published, "tasks-heatmap").to_dict()
    encoding = chart["layer"][0]["encoding"]
    assert encoding["x"]["scale"]["domain"] == ["all", *(f"T{number}" for number in range(1, 12))]
    assert encoding["y"]["scale"]["domain"] == [" · ".join(system) for system in published.by_question.systems]
    assert "T2 Sequencing & Structure Reconstruction" in " ".join(chart["title"]["subtitle"])
    requirement = chart_of(published, "requirement-heatmap").to_dict()
    assert requirement["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["all", "Full", "Partial", "Partial − Full"]
    lengths = chart_of(published, "lengths-heatmap").to_dict()
    assert lengths["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["all", "8k", "16k", "32k", "64k", "128k", "256k"]


def test_lines_of_many_models_are_the_highest_unless_they_are_chosen(tmp_path: Path) -> None:
    for number in range(MOST + 3):
        write_summary(tmp_path, f"model-{number:02}", "thinking", 0.2 + 0.03 * number)
    results = measure(rows_from_longbench_pro(tmp_path))
    drawn = json.dumps(chart_of(results, "best-of-n").to_dict())
    assert [f"model-{number:02}" in drawn for number in range(MOST + 3)] == [False] * 3 + [True] * MOST
    assert left_out(results.by_question, "best_of") == (
        "The 8 models with the highest scores; 3 left out (choose models with fathom plot --models)"
    )
    few = chosen(results, ["model-01", "model-00"])
    drawn = json.dumps(chart_of(few, "pass-at-n").to_dict())
    assert "model-00" in drawn
    assert "model-02" not in drawn
    assert "left out" not in drawn
    names = chart_of(few, "lengths-heatmap").to_dict()["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert names == ["model-01 · thinking", "model-00 · thinking"]
    every = chosen(results, [f"model-{number:02}" for number in range(MOST + 3)])
    assert "model-00" in json.dumps(chart_of(every, "best-of-n").to_dict())
    with pytest.raises(FathomError, match="there is no model 'absent': choose from model-10 · thinking"):
        chosen(results, ["absent"])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_such_questions_say_what_is_lacking(kind: str, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=rf"Nothing to draw for '{kind}': no (rows|question)"):
        plot(make_rows(models=1, tasks=1, items=3), kind, tmp_path / "x.svg")  # type: ignore[arg-type]


def test_the_command_draws_published_averages(call: Call, tmp_path: Path) -> None:
    call("rows", "--from", "longbench-pro", write_results(tmp_path / "in"), "-o", "t.parquet")
    assert call("plot", "best-of-n", "t.parquet", "-o", "x.svg", "--models", "small-7b")[:2] == (0, "x.svg\n")
    assert "small-7b" in (tmp_path / "x.svg").read_text()
    assert "deep-1" not in (tmp_path / "x.svg").read_text()
    code, out, _ = call("report", "t.parquet", "-o", "x.html", "--tables")
    assert code == 0
    assert "Score by difficulty" in out
    assert call("plot", "curve", "t.parquet", "-o", "y.svg")[0] == 2


@given(st.lists(st.floats(0, 300), max_size=12), st.floats(1, 40))
def test_names_beside_lines_never_touch(places: list[float], least: float) -> None:
    moved = apart(sorted(places), least, 300)
    assert len(moved) == len(places)
    assert all(after - before >= least - 1e-6 for before, after in pairwise(moved))
    if least * (len(places) - 1) <= 300:
        assert all(-1e-6 <= place <= 300 + 1e-6 for place in moved)


def test_tasks_go_by_their_numbers_and_other_groups_by_their_names() -> None:
    assert label("primary_task", "T2. Sequencing & Structure") == "T2"
    assert label("secondary_task", "T10.1 Large-Scale Rules") == "T10.1"
    assert label("primary_task", "reading_aloud") == "reading aloud"
    assert label("language", "zh") == "Chinese"
    assert label("length", "128k") == "128k"
    assert legend(["T2. Sequencing & Structure", "other"]) == ("T2 Sequencing & Structure",)
