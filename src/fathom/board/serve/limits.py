"""Limits of the leaderboard server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the server.

    Attributes:
        bundle_bytes: Of one bundle.
        upload_seconds: For receiving one bundle.
        check_seconds: For the check of one bundle.
        checks: Checks at once; others wait.
        per_hour: Bundles that one person may send in an hour.
        waiting: Pending submissions of one person.
        under_way: Bundles of one person that are being received, waiting for their check, or being checked.
        connections: Open at once.
        per_address: Connections, and running requests, of one address; 0 for no limit.
        header_seconds: For all headers of a request.
        idle_seconds: Between two pieces of a body.
        write_seconds: For a client that does not read.
    """

    bundle_bytes: int = 64 << 20
    upload_seconds: float = 600
    check_seconds: float = 600
    checks: int = 2
    per_hour: int = 60
    waiting: int = 100
    under_way: int = 4
    connections: int = 512
    per_address: int = 64
    header_seconds: float = 10
    idle_seconds: float = 30
    write_seconds: float = 60
