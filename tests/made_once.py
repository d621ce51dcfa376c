"""What takes long to make is made once for all workers of a run of the tests, which only read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, worker_id: str, name: str, make: Callable[[Path], object]) -> Path:
    """A folder of this name, made by the first worker that needs it; the others wait.

    Args:
        factory: The temporary folders of this worker.
        worker_id: Its name, as pytest-xdist gives it.
        name: Name of the folder, unique among all of these.
        make: Makes it. If it raises, the next worker tries again.
    """
    filelock = pytest.importorskip("filelock")
    shared = factory.mktemp(name) if worker_id == "master" else factory.getbasetemp().parent
    folder, ready = shared / name, shared / f"{name}.ready"
    with filelock.FileLock(shared / f"{name}.lock"):
        if not ready.exists():
            make(folder)
            ready.touch()
    return folder
