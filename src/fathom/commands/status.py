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
"""Time for scoring replies."""


class StatusOptions(Json):
    folder: Annotated[
        Read[Path | str, Path | str],
        arg("A run folder; or the folder or object store of a run in shards.", read=place_of),
    ]


@command(StatusOptions)
def status(options: StatusOptions) -> Union["RunStatus", "ShardsStatus"]:
    """Show the progress of a run, also of one that is still running."""
    from fathom.report.live import read_live
    from fathom.run import status
    from fathom.run.shards.progress import holds_shards, shards_status
    from fathom.runfile.progress import ScoreSoFar

    if isinstance(options.folder, str) or holds_shards(options.folder):
        return shards_status(options.folder)
    state = status(options.folder)
    if not state.finished:
        return state
    now, failures = read_live(options.folder, SCORING_SECONDS)
    state = replace(state, scorer_errors=failures)
    if now is None:
        return state
    scores = tuple(
        ScoreSoFar(
            row.length,
            row.finished,
            row.planned,
            row.mean,
            None if row.interval is None else row.interval.low,
            None if row.interval is None else row.interval.high,
        )
        for row in now.lengths
    )
    return replace(state, scores=scores, rate=now.rate, eta=now.left)


def main(line: StatusOptions) -> None:
    """Print a table, or JSON."""
    from fathom.options.terminal import print_json, print_records

    state = status.body(line)
    if line.as_json:
        return print_json(state)
    print_records([{"": name, " ": fact} for name, fact in state.facts().items()], denominator="none")
