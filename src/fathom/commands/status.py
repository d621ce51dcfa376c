"""Show the progress of a run, also of one that is still running."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Json
from fathom.options.declare import arg, command

if TYPE_CHECKING:
    from fathom.run import RunStatus


class StatusOptions(Json):
    folder: Annotated[Path | str, arg("A run folder.")]


@command(StatusOptions)
def status(options: StatusOptions) -> "RunStatus":
    """Show the progress of a run, also of one that is still running."""
    from fathom.run import status

    return status(Path(options.folder))


def main(line: StatusOptions) -> None:
    """Print a table, or JSON."""
    from fathom.terminal import print_json, print_records

    found = status.body(line)
    if line.as_json:
        return print_json(found)
    print_records([{"": name, " ": fact} for name, fact in found.facts().items()])
