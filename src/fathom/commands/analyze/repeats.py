"""How much of a mean's error is due to the questions, and how much to few repeats; best of n and pass at n."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, print_json, print_tables, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.analysis import Repeats


@command(Study)
def repeats(options: Study) -> "list[Repeats]":
    """How much of a mean's error is due to the questions, and how much to few repeats; best of n and pass at n."""
    from fathom.analysis import repeats

    return repeats(study_rows(options), seed=options.seed)


class Line(Study, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    from fathom.report.breakdown import run_tables
    from fathom.terminal import tell

    found = repeats.body(telling(line))
    if line.as_json:
        return print_json(found)
    if not found:
        return tell(
            "no reply has a score; of published averages see `fathom analyze breakdown --measures best_of,pass_at`"
        )
    print_tables(run_tables(found))
