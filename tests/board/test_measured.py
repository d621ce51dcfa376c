"""Rows become lines: means, intervals, and what is left out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fathom.board.caveats import graded_otherwise
from fathom.board.means import bounded, items_of, mean_of, value_of
from fathom.board.measured import measured
from fathom.board.model import Entry, Estimate, OutcomeCounts, Standing
from fathom.board.results import About, Batch, read_results
from fathom.board.standing import standing
from fathom.board.table import table
from fathom.rows import to_frame, write_rows
from fathom.rows.table import RowsTable
from fathom.storage.checksums import with_checksum
from fathom.types import STATUSES, FathomError, Row, Status
from fathom.types.boards import Board, Category, Part
from made_results_board import BOARD, made_rows, row

Floats = NDArray[np.float64]


def one(rows: list[Row], board: Board = BOARD) -> Entry:
    (entry,) = measured([board], Batch(RowsTable(to_frame(rows)))).entries[board.id]
    return entry


def value(entry: Entry, task: str, length: int = 0) -> float:
    cell = entry.cells[task, length]
    assert cell is not None
    return cell.value


# ------------------------------------------------------------------------------------------------ estimator


def of(table: Floats) -> Estimate:
    names = [f"q{n:04d}" for n in range(len(table))]
    items = items_of(names, table, dict(zip(names, names, strict=True)))
    assert items is not None
    return mean_of(items, "task", "model")


def width(estimate: Estimate) -> float:
    assert estimate.interval is not None
    return estimate.interval.high - estimate.interval.low


def test_items_at_one_length_each_count_alike_whatever_the_lengths() -> None:
    nothing = math.nan
    table = np.array([[1.0, nothing], [0.0, nothing], [0.0, nothing], [nothing, 1.0]])
    items = items_of("abcd", table, {name: name for name in "abcd"})
    assert items is not None
    assert items.scores.tolist() == [[1], [0], [0], [1]]
    assert value_of(items) == 0.5


@given(st.integers(2, 12), st.integers(2, 4), st.integers(0, 2**31))
def test_the_score_is_the_mean_of_the_means_at_the_lengths(items: int, lengths: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.random((items, lengths))
    table[rng.random(table.shape) < 0.3] = math.nan
    table[0] = 0.5  # an item at all lengths, so that they are not pooled and no length is empty
    found = of(table)
    assert found.value == pytest.approx(np.nanmean(table, axis=0).mean())
    assert found.n == (~np.isnan(table)).any(axis=1).sum()


def test_a_length_without_a_score_leaves_no_mean() -> None:
    assert items_of("ab", np.array([[1.0, math.nan], [0.0, math.nan]]), {"a": "a", "b": "b"}) is None


@pytest.mark.parametrize("scores", [np.ones(20), np.zeros(20), np.full(20, 0.4), np.ones(1)])
def test_equal_scores_are_not_taken_for_certainty(scores: Floats) -> None:
    assert width(of(scores[:, None])) > 0.02


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_no_interval_leaves_what_scores_can_be(scores: list[float]) -> None:
    mean = float(np.mean(scores))
    for found in (of(np.array(scores)[:, None]), bounded(Estimate(min(mean, 1.0), n=len(scores)), "task", "model")):
        assert found.interval is not None
        assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1


@given(st.lists(st.floats(0, 1), min_size=10, max_size=40))
def test_no_scores_have_a_wider_interval_than_their_printed_mean(scores: list[float]) -> None:
    own = of(np.array(scores)[:, None])
    printed = bounded(Estimate(min(own.value, 1.0), n=len(scores)), "task", "model")
    # The printed mean's is exact, and a little narrower than that of replicates; near 0 and 1 by up to 18%, for ten
    # scores of which nine are 0 and one is 0.001.
    most = 1.15 if 0.05 < own.value < 0.95 else 1.2
    assert width(own) <= most * width(printed) + 0.01
    assert (printed.n, printed.bound) == (len(scores), True)


@pytest.mark.parametrize(("right", "items"), [(0, 6), (3, 6), (10, 20), (160, 160), (700, 1000)])
def test_zeros_and_ones_have_that_interval(right: int, items: int) -> None:
    """Jeffreys' interval of a proportion, whether the scores are known or only their mean."""
    own = of(np.repeat([1.0, 0.0], [right, items - right])[:, None])
    printed = bounded(Estimate(right / items, n=items), "task", "model")
    ends = scipy.stats.beta.ppf([0.025, 0.975], right + 0.5, items - right + 0.5)
    for found in (own, printed):
        assert found.interval is not None
        assert [found.interval.low, found.interval.high] == pytest.approx(
            [min(ends[0], found.value), max(ends[1], found.value)], abs=1e-9
        )


