"""Child processes of tests, all of which end with their test, and waits for what they do.

Nothing here has a time limit: under load everything takes longer. The limit of every test (``timeout`` in
pyproject.toml) ends a wait for what never happens.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

_started: list[subprocess.Popen[bytes]] = []


def start_program(
    program: str, *words: str | Path, stderr: int | None = subprocess.PIPE, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A Python program as a process of its own; it is killed when the test ends, if it still runs then.

    Args:
        program: The source.
        words: What follows in ``sys.argv``.
        stderr: Where its standard error goes; by default to a pipe.
        env: Its environment; by default that of this process.
    """
    command = [sys.executable, "-c", program, *map(str, words)]
    _started.append(subprocess.Popen(command, stderr=stderr, env=env))
    return _started[-1]


def end_all() -> None:
    """Kill all that were started and still run."""
    while _started:
        process = _started.pop()
        process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()


def until(condition: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until something holds; where a process is to bring it about, it must not end before."""
    while not condition():
        assert process is None or process.poll() is None, process.stderr.read() if process.stderr else ""
        time.sleep(0.005)
