"""List the changes between two sites, and why: entries, scores and ranks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.forms import form_of
from fathom.commands.shared import Json
from fathom.options.declare import arg, command, opt, unset
from fathom.options.values import MaybePath

if TYPE_CHECKING:
    from fathom.board.changes import Changes

SHOWN = 40
"""Changes that are printed as sentences."""


class DiffOptions(Json):
    old: Annotated[Path | str, arg("Folder of a site, or its downloads/all.json.")]
    new: Annotated[Path | str, arg("A newer one.")]
    out: Annotated[MaybePath, opt("A JSON file for all changes.", "-o")] = unset


@command(DiffOptions)
def board_diff(options: DiffOptions) -> "Changes":
    """List the changes between two sites, and why: entries, scores and ranks."""
    from fathom.board.changes import changes, read_snapshot
    from fathom.options.terminal import as_json
    from fathom.storage.atomic import whole_file

    if options.out is not None:
        form_of(options.out, {".json": "json"}, "a list of changes", default="json")
    changed = changes(read_snapshot(Path(options.old)), read_snapshot(Path(options.new)))
    if options.out is not None:
        with whole_file(options.out) as stream:
            stream.write(as_json(changed.as_json()) + "\n")
    return changed


def main(line: DiffOptions) -> None:
    """Print the first changes as sentences, or all as JSON."""
    from fathom.board.changes import counted, sentences
    from fathom.options.terminal import print_json
    from fathom.printing import printable

    changed = board_diff.body(line)
    if line.as_json:
        return print_json(changed.as_json())
    counts = (
        ", ".join(f"{name}: {count:,}" for name, count in counted(changed.changes).items()) or "nothing has changed"
    )
    print(f"{changed.old} to {changed.new}: {counts}")
    for sentence in sentences(changed, SHOWN):
        print(printable(sentence))
    if line.out is not None:
        print(line.out)