def test_without_their_number_nobody_knows_how_sure_printed_scores_are() -> None:
    plain = Estimate(0.5)
    assert bounded(plain, "task", "model") == plain
    beyond = Estimate(-0.3, n=10)  # LongScore is a relative change
    assert bounded(beyond, "task", "model") == beyond


# --------------------------------------------------------------------------------------------------- cells


def test_repeats_and_questions_of_an_item_count_as_one_item() -> None:
    rows = [
        *(row("find", "a", score, epoch=epoch) for epoch, score in enumerate((1, 0, 0, 0), start=1)),
        row("find", "b", 1.0),
        row("count", "a", 1.0, sample="a/q0", facets={"question": 0}),
        row("count", "a", 0.0, sample="a/q1", facets={"question": 1}),
    ]
    entry = one([replace(one_row, sample=f"{n}") for n, one_row in enumerate(rows)])
    assert value(entry, "find") == (0.25 + 1) / 2
    assert value(entry, "count") == 0.5
    assert {place: cell.n for place, cell in entry.cells.items() if cell} == {
        ("find", 0): 2,
        ("find", 1024): 2,
        ("count", 0): 1,
        ("count", 1024): 1,
    }


def test_a_task_without_a_score_at_a_length_that_was_asked_is_missing() -> None:
    rows = [row("find", item, 1.0) for item in "abc"]
    lost = [row("find", item, None, 2048, status="overflow") for item in "abc"]
    entry = one([*rows, *lost])
    assert value(entry, "find", 1024) == 1
    assert entry.cells["find", 2048] is None
    assert entry.cells["find", 0] is None
    assert ("find", 0) not in entry.items
    assert dict(entry.outcomes) == {"answered": 3, "overflow": 3}
    assert entry.blank == ("find",)
    assert "find" in standing(BOARD, entry).missing
    # As the paper counts: 1 at one of two lengths, 0 at the other; it is a quarter of the whole.
    assert standing(BOARD, entry).as_paper == pytest.approx(0.5 / 4)


def test_only_lengths_that_count_are_in_the_score_and_without_one_it_is_partial() -> None:
    board = replace(BOARD, counted={"find": (1024, 2048)})
    rows = [
        row("find", item, score, length) for item in "ab" for length, score in ((512, 0.0), (1024, 1.0), (2048, 0.5))
    ]
    entry = one(rows, board)
    assert value(entry, "find") == 0.75
    assert value(entry, "find", 512) == 0
    part = one([each for each in rows if each.length < 2048], board)
    assert (value(part, "find"), part.partial, part.blank) == (1.0, ("find",), ())
    assert part.cells["find", 2048] is None
    found = standing(board, part)
    assert (found.complete, found.missing) == (False, BOARD.tasks)
    assert found.overall is not None
    assert "Its score is over 1 of 4 tasks and lengths; it is not ranked." in part.origin.note
    beside = one([each for each in rows if each.length < 1024], board)  # no length that counts
    assert beside.cells["find", 0] is None
    assert standing(board, beside).overall is None
    lost = one([replace(each, value=None) if each.length == 2048 else each for each in rows], board)
    assert (lost.cells["find", 0], lost.partial, lost.blank) == (None, (), ("find",))


