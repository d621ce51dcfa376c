"""A server of a leaderboard for tests: a check that reads a word, a site that lists its bundles.

python tests/loopback_board.py    # for each line of JSON, serves it as a process of its own, which tests may kill
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from fathom.board.serve.app import make_app
from fathom.board.serve.checking import CheckResult, Finding
from fathom.board.serve.limits import Limits
from fathom.board.serve.publishing import Publisher
from fathom.board.serve.store import Store
from fathom.types import FathomError
from processes import until

# A proxy of the machine must not stand between a test and its server.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

# Servers of tests have no certificate; to load those of the machine would take 30 ms in every request.
get, post = partial(httpx.get, verify=False, timeout=None), partial(httpx.post, verify=False, timeout=None)

GO = "go"
GOOD = Limits(bundle_bytes=3 << 20, per_hour=1000, waiting=1000, under_way=1000)


def read_word(path: Path) -> CheckResult:
    """The verdict on a made bundle: ``good NAME`` is taken in, ``lost`` is no fault of its own, others are refused."""
    word, _, name = path.read_bytes()[:200].decode("utf-8", "replace").partition(" ")
    if word == "lost":
        raise FathomError("/secret/place: the suite cannot be read")
    if word != "good":
        return CheckResult(findings=(Finding("refused", "form", "no zip archive"),), reasons=("no zip archive",))
    found = Finding("unverified", "source", f"that the replies come from {name[:40]}")
    return CheckResult(name.strip()[:80], "", "2026-01-31", ("mini",), (found,))


def list_bundles(bundles: Sequence[Path], out: Path) -> None:
    """A site that lists its bundles, once each has the content that its name says."""
    for path in bundles:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
    if any(b"unbuildable" in path.read_bytes()[:200] for path in bundles):
        raise FathomError("the bundle of somebody cannot be built")
    out.mkdir(parents=True)
    (out / "index.html").write_text("".join(f"<p>{path.stem}</p>" for path in bundles) or "<p>none</p>", "utf-8")
    (out / "site.css").write_text("p { margin: 0 }", "utf-8")
    (out / "data").mkdir()
    (out / "data" / "site.js").write_text("fathom.add('site', {});", "utf-8")


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs, as a process which is not a child of the tests.

    Attributes:
        pid: Its number.
    """

    pid: int

    def poll(self) -> int | None:
        """None as long as it runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> None:
        """Wait until it has ended."""
        until(lambda: self.poll() is not None)

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@cache
def _starter() -> subprocess.Popen[str]:
    """A process that has imported what a server needs, which takes longer than most tests; each server is its fork."""
    starter = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent
    )
    assert starter.stdin is not None
    atexit.register(starter.wait)
    atexit.register(starter.stdin.close)
    return starter


@contextmanager
def serving(
    store: str,
    out: Path,
    *,
    slow: float = 0.0,
    log: Path | None = None,
    limits: Mapping[str, float] = MappingProxyType({}),
    proxies: Sequence[str] = (),
    files: int = 0,
) -> Iterator[tuple[str, Any]]:
    """A server as a process of its own; gives its address and the process, which is killed at the end.

    Args:
        store: Its store.
        out: Its folder of sites.
        slow: Seconds that a check takes; one of a bundle named "held" takes until there is a file ``GO`` in ``out``.
        log: File for what it says.
        limits: Limits other than those of ``GOOD``.
        proxies: Addresses of web servers in front.
        files: The most files that it may open; 0 for as many as the test.
    """
    asked = {"store": store, "out": str(out), "slow": slow, "limits": dict(limits), "proxies": list(proxies)}
    asked |= {"files": files, "log": str(log or os.devnull), "environment": dict(os.environ)}
    starter = _starter()
    assert starter.stdin is not None
    assert starter.stdout is not None
    starter.stdin.write(f"{json.dumps(asked)}\n")
    starter.stdin.flush()
    process = Served(int(starter.stdout.readline()))
    try:
        address = starter.stdout.readline().strip()
        assert address, "the server did not start"
        # It listens already, and answers once it has begun.
        until(lambda: get(f"{address}healthz").status_code == 200)
        yield address, process
    finally:
        process.kill()
        process.wait()


def main(order: dict[str, Any]) -> None:
    """Serve with the functions of ``fathom.board.serve.server``, but for check and build."""
    from contextlib import closing

    from fathom.server.backup import serving as in_use
    from fathom.server.listening import address_of, listening, serve_app
    from fathom.server.logs import set_up

    stopping = threading.Event()

    if order["files"]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (order["files"], order["files"]))

    def check(path: Path) -> CheckResult:
        held = b"held" in path.read_bytes()[:200]
        while held and not (Path(order["out"]) / GO).exists():
            time.sleep(0.02)
        time.sleep(order["slow"])
        return read_word(path)

    limits = replace(GOOD, **order["limits"])
    place = order["store"]
    set_up("fathom.board")
    with listening("127.0.0.1", 0) as listener, closing(Store(place)) as store, in_use(place):
        publisher = Publisher(store, Path(order["out"]), list_bundles, stopping, look=0.1)
        app = make_app(store, publisher, check, limits, proxied=bool(order["proxies"]))
        print(address_of("127.0.0.1", listener), flush=True)
        os.dup2(2, 1)  # the next address there is that of the next server
        serve_app(app, listener, stopping, limits, order["proxies"])


def start_each() -> None:
    """A fork for each order on the standard input; it prints the number of its process, and then its address."""
    import fathom.server.backup
    import fathom.server.listening
    import fathom.server.logs  # noqa: F401

    def ended(*_: object) -> None:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    signal.signal(signal.SIGCHLD, ended)
    for line in sys.stdin:
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            order = json.loads(line)
            os.environ.clear()
            os.environ.update(order["environment"])
            for number, path, how in (
                (0, os.devnull, os.O_RDONLY),
                (2, order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT),
            ):
                os.dup2(os.open(path, how), number)
            print(os.getpid(), flush=True)
            try:
                main(order)
            finally:
                print(flush=True)  # where an address is waited for that does not come
            return


if __name__ == "__main__":
    start_each()
