"""What a disk, a name, an address or a bug comes to on the command line: one line, and no traceback."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from command_line import Call
from fathom.cli.failures import BUG, explain

WORLD = ("--corpus", "world", "--tokenizer", "words", "--quiet")
SMALL = ("--items", "3", "--lengths", "512,1k", *WORLD)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "full", "/a/b"), "/a/b: No space left on device; free some space"),
        (OSError(errno.ENOSPC, "full"), "standard output or a file cannot be written: No space left"),
        (OSError(errno.EROFS, "ro", "/a"), "/a: Read-only file system; the disk is read-only; give a place"),
        (OSError(errno.EACCES, "no", "/a"), "/a: Permission denied; check the permissions"),
        (OSError(errno.ENAMETOOLONG, "long", "a" * 5000), "File name too long; give a shorter name"),
        (OSError(errno.EMFILE, "many"), "Too many open files"),
        (OSError("Error writing bytes. Detail: [errno 28] No space left on device"), "No space left on device"),
        (pl.exceptions.ComputeError("IO error: No space left on device (os error 28)"), "No space left on device"),
        (sqlite3.OperationalError("database or disk is full"), "a database cannot be used: database or disk is full"),
        (ValueError("embedded null byte"), "holds a NUL character"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_failures_of_the_machine_are_explained(error: Exception, words: str) -> None:
    told = explain(error)
    assert told is not None
    assert words in told
    assert len(told) < 400


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyError("x"), OSError("x"), pl.exceptions.ComputeError("x"), RecursionError()]
)
def test_anything_else_is_a_bug(error: Exception) -> None:
    assert explain(error) is None


def test_a_bug_is_one_line_and_a_traceback_where_it_is_wanted(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(folder: Path) -> None:
        raise LookupError(f"nobody foresaw this; the key is {os.environ['SOME_API_KEY']}")

    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789")
    monkeypatch.setattr("fathom.run.status", break_down)
    code, out, err = call("status", "run")
    assert (code, out, err.count("\n")) == (BUG, "", 1)
    assert "this is a bug in fathom: LookupError: nobody foresaw this; the key is ***" in err
    assert "FATHOM_TRACEBACK=1" in err
    monkeypatch.setenv("FATHOM_TRACEBACK", "1")
    code, _, err = call("status", "run")
    assert code == BUG
    assert "Traceback (most recent call last)" in err
    assert "sk-0123456789" not in err


@pytest.mark.parametrize("address", ["http://127.0.0.1:99999", "http://[::1", "localhost:8000", "", "http://:8/v1"])
def test_addresses_that_are_none(call: Call, address: str) -> None:
    assert call("build", "passkey", "--out", "suite", *SMALL)[0] == 0
    assert call("run", "suite", "--model", "fathom/lexical", "--out", "run", "--quiet")[0] == 0
    Path("texts.jsonl").write_text('{"item": "a", "text": "b"}\n')
    run = ("run", "suite", "--model", "openai/m", "--yes", "--quiet")
    for words in (
        (*run, "--model-base-url", address),
        (*run, "--judge", "openai/j", "--judge-base-url", address),
        (*run, "--chat-template", "never", "--model-base-url", address),
        ("judge", "run", "--judge", "openai/j", "--judge-base-url", address),
        ("judge", "run", "--judge", "embed/j", "--judge-base-url", address),
        ("likelihood", "suite", "--model", "openai/m", "--model-base-url", address),
        ("compress", "embed", "texts.jsonl", "--out", "v.npz", "--model", "openai/m", "--model-base-url", address),
        ("board", "token", "ann", "--store", f"postgresql+psycopg://{address}"),
    ):
        code, _, err = call(*words)
        assert code == 2, (words, err)
        assert err.startswith("fathom: ")
        assert "bug" not in err
        if "likelihood" not in words and "board" not in words:
            assert f"--{'judge' if any('judge' in word for word in words) else 'model'}-base-url" in err, (words, err)


@pytest.mark.parametrize("name", ["a" * 300, "a\x00b", "file/deeper", "a/" * 3000], ids=["long", "nul", "file", "deep"])
def test_names_that_no_file_can_have(call: Call, name: str) -> None:
    Path("file").touch()
    assert call("build", "passkey", "--out", "suite", *SMALL)[0] == 0
    for words in (
        ("build", "passkey", *SMALL, "--out", name),
        ("build", "passkey", *WORLD[2:], "--corpus", name, "--out", "other"),
        ("show", name),
        ("export", "suite", "--out", name),
        ("run", "suite", "--model", "fathom/lexical", "--out", name),
        ("run", "suite", "--model", "fathom/lexical", "--subset", name),
        ("status", name),
        ("rows", name),
        ("report", name),
        ("score", name, "--check"),
        ("analyze", "longscore", name),
        ("compress", "select", name, "--budget", "2", "--out", "subset.json"),
        ("board", "bundle", name, "--out", "b.zip"),
        ("board", "check", name),
        ("board", "diff", name, name),
    ):
        code, out, err = call(*words)
        assert code in (1, 2), (words, err)
        assert out or err
        assert "Traceback" not in err


# ------------------------------------------------------------------------------------------------------- full disks


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A disk with very little room."""
    place = tmp_path / "full"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], check=False).returncode:
        pytest.skip("this system lets no test mount a disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.slow
def test_a_full_disk(call: Call, full: Path) -> None:
    """Whatever writes says that the disk is full, and leaves nothing half written."""
    assert call("build", "passkey,kv_retrieval", "--out", "suite", *SMALL)[0] == 0
    assert call("run", "suite", "--model", "fathom/lexical", "--out", "run", "--quiet")[0] == 0
    Path("matrix.csv").write_text("item,a,b,c\n" + "".join(f"i{n},0.{n % 10},0.5,1\n" for n in range(40)))
    small = ("board", "build", "--board", "ada", "--no-examples", "--quiet")
    for room in (0, 8192):
        for words, name in (
            (("build", "passkey", *SMALL), "suite"),
            (("run", "suite", "--model", "fathom/lexical", "--quiet"), "run"),
            (("rows", "run"), "rows.parquet"),
            (("rows", "run"), "rows.csv"),
            (("rows", "run"), "rows.jsonl"),
            (("report", "run", "--quiet"), "page.html"),
            (("plot", "curve", "run"), "curve.png"),
            (("export", "suite"), "exported"),
            (("compress", "select", "matrix.csv", "--budget", "4"), "subset.json"),
            (("board", "bundle", "run"), "bundle.zip"),
            (small, "site"),
        ):
            fill = full / "fill"
            free = os.statvfs(full)
            fill.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
            code, _, err = call(*words, "--out", full / name)
            if code != 0 or room == 0:
                assert code == 2, (words, err)
                assert "full" in err.lower() or "no space left" in err.lower(), (words, err)
                assert str(full) in err, (words, err)
            assert [one.name for one in full.iterdir() if one.name.startswith(".")] == [], words
            subprocess.run(["find", full, "-mindepth", "1", "-delete"], check=True)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_a_file_that_may_not_grow(call: Call, ending: str) -> None:
    """A limit on the size of files stands for the full disk where nothing can be mounted."""
    assert call("build", "passkey", "--out", "suite", *SMALL)[0] == 0
    assert call("run", "suite", "--model", "fathom/lexical", "--out", "run", "--quiet")[0] == 0
    Path(f"rows.{ending}").write_text("as it was")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        code, _, err = call("rows", "run", "--out", f"rows.{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (code, err.count("\n")) == (2, 1)
    assert f"rows.{ending}: cannot be written" in err
    assert Path(f"rows.{ending}").read_text() == "as it was"
    assert not list(Path().glob(".rows*"))


@pytest.mark.slow
def test_paths_that_are_no_text(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from fathom.cli import main; main()", "status", os.fsdecode(b"\xff\xfe")]
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), done.stderr
