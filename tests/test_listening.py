"""The socket of a server."""

from __future__ import annotations

import socket

from fathom.server.listening import listening


def test_responses_do_not_wait_for_acknowledgements() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
