"""A real PostgreSQL on the loopback, in a folder of its own, for as long as a test session needs it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NoPostgresError(Exception):
    """There is none on this machine, or it cannot be started; the message says why."""


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server, and give the URL of its database ``postgres``, without the scheme's driver.

    Raises:
        NoPostgresError: See there.
    """
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = str(binaries[-1]) if binaries else shutil.which("initdb")
    if found is None:
        raise NoPostgresError("there is no PostgreSQL on this machine (Debian: apt-get install postgresql)")
    bin_folder, port = Path(found).parent, _free_port()
    # Not pytest's folder: only its owner may enter that, and PostgreSQL refuses to run as root.
    # Where the tests keep their files in memory, as conftest.py decides, each database is made in a fifth of the time.
    memory = "/dev/shm" if os.environ.get("PYTEST_DEBUG_TEMPROOT") == "/dev/shm" else None
    folder = Path(tempfile.mkdtemp(prefix="fathom-pg-", dir=memory))
    as_user = _unprivileged(folder)
    control = [*as_user, str(bin_folder / "pg_ctl"), "-D", str(folder / "data"), "-w", "-t", "60"]
    try:
        # Sorted as in a language, which is how most databases are made; what relies on the order of bytes would fail.
        locale = ["--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8"]
        access = ["-U", "board", "-A", "trust", "-E", "UTF8", "--no-sync"]
        _do([*as_user, found, "-D", str(folder / "data"), *access, *locale])
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c max_connections=60 -k {folder}"
        _do([*control, "-l", str(folder / "log"), "-o", options, "start"])
        try:
            yield f"postgresql://board@127.0.0.1:{port}/postgres"
        finally:
            _do([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged(folder: Path) -> list[str]:
    """What to put before a command so that it does not run as root."""
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        raise NoPostgresError("PostgreSQL does not run as root, and there is no setpriv to run it as somebody else")
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = known.get("postgres") or known.get("nobody")
    if user is None:
        raise NoPostgresError("PostgreSQL does not run as root, and there is no user postgres or nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _do(command: list[str]) -> None:
    # The server keeps what it inherits: its output goes to its log, not into a pipe that would never end.
    with tempfile.TemporaryFile() as said:
        end = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/", check=False)
        if end.returncode:
            said.seek(0)
            raise NoPostgresError(f"{Path(command[-1]).name}: {said.read().decode('utf-8', 'replace').strip()[-500:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
