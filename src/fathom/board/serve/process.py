"""Work in a separate process, which may fail, run out of memory or hang without harm to the server."""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

_LOOK = 0.05
_SAID = 1 << 20
"""Maximum output of a process that is read, in bytes."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended.

    Attributes:
        code: Exit status; None if it exceeded its time.
        out: Its standard output.
        err: Its standard error.
    """

    code: int | None
    out: str
    err: str


def run_process(
    command: Sequence[str], seconds: float, stopping: threading.Event | None = None, umask: int = -1
) -> ProcessResult:
    """Runs a command until it ends or exceeds its time.

    Args:
        command: Program and arguments.
        stopping: Ends it early when it is set.
        umask: Permissions to remove from its files; -1 for those of this process.
    """
    until = time.monotonic() + seconds
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=_environment(), umask=umask
        ) as process:
            try:
                while process.poll() is None and time.monotonic() < until and not (stopping and stopping.is_set()):
                    time.sleep(_LOOK)
                late = process.poll() is None
            finally:
                if process.poll() is None:
                    process.kill()
        outputs = []
        for stream in (out, err):
            stream.seek(0)
            outputs.append(stream.read(_SAID).decode("utf-8", "replace"))
    return ProcessResult(None if late else process.returncode, *outputs)


def _environment() -> dict[str, str]:
    """The environment without the store's settings, and with few threads, because processes share the machine."""
    few = {"POLARS_MAX_THREADS": "2", "LOKY_MAX_CPU_COUNT": "1"}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | few
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "FATHOM_BOARD_"))}
    return {**kept, **threads}
