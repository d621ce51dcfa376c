"""Metrics of a server in the text format of Prometheus, at an address of their own.

Labels are routes, methods, statuses and states, of which there are few: no paths, names or addresses of people. Every
process counts its own requests. What is counted in the store is the same in all processes that share it.
"""

import platform
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fathom.server.database import Database
from fathom.server.listening import address_of, listening
from fathom.types import FathomError

Census: TypeAlias = Callable[[], Mapping[str, Mapping[str, int]]]
"""Counts what a store has, as ``{"submissions": {"pending": 3}}``; raises FathomError if the store does not answer."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600)
"""Bounds of durations: from a page to the check of a large bundle."""
NO_ROUTE = "none"
_CLIENT_SECONDS = 10


class Metrics:
    """Metrics of one server.

    Args:
        server: ``board`` or ``studio``.

    Attributes:
        running: Requests in progress.
    """

    def __init__(self, server: str) -> None:
        from fathom.storage.versions import fathom_version

        self.server, self.registry = server, CollectorRegistry()
        ProcessCollector(registry=self.registry)
        labels = {"server": server, "version": fathom_version(), "python": platform.python_version()}
        build = Gauge("fathom_build_info", "The version that runs.", list(labels), registry=self.registry)
        build.labels(**labels).set(1)
        self.running = Gauge("fathom_http_requests_running", "Requests in progress.", registry=self.registry)
        self._requests = Counter(
            "fathom_http_requests",
            "Requests; status 0: the client disconnected before the response.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "fathom_http_request_seconds",
            "Duration of requests, from their headers to the end of the response.",
            ["method", "route"],
            buckets=SECONDS,
            registry=self.registry,
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request.

        Args:
            method: Its method; unknown ones are counted as ``other``.
            route: Template of its path; "" if it had none.
            status: Status of the response; 0 if the client disconnected before.
        """
        method, route = method if method in METHODS else "other", route or NO_ROUTE
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def watch(self, store: Database, folders: Mapping[str, Path], census: Census) -> None:
        """Adds what is read when metrics are asked for.

        Args:
            folders: Folders in which the server writes, by name.
            census: Counts what the store has.
        """
        self.registry.register(_Stored(self.server, store, folders, census))


class _Stored(Collector):
    """What is read when metrics are asked for: the store, its connections, and free space."""

    def __init__(self, server: str, store: Database, folders: Mapping[str, Path], census: Census) -> None:
        self._server, self._store, self._folders, self._census = server, store, dict(folders), census

    def describe(self) -> list[Metric]:
        """Nothing: registering must not ask the store."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The present values; of a store that does not answer only that it does not."""
        try:
            counts = self._census()
        except FathomError:
            counts = {}
        yield GaugeMetricFamily("fathom_store_up", "Whether the store answers.", value=float(bool(counts)))
        for what, states in counts.items():
            family = GaugeMetricFamily(
                f"fathom_{self._server}_{what}", f"The {what} in the store by state.", labels=["state"]
            )
            for state, number in states.items():
                family.add_metric([state], number)
            yield family
        pool = self._store.pool()
        family = GaugeMetricFamily("fathom_store_connections", "Connections of this process.", labels=["state"])
        for state, number in pool.items():
            family.add_metric([state], number)
        yield family
        free = GaugeMetricFamily("fathom_disk_free_bytes", "Free space for this server's user.", labels=["folder"])
        for name, folder in self._folders.items():
            try:
                free.add_metric([name], shutil.disk_usage(folder).free)
            except OSError:
                continue
        yield free


def parts_of(address: str) -> tuple[str, int]:
    """Host and port of an address such as ``127.0.0.1:9100`` or ``[::1]:9100``.

    Raises:
        FathomError: It is none.
    """
    host, _, port = address.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise FathomError(f"`metrics` {address}: expected ADDRESS:PORT, such as 127.0.0.1:9100")
    return host, int(port)


@contextmanager
def exposed(address: str, registry: CollectorRegistry) -> Iterator[str]:
    """Serves metrics within this context, and gives their URL; "" if the address is "".

    Args:
        address: ``ADDRESS:PORT``. Whoever can reach it can read the metrics.

    Raises:
        FathomError: The address is invalid, does not belong to this machine, or its port is taken.
    """
    if not address:
        yield ""
        return

    class Answer(BaseHTTPRequestHandler):
        timeout = _CLIENT_SECONDS

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            encode, kind = choose_encoder(self.headers.get("Accept", ""))
            body = encode(registry)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: Any) -> None:
            """Nothing: it is asked every few seconds."""

    host, port = parts_of(address)
    with listening(host, port) as listener:
        server = ThreadingHTTPServer((host, port), Answer, bind_and_activate=False)
        server.socket.close()
        server.socket = listener
        threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
        try:
            yield f"{address_of(host, listener)}metrics"
        finally:
            server.shutdown()
