"""A suite, a run of it and a bundle of that run, all of format 2, score and report as the version that wrote them did.

``format_2.zip`` was written by the last version of that format. The suite has a question of each kind whose scorer
needs more than the gold answer: passkeys, classes to choose from, labels of answers, a second request. The run has
replies whose scores depend on it, and ``strict.jsonl`` and ``official.jsonl`` are the rows that were read from it.
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fathom.board.bundles.check import check
from fathom.board.bundles.opening import read_bundle
from fathom.board.bundles.packing import archive
from fathom.rows import rows_from_run
from fathom.run import replies, run
from fathom.run.ledger import Ledger
from fathom.run.store import FILE
from fathom.run.worker import this_worker
from fathom.score.registry import RULES
from fathom.suitefile import open_suite
from fathom.types import FathomError

UNCHANGED = ("passkey/en/0001@512", "bestanswer/en/0001@512")
"""Replies as the baseline gives them; those to the other samples were written by hand."""


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with zipfile.ZipFile(Path(__file__).with_name("format_2.zip")) as opened:
        opened.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_then(old: Path, rule: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (old / f"{rule}.jsonl").read_text().splitlines()]


def rows_now(folder: Path, rule: str, fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rows_from_run(folder, rule).select(*fields).write_ndjson().splitlines()]


def forget(folder: Path, samples: tuple[str, ...]) -> None:
    """As if the run had been stopped before the replies to these samples came."""
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        db.executemany("DELETE FROM replies WHERE sample = ?", [(name,) for name in samples])


@pytest.mark.parametrize("rule", RULES)
def test_a_run_scores_as_before_and_reading_changes_nothing(old: Path, rule: str) -> None:
    before = sha256((old / "run" / FILE).read_bytes()).digest()
    then = rows_then(old, rule)
    assert rows_now(old / "run", rule, then[0]) == then
    assert sha256((old / "run" / FILE).read_bytes()).digest() == before


def test_a_suite_is_run_and_scores_as_before(old: Path) -> None:
    built = open_suite(old / "suite")
    assert {one.id: dict(one.facets) for one in built.samples()} == {
        row["sample"]: json.loads(row["facets"]) for row in rows_then(old, "strict")
    }
    run(old / "suite", "fathom/lexical", out=old / "again")
    scored = ("sample", "value", "valid", "answer", "target", "chance", "facets", "prompt_hash")
    then = [{name: row[name] for name in scored} for row in rows_then(old, "strict") if row["sample"] in UNCHANGED]
    now = rows_now(old / "again", "strict", dict.fromkeys(scored))
    assert len(now) == 8
    assert [row for row in now if row["sample"] in UNCHANGED] == then


@pytest.mark.parametrize("rule", RULES)
def test_a_run_that_was_stopped_is_resumed_and_scores_as_before(old: Path, rule: str) -> None:
    forget(old / "run", UNCHANGED)
    then = rows_then(old, rule)
    stopped = rows_now(old / "run", rule, then[0])
    assert {row["sample"] for row in stopped if row["status"] == "error"} == set(UNCHANGED)
    run(old / "suite", "fathom/lexical", out=old / "run")
    timed = {"seconds", "fathom_version"}
    assert [{**row, **dict.fromkeys(timed)} for row in rows_now(old / "run", rule, then[0])] == [
        {**row, **dict.fromkeys(timed)} for row in then
    ]


@pytest.mark.parametrize("column", ["targets", "facets", "text", "chance", "task", "checksum"])
def test_a_changed_row_is_damage(old: Path, column: str) -> None:
    for table in ("replies", "planned"):
        if table == "planned" and column == "text":
            continue
        with closing(sqlite3.connect(old / "run" / FILE)) as db, db:
            (before,) = db.execute(f"SELECT {column} FROM {table} WHERE sample = ?", UNCHANGED[:1]).fetchone()
            changed = before.replace("5", "6") + " " if isinstance(before, str) else before + 1
            db.execute(f"UPDATE {table} SET {column} = ? WHERE sample = ?", (changed, *UNCHANGED[:1]))
        with pytest.raises(FathomError, match=rf"replies\.sqlite: damaged \({table} of sample {UNCHANGED[0]}"):
            list(replies(old / "run"))
        with pytest.raises(FathomError, match=rf"replies\.sqlite: damaged \({table} of sample {UNCHANGED[0]}"):
            Ledger(old / "run", this_worker())
        with closing(sqlite3.connect(old / "run" / FILE)) as db, db:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE sample = ?", (before, *UNCHANGED[:1]))
    assert len(list(replies(old / "run"))) == 8


def test_a_bundle_is_accepted(old: Path) -> None:
    found = check(old / "bundle.zip", [old / "suite"])
    assert found.complete, [finding.words for finding in found.of("refused")]
    said = [finding.words for finding in found.of("verified")]
    assert "16 scores, computed again from the replies, are those given" in said
    assert "gold answers, chance levels and facets of 8 replies are the suite's" in said
    bundle = read_bundle(old / "bundle.zip")
    assert bundle.format == 2
    assert archive(bundle) == (old / "bundle.zip").read_bytes()
