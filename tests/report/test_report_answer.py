"""The answer of a report in one sentence: its figures are those of the rows, and the same wherever it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest
from report_rows import make_rows

from command_line import Call
from fathom.analysis import known_filter
from fathom.report.answer import answer, answers
from fathom.report.made import Report, measured
from fathom.report.measure import measure_scores
from fathom.rows import to_frame, write_rows
from made_results_board import row as made_row

pytestmark = pytest.mark.slow


def said_of(scores: Mapping[tuple[str, int], Sequence[float | None]]) -> str:
    """The answer on replies of one model with these scores by task and length."""
    rows = [
        made_row(task, f"{task}/{number}", score, length)
        for (task, length), own in scores.items()
        for number, score in enumerate(own)
    ]
    results = measure_scores(known_filter(to_frame(rows)))
    (said,) = [said for _, said in answers(results, results.systems)]
    return said


def test_it_says_what_is_kept_where_scores_fall_and_which_task_is_weakest() -> None:
    good, bad = [1.0] * 20, [0.0] * 20
    half = [1.0] * 5 + [0.0] * 15
    lengths = (2048, 4096, 6144, 8192, 16384)
    scores = {("find", length): good if length <= 8192 else bad for length in lengths}
    scores |= {("count", length): good if length <= 8192 else half for length in lengths}
    assert said_of(scores) == (
        "keeps 85% of its score at 2k to 6k up to 8k [8k, 16k]; it scores 100.0% at 8k and 12.5% at 16k; weakest task: "
        "find (80.0%). All 200 replies scored."
    )


def test_a_score_that_never_falls_is_kept_up_to_the_longest_length_measured() -> None:
    scores = {("find", length): [1.0] * 30 for length in (2048, 4096, 6144, 8192)}
    assert said_of(scores) == (
        "keeps 85% of its score at 2k to 6k up to 8k, the longest length measured; it scores 100.0% at 2k and 100.0% "
        "at 8k. All 120 replies scored."
    )


def test_one_length_has_a_score_and_nothing_that_is_kept() -> None:
    assert said_of({("find", 4096): [1.0, 0.0, 1.0, 1.0] * 5}) == "scores 75.0% at 4k. All 20 replies scored."


def test_lengths_without_a_score_are_named() -> None:
    scores: dict[tuple[str, int], list[float | None]] = {("find", 2048): [1.0] * 20, ("find", 8192): [None] * 20}
    assert said_of(scores) == "scores 100.0% at 2k; not measured at 8k. 20 of 40 replies scored."


def test_a_model_without_scores_has_no_answer() -> None:
    results = measure_scores(known_filter(to_frame([made_row("find", f"find/{n}", None, 2048) for n in range(9)])))
    assert answers(results, results.systems) == []


@pytest.fixture(scope="module")
def made() -> Report:
    return measured(make_rows(models=2, tasks=2, items=6))


def test_figures_are_means_of_the_rows() -> None:
    rows = make_rows(models=2, tasks=2, items=6, failures=False)
    results = measured(rows).results
    system = results.systems[0]
    last = rows.filter(pl.col("model") == system.model, pl.col("length") == 65536)
    mean = last.group_by("task").agg(pl.col("value").mean())["value"].mean()
    assert isinstance(mean, float)
    assert f" and {100 * mean:.1f}% at 64k" in answer(results, system)


def test_scores_alone_give_the_answers_of_the_whole_report(made: Report) -> None:
    alone = measure_scores(known_filter(make_rows(models=2, tasks=2, items=6)))
    assert [answer(alone, system) for system in made.results.systems] == [
        answer(made.results, system) for system in made.results.systems
    ]


def test_it_is_first_on_the_page_in_the_terminal_in_markdown_and_in_json(
    made: Report, call: Call, tmp_path: Path
) -> None:
    said = str(made.summary.answers[0])
    page = made.html()
    assert page.index('<p class="answer">') < page.index(made.summary.scope.split(":")[0])
    assert made.markdown().split("\n\n")[1].startswith("**acme/long-1")
    write_rows(make_rows(models=2, tasks=2, items=6), tmp_path / "rows.parquet")
    code, out, _ = call("report", tmp_path / "rows.parquet")
    assert code == 0
    assert " ".join(out.split()).removeprefix("report.html ").startswith(said)
    code, out, _ = call("report", tmp_path / "rows.parquet", "--format", "json")
    assert json.loads(out)["answers"][0] == said
    assert made._repr_html_().startswith("<p>acme/long-1")


def test_a_task_that_ends_earlier_is_no_length_that_was_not_measured() -> None:
    scores = {("find", length): [1.0] * 20 for length in (2048, 4096, 8192)}
    scores |= {("count", length): [1.0] * 20 for length in (2048, 4096)}
    assert said_of(scores) == (
        "keeps 85% of its score at 2k to 4k up to 4k, the longest length with a score on every task; it scores 100.0% "
        "at 2k and 100.0% at 4k; not all tasks have a score at 8k. All 100 replies scored."
    )


def test_a_score_that_falls_and_rises_again_is_not_hidden() -> None:
    scores = {("find", length): [0.0 if length == 8192 else 1.0] * 30 for length in (2048, 4096, 6144, 8192, 16384)}
    assert "it scores 100.0% at 6k, 0.0% at 8k and 100.0% at 16k." in said_of(scores)


def test_a_base_at_which_alone_the_score_holds_is_not_kept() -> None:
    scores = {("find", 8192): [1.0] * 30, ("find", 16384): [0.0] * 30}
    assert said_of(scores).startswith(
        "does not keep 85% of its score at 8k at longer ones; it scores 100.0% at 8k and 0.0% at 16k."
    )


def test_the_weakest_task_is_found_over_lengths_that_all_tasks_have() -> None:
    """Of a task that was asked at hard lengths alone, the mean would be the lowest."""
    scores = {("find", length): [1.0 if length < 8192 else 0.5] * 20 for length in (2048, 4096, 8192)}
    scores |= {("count", 8192): [0.6] * 20}
    assert "weakest task: find (50.0%)" in said_of(scores)
