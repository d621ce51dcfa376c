"""Restore a studio from a backup, which is verified first. Stop all servers before."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.studio.shared import STORE, Store, libraries
from fathom.options.declare import Options, arg, command, opt
from fathom.printing import several

if TYPE_CHECKING:
    from fathom.studio.auditing import BackupReport


class RestoreOptions(Options):
    backup: Annotated[Path | str, arg("A file that `fathom studio backup` wrote.")]
    store: Store = STORE
    _: KW_ONLY
    force: Annotated[bool, opt("Replace an existing studio; the files of a folder are kept beside it.")] = False


@command(RestoreOptions)
def studio_restore(options: RestoreOptions) -> "BackupReport":
    """Restore a studio from a backup, which is verified first. Stop all servers before.

    PostgreSQL needs its pg_restore.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.server.backup import restore
        from fathom.studio.auditing import KIND
    return restore(Path(options.backup), options.store, KIND, force=options.force)


def main(line: RestoreOptions) -> None:
    """Restore, and say how much."""
    content = studio_restore.body(line)
    print(f"{several(content.samples, 'sample is', 'samples are')} restored from {line.backup}")
