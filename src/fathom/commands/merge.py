"""Join the shards of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.options.declare import Options, Read, arg, command, opt
from fathom.options.values import place_of

if TYPE_CHECKING:
    from fathom.run import RunSummary


class MergeOptions(Options):
    folder: Annotated[
        Read[Path | str, Path | str],
        arg("The folder or object store that `fathom run --shard` wrote.", read=place_of),
    ]
    out: Annotated[Path | str, opt("The run folder; new or empty.", "-o", metavar="FOLDER", read=Path)]


@command(MergeOptions)
def merge(options: MergeOptions) -> "RunSummary":
    """Join the shards of a run into a run folder, which is as if one machine had run everything.

    It says which shards are missing or unfinished, and refuses different replies to one sample.
    """
    from fathom.run.shards.merging import merge

    return merge(options.folder, Path(options.out))


def main(line: MergeOptions) -> int:
    """Merge, and say what came of it."""
    from fathom.commands.shared import tell_answer
    from fathom.options.terminal import print_summary

    summary = merge.body(line)
    if code := print_summary(summary):
        return code
    tell_answer(summary.folder, quiet=True)
    return 0
