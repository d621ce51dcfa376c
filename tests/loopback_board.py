"""A server of a leaderboard for tests: a check that reads a word, a site that lists its bundles.

python tests/loopback_board.py ORDER    # serves it as a process of its own, which tests may kill; ORDER is JSON
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
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
    order = json.dumps(asked | {"files": files})
    with (log or Path(os.devnull)).open("ab") as stream:
        process = subprocess.Popen(
            [sys.executable, __file__, order],
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            cwd=Path(__file__).parent,
        )
        with process:
            try:
                assert process.stdout is not None
                address = process.stdout.readline().strip()
                assert address, "the server did not start"
                # It listens already, and answers once it has begun.
                until(lambda: get(f"{address}healthz").status_code == 200)
                yield address, process
            finally:
                process.kill()


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
        publisher = Publisher(store, Path(order["out"]), list_bundles, stopping, look=0.5)
        app = make_app(store, publisher, check, limits, proxied=bool(order["proxies"]))
        print(address_of("127.0.0.1", listener), flush=True)
        serve_app(app, listener, stopping, limits, order["proxies"])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
