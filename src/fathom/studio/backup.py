"""Backups of a studio, whose log and tables are verified before one counts as whole."""

from dataclasses import dataclass

from fathom.printing import readable
from fathom.server.backup import Kind
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


KIND = Kind(STUDIO, samples, check_intact, Held)
