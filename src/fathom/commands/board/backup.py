"""Back up all submissions, decisions and tokens into one file, also while servers run."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.board.shared import STORE, Store, libraries
from fathom.commands.servers import BackupFile
from fathom.options.declare import Options, command, opt

if TYPE_CHECKING:
    from fathom.board.serve.backup import BackupReport


class BackupOptions(Options):
    store: Store
    out: BackupFile
    _: KW_ONLY
    force: Annotated[bool, opt("Replace an existing file.")] = False


@command(BackupOptions)
def board_backup(options: BackupOptions) -> "BackupReport":
    """Back up all submissions, decisions and tokens into one file, also while servers run.

    Copying the file of a SQLite store is no backup: what came last is in another one. PostgreSQL needs its pg_dump.

    Needs the extra board of fathom-eval.
    """
    with libraries():
        from fathom.board.serve.backup import KIND
        from fathom.server.backup import backup
    return backup(options.store, Path(options.out), KIND, force=options.force)


class Line(BackupOptions, kw_only=True):
    store: Store = STORE


def main(line: Line) -> None:
    """Write the file, and say what is in it."""
    report = board_backup.body(line)
    print(f"{line.out}: {report.submissions:,} submissions, {report.size:,} bytes, whole")
