"""Backups of a studio, whose log and tables are verified before one counts as whole."""

from dataclasses import dataclass
from pathlib import Path

from fathom.printing import readable
from fathom.server import backup as backups
from fathom.studio.auditing import check_intact
from fathom.studio.schema import STUDIO, samples


@readable
@dataclass(frozen=True, slots=True)
class Held:
    """Content of a studio or a backup.

    Attributes:
        samples: Number of samples.
        entries: Number of entries of the log, which was verified; 0 for a dump of PostgreSQL, which is verified after
            restoring.
        size: Bytes of the backup.
    """

    samples: int
    entries: int
    size: int


def backup(place: str, out: Path, *, force: bool = False) -> Held:
    """Writes a studio into one file; see ``fathom.server.backup.backup``."""
    return _held(backups.backup(place, out, _KIND, force=force))


def restore(backup: Path, place: str, *, force: bool = False) -> Held:
    """Creates a studio from a backup; see ``fathom.server.backup.restore``."""
    return _held(backups.restore(backup, place, _KIND, force=force))


def _held(counts: backups.Counts) -> Held:
    return Held(counts.rows, counts.checked, counts.size)


_KIND = backups.Kind(STUDIO, samples, check_intact)
