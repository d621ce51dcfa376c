"""Limits of the leaderboard server."""

from dataclasses import dataclass

from fathom.server.limits import ConnectionLimits


@dataclass(frozen=True, slots=True)
class Limits(ConnectionLimits):
    """Limits of the server.

    Attributes:
        bundle_bytes: Of one bundle.
        upload_seconds: For receiving one bundle.
        check_seconds: For the check of one bundle.
        checks: Checks at once; others wait.
        per_hour: Bundles that one person may send in an hour.
        waiting: Pending submissions of one person.
        under_way: Bundles of one person that are being received, waiting for their check, or being checked.
        idle_seconds: Between two pieces of a body.
    """

    bundle_bytes: int = 64 << 20
    upload_seconds: float = 600
    check_seconds: float = 600
    checks: int = 2
    per_hour: int = 60
    waiting: int = 100
    under_way: int = 4
    idle_seconds: float = 30
