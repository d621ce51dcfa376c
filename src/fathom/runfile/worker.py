"""Identifies a process working on a run and checks whether it is still alive."""

import os
import socket
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

# A process on another machine cannot be looked up: it counts as dead after this silence.
SILENCE_SECONDS = 180.0
BEAT_SECONDS = 20.0

# Active workers of this process: one whose retirement could not be stored must not seem alive.
_at_work: set[str] = set()


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that works on a run.

    Attributes:
        id: Unique name.
        pid: Process number; 0 once it has left.
        host: Machine and container in which the number holds.
        born: Start of the process as the system counts it, so that a reused number is not taken for it; "" if unknown.
        started: Seconds since the epoch at which it joined the run.
    """

    id: str
    pid: int
    host: str
    born: str
    started: float


def this_worker() -> Worker:
    """A new worker for this process, alive until it retires."""
    pid = os.getpid()
    worker = Worker(uuid.uuid4().hex[:12], pid, _host(), _born(pid), time.time())
    _at_work.add(worker.id)
    return worker


def retire(worker: Worker) -> None:
    """Say that a worker of this process is done, whether or not that could be written into the store."""
    _at_work.discard(worker.id)


def is_alive(worker: Worker, beat: float, now: float) -> bool:
    """Whether a worker still lives.

    Args:
        beat: Its last sign of life, seconds since the epoch.
        now: The time now.

    Returns:
        On the same machine, whether its process runs; elsewhere, whether it beat in the last ``SILENCE_SECONDS``.
    """
    if worker.pid == 0:
        return False
    if worker.host != _host():
        return now - beat < SILENCE_SECONDS
    if worker.pid == os.getpid():
        return worker.id in _at_work
    try:
        os.kill(worker.pid, 0)
    except (ProcessLookupError, OverflowError):  # or a number that no process can have
        return False
    except PermissionError:
        pass
    return worker.born == _born(worker.pid)


def _host() -> str:
    """Where process numbers hold: the machine since it started, and on it the container.

    Containers on one machine share its boot, and may share their host's name, but never a space of process numbers.
    """
    boot, numbers = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    started = boot.read_text().strip()[:8] if boot.exists() else ""
    return f"{socket.gethostname()}/{started}/{numbers.readlink().name if numbers.is_symlink() else ''}"


def _born(pid: int) -> str:
    try:
        # Fields 3 and 22 of proc(5)'s stat; the name in field 2 may hold spaces and brackets.
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if state == "Z" else fields[18]  # a zombie works no more
    except (OSError, IndexError):
        return ""
