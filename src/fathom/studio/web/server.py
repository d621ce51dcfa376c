"""The server process of the studio."""

import logging
import threading
from contextlib import closing

from fathom.server.backup import serving
from fathom.server.listening import Service, address_of, listening, private_files, serve_app
from fathom.server.logs import set_up
from fathom.server.metrics import Metrics, exposed
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.uploads import remove_left
from fathom.studio.web.app import make_app
from fathom.studio.web.visit import Settings

log = logging.getLogger("fathom.studio")


def serve(store: str, settings: Settings, service: Service) -> None:
    """Serves a studio until interrupted.

    Args:
        store: A folder (SQLite) or the URL of a PostgreSQL database.
        settings: Title, tasks, limits.
        service: Where it listens, and how it is watched.

    Raises:
        FathomError: The store cannot be opened, or the port is taken.
    """
    set_up("fathom.studio", service.log_format)
    stopping, counted = threading.Event(), Metrics("studio")
    with (
        private_files(),
        listening(service.host, service.port) as listener,
        exposed(service.metrics, counted.registry) as exposed_at,
        closing(Store(store)) as opened,
        serving(store),
    ):
        remove_left()
        app = make_app(opened, People(opened), settings, counted, proxied=bool(service.proxies))
        if exposed_at:
            log.info("metrics are at %s", exposed_at)
        if service.ready:
            service.ready(address_of(service.host, listener))
        serve_app(app, listener, stopping, settings, service.proxies)
