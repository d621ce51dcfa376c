"""The journal of requests: what was asked more than once shows everywhere, and a changed journal is found."""

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from run_suites import make_suite, sample
from scripted_server import Act, ScriptedServer, completion, refusal

from engine_calls import run
from fathom.analysis.gate import gate
from fathom.board.bundles.bundle import archive
from fathom.board.bundles.bundling import bundle_of
from fathom.board.bundles.check import check
from fathom.report.reading import filtered
from fathom.rows import rows_from_run
from fathom.run.shards.share import rows_in
from fathom.runfile.journal import LOST, UNREACHED, Entry, append, asked_again
from fathom.runfile.journal import SCHEMA as JOURNAL
from fathom.runfile.ledger import Ledger
from fathom.runfile.progress import RunSummary, status
from fathom.runfile.store import FILE
from fathom.runfile.worker import this_worker
from fathom.types import Attempt, FathomError, Reply


def go(suite: Path, server: ScriptedServer, out: Path, **options: Any) -> RunSummary:
    arguments: dict[str, Any] = {"max_output_tokens": 50, "backoff": 0.002, "retries": 3, "timeout": 30.0}
    return run(suite, "openai/scripted", out=out, **arguments | {"model_base_url": server.base_url} | options)


def entries(folder: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / FILE)) as db:
        return db.execute("SELECT sample, outcome, tokens_in, requests FROM journal ORDER BY number").fetchall()


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        db.execute(statement)


@pytest.mark.slow
def test_a_server_that_fails_until_its_reply_is_right_shows_everywhere(tmp_path: Path) -> None:
    def retries_until_right(number: int, before: int) -> Act:
        return refusal(500, "upstream error") if number % 2 and before < 2 else completion("nine", tokens_in=300)

    suite = make_suite(tmp_path, 8)
    with ScriptedServer(retries_until_right) as server:
        summary = go(suite, server, tmp_path / "run")
    with ScriptedServer(lambda number, before: completion("nine", tokens_in=300)) as server:
        go(suite, server, tmp_path / "honest")
    assert "4 asked more than once" in str(summary)
    assert status(tmp_path / "run").facts()["asked more than once"] == "4 of 8"
    assert "asked more than once" not in status(tmp_path / "honest").facts()
    assert Counter(outcome for _, outcome, *_ in entries(tmp_path / "run")) == {"busy": 8, "ok": 8}
    assert {tokens for _, outcome, tokens, _ in entries(tmp_path / "run") if outcome == "ok"} == {300}
    rows, honest = rows_from_run(tmp_path / "run"), rows_from_run(tmp_path / "honest")
    assert sorted(rows["asked_again"]) == [0] * 4 + [2] * 4
    decided = gate(rows, honest, margin=0.4)
    assert decided.decision == "INCONCLUSIVE"
    assert "the candidate was asked more than once: 4 of 8 replies" in decided.reason
    assert not any("more than once" in gap for gap in gate(rows, honest, margin=0.4, most_asked_again=0.5).gaps)
    assert not any("more than once" in gap for gap in gate(honest, honest, margin=0.4).gaps)
    bundle = bundle_of([tmp_path / "run"])
    assert sorted(bundle.rows["asked_again"]) == [0] * 4 + [2] * 4
    (tmp_path / "b.zip").write_bytes(archive(bundle))
    words = [finding.words for finding in check(tmp_path / "b.zip", [suite]).findings]
    assert any(word.startswith("asked more than once: 4 of 8 replies; the server, or who ran it") for word in words)
    notes: list[str] = []
    filtered([tmp_path / "run"], filter="none", tell=notes.append)
    assert any("scripted: asked more than once: 4 of 8 replies; the server, or" in note for note in notes)


def test_replies_that_were_deleted_and_asked_for_again_are_counted(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 6)
    with ScriptedServer(lambda number, before: completion("nine")) as server:
        go(suite, server, tmp_path / "run")
        for _ in range(2):
            change(tmp_path / "run", "DELETE FROM replies WHERE rowid IN (SELECT rowid FROM replies LIMIT 2)")
            summary = go(suite, server, tmp_path / "run")
    assert sum(rows_from_run(tmp_path / "run")["asked_again"]) == 4
    assert "asked more than once" in str(summary)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM journal WHERE number = 2",
        "DELETE FROM journal WHERE number = (SELECT max(number) FROM journal)",
        "DELETE FROM journal",
        "DROP TABLE journal",
        "UPDATE journal SET outcome = 'unreached' WHERE number = 1",
        "UPDATE journal SET requests = 0",
    ],
)
def test_a_changed_journal_is_found(tmp_path: Path, statement: str) -> None:
    with ScriptedServer(lambda number, before: completion("nine")) as server:
        go(make_suite(tmp_path, 3), server, tmp_path / "run")
        change(tmp_path / "run", statement)
        with pytest.raises(FathomError, match="the journal of requests was changed at entry"):
            rows_from_run(tmp_path / "run")
        with pytest.raises(FathomError, match="restore the file from a copy, or run again in another folder"):
            go(tmp_path / "suite", server, tmp_path / "run")