def test_published_averages_cut_prompts_and_questions_without_context_are_no_scores() -> None:
    beside: list[dict[str, object]] = [
        {"length": 0, "facets": {"context": "none"}},
        {"facets": {"cut_from": 4096}},
        {"length": 0, "facets": {"aggregate": "overall"}},
    ]
    rows = [row("find", "a", 1.0), *(row("find", "b", 0.0, **{"length": 1024, **more}) for more in beside)]  # type: ignore[arg-type]
    entry = one(rows)
    assert value(entry, "find") == 1
    assert dict(entry.outcomes) == {"answered": 1}


def test_replies_that_are_missing_are_counted_and_said_and_leave_no_score() -> None:
    rows = [
        row("find", "a", 1.0),
        row("find", "b", None, detail="not judged yet"),
        row("find", "c", None, status="refused"),
    ]
    found = measured([BOARD], Batch(RowsTable(to_frame(rows))))
    (entry,) = found.entries["made"]
    assert dict(entry.outcomes) == {"answered": 1, "unanswered": 1, "missing": 1}
    assert entry.cells["find", 0] is None
    assert found.notes == ["m: 1 reply to find missing, so that it has no rank (not judged yet)"]


def test_suites_without_a_board_are_named() -> None:
    found = measured([BOARD], Batch(RowsTable(made_rows({"m": 0.0}, suite="homemade"))))
    assert found.entries == {}
    assert found.notes == ["suite 'homemade' is on no board: its results are left out"]


def test_usage_is_the_mean_over_replies_and_unknown_stays_unknown() -> None:
    rows = [row("find", "a", 1.0, cost=0.1, tokens_in=10), row("find", "b", None, status="error", tokens_in=20)]
    usage = one(rows).usage
    assert usage.tokens_in == 15
    assert usage.cost == pytest.approx(0.1)
    assert usage.seconds is None


# --------------------------------------------------------------------------------------------------- lines


def test_sets_of_a_suite_that_were_run_apart_are_one_line() -> None:
    first = made_rows({"m": 0.0}, tasks=("find",), suite="made#aaaa")
    second = made_rows({"m": 0.0}, tasks=("count", "order"), suite="made#bbbb")
    (entry,) = measured([BOARD], Batch(RowsTable(first.vstack(second)))).entries["made"]
    assert entry.variant == ""
    assert standing(BOARD, entry).complete


def test_the_same_tasks_of_other_data_are_another_line() -> None:
    first, second = (made_rows({"m": 0.0}, suite=suite) for suite in ("made#aaaa", "made#bbbb"))
    entries = measured([BOARD], Batch(RowsTable(first.vstack(second)))).entries["made"]
    assert [entry.variant for entry in entries] == ["suite made#aaaa", "suite made#bbbb"]


def test_questions_are_the_same_where_item_and_answer_are() -> None:
    rows = [row("find", "a", 1.0, model=model) for model in "mn"]
    rows.append(row("find", "a", 1.0, model="other", target="something else"))
    first, same, other = measured([BOARD], Batch(RowsTable(to_frame(rows)))).entries["made"]
    assert first.items["find", 0].names == same.items["find", 0].names
    assert first.items["find", 0].names != other.items["find", 0].names


