"""A suite, a run of it and a bundle of that run, all of format 2, score and report as the version that wrote them did.

``format_2.zip`` was written by the last version of that format. The suite has a question of each kind whose scorer
needs more than the gold answer: passkeys, classes to choose from, labels of answers, a second request. The run has
replies whose scores depend on it, and ``strict.jsonl`` and ``official.jsonl`` are the rows that were read from it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from engine_calls import run
from fathom.board.bundles.bundle import FORMAT, archive, write_bundle
from fathom.board.bundles.bundling import bundle_of
from fathom.board.bundles.check import check
from fathom.board.bundles.opening import read_bundle
from fathom.rows import rows_from_run
from fathom.run import replies
from fathom.runfile.ledger import Ledger
from fathom.runfile.store import FILE
from fathom.runfile.worker import this_worker
from fathom.score.registry import RULES, metric_name
from fathom.suites.suitefile import DOCUMENTS, SampleWriter, fresh_folder, open_suite, write_manifest
from fathom.types import FathomError
from processes import start_program

UNCHANGED = ("passkey/en/0001@512", "bestanswer/en/0001@512")
"""Replies as the baseline gives them; those to the other samples were written by hand."""


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with zipfile.ZipFile(Path(__file__).with_name("format_2.zip")) as opened:
        opened.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_then(old: Path, rule: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (old / f"{rule}.jsonl").read_text().splitlines()]
    return [row | {"metric": metric_name(row["metric"])} if row.get("metric") else row for row in rows]


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
    assert "16 scores match the scores recomputed from the replies" in said
    assert "gold answers, chance levels and facets of 8 replies match the suite" in said
    bundle = read_bundle(old / "bundle.zip")
    assert bundle.format == 2
    assert archive(bundle) == (old / "bundle.zip").read_bytes()


# ------------------------------------------------------------------------------------------- beside the format of today


@pytest.fixture
def split(old: Path) -> Path:
    """The same suite as it is built today, with the same fingerprint."""
    built = open_suite(old / "suite")
    keys = {"passkey": ["digits"], "longbench_trec": ["dataset", "classes"], "bestanswer": []}
    with fresh_folder(old / "split") as folder:
        shutil.copy(old / "suite" / DOCUMENTS, folder / DOCUMENTS)
        with SampleWriter(folder) as writer:
            for one in built.samples():
                needed = keys.get(one.task, ["dataset"])
                told = [*needed, "answers", "prompt"] if one.task != "longbench_trec" else needed
                writer.add(
                    replace(
                        one,
                        facets={name: value for name, value in one.facets.items() if name not in needed},
                        inputs={name: one.facets[name] for name in told if name in one.facets},
                    )
                )
        write_manifest(folder, {name: value for name, value in built.manifest.items() if name != "format"})
    return old / "split"


def words(path: Path, suite: Path, level: Any = "refused") -> str:
    return " ".join(finding.words for finding in check(path, [suite]).of(level))


def test_a_suite_of_today_scores_the_same(old: Path, split: Path) -> None:
    assert any(one.inputs != one.facets for one in open_suite(split).samples())
    run(split, "fathom/lexical", out=old / "new")
    run(old / "suite", "fathom/lexical", out=old / "again")
    scored = ["sample", "value", "valid", "answer", "detail"]
    for rule in RULES:
        assert rows_from_run(old / "new", rule).select(scored).equals(rows_from_run(old / "again", rule).select(scored))


def test_a_run_keeps_its_format_when_it_is_resumed_with_a_suite_of_today(old: Path, split: Path) -> None:
    forget(old / "run", UNCHANGED)
    run(split, "fathom/lexical", out=old / "run")
    for rule in RULES:
        for row, then in zip(rows_from_run(old / "run", rule).iter_rows(named=True), rows_then(old, rule), strict=True):
            assert (row["sample"], row["value"], row["answer"]) == (then["sample"], then["value"], then["answer"])
            assert json.loads(row["facets"]) == json.loads(then["facets"])
    with closing(sqlite3.connect(old / "run" / FILE)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert "inputs" not in {row[1] for row in db.execute("PRAGMA table_info(replies)")}


@pytest.mark.slow
@pytest.mark.long
def test_a_process_that_is_killed_while_it_resumes_a_run_loses_nothing(old: Path) -> None:
    forget(old / "run", UNCHANGED)
    assert start_program(KILLED, old, UNCHANGED[0], stderr=None).wait() == 0
    assert len(list(replies(old / "run"))) == 7
    run(old / "suite", "fathom/lexical", out=old / "run")
    assert [(one.sample, one.reply.text == "killed") for one in replies(old / "run")] == [
        (row["sample"], row["sample"] == UNCHANGED[0]) for row in rows_then(old, "strict")
    ]


# Ends without a word, as kill -9 ends a process: its last replies are in the log and nowhere else.
KILLED = """
import os, sys
from pathlib import Path
from fathom.runfile.ledger import Ledger
from fathom.runfile.worker import this_worker
from fathom.suites.suitefile import open_suite
from fathom.types import Reply
old = Path(sys.argv[1])
ledger = Ledger(old / "run", this_worker())
ledger.finish(open_suite(old / "suite").sample(sys.argv[2]), 1, Reply("ok", "killed"), prompt_hash="", cost=None)
os._exit(0)
"""


def test_bundles_are_accepted_whichever_suite_was_run(old: Path, split: Path) -> None:
    run(split, "fathom/lexical", out=old / "new")
    for logs in (True, False):
        write_bundle(bundle_of([old / "run"], logs=logs), old / "resumed.zip")
        write_bundle(bundle_of([old / "new"], logs=logs), old / "new.zip")
        assert read_bundle(old / "resumed.zip").format == read_bundle(old / "new.zip").format == FORMAT
        for bundle in ("bundle.zip", "resumed.zip"):
            assert words(old / bundle, old / "suite") == words(old / bundle, split) == ""
        assert words(old / "new.zip", split) == ""
        assert words(old / "new.zip", old / "suite").endswith(
            "an earlier fathom built the suite to compare with: build it again with --force"
        )


def test_a_store_from_before_checksums_gets_those_of_format_2(old: Path) -> None:
    with closing(sqlite3.connect(old / "run" / FILE)) as db, db:
        for table in ("replies", "planned"):
            db.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        db.execute("DROP TABLE planned")
        db.execute("PRAGMA user_version = 0")
    before = list(replies(old / "run"))
    assert len(before) == 8
    Ledger(old / "run", this_worker()).close()
    assert list(replies(old / "run")) == before
    with closing(sqlite3.connect(old / "run" / FILE)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert db.execute("SELECT count(*) FROM replies WHERE checksum IS NULL").fetchone() == (0,)


@pytest.mark.parametrize(
    ("made", "form", "why"),
    [
        ("run", 3, "damaged .format 3, without the column replies.inputs"),
        ("new", 1, "damaged .* checksum mismatch"),
        ("new", 2, "damaged .* checksum mismatch"),
        ("new", 7, "written by a newer fathom"),
    ],
)
def test_a_store_of_another_format_than_it_states_is_damage(
    old: Path, split: Path, made: str, form: int, why: str
) -> None:
    run(split, "fathom/lexical", out=old / "new")
    with closing(sqlite3.connect(old / made / FILE)) as db, db:
        db.execute(f"PRAGMA user_version = {form}")
    with pytest.raises(FathomError, match=why):
        list(replies(old / made))
    with pytest.raises(FathomError, match=why):
        Ledger(old / made, this_worker())


def test_changed_inputs_are_damage(old: Path, split: Path) -> None:
    run(split, "fathom/lexical", out=old / "new")
    for table in ("replies", "planned"):
        with closing(sqlite3.connect(old / "new" / FILE)) as db, db:
            (before,) = db.execute(f"SELECT inputs FROM {table} WHERE sample = ?", UNCHANGED[:1]).fetchone()
            assert json.loads(before) == {"digits": 5}
        for changed in ('{"digits": 4}', "{}", None):
            with closing(sqlite3.connect(old / "new" / FILE)) as db, db:
                db.execute(f"UPDATE {table} SET inputs = ? WHERE sample = ?", (changed, *UNCHANGED[:1]))
            with pytest.raises(FathomError, match=rf"replies\.sqlite: damaged \({table} of sample {UNCHANGED[0]}"):
                list(replies(old / "new"))
        with closing(sqlite3.connect(old / "new" / FILE)) as db, db:
            db.execute(f"UPDATE {table} SET inputs = ? WHERE sample = ?", (before, *UNCHANGED[:1]))
    assert len(list(replies(old / "new"))) == 8
