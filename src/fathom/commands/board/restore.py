"""Restore a store from a backup, which is checked first. Stop all servers before."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.board.shared import STORE, Store, libraries
from fathom.options.declare import Options, arg, command, opt

if TYPE_CHECKING:
    from fathom.board.serve.backup import BackupReport


class RestoreOptions(Options):
    backup: Annotated[Path | str, arg("A file that `fathom board backup` wrote.")]
    store: Store = STORE
    _: KW_ONLY
    force: Annotated[bool, opt("Replace an existing store; the files of a folder are kept beside it.")] = False


@command(RestoreOptions)
def board_restore(options: RestoreOptions) -> "BackupReport":
    """Restore a store from a backup, which is checked first. Stop all servers before.

    PostgreSQL needs its pg_restore.

    Needs the extra board of fathom-eval.
    """
    with libraries():
        from fathom.board.serve.backup import KIND
        from fathom.server.backup import restore
    return restore(Path(options.backup), options.store, KIND, force=options.force)


def main(line: RestoreOptions) -> None:
    """Restore, and say how much."""
    report = board_restore.body(line)
    print(f"{report.submissions:,} submissions are restored from {line.backup}")
