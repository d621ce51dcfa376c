"""Folders that replace another one only when complete."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom.types import FathomError


@contextmanager
def fresh_folder(out: Path) -> Iterator[Path]:
    """A temporary folder that replaces ``out`` on success and is deleted on failure.

    Raises:
        FathomError: The disk is full or the folder cannot be written.
    """
    folder = out.parent / f".{out.name}.{os.getpid()}.part"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _sweep(out)
        folder.mkdir()
        yield folder
        if out.exists():
            old = out.parent / f".{out.name}.{os.getpid()}.old"
            out.rename(old)
            folder.rename(out)
            shutil.rmtree(old, ignore_errors=True)
        else:
            folder.rename(out)
    except OSError as error:
        raise FathomError(f"{out}: cannot be written ({error.strerror or error}); nothing was changed") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(out: Path) -> None:
    """Clean up after builds that were killed."""
    for left in [*out.parent.glob(f".{out.name}.*.part"), *out.parent.glob(f".{out.name}.*.old")]:
        owner = left.suffixes[-2].removeprefix(".") if len(left.suffixes) > 1 else ""
        if not owner.isdigit() or _lives(int(owner)):
            continue
        if left.suffix == ".old" and not out.exists():  # killed between the two renames of a replacement
            left.rename(out)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
