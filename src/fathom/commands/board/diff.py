"""Say what has changed between two sites, and why: entries, scores and ranks."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Json, MaybePath
from fathom.options.declare import arg, command, opt, unset

if TYPE_CHECKING:
    from fathom.board.changes import Changes

SHOWN = 40
"""Changes that are printed as sentences."""


class DiffOptions(Json):
    old: Annotated[Path | str, arg("Folder of a site, or its downloads/all.json.")]
    new: Annotated[Path | str, arg("A newer one.")]
    out: Annotated[MaybePath, opt("A JSON file for all changes.", "-o", metavar="FILE")] = unset


@command(DiffOptions)
def board_diff(options: DiffOptions) -> "Changes":
    """Say what has changed between two sites, and why: entries, scores and ranks."""
    from fathom.atomic import whole_file
    from fathom.board.changes import changes, read_snapshot

    found = changes(read_snapshot(Path(options.old)), read_snapshot(Path(options.new)))
    if options.out is not None:
        with whole_file(options.out) as stream:
            stream.write(_json(found) + "\n")
    return found


def _json(found: "Changes") -> str:
    from fathom.printing import printable_json

    return printable_json(json.dumps(found.as_json(), indent=2, ensure_ascii=False))


def main(line: DiffOptions) -> None:
    """Print the first changes as sentences, or all as JSON."""
    from fathom.board.changes import counted, sentences
    from fathom.printing import printable

    found = board_diff.body(line)
    if line.as_json:
        print(_json(found))
        return
    counts = ", ".join(f"{name}: {count:,}" for name, count in counted(found.changes).items()) or "nothing has changed"
    print(f"{found.old} to {found.new}: {counts}")
    for sentence in sentences(found, SHOWN):
        print(printable(sentence))
    if line.out is not None:
        print(line.out)
