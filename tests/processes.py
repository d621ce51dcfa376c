"""Child processes of tests, all of which end with their test, and waits for what they do.

Nothing here has a time limit: under load everything takes longer. The limit of every test (``timeout`` in
pyproject.toml) ends a wait for what never happens.

To load fathom and the libraries of models takes longer than most of what these processes do: each is the fork of one
that has loaded them (the starter), and runs its program as ``python -c`` does.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

MAIN = "from fathom.cli import main; main()"
"""The program of the command ``fathom``."""
LOADED = (
    "fathom.api",
    "fathom.board.build",
    "fathom.board.serve.app",
    "fathom.cli.app",
    "fathom.compress",
    "fathom.convert",
    "fathom.report",
    "fathom.rows",
    "fathom.run",
    "fathom.run.batches.open",
    "fathom.studio.web.app",
    "fathom.suites.build",
    "inspect_ai.model",
    "inspect_ai.model._providers.openai",
    "openai",
)


STARTER = "FATHOM_TESTS_STARTER"
"""Names the starter, an inherited file, in the environment of a program that may use that of the tests meanwhile."""


class Program:
    """A Python program that runs as a process of its own, with what ``subprocess.Popen`` has.

    Attributes:
        pid: Its number.
        stdin: What it reads, where that is a pipe.
        stdout: What it prints, where that is a pipe.
        stderr: What it says, where that is a pipe.
        returncode: Its exit code, or the negative number of the signal that ended it; None as long as it may run.
    """

    def __init__(self, pid: int, ended: int, *pipes: BinaryIO | None) -> None:
        self.pid, (self.stdin, self.stdout, self.stderr) = pid, pipes
        self.returncode: int | None = None
        self._ended = ended

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended.

        Args:
            timeout: For so many seconds; as long as it takes by default.

        Raises:
            subprocess.TimeoutExpired: It still runs.
        """
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("program", timeout or 0.0)
            self.returncode = int(os.read(self._ended, 20))
            os.close(self._ended)
        return self.returncode

    def communicate(self) -> tuple[bytes, bytes]:
        """Wait until it has ended; the little that it printed, and that it said on its standard error."""
        printed, said = (pipe.read() if pipe else b"" for pipe in (self.stdout, self.stderr))
        self.wait()
        return printed, said

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


_started: list[Program] = []


def start_program(
    program: str,
    *words: str | Path,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = subprocess.PIPE,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Program:
    """A Python program as a process of its own; it is killed when the test ends, if it still runs then.

    Args:
        program: The source.
        words: What follows in ``sys.argv``.
        stdin: ``subprocess.PIPE`` for a pipe; by default there is nothing to read.
        stdout: Where its standard output goes, as for ``subprocess``; by default to that of the tests.
        stderr: Where its standard error goes, as for ``subprocess``; by default to a pipe.
        env: Its environment; by default that of this process.
        cwd: Its working folder; by default that of this process.
    """
    order = {
        "program": program,
        "words": ["-c", *map(str, words)],
        "cwd": str(cwd or Path.cwd()),
        "env": dict(os.environ if env is None else env),
    }
    data = json.dumps(order).encode()
    ended, ends = os.pipe()
    nothing, fed = os.pipe() if stdin == subprocess.PIPE else (os.open(os.devnull, os.O_RDONLY), None)
    (printed, out), (said, errors) = _ends(stdout, 1), _ends(stderr, 2)
    starter = _starter()
    socket.send_fds(starter, [len(data).to_bytes(8)], [nothing, out, errors, ends])
    starter.sendall(data)
    for number in {nothing, ends, *([out] if printed else ()), *([errors] if said else ())}:
        os.close(number)
    pid = int.from_bytes(starter.recv(8, socket.MSG_WAITALL))
    _started.append(Program(pid, ended, None if fed is None else os.fdopen(fed, "wb"), printed, said))
    return _started[-1]


def _ends(where: int | None, usual: int) -> tuple[BinaryIO | None, int]:
    """The end of a pipe that is read, if it is to be one, and the file to write to."""
    if where != subprocess.PIPE:
        return None, usual if where is None else where
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), writing


def end_all() -> None:
    """Kill all that were started and still run."""
    while _started:
        process = _started.pop()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()


def until(condition: Callable[[], bool], process: Program | subprocess.Popen[bytes] | None = None) -> None:
    """Wait until something holds; where a process is to bring it about, it must not end before."""
    while not condition():
        assert process is None or process.poll() is None, process.stderr.read() if process.stderr else ""
        time.sleep(0.005)


def lent() -> int:
    """The starter's file, for a program that inherits it as ``STARTER`` and that this process waits for."""
    return _starter().fileno()


@cache
def _starter() -> socket.socket:
    """The end of the starter for orders; the starter ends when it is closed."""
    if STARTER in os.environ:
        return socket.socket(fileno=int(os.environ[STARTER]))
    ours, its = socket.socketpair()
    code = "import sys; sys.path.insert(0, sys.argv[1]); import processes; exec(processes.next_order(int(sys.argv[2])))"
    words = [sys.executable, "-W", "ignore", "-c", code, str(Path(__file__).parent), str(its.fileno())]
    process = subprocess.Popen(words, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, start_new_session=True)
    its.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def next_order(number: int) -> str:
    """In the starter: fork for each order; in the fork: its program.

    Args:
        number: The socket of orders.
    """
    import gc
    import importlib

    for name in LOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    orders, ends = socket.socket(fileno=number), dict[int, int]()

    def ended(*_: object) -> None:
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                end = ends.pop(found[0])
                with suppress(BrokenPipeError):  # nobody waits any more
                    os.write(end, str(os.waitstatus_to_exitcode(found[1])).encode())
                os.close(end)

    signal.signal(signal.SIGCHLD, ended)
    while True:
        size, files, *_ = socket.recv_fds(orders, 8, 4)
        if not size:
            return ""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        order = json.loads(orders.recv(int.from_bytes(size), socket.MSG_WAITALL))
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            for place, file in enumerate(files[:3]):
                os.dup2(file, place)
            for file in (*files, *ends.values(), number):
                os.close(file)
            # Those of the starter know of other files: whether these can be sought, for instance.
            sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
            orders.detach()
            os.chdir(order["cwd"])
            os.environ.clear()
            os.environ.update(order["env"])
            folders = order["env"].get("PYTHONPATH", "").split(os.pathsep)
            sys.path[:0] = [folder for folder in folders if folder and folder not in sys.path]
            sys.argv = order["words"]
            return str(order["program"])
        ends[pid] = files[3]
        for file in files[:3]:
            os.close(file)
        orders.sendall(pid.to_bytes(8))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
