"""The server process of the studio."""

import threading
from collections.abc import Callable, Collection
from contextlib import closing

from fathom.server.backup import serving
from fathom.server.listening import address_of, listening, private_files, serve_app
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.uploads import remove_left
from fathom.studio.web.app import make_app
from fathom.studio.web.settings import Settings


def serve(
    store: str,
    settings: Settings,
    *,
    host: str,
    port: int,
    proxies: Collection[str] = (),
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serves a studio until interrupted.

    Args:
        store: A folder (SQLite) or the URL of a PostgreSQL database.
        settings: Title, tasks, limits.
        host: Address to listen on.
        port: Port; 0 for a free one.
        proxies: Addresses of trusted reverse proxies.
        ready: Called with the address when the server listens.

    Raises:
        FathomError: The store cannot be opened, or the port is taken.
    """
    stopping = threading.Event()
    with private_files(), listening(host, port) as listener, closing(Store(store)) as opened, serving(store):
        remove_left()
        app = make_app(opened, People(opened), settings)
        if ready:
            ready(address_of(host, listener))
        serve_app(app, listener, stopping, settings, proxies, logger="fathom.studio")
