"""Shards that two processes want, and stores with files that nobody expects: nothing is asked twice or lost."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_suites import make_suite

from engine_calls import run_shard
from fathom.run import replies
from fathom.run.shards import lease as leases
from fathom.run.shards.cutting import Shard
from fathom.run.shards.files import read_plan, state_of, stored_rows
from fathom.run.shards.lease import Lease, LeaseTimes, leased
from fathom.run.shards.merging import merge
from fathom.run.shards.share import OneShard
from fathom.run.shards.store import FolderStore, ObjectStore
from fathom.runfile.worker import this_worker
from fathom.types import FathomError

MODEL, SHARD = "fathom/lexical", Shard(1, 1)
FAST = LeaseTimes(ends=0.1, renewed=0.01, looked_at=0.005)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "TIMES", FAST)


def ask(suite: Path, out: Path) -> int:
    """Run the only shard; how many samples were asked."""
    progress = run_shard(suite, MODEL, out=out, shard=SHARD).progress
    assert progress is not None
    return progress.asked


def merge_after(suite: Path, out: Path, folder: Path) -> int:
    """Finish the shard and merge; replies of the run, none of which was asked twice."""
    kept = state_of(FolderStore(out), 1).unfinished
    assert kept
    ask(suite, out)
    return len(list(replies(merge(out, folder).folder)))


# ------------------------------------------------------------------------------------------------------------- leases


@pytest.mark.slow
def test_a_second_process_waits_and_then_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, out, asked = make_suite(tmp_path, 6), tmp_path / "parts", list[int]()
    begun, lines = threading.Event(), list[str]()
    finish = OneShard.finish

    def slowly(self: OneShard) -> None:
        begun.set()
        time.sleep(3 * FAST.ends)  # it gives signs all the while
        finish(self)

    monkeypatch.setattr(OneShard, "finish", slowly)
    first = threading.Thread(target=lambda: asked.append(ask(suite, out)))
    first.start()
    begun.wait()
    monkeypatch.setattr(OneShard, "finish", finish)
    second = run_shard(suite, MODEL, out=out, shard=SHARD, tell=lines.append).progress
    first.join()
    assert second is not None
    assert (asked, second.asked, second.finished) == ([6], 0, 6)
    assert any("works on it, and renews its lease every 0.01 seconds; waiting until it" in line for line in lines)
    assert FolderStore(out).names() == ["shard-1-of-1.parquet", "shards.json"]


@pytest.mark.parametrize("content", ["elsewhere", "dead", "damaged"])
def test_a_lease_that_is_not_renewed_ends_when_it_says(tmp_path: Path, content: str) -> None:
    store, worker = FolderStore(tmp_path), this_worker()
    other = replace(worker, id="other", host="elsewhere") if content == "elsewhere" else replace(worker, id="gone")
    (tmp_path / "shard-1-of-1.lease").write_text("{" if content == "damaged" else json.dumps(asdict(other)))
    began = time.monotonic()
    with leased(store, SHARD, lambda line: None) as lease:
        waited = time.monotonic() - began
        assert (waited >= FAST.ends) == (content != "dead")
        assert not lease.lost
    assert store.names() == []


@pytest.mark.slow
def test_of_two_that_wait_for_an_ended_lease_one_takes_it(tmp_path: Path) -> None:
    (tmp_path / "shard-1-of-1.lease").write_text("{")
    at_once, most = 0, 0
    lock = threading.Lock()

    def hold() -> None:
        nonlocal at_once, most
        with leased(FolderStore(tmp_path), SHARD, lambda line: None):
            with lock:
                at_once += 1
                most = max(most, at_once)
            time.sleep(0.05)
            with lock:
                at_once -= 1

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, FolderStore(tmp_path).names()) == (1, [])


def test_a_process_that_was_asleep_leaves_the_shard_to_the_one_that_took_it_over(tmp_path: Path) -> None:
    store, mine, other = FolderStore(tmp_path), this_worker(), this_worker()
    lease = Lease(store, SHARD, mine)
    lease.take(lambda line: None)
    lease.renew()
    lease.check()
    store.remove("shard-1-of-1.lease")  # a folder that was removed is no other process
    lease.renew()
    lease.check()
    store.write("shard-1-of-1.lease", json.dumps({**asdict(other), "renewals": 0}).encode())
    lease.renew()
    lease.release()
    with pytest.raises(FathomError, match=r"another process has taken over shard-1-of-1.*no sign for 0\.1 seconds"):
        lease.check()
    assert store.names() == ["shard-1-of-1.lease"]


# -------------------------------------------------------------------------------------------------------- strange files


def test_a_part_of_no_bytes_is_damaged_and_not_asked_again(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 3), tmp_path / "parts"
    ask(suite, out)
    (out / "shard-1-of-1.parquet").unlink()
    FolderStore(out).write("shard-1-of-1/p-000001.parquet", b"")
    with pytest.raises(FathomError, match=r"shard-1-of-1/p-000001\.parquet: damaged .*; restore it from a copy, or"):
        ask(suite, out)
    (out / "shard-1-of-1/p-000001.parquet").unlink()
    assert ask(suite, out) == 3


def test_stray_files_block_nothing_and_stay(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 3), tmp_path / "parts"
    strays = ["README.txt", "table.parquet", "p-000001.parquet.bak", "deeper/p-000001.parquet", ".DS_Store", "p-1.csv"]
    (out / "shard-1-of-1" / "deeper").mkdir(parents=True)
    for name in strays:
        (out / "shard-1-of-1" / name).write_text("mine")
    (out / "shard-notes.txt").write_text("mine")
    assert ask(suite, out) == 3
    assert merge(out, tmp_path / "run").progress is not None
    assert all((out / "shard-1-of-1" / name).read_text() == "mine" for name in strays)


def test_a_file_with_the_name_of_the_folder_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 3), tmp_path / "parts"
    out.mkdir()
    (out / "shard-1-of-1").write_text("mine")
    with pytest.raises(FathomError, match=r"shard-1-of-1: a file, where a folder of replies is to be; move it away"):
        ask(suite, out)


def test_a_part_that_is_listed_and_cannot_be_read_ends(tmp_path: Path) -> None:
    class Listing(FolderStore):
        def names(self, folder: str = "") -> list[str]:
            return [f"{folder}/p-000001.parquet"]

    with pytest.raises(FathomError, match=r"p-000001\.parquet: is listed, and cannot be read"):
        stored_rows(Listing(tmp_path), SHARD, "digest")


def test_objects_that_stand_for_folders_are_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(store: object, prefix: str | None) -> Iterator[list[dict[str, Any]]]:
        yield [{"path": name} for name in ("", "shard-1-of-1", "shard-1-of-1/p-1.parquet", "shard-1-of-12/p-1.parquet")]

    store = object.__new__(ObjectStore)
    vars(store).update(_objects=SimpleNamespace(list=listed), _store=None, _error=OSError, _address="s3://bucket/x")
    assert store.names("shard-1-of-1") == ["shard-1-of-1/p-1.parquet"]
    assert "" not in store.names()


# ------------------------------------------------------------------------------------------------- stores that change


def test_a_store_that_is_removed_while_a_shard_runs_has_all_its_replies_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, out, committed = make_suite(tmp_path, 6), tmp_path / "parts", OneShard.committed

    async def removing(self: OneShard, sample: str, epoch: int) -> None:
        await committed(self, sample, epoch)
        while sample.startswith("item3") and (out / "shards.json").exists():
            shutil.rmtree(out, ignore_errors=True)  # the lease may be renewed meanwhile

    monkeypatch.setattr(OneShard, "committed", removing)
    assert ask(suite, out) == 6
    assert len(list(replies(merge(out, tmp_path / "run").folder))) == 6


@pytest.mark.parametrize("when", ["while it runs", "at the end"])
def test_replies_that_the_store_does_not_take_are_kept_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    suite, out, write = make_suite(tmp_path, 6), tmp_path / "parts", FolderStore.write
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    written = 0

    def full(self: FolderStore, name: str, data: bytes) -> None:
        nonlocal written
        written += name.startswith("shard-1-of-1/")
        if written > (1 if when == "while it runs" else 0) and name.endswith(".parquet"):
            raise FathomError(f"{name}: cannot be written: No space left on device")
        write(self, name, data)

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "write", full)
        with pytest.raises(
            FathomError, match=r"No space left on device\. \d+ missing repl(y is|ies are) kept"
        ) as error:
            ask(suite, out)
    (kept,) = tmp_path.glob("fathom-kept-*/*.parquet")
    assert f"kept in {kept}: copy it into {out}/shard-1-of-1/ to have them" in str(error.value)
    count = int(str(error.value).split(" missing repl")[0].split()[-1])
    (out / "shard-1-of-1").mkdir(exist_ok=True)
    shutil.copy(kept, out / "shard-1-of-1")
    plan = read_plan(FolderStore(out))
    assert plan is not None
    assert len(stored_rows(FolderStore(out), SHARD, plan.digest)[0]) >= count > 0
    assert merge_after(suite, out, tmp_path / "run") == 6
