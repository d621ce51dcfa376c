"""What an unfinished run says of the part that was asked."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from run_suites import make_suite

from engine_calls import run
from fathom.api import compare
from fathom.rows import unfinished
from fathom.runfile.part import OF_SUITE, RANDOM, UNKNOWN, asked_so_far
from fathom.storage.checksums import with_checksum


def stopped(tmp_path: Path, **how: Any) -> Path:
    """A run of 100 samples that has 40 replies."""
    suite, out = make_suite(tmp_path, 100), tmp_path / "run"
    run(suite, "fathom/first", out=out, max_connections=1, **how)
    with closing(sqlite3.connect(out / "replies.sqlite")) as db, db:
        db.execute("DELETE FROM replies WHERE rowid > 40")
    return out


def test_a_run_that_stopped_early_says_how_much_was_asked_and_that_its_order_is_random(tmp_path: Path) -> None:
    folder = stopped(tmp_path, enough=lambda folder: "")
    assert asked_so_far(folder) == f"asked was 40% of every task and length, {RANDOM}"
    (sentence,) = unfinished([folder])
    assert RANDOM in sentence
    assert "intervals are for one look" in sentence
    run(tmp_path / "suite", "fathom/first", out=folder)
    assert asked_so_far(folder) == ""
    assert unfinished([folder]) == []


@pytest.mark.slow
def test_a_run_that_was_cut_off_says_that_its_order_need_not_be_random(tmp_path: Path) -> None:
    folder = stopped(tmp_path)
    assert asked_so_far(folder) == f"asked was 40% of every task and length, {OF_SUITE}"
    run(tmp_path / "suite", "fathom/lexical", out=tmp_path / "whole")
    remark = compare([folder, tmp_path / "whole"]).remarks[0]
    assert "is unfinished: 40 of 100 replies so far" in remark
    assert remark.endswith(f"{OF_SUITE}; intervals are for one look.")


def test_requests_that_overlap_and_replies_that_are_slow_do_not_change_the_order_that_is_said(tmp_path: Path) -> None:
    folder = stopped(tmp_path, enough=lambda folder: "")
    with closing(sqlite3.connect(folder / "replies.sqlite")) as db, db:
        db.execute("DELETE FROM replies WHERE rowid % 3 = 0")
    assert asked_so_far(folder).endswith(RANDOM)
    run(tmp_path / "suite", "fathom/first", out=folder, enough=lambda folder: "", max_connections=1)
    with closing(sqlite3.connect(folder / "replies.sqlite")) as db, db:
        db.execute("DELETE FROM replies WHERE rowid > 40")
    run(tmp_path / "suite", "fathom/first", out=folder)  # the rest in the order of the suite
    with closing(sqlite3.connect(folder / "replies.sqlite")) as db, db:
        db.execute("DELETE FROM replies WHERE rowid > 80")
    assert asked_so_far(folder).endswith(OF_SUITE)


def test_the_order_of_runs_of_earlier_versions_is_not_known(tmp_path: Path) -> None:
    folder = stopped(tmp_path)
    manifest = json.loads((folder / "run.json").read_text())
    del manifest["observed"]["orders"], manifest["checksum"]
    (folder / "run.json").write_text(json.dumps(with_checksum(manifest)))
    assert asked_so_far(folder) == f"asked was 40% of every task and length, {UNKNOWN}"
    run(tmp_path / "suite", "fathom/first", out=folder, enough=lambda folder: "")
    with closing(sqlite3.connect(folder / "replies.sqlite")) as db, db:
        db.execute("DELETE FROM replies WHERE rowid > 80")
    assert asked_so_far(folder).endswith(UNKNOWN)


@pytest.mark.slow
def test_a_share_is_rounded_down_so_that_all_is_said_of_all_only(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 300), tmp_path / "run"
    run(suite, "fathom/first", out=out)
    with closing(sqlite3.connect(out / "replies.sqlite")) as db, db:
        db.execute("DELETE FROM replies WHERE rowid > 299")
    assert asked_so_far(out).startswith("asked was 99% of")
