"""A leaderboard of tests at a port of its own, whose arguments are PORT STORE OUT."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import closing
from pathlib import Path

from loopback_board import GOOD, list_bundles, read_word


def main(port: int, place: str, out: Path) -> None:
    """Serve until SIGTERM; a check takes a tenth of a second."""
    from fathom.board.serve.app import make_app
    from fathom.board.serve.checking import CheckResult
    from fathom.board.serve.publishing import Publisher
    from fathom.board.serve.store import Store
    from fathom.server.backup import serving
    from fathom.server.listening import listening, serve_app

    def check(path: Path) -> CheckResult:
        time.sleep(0.1)
        return read_word(path)

    stopping = threading.Event()
    with listening("127.0.0.1", port) as listener, closing(Store(place)) as store, serving(place):
        publisher = Publisher(store, out, list_bundles, stopping, look=0.5)
        serve_app(make_app(store, publisher, check, GOOD, proxied=True), listener, stopping, GOOD, ("127.0.0.1",))


def start() -> None:
    """Serve with the arguments of the program."""
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
