"""Runs that are not finished: what was not asked is missing, and what reads the folder says so."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from command_line import Call
from fathom.analysis import average_scores
from fathom.rows import rows_from_run


def make(call: Call) -> Path:
    words = ("--lengths", "1k,2k", "--items", "10", "--out", "suite")
    assert call("build", "passkey", *words)[0] == 0
    assert call("run", "suite", "--model", "fathom/lexical?window=1k&truncate=right", "--out", "run", "--quiet")[0] == 0
    return Path("run")


def forget(run: Path, which: str) -> None:
    with closing(sqlite3.connect(run / "replies.sqlite")) as db, db:
        db.execute(f"DELETE FROM replies WHERE {which}")


@pytest.mark.slow
@pytest.mark.parametrize("words", [("report", "--quiet"), ("analyze", "curve"), ("analyze", "answers")])
def test_every_command_says_that_a_run_is_not_finished(call: Call, words: tuple[str, ...]) -> None:
    run = make(call)
    assert "unfinished" not in call(*words, run)[2]
    forget(run, "rowid = 1")
    code, _, err = call(*words, run)
    assert code == 0
    assert "is unfinished, 19 of 20 replies so far" in err


@pytest.mark.slow
def test_replies_that_are_gone_are_missing_and_raise_no_score(call: Call) -> None:
    run = make(call)
    honest = rows_from_run(run)
    wrong = honest.filter(honest["value"] == 0)["sample"].to_list()
    assert 0 < len(wrong) < 20
    forget(run, f"sample IN ({', '.join(map(repr, wrong))})")
    rows = rows_from_run(run)
    assert set(rows["sample"]) == set(honest["sample"])
    gone = rows.filter(rows["sample"].is_in(wrong))
    assert set(gone["status"]) == {"error"}
    assert set(gone["detail"]) == {"not asked yet; run the same command again"}
    assert (
        gone.select("item", "task", "length", "target", "tokens", "chance")
        .sort("item", "length")
        .equals(
            honest.filter(honest["sample"].is_in(wrong))
            .select("item", "task", "length", "target", "tokens", "chance")
            .sort("item", "length")
        )
    )
    (first, *_), (average, *_) = average_scores(honest), average_scores(rows)
    assert first.mean is not None
    assert average.mean is None
    assert "not measured at" in average.note
    assert average.missing == len(wrong)
    # The same command asks for them, and all is as before.
    assert call("run", "suite", "--model", "fathom/lexical?window=1k&truncate=right", "--out", "run", "--quiet")[0] == 0
    assert rows_from_run(run)["value"].to_list() == honest["value"].to_list()


def test_a_length_of_which_nothing_was_asked_is_missing_too(call: Call) -> None:
    run = make(call)
    forget(run, "length = 2048")
    (average, *_) = average_scores(rows_from_run(run))
    assert average.mean is None
    assert average.note == "not measured at 2k (10 of 10 prompts were not asked)"


def test_runs_of_earlier_versions_do_not_know_what_was_to_be_asked(call: Call) -> None:
    run = make(call)
    forget(run, "rowid = 1")
    with closing(sqlite3.connect(run / "replies.sqlite")) as db, db:
        db.execute("DROP TABLE planned")
    assert len(rows_from_run(run)) == 19
