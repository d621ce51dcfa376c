"""The server process of the studio."""

import logging
import threading
from collections.abc import Callable, Collection
from contextlib import closing

from fathom.server.backup import serving
from fathom.server.listening import address_of, listening, private_files, serve_app
from fathom.server.logs import LogFormat, set_up
from fathom.server.metrics import Metrics, exposed
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.uploads import remove_left
from fathom.studio.web.app import make_app
from fathom.studio.web.settings import Settings

log = logging.getLogger("fathom.studio")


def serve(
    store: str,
    settings: Settings,
    *,
    host: str,
    port: int,
    proxies: Collection[str] = (),
    metrics: str = "",
    log_format: LogFormat = "text",
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serves a studio until interrupted.

    Args:
        store: A folder (SQLite) or the URL of a PostgreSQL database.
        settings: Title, tasks, limits.
        host: Address to listen on.
        port: Port; 0 for a free one.
        proxies: Addresses of trusted reverse proxies.
        metrics: Address and port of the metrics; "" for none.
        log_format: Format of the logs.
        ready: Called with the address when the server listens.

    Raises:
        FathomError: The store cannot be opened, or the port is taken.
    """
    set_up("fathom.studio", log_format)
    stopping, counted = threading.Event(), Metrics("studio")
    with (
        private_files(),
        listening(host, port) as listener,
        exposed(metrics, counted.registry) as exposed_at,
        closing(Store(store)) as opened,
        serving(store),
    ):
        remove_left()
        app = make_app(opened, People(opened), settings, counted, proxied=bool(proxies))
        if exposed_at:
            log.info("metrics are at %s", exposed_at)
        if ready:
            ready(address_of(host, listener))
        serve_app(app, listener, stopping, settings, proxies)
