"""Show the progress of a run, also of one that is still running."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Union

from fathom.commands.shared import Json
from fathom.options.declare import Read, arg, command
from fathom.options.values import place_of

if TYPE_CHECKING:
    from fathom.run import RunStatus
    from fathom.run.shards.progress import ShardsStatus


SCORING_SECONDS = 5.0
"""Time for scoring replies, to name those that cannot be scored."""


class StatusOptions(Json):
    folder: Annotated[
        Read[Path | str, Path | str],
        arg("A run folder; or the folder or object store of a run in shards.", read=place_of),
    ]


@command(StatusOptions)
def status(options: StatusOptions) -> Union["RunStatus", "ShardsStatus"]:
    """Show the progress of a run, also of one that is still running."""
    from fathom.rows import scorer_failures
    from fathom.run import status
    from fathom.run.shards.progress import holds_shards, shards_status

    if isinstance(options.folder, str) or holds_shards(options.folder):
        return shards_status(options.folder)
    state = status(options.folder)
    if not state.finished:
        return state
    return replace(state, scorer_errors=scorer_failures(options.folder, SCORING_SECONDS))


def main(line: StatusOptions) -> None:
    """Print a table, or JSON."""
    from fathom.options.terminal import print_json, print_records

    state = status.body(line)
    if line.as_json:
        return print_json(state)
    print_records([{"": name, " ": fact} for name, fact in state.facts().items()], denominator="none")
