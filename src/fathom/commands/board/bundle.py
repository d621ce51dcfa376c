"""Write the results of runs into one bundle that others can check."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import JudgeOfRows
from fathom.options.declare import Options, arg, command, opt
from fathom.options.values import ManyPaths, paths_of
from fathom.printing import several
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.board.bundles.bundle import Bundle


class BundleOptions(Options):
    runs: Annotated[ManyPaths, arg("Run folders of one model with the same settings.")]
    out: Annotated[Path | str, opt("The .zip file to write.", "-o", metavar="FILE")]
    _: KW_ONLY
    judge: JudgeOfRows = None
    logs: Annotated[
        bool,
        opt("With the replies, so that others can compute the scores again (the default); --no-logs leaves them out."),
    ] = True


@command(BundleOptions)
def board_bundle(options: BundleOptions) -> "Bundle":
    """Write the results of runs into one bundle that others can check.

    It holds rows, settings, versions, hashes of prompts and replies, and with logs the replies and gold answers; no
    prompts, no thoughts, no addresses, paths or keys.
    """
    from fathom.board.bundles.bundle import write_bundle
    from fathom.board.bundles.bundling import accepted_bundle

    path = Path(options.out)
    if path.suffix != ".zip":
        raise FathomError(f"`out` {path}: a bundle is a .zip file")
    bundle = accepted_bundle(paths_of(options.runs), judge=options.judge, logs=options.logs)
    write_bundle(bundle, path)
    return bundle


def main(line: BundleOptions) -> None:
    """Write the file, and say what is in it."""
    from fathom.printing import printable

    made, size = board_bundle.body(line), Path(line.out).stat().st_size
    without = "" if line.logs else "; without logs its scores cannot be computed again"
    print(f"{line.out}: {several(len(made.results), 'reply')} of {printable(made.model)}, {size:,} bytes{without}")
