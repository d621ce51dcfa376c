"""Folders that replace another one only when complete."""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom.printing import printable
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


def check_contents(out: Path, names: Collection[str], what: str) -> bool:
    """Check that a folder is missing or empty, or that everything in it may be replaced.

    Args:
        what: What they are, for messages.

    Returns:
        Whether there is anything in it.

    Raises:
        FathomError: It cannot be read, is no folder, or contains something else.
    """
    try:
        present = sorted(entry.name for entry in out.iterdir()) if out.is_dir() else [out.name] * out.exists()
    except OSError as error:
        raise FathomError(f"{out}: cannot be read: {error.strerror or error}") from error
    if others := [name for name in present if name not in names or not out.is_dir()]:
        raise FathomError(f"{out} contains other files than {what} ({printable(others[0])}); choose another `out`")
    return bool(present)


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
