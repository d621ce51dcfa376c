"""Backups of the leaderboard's store, whose bundles are all compared with their hashes."""

import hashlib
from dataclasses import dataclass

from sqlalchemy import Connection, select

from fathom.board.serve.schema import BOARD, pieces, submissions
from fathom.printing import readable
from fathom.server.backup import Kind
from fathom.types import FathomError


@readable
@dataclass(frozen=True, slots=True)
class BackupReport:
    """Content of a store or a backup.

    Attributes:
        submissions: Number of submissions.
        bundles: Number of them whose bytes are kept; all were compared with their hashes.
        size: Bytes of the backup.
    """

    submissions: int
    bundles: int
    size: int


def _check_bundles(connection: Connection, what: str) -> int:
    """Compares each bundle with its hash."""
    bundles = 0
    for id in connection.execute(select(submissions.c.id)).scalars().all():
        digest, kept = hashlib.sha256(), False
        query = select(pieces.c.content).where(pieces.c.submission == id).order_by(pieces.c.number)
        for content in connection.execute(query).scalars():
            digest.update(content)
            kept = True
        if kept and digest.hexdigest() != id:
            raise FathomError(f"{what}: damaged: bundle {id} was changed; use another backup")
        bundles += kept
    return bundles


KIND = Kind(BOARD, submissions, _check_bundles, BackupReport)
