"""What is written: little, whole, without secrets or prompts, and clear words when the disk is full."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_suites import FILLER, make_suite, sample

from engine_calls import run
from fathom.models import baselines as baselines_module
from fathom.models.prices import UNKNOWN
from fathom.models.usage import MOST_TOKENS
from fathom.run import Progress, read_manifest, replies, status
from fathom.runfile.ledger import Ledger
from fathom.runfile.store import FILE
from fathom.runfile.worker import Worker, _born, is_alive, retire, this_worker
from fathom.safety.secrets import hide_secrets
from fathom.types import STATUSES, AnswerKind, FathomError, Reply


@pytest.fixture
def baseline(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An offline baseline ``fathom/fake`` that answers ``nine``; gives the prompts it saw."""
    seen: list[str] = []

    def read(prompt: str, answer: AnswerKind, rng: object, form: object) -> str:
        seen.append(prompt)
        return "nine"

    monkeypatch.setattr(baselines_module, "get_baseline", lambda name: read)
    return seen


def written() -> int:
    """Bytes that this process handed to write calls, files only: sockets are not counted."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the system does not count written bytes")
def test_at_most_6_kb_are_written_for_a_sample(tmp_path: Path, baseline: list[str]) -> None:
    """Every write call counts: rows, index, journal, claims, write-ahead log and its copying back."""
    suite = make_suite(tmp_path, 1000)
    # What a first run loads, Python may compile and write.
    run(suite, "fathom/fake", out=tmp_path / "first", max_output_tokens=50, limit=1)
    baseline.clear()
    before = written()
    run(suite, "fathom/fake", out=tmp_path / "run", max_output_tokens=50)
    assert (written() - before) / 1000 <= 6 * 1024
    assert len(baseline) == 1000
    on_disk = sum(path.stat().st_size for path in (tmp_path / "run").iterdir())
    assert on_disk / 1000 <= 2 * 1024


def test_no_prompt_is_stored(tmp_path: Path, baseline: list[str]) -> None:
    run(make_suite(tmp_path, 20), "fathom/fake", out=tmp_path / "run", max_output_tokens=50)
    assert FILLER[:26] in baseline[0]
    for path in (tmp_path / "run").iterdir():
        assert FILLER[:26].encode() not in path.read_bytes()


def test_a_row_carries_the_facts_of_its_sample(tmp_path: Path, baseline: list[str]) -> None:
    out = tmp_path / "run"
    run(make_suite(tmp_path, 3, lengths=(256, 512)), "fathom/fake", out=out, max_output_tokens=50, epochs=2)
    rows = list(replies(out))
    keys = [(row.sample, row.epoch) for row in rows]
    assert keys == [
        ("item0@256", 1),
        ("item0@256", 2),
        ("item2@256", 1),
        ("item2@256", 2),
        ("item1@512", 1),
        ("item1@512", 2),
    ]
    row, wanted = rows[0], sample(0)
    for name in ("item", "task", "length", "tokens", "language", "chance", "targets", "facets", "inputs"):
        assert getattr(row, name) == getattr(wanted, name), name
    assert (row.reply.status, row.reply.text, row.cost, len(row.prompt_hash)) == ("ok", "nine", 0.0, 16)
    assert rows[0].prompt_hash == rows[1].prompt_hash != rows[2].prompt_hash


def test_secrets_are_not_stored(tmp_path: Path, baseline: list[str]) -> None:
    secret = "sk-do-not-write-this"
    run(
        make_suite(tmp_path, 1),
        "fathom/fake",
        out=tmp_path / "run",
        max_output_tokens=50,
        model_args={"api_key": secret, "default_headers": {"X": secret}, "region": "eu"},
        generation={"extra_headers": {"Authorization": secret}, "extra_body": {"nested": {"my_token": secret}}},
        model_base_url=f"http://me:{secret}@127.0.0.1:1/v1?k={secret}",
    )
    for path in (tmp_path / "run").iterdir():
        assert secret.encode() not in path.read_bytes()
    manifest = read_manifest(tmp_path / "run")
    assert manifest["model_args"] == {"api_key": "***", "default_headers": "***", "region": "eu"}
    assert manifest["base_url"] == "http://127.0.0.1:1/v1?***"
    assert manifest["suite"]["fingerprint"] == "f00d"


def test_amounts_of_tokens_are_no_secrets() -> None:
    assert hide_secrets({"max_tokens": 5, "auth_token": "x"}) == {"max_tokens": 5, "auth_token": "***"}


@pytest.mark.slow
def test_disk_full_is_told_and_nothing_is_lost(tmp_path: Path, baseline: list[str]) -> None:
    """A limit on the size of files stands for the full disk: both end in the same SQLite errors."""
    suite, out = make_suite(tmp_path, 400), tmp_path / "run"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(FathomError, match=r"the disk is full or failing.*run the same command again"):
            run(suite, "fathom/fake", out=out, max_output_tokens=50)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept = {row.sample for row in replies(out)}
    assert 0 < len(kept) < 400
    baseline.clear()
    run(suite, "fathom/fake", out=out, max_output_tokens=50)
    assert len(baseline) == 400 - len(kept)
    assert len(list(replies(out))) == 400


def test_sqlite_full_is_told(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, this_worker())
    ledger._db.execute("PRAGMA max_page_count = 30")

    def fill() -> None:
        for number in range(200):
            ledger.finish(sample(number), 1, Reply(status="ok", text="nine"), prompt_hash="", cost=None)

    with pytest.raises(FathomError, match="the disk is full or failing"):
        fill()
    ledger.close()


def test_a_damaged_store_is_told(tmp_path: Path, baseline: list[str]) -> None:
    suite, out = make_suite(tmp_path, 50), tmp_path / "run"
    run(suite, "fathom/fake", out=out, max_output_tokens=50)
    store = out / "replies.sqlite"
    store.write_bytes(b"not a database" + store.read_bytes()[14:])
    for attempt in (lambda: list(replies(out)), lambda: run(suite, "fathom/fake", out=out, max_output_tokens=50)):
        with pytest.raises(FathomError, match=r"replies.sqlite is damaged"):
            attempt()


def test_a_store_without_tables_is_told(tmp_path: Path) -> None:
    """As a process leaves it that was killed when it began."""
    (tmp_path / "replies.sqlite").touch()
    with pytest.raises(FathomError, match="is empty"):
        list(replies(tmp_path))


def test_no_run_is_told(tmp_path: Path) -> None:
    for look in (status, read_manifest, lambda folder: list(replies(folder))):
        with pytest.raises(FathomError, match="no run here"):
            look(tmp_path)


anything = st.text(st.characters(codec="utf-8"), max_size=30)


def test_a_damaged_name_of_a_process_is_told(tmp_path: Path) -> None:
    """Checksums are of replies; which process wrote them is read beside them."""
    ledger = Ledger(tmp_path, this_worker())
    ledger.finish(sample(1), 1, Reply("error", error="gone"), prompt_hash="", cost=None)
    ledger._db.execute("UPDATE replies SET worker = CAST(x'31b532' AS TEXT)")
    with pytest.raises(FathomError, match=r"replies.sqlite is damaged \(Could not decode"):
        ledger.is_finished((sample(1).id, 1))
    ledger.close()


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    reply=st.builds(
        Reply,
        status=st.sampled_from(STATUSES),
        text=anything,
        reasoning=anything,
        error=anything,
        tokens_in=st.none() | st.integers(0, MOST_TOKENS),
        tokens_cached=st.none() | st.integers(0, MOST_TOKENS),
        seconds=st.floats(0, 1e6),
        truncated=st.integers(0, 2**30),
    ).map(lambda one: replace(one, text="") if one.status == "error" else one),  # what failed has no text
    cost=st.none() | st.floats(0, 1e6),
)
def test_what_is_read_is_what_was_written(reply: Reply, cost: float | None) -> None:
    with TemporaryDirectory() as place:
        ledger = Ledger(Path(place), this_worker())
        ledger.finish(sample(1), 1, reply, prompt_hash="cafe", cost=cost)
        ledger.close()
        (row,) = replies(Path(place))
    assert (row.reply, row.cost, row.prompt_hash) == (reply, cost, "cafe")


def test_half_a_surrogate_pair_is_kept_as_an_escape(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, this_worker())
    ledger.finish(sample(1), 1, Reply(status="ok", text="a\ud800b"), prompt_hash="", cost=None)
    ledger.close()
    assert next(iter(replies(tmp_path))).reply.text == "a\\ud800b"


def test_a_worker_lives_as_long_as_its_process() -> None:
    here, parent = this_worker(), os.getppid()
    assert is_alive(here, beat=0, now=1e9)
    assert not is_alive(Worker(here.id, 2**22 + 1, here.host, here.born, 0), beat=0, now=0)
    assert is_alive(Worker("w", parent, here.host, _born(parent), 0), beat=0, now=0)
    assert not is_alive(Worker("w", parent, here.host, "another start", 0), beat=0, now=0)
    retire(here)
    assert not is_alive(here, beat=0, now=0)
    assert not is_alive(Worker(here.id, 0, here.host, here.born, 0), beat=0, now=0)
    elsewhere = Worker(here.id, 1, "another machine", "", 0)
    assert is_alive(elsewhere, beat=1000, now=1100)
    assert not is_alive(elsewhere, beat=1000, now=2000)


def test_small_pages_and_write_ahead_log(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, this_worker())
    db = sqlite3.connect(tmp_path / "replies.sqlite")
    assert db.execute("PRAGMA page_size").fetchone() == (1024,)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()
    ledger.close()


def test_run_json_names_versions_and_is_json(tmp_path: Path, baseline: list[str]) -> None:
    run(make_suite(tmp_path, 1), "fathom/fake", out=tmp_path / "run", max_output_tokens=50)
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert manifest["model"] == "fathom/fake"
    assert "fathom-eval" in manifest["versions"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["replies.sqlite", "run.json"]


def test_an_unknown_cost_is_not_zero(tmp_path: Path, baseline: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run"
    monkeypatch.setattr("fathom.run.chosen.find_price", lambda model, base_url: UNKNOWN)
    states: list[Progress] = []
    summary = run(
        make_suite(tmp_path, 3), "fathom/fake", out=out, max_output_tokens=50, window=300, progress=states.append
    )
    assert summary.progress is not None
    assert (summary.progress.cost, summary.progress.unpriced) == (None, 3)
    assert [(state.cost, state.unpriced) for state in states] == [(None, 1), (None, 2), (None, 3)]
    assert (status(out).cost, status(out).unpriced) == (None, 3)
    ledger = Ledger(out, this_worker())
    ledger.finish(sample(7), 1, Reply("overflow"), prompt_hash="", cost=0.0)  # not sent: free, and tells no price
    assert (status(out).cost, status(out).unpriced) == (None, 3)
    ledger.finish(sample(8), 1, Reply("ok"), prompt_hash="abc", cost=0.5)
    assert (status(out).cost, status(out).unpriced) == (0.5, 3)
    ledger.close()


def test_a_run_without_replies_and_one_of_a_baseline_cost_nothing(tmp_path: Path, baseline: list[str]) -> None:
    run(make_suite(tmp_path, 3), "fathom/fake", out=tmp_path / "run", max_output_tokens=50)
    assert (status(tmp_path / "run").cost, status(tmp_path / "run").unpriced) == (0.0, 0)
    (tmp_path / "run" / "replies.sqlite").unlink()
    assert (status(tmp_path / "run").cost, status(tmp_path / "run").unpriced) == (0.0, 0)


def test_a_run_of_an_earlier_version_is_brought_up_to_date(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, this_worker())
    ledger.finish(sample(1), 1, Reply(status="ok", text="a"), prompt_hash="", cost=None)
    ledger.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.execute("ALTER TABLE replies DROP COLUMN asked")
        db.execute("ALTER TABLE replies DROP COLUMN checksum")
        db.execute("PRAGMA user_version = 0")
    with pytest.raises(FathomError, match="earlier version of fathom"):
        list(replies(tmp_path))
    Ledger(tmp_path, this_worker()).close()
    (found,) = replies(tmp_path)
    assert (found.reply.text, found.asked) == ("a", "")


def keys_to_ask(folder: Path) -> list[str]:
    """Who joins now finds these to be asked for, among the first four samples."""
    ledger = Ledger(folder, this_worker())
    try:
        return [key for key, _ in ledger.claim([(sample(number).id, 1) for number in range(4)])[0]]
    finally:
        ledger.close()


@pytest.mark.parametrize("hours", [-5, 0, 5])
def test_no_clock_says_which_errors_are_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    earlier = Ledger(tmp_path, this_worker())
    earlier.finish(sample(0), 1, Reply("error", error="x"), prompt_hash="", cost=None)
    earlier.finish(sample(1), 1, Reply("ok"), prompt_hash="", cost=None)
    earlier.close()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600 * hours)
    keys = [(sample(number).id, 1) for number in range(3)]
    mine, fellow = Ledger(tmp_path, this_worker()), Ledger(tmp_path, this_worker())
    assert mine.claim(keys)[0] == [keys[0], keys[2]]
    monkeypatch.setattr(time, "time", lambda: real() - 3600 * hours)
    mine.finish(sample(0), 1, Reply("error", error="again"), prompt_hash="", cost=None)
    mine.finish(sample(2), 1, Reply("error", error="new"), prompt_hash="", cost=None)
    for ledger in (mine, fellow):
        assert ledger.claim(keys) == ([], []), "errors of this process, and of others at work, are not asked again"
    mine.close()
    fellow.close()
    assert keys_to_ask(tmp_path) == [sample(number).id for number in (0, 2, 3)]


def test_errors_of_runs_that_named_no_process_are_asked_again(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, this_worker())
    ledger.finish(sample(0), 1, Reply("error", error="x"), prompt_hash="", cost=None)
    ledger.finish(sample(1), 1, Reply("ok"), prompt_hash="", cost=None)
    ledger.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.execute("ALTER TABLE replies DROP COLUMN worker")
    assert [row.reply.status for row in replies(tmp_path)] == ["error", "ok"]
    assert keys_to_ask(tmp_path) == [sample(number).id for number in (0, 2, 3)]
