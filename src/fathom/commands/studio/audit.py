"""Verify a studio: the chain of its log, and its tables against a replay."""

from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Json
from fathom.commands.studio.shared import STORE, Store, libraries, opened
from fathom.options.declare import command, opt
from fathom.printing import several

if TYPE_CHECKING:
    from fathom.studio.auditing import AuditReport

BROKEN = 1
"""Exit code where something differs."""


class AuditOptions(Json):
    store: Store = STORE
    head: Annotated[
        str | None, opt("A head that an earlier audit printed: the log must still contain it.", metavar="NUMBER:HASH")
    ] = None


@command(AuditOptions)
def studio_audit(options: AuditOptions) -> "AuditReport":
    """Verify a studio: the chain of its log, and its tables against a replay.

    Finds every entry that was edited, deleted, inserted or moved, every row that does not follow from the log, and
    every text that changed. Somebody who can write to the database can still replace the end of the log, or all of it,
    with correct hashes: note the head elsewhere, and give it with --head next time.

    The exit code is 1 if something differs. Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.auditing import audit
        from fathom.studio.log import head_of
    noted = head_of(options.head) if options.head is not None else None
    with opened(options.store) as store:
        return audit(store, noted)


def main(line: AuditOptions) -> int:
    """Print what was verified, and what differs."""
    from dataclasses import asdict

    from fathom.options.terminal import print_json
    from fathom.printing import printable

    audited = studio_audit.body(line)
    if line.as_json:
        print_json(asdict(audited))
        return BROKEN if audited.problems else 0
    for problem in audited.problems:
        print(f"differs: {printable(problem)}")
    if not audited.problems:
        print(
            f"{several(audited.entries, 'entry')} in one chain, from which follow {several(audited.samples, 'sample')} "
            f"and {several(audited.documents, 'document')}"
        )
        print(f"head: {audited.head}")
    return BROKEN if audited.problems else 0
