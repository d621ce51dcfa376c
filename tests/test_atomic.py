from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from fathom.storage.atomic import whole_file
from fathom.types import FathomError


def test_a_block_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write_half() -> None:
        with whole_file(path) as stream:
            stream.write("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with whole_file(path) as stream:
        stream.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with whole_file(pipe) as stream:
        stream.write("through the pipe")
    reader.join()
    assert read == ["through the pipe"]
    assert pipe.is_fifo()


def test_a_full_device_and_an_impossible_place_are_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FathomError, match="cannot be written"), whole_file(tmp_path / "file" / "below") as stream:
        stream.write("x")
    if Path("/dev/full").is_char_device():
        with pytest.raises(FathomError, match="cannot be written"), whole_file(Path("/dev/full")) as stream:
            stream.write("x")
        assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("before", ["mkdir", "mkstemp"])
def test_a_folder_that_another_process_removes_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    folder, removed = tmp_path / "folder", 0
    is_dir, mkstemp = Path.is_dir, tempfile.mkstemp

    def remove() -> None:
        nonlocal removed
        removed += 1
        if removed < 4:
            folder.rmdir()

    def looked_at(path: Path) -> bool:
        """``mkdir`` asks this of a folder that exists."""
        if path == folder and before == "mkdir":
            remove()
        return is_dir(path)

    def made(**options: Any) -> tuple[int, str]:
        if before == "mkstemp":
            remove()
        return mkstemp(**options)

    folder.mkdir()
    monkeypatch.setattr(Path, "is_dir", looked_at)
    monkeypatch.setattr(tempfile, "mkstemp", made)
    with whole_file(folder / "file") as stream:
        stream.write("kept")
    assert removed
    assert (folder / "file").read_text() == "kept"
