"""Runs that are not finished are said to be so by what reads their folder."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from command_line import Call


@pytest.mark.parametrize("words", [("report", "--quiet"), ("analyze", "curve"), ("analyze", "answers")])
def test_every_command_says_that_a_run_is_not_finished(call: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert call("build", "passage_count", "--lengths", "1k", "--items", "3", "--out", "suite")[0] == 0
    assert call("run", "suite", "--model", "fathom/guess", "--out", "run", "--quiet")[0] == 0
    assert "unfinished" not in call(*words, "run")[2]
    with closing(sqlite3.connect(tmp_path / "run" / "replies.sqlite")) as db, db:
        db.execute("DELETE FROM replies WHERE rowid = 1")
    code, _, err = call(*words, "run")
    assert code == 0
    assert "run (fathom/guess) is unfinished, 2 of 3 replies are there" in err