def test_facts_say_what_a_later_comparison_needs() -> None:
    rows = [row("find", "a", 1.0, task_version=2, fathom_version="0.1.0", metric="accuracy", grader="exact match")]
    label = ("made", "m", "")
    about = {label: (About({"window": 9}, "f" * 64, "2026-01-02"),)}
    (entry,) = measured([BOARD], Batch(RowsTable(to_frame(rows)), about=about)).entries["made"]
    assert entry.origin.date == "2026-01-02"
    assert entry.settings["window"] == 9
    assert entry.settings["suites"] == {"made": "f" * 64}
    tasks = entry.settings["tasks"]
    assert isinstance(tasks, dict)
    questions = tasks["find"].pop("questions")
    assert tasks["find"] == {
        "version": "2",
        "fathom": "0.1.0",
        "rule": "strict",
        "metric": "accuracy",
        "grader": "exact match",
    }
    (again,) = measured([BOARD], Batch(RowsTable(to_frame([replace(rows[0], target="other")])))).entries["made"]
    others = again.settings["tasks"]
    assert isinstance(others, dict)
    assert others["find"]["questions"] != questions


# ----------------------------------------------------------------------------------------------- real runs


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two runs of one reader that differ in where their server stood, and in a path among its arguments."""
    from fathom import api

    api.build("passkey", tmp_path / "suite", lengths=(1024,), items=3, corpus=("world",), languages=("en",))
    made: list[Path] = []
    for name in ("first", "second"):
        api.run(tmp_path / "suite", "fathom/lexical", tmp_path / "runs" / name)
        path = tmp_path / "runs" / name / "run.json"
        manifest = json.loads(path.read_text("utf-8"))
        manifest["base_url"] = f"http://10.0.0.{len(made)}:8000/v1"
        manifest["model_args"] = {"model_path": f"/srv/jane/{name}", "dtype": "half"}
        path.write_text(json.dumps(with_checksum(manifest)), "utf-8")
        made.append(path.parent)
    return made


PASSKEY = replace(BOARD, suites=("passkey",), categories=(Category("find", "Find", (Part(("passkey",)),)),))


def test_addresses_and_paths_of_machines_are_not_on_the_board(runs: list[Path]) -> None:
    (batch,) = read_results([runs[0].parent])
    entries = measured([PASSKEY], batch).entries["made"]
    assert len({entry.variant for entry in entries}) == 2
    shown = json.dumps([[entry.variant, entry.settings] for entry in entries])
    assert "dtype" in shown
    for private in ("10.0.0", "jane", "8000"):
        assert private not in shown
    assert all(entry.origin.date for entry in entries)


def test_a_bundle_of_a_run_has_its_scores_and_its_questions(runs: list[Path], tmp_path: Path) -> None:
    from fathom import api

    api.board_bundle(runs[:1], tmp_path / "sent.zip")
    (own, sent) = (
        measured([PASSKEY], batch).entries["made"][0]
        for path in (runs[0], tmp_path / "sent.zip")
        for batch in read_results([path], "strict")
    )
    assert (own.origin.provenance, sent.origin.provenance) == ("measured", "submitted")
    assert sent.cells == own.cells
    assert sent.items["passkey", 0].names == own.items["passkey", 0].names
    assert sent.settings["tasks"] == own.settings["tasks"]
    assert sent.settings["suites"] == own.settings["suites"]


def test_what_is_no_result_is_named(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="no such run folder, rows file or bundle"):
        list(read_results([tmp_path / "nothing"]))
    with pytest.raises(FathomError, match="neither a run folder nor a folder of runs or bundles"):
        list(read_results([tmp_path]))


def test_rows_files_are_results(tmp_path: Path) -> None:
    write_rows(made_rows({"m": 0.0}), tmp_path / "rows.parquet")
    (batch,) = read_results([tmp_path / "rows.parquet"])
    (entry,) = measured([BOARD], batch).entries["made"]
    assert entry.origin.provenance == "measured"
    assert standing(BOARD, entry).complete


# ------------------------------------------------------------------------------------------ how replies count


def ended_rows(items: int = 100, **other: dict[str, object]) -> list[Row]:
    """Replies to all tasks of the board, all right but those to some items of ``find``, by name."""
    return [
        row(task, f"{task}/{n}", **{"value": 1.0, **(other.get(f"i{n}", {}) if task == "find" else {})})  # type: ignore[arg-type]
        for task in BOARD.tasks
        for n in range(items)
    ]


REFUSED: dict[str, object] = {"value": 0.0, "status": "refused", "answered": False}
CUT: dict[str, object] = {"value": 0.5, "status": "incomplete", "answered": True}
FAILED: dict[str, object] = {"value": None, "status": "error", "answered": False}
TOO_LONG: dict[str, object] = {"value": None, "status": "overflow", "answered": False}


def test_every_score_carries_what_became_of_its_replies() -> None:
    entry = one(ended_rows(i0=REFUSED, i1=REFUSED, i2=CUT, i3=TOO_LONG))
    cell = entry.cells["find", 0]
    assert cell is not None
    assert cell.value == pytest.approx(96.5 / 100)
    assert cell.other == pytest.approx(96.5 / 97)
    assert cell.ended == OutcomeCounts(replies=100, unanswered=2, cut=1, overflow=1)
    found = standing(BOARD, entry)
    assert found.overall is not None
    assert found.overall.ended == OutcomeCounts(100 * len(BOARD.tasks), 2, 1, 1)
    assert found.overall.other is not None
    assert found.overall.other > found.overall.value
    assert found.complete
    assert (
        "2 unanswered (count 0), 1 with a prompt that did not fit the window (count 0), 1 truncated at the output cap."
        in (entry.origin.note)
    )


def test_a_reply_that_could_not_be_scored_leaves_a_line_without_a_rank_and_is_no_missing_one() -> None:
    failed: dict[str, object] = {"value": None, "answered": True, "detail": "scorer failed: TypeError in find.score: x"}
    entry = one(ended_rows(i0=failed))
    cell = entry.cells["find", 0]
    assert cell is not None
    assert cell.ended == OutcomeCounts(replies=100, scorer_error=1)
    found = standing(BOARD, entry)
    assert (found.complete, found.missing, found.unfinished) == (False, (), ("find",))
    assert "1 that the scorer could not score, so that the entry is not complete" in entry.origin.note


def test_a_missing_reply_counts_0_and_leaves_a_line_without_a_rank() -> None:
    """Up to 2% still show a score; with more there is none, and no mean that it would be a part of."""
    entry = one(ended_rows(i0=FAILED))
    cell = entry.cells["find", 0]
    assert cell is not None
    assert cell.value == pytest.approx(0.99)
    found = standing(BOARD, entry)
    assert found.overall is not None
    assert (found.complete, found.missing, found.unfinished) == (False, (), ("find",))
    entry = one(ended_rows(i0=FAILED, i1=FAILED, i2=FAILED))
    assert entry.cells["find", 0] is None
    assert entry.blank == ("find",)
    found = standing(BOARD, entry)
    assert found.overall is None
    assert [name for name, score in found.categories.items() if score is None] == [
        category.id for category in BOARD.categories if "find" in category.tasks
    ]
    assert "Not measured: Find at 1k (3 of 100 replies are missing)." in entry.origin.note


def test_a_length_that_does_not_fit_has_no_score() -> None:
    entry = one(ended_rows(10, i0=TOO_LONG, i1=TOO_LONG))
    cell = entry.cells["find", 0]
    assert cell is not None
    assert cell.value == pytest.approx(0.8)
    entry = one(ended_rows(10, i0=TOO_LONG, i1=TOO_LONG, i2=TOO_LONG))
    assert entry.cells["find", 0] is None
    assert "(3 of 10 prompts did not fit)" in entry.origin.note
    assert not standing(BOARD, entry).complete


def test_means_over_what_was_answered_say_so() -> None:
    rows = ended_rows(i0=REFUSED, i1=REFUSED, i2=CUT)
    (entry,) = measured([BOARD], Batch(RowsTable(to_frame(rows))), "drop").entries["made"]
    cell = entry.cells["find", 0]
    assert cell is not None
    assert cell.value == pytest.approx(97.5 / 98)
    assert cell.other == pytest.approx(97.5 / 100)
    assert cell.n == 98
    assert entry.settings["unanswered"] == "drop"
    assert "2 unanswered (left out of the means)" in entry.origin.note
    assert list(graded_otherwise(BOARD, [entry])) == [
        "Unanswered replies are left out of the means of entries that no paper published."
    ]


def test_an_empty_reply_counts_0_by_the_official_rule_too() -> None:
    empty: dict[str, object] = {"value": 0.25, "answered": False}
    official = [replace(each, rule="official") for each in ended_rows(4, i0=empty)]
    strict = ended_rows(4, i0=empty)
    assert (value(one(official), "find"), value(one(strict), "find")) == (3 / 4, 3 / 4)


def half_wrong(called: Collection[int] = (), **word: object) -> Standing:
    """Where a line stands with 50 wrong replies of a hundred, some of which are called something else."""
    said = {f"i{n}": word if n in called else {"value": 0.0} for n in range(50)}
    return standing(BOARD, one(ended_rows(100, **said)))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def honest() -> Standing:
    return half_wrong()


@pytest.mark.slow
@given(st.sets(st.integers(0, 49), min_size=1), st.sampled_from(STATUSES), st.booleans(), st.sampled_from((None, 0.0)))
def test_no_other_word_for_a_wrong_reply_raises_a_score(
    honest: Standing, called: set[int], status: Status, answered: bool, score: float | None
) -> None:
    attacked = half_wrong(called, value=score, status=status, answered=answered)
    assert honest.overall is not None
    assert honest.complete
    assert attacked.overall is None or attacked.overall.value <= honest.overall.value + 1e-12
    assert all(
        score is None or (own := honest.categories[name]) is None or score.value <= own.value + 1e-12
        for name, score in attacked.categories.items()
    )


def rows_of(model: str, left_out: Callable[[Row], bool] = lambda one: False) -> list[Row]:
    """Twelve questions of each task at two lengths, of which one in three is wrong; some are left out."""
    asked = [
        replace(row(task, f"{task}/{n}", float(n % 3 > 0), length), model=model)
        for task in BOARD.tasks
        for n in range(12)
        for length in (1024, 2048)
    ]
    return [one for one in asked if not left_out(one)]


@pytest.mark.parametrize("length", [None, 1024], ids=["at every length", "at one length"])
def test_a_line_whose_wrong_replies_were_deleted_has_no_rank(length: int | None) -> None:
    def wrong(one: Row) -> bool:
        return one.task == "find" and one.value == 0 and length in (None, one.length)

    entries = measured([BOARD], Batch(RowsTable(to_frame(rows_of("honest") + rows_of("edited", wrong))))).entries[
        BOARD.id
    ]
    shown = {line.entry.model: line for line in table(BOARD, entries, {"honest": "honest", "edited": "edited"}).entries}
    edited, honest = shown["edited"], shown["honest"]
    assert edited.standing.overall is not None
    assert honest.standing.overall is not None
    assert edited.standing.overall.value > honest.standing.overall.value
    assert (edited.rank, edited.standing.complete, edited.standing.fewer) == (None, False, ("find",))
    assert (honest.rank, honest.standing.complete, honest.standing.fewer) == ((1, 1), True, ())


@pytest.mark.parametrize(("again", "flagged"), [(0, False), (1, True)])
def test_an_entry_whose_replies_were_asked_for_more_than_once_says_so(again: int, flagged: bool) -> None:
    rows = made_rows({"m": 0.7}).with_columns(asked_again=pl.lit(again, pl.Int64))
    (entry,) = measured([BOARD], Batch(RowsTable(rows))).entries[BOARD.id]
    assert ("Asked more than once: " in entry.origin.note) == flagged
    assert ("the server, or who ran it, may have chosen among several replies." in entry.origin.note) == flagged
