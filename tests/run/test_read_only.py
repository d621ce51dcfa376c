"""A run can be read where nothing can be written: from a read-only disk, and by somebody who may only read."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from run_suites import make_suite, sample

from engine_calls import run
from fathom.models import baselines as baselines_module
from fathom.run import replies, status
from fathom.runfile.judgements import FILE as JUDGEMENTS
from fathom.runfile.judgements import Judgement, JudgementStore, judges
from fathom.runfile.ledger import Ledger
from fathom.runfile.store import FILE
from fathom.runfile.worker import this_worker
from fathom.score.judge import rubrics
from fathom.types import Reply
from processes import start_program

SOMEBODY = 65534


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run with a judge's judgement."""
    monkeypatch.setattr(baselines_module, "get_baseline", lambda name: lambda prompt, answer, rng, form: "nine")
    out = tmp_path / "run"
    run(make_suite(tmp_path, 6), "fathom/fake", out=out, max_output_tokens=50)
    store = JudgementStore(out, "lab/judge")
    store.finish("key", next(iter(rubrics().values())), Judgement("ok", {"a": 1.0}))
    store.close()
    return out


# Ends without a word, as kill -9 ends a process: its last replies are in the log and nowhere else.
KILLED = """
import os, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from run_suites import sample
from fathom.runfile.ledger import Ledger
from fathom.runfile.worker import this_worker
from fathom.types import Reply
ledger = Ledger(Path(sys.argv[1]), this_worker())
ledger.finish(sample(7), 1, Reply("ok", "after"), prompt_hash="", cost=None)
os._exit(0)
"""


def kill_after_one_more(folder: Path) -> None:
    here = Path(__file__).parents[1]
    assert start_program(KILLED, folder, here, here / "run", stderr=None).wait() == 0
    assert (folder / f"{FILE}-wal").stat().st_size


@pytest.fixture
def read_only(tmp_path: Path, folder: Path) -> Iterator[Path]:
    """The folder once more, on a disk that is mounted read-only."""
    place = tmp_path / "mounted"
    place.mkdir()
    if subprocess.run(["mount", "--bind", folder, place], check=False, capture_output=True).returncode:
        pytest.skip("this system lets no test mount a folder")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_finished_run_is_one_file_without_a_log(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [JUDGEMENTS, FILE, "run.json"]
    for file in (FILE, JUDGEMENTS):
        with closing(sqlite3.connect(folder / file)) as db:
            assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_read_only_disk(read_only: Path) -> None:
    with pytest.raises(OSError, match="Read-only"):
        (read_only / "new").touch()
    assert [row.reply.text for row in replies(read_only)] == ["nine"] * 6
    assert (status(read_only).finished, status(read_only).alive) == (6, 0)
    assert judges(read_only) == ("lab/judge",)


@pytest.mark.slow
def test_a_killed_run_on_a_read_only_disk(folder: Path, read_only: Path) -> None:
    kill_after_one_more(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sorted(row.reply.text for row in replies(read_only)) == ["after", *["nine"] * 6]
    assert status(read_only).finished == 7
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.slow
def test_a_killed_run_on_a_full_disk(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "full"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=False).returncode:
        pytest.skip("this system lets no test mount a disk")
    try:
        kill_after_one_more(folder)
        shutil.copytree(folder, place / "run", ignore=shutil.ignore_patterns("*-shm"))
        with pytest.raises(OSError, match="No space"):
            (place / "filler").write_bytes(bytes(1 << 20))
        assert sorted(row.reply.text for row in replies(place / "run")) == ["after", *["nine"] * 6]
        assert status(place / "run").finished == 7
        (place / "run" / f"{FILE}-wal").unlink()  # as where the disk was full before the first reply
        assert len(list(replies(place / "run"))) == 6
    finally:
        subprocess.run(["umount", place], check=True)


# What somebody sees who is not the owner: in a process of its own, because it cannot become root again.
LOOK = """
import json, os, sys
from pathlib import Path
os.environ["HOME"] = "/"
folder = Path(sys.argv[1])
import fathom.run
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
assert not os.access(folder, os.W_OK)
texts = [row.reply.text for row in fathom.run.replies(folder)]
print(json.dumps([texts, fathom.run.status(folder).finished]))
"""


@pytest.fixture
def foreign(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A place for folders that may be read and not written; Python's own temporary folders are for their owner."""
    import tempfile

    place = Path(tempfile.mkdtemp(prefix="fathom-test-"))
    place.chmod(0o755)
    yield place
    for one in (place, *place.rglob("*")):
        one.chmod(0o755)
    shutil.rmtree(place)


def look(folder: Path) -> tuple[list[str], int]:
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    looking = start_program(LOOK, folder, str(SOMEBODY), stdout=subprocess.PIPE)
    printed, said = looking.communicate()
    assert looking.returncode == 0, said
    texts, finished = json.loads(printed)
    return texts, finished


@pytest.mark.slow
def test_somebody_who_may_only_read(folder: Path, foreign: Path) -> None:
    shutil.copytree(folder, foreign / "run")
    assert look(foreign / "run") == (["nine"] * 6, 6)


@pytest.mark.slow
def test_somebody_who_may_only_read_what_a_killed_run_left(folder: Path, foreign: Path) -> None:
    kill_after_one_more(folder)
    shutil.copytree(folder, foreign / "run")
    texts, finished = look(foreign / "run")
    assert (sorted(texts), finished) == (["after", *["nine"] * 6], 7)
    (foreign / "run").chmod(0o755)
    (foreign / "run" / f"{FILE}-shm").unlink()  # as a copy may leave it out
    texts, finished = look(foreign / "run")
    assert (sorted(texts), finished) == (["after", *["nine"] * 6], 7)


def test_a_store_of_an_earlier_version_is_read_from_a_read_only_disk(folder: Path, read_only: Path) -> None:
    """It is in WAL mode, and without a log."""
    with closing(sqlite3.connect(folder / FILE)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("DELETE FROM claims")
    assert len(list(replies(read_only))) == 6


def test_the_last_of_several_processes_merges_the_log(folder: Path) -> None:
    first, second = (Ledger(folder, this_worker()) for _ in range(2))
    first.finish(sample(7), 1, Reply("ok", "first"), prompt_hash="", cost=None)
    first.close()
    assert (folder / f"{FILE}-wal").exists()  # the second still writes
    second.finish(sample(8), 1, Reply("ok", "second"), prompt_hash="", cost=None)
    second.close()
    assert sorted(path.name for path in folder.iterdir()) == [JUDGEMENTS, FILE, "run.json"]
    assert len(list(replies(folder))) == 8
