"""Back up a studio into one file, also while servers run."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.servers import BackupFile
from fathom.commands.studio.shared import STORE, Store, libraries
from fathom.options.declare import Options, command, opt
from fathom.printing import several

if TYPE_CHECKING:
    from fathom.studio.auditing import BackupReport


class BackupOptions(Options):
    store: Store
    out: BackupFile
    _: KW_ONLY
    force: Annotated[bool, opt("Replace an existing file.")] = False


@command(BackupOptions)
def studio_backup(options: BackupOptions) -> "BackupReport":
    """Back up a studio into one file, also while servers run; its log is verified.

    Copying the file of a SQLite store is no backup: what came last is in another one. PostgreSQL needs its pg_dump.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.server.backup import backup
        from fathom.studio.auditing import KIND
    return backup(options.store, Path(options.out), KIND, force=options.force)


class Line(BackupOptions, kw_only=True):
    store: Store = STORE


def main(line: Line) -> None:
    """Write the file, and say what is in it."""
    content = studio_backup.body(line)
    print(f"{line.out}: {several(content.samples, 'sample')}, {content.size:,} bytes, whole")
