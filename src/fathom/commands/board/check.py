"""Check a bundle: format, hashes, scores, and with --suite gold answers, prompts and completeness."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Json
from fathom.options.declare import arg, command, given, opt
from fathom.options.values import Paths
from fathom.printing import several

if TYPE_CHECKING:
    from fathom.board.bundles.check import Checked
    from fathom.board.bundles.findings import Level

HEADINGS: "Mapping[Level, str]" = {
    "refused": "wrong",
    "incomplete": "missing",
    "unverified": "not verified",
    "verified": "verified",
}


class CheckOptions(Json):
    bundle: Annotated[Path | str, arg("A file that `fathom board bundle` wrote.")]
    suites: Annotated[Paths, opt("Folder of the suite that was run; may be given several times.", flag="--suite")] = (
        given(())
    )


@command(CheckOptions)
def board_check(options: CheckOptions) -> "Checked":
    """Check a bundle: format, hashes, scores, and with --suite gold answers, prompts and completeness.

    It says what is right, what is wrong or missing, and what cannot be verified; the exit code is 2 if something is
    wrong.
    """
    from fathom.board.bundles.check import check

    return check(Path(options.bundle), list(options.suites))


def main(line: CheckOptions) -> int:
    """Print what was found; 2 where something is wrong."""
    from fathom.options.terminal import print_json

    checked = board_check.body(line)
    if line.as_json:
        print_json(checked.json())
    else:
        _print(line.bundle, checked)
    return 0 if checked.accepted else 2


def _print(path: Path | str, checked: "Checked") -> None:
    from fathom.printing import printable

    result = "refused" if not checked.accepted else "accepted" if checked.complete else "accepted, but not complete"
    about = ""
    if checked.bundle is not None:
        name = " ".join(filter(None, (checked.bundle.model, checked.bundle.variant)))
        about = f": {several(len(checked.bundle.results), 'reply')} of {name} until {checked.bundle.created}"
    print(f"{path}: {result}{printable(about)}")
    for level, heading in HEADINGS.items():
        for finding in checked.of(level):
            print(f"  {heading}: {printable(finding.words)}")