def test_what_a_dead_process_may_have_asked_is_noted(tmp_path: Path) -> None:
    first = Ledger(tmp_path, this_worker())
    first.claim([("a", 1)])
    first._db.execute("UPDATE workers SET pid = 999999999, born = 'long ago'")
    first._db.close()
    second = Ledger(tmp_path, this_worker())
    second.close()
    assert entries(tmp_path) == [("a", LOST, None, 1)]


def test_a_reply_of_a_shard_brings_how_often_it_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with closing(Ledger(tmp_path / "a", this_worker())) as first:
        failed, key = Attempt("p", "busy", 1.0, 0.5), (sample(0).id, 1)
        for attempt in (failed, replace(failed, outcome="silent", reached=False), replace(failed, outcome="ok")):
            first.note(key, attempt, None)
        first.finish(sample(0), 1, Reply("ok", "nine"), prompt_hash="f00", cost=None)
        rows = rows_in(tmp_path / "a")
    with closing(Ledger(tmp_path / "b", this_worker())) as second:
        assert list(second.adopt(rows)) == []
        assert second.asked_again() == 1
    assert [row[-2] for row in (*rows, *rows_in(tmp_path / "b"))] == [1, 1]


def test_how_requests_are_counted(tmp_path: Path) -> None:
    def entry(sample: str, prompt: str, outcome: str = "ok", requests: int = 1) -> Entry:
        return Entry(sample, 1, prompt, outcome, 0.5, 0.25, None, 3, 0.001, requests)

    cases = {
        "once": [("p", "ok", 1)],
        "twice": [("p", "busy", 1), ("p", "ok", 1)],
        "two prompts": [("p", "ok", 1), ("q", "ok", 1)],
        "both twice": [("p", "busy", 1), ("p", "ok", 1), ("q", "silent", 1), ("q", "ok", 1)],
        "nobody heard": [("p", UNREACHED, 1), ("p", UNREACHED, 1), ("p", "ok", 1)],
        "lost": [("", LOST, 1), ("p", "ok", 1)],
        "in batches": [("", "ok", 3)],
        "elsewhere": [("", "error", 2), ("p", "ok", 1)],
    }
    expected = {"twice": 1, "both twice": 2, "lost": 1, "in batches": 2, "elsewhere": 2}
    with closing(sqlite3.connect(":memory:")) as db:
        assert asked_again(db, tmp_path) == {}  # of an earlier version
        db.executescript(JOURNAL)
        for sample, requests in cases.items():
            for request in requests:
                append(db, entry(sample, *request))
        assert asked_again(db, tmp_path) == {(sample, 1): again for sample, again in expected.items()}


def test_rows_without_the_column_were_asked_once() -> None:
    from fathom.stats.outcomes import asked_again as words

    rows = pl.DataFrame({"asked_again": [0, 2, 1, 0]})
    assert words(rows) == "asked more than once: 2 of 4 replies"
    assert words(rows, 0.5) == ""


def test_a_journal_that_was_emptied_makes_all_replies_suspect(tmp_path: Path) -> None:
    with ScriptedServer(lambda number, before: completion("nine")) as server:
        go(make_suite(tmp_path, 3), server, tmp_path / "run")
    change(tmp_path / "run", "DELETE FROM journal")
    change(tmp_path / "run", "DELETE FROM journal_end")
    assert rows_from_run(tmp_path / "run")["asked_again"].to_list() == [1, 1, 1]


def test_replies_of_earlier_versions_were_asked_for_once(tmp_path: Path) -> None:
    with ScriptedServer(lambda number, before: completion("nine")) as server:
        go(make_suite(tmp_path, 3), server, tmp_path / "run")
        for statement in (
            "DROP TABLE journal",
            "DROP TABLE journal_end",
            "ALTER TABLE replies DROP COLUMN asked_again",
        ):
            change(tmp_path / "run", statement)
        assert sum(rows_from_run(tmp_path / "run")["asked_again"]) == 0
        go(tmp_path / "suite", server, tmp_path / "run")
    assert len(entries(tmp_path / "run")) == 3
    assert sum(rows_from_run(tmp_path / "run")["asked_again"]) == 0
