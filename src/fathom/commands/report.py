"""Write one self-contained HTML page about runs, and print its tables."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import JudgeOfRows, Known, Seed, Sources, Unanswered
from fathom.options.declare import command, line_only, opt
from fathom.options.values import paths_of

if TYPE_CHECKING:
    from fathom.report.studies import Tables


class ReportOptions(Known):
    sources: Sources
    out: Annotated[Path | str, opt("The page to write.", "-o", metavar="FILE")] = "report.html"
    _: KW_ONLY
    title: Annotated[str | None, opt("Title of the page.")] = None
    seed: Seed = 0
    judge: JudgeOfRows = None
    unanswered: Unanswered = "zero"
    quiet: Annotated[bool, opt("No tables in the terminal.", "-q")] = line_only(False)


@command(ReportOptions)
def report(options: ReportOptions) -> "Tables":
    """Write one self-contained HTML page about runs, and return its tables."""
    from fathom.report import report
    from fathom.report.page import TITLE
    from fathom.report.reading import filtered
    from fathom.report.studies import Tables
    from fathom.rows import unfinished

    sources = paths_of(options.sources)
    left = filtered(sources, **options.of(Known), judge=options.judge, seed=options.seed)
    made = report(
        left,
        Path(options.out),
        title=options.title or TITLE,
        seed=options.seed,
        unanswered=options.unanswered,
        notes=unfinished(sources),
    )
    return Tables(made)


def main(line: ReportOptions) -> None:
    """Write the page, and print its tables."""
    from fathom.report.reading import tell_unfinished
    from fathom.terminal import tell

    tables = report.body(line)
    print(line.out)
    tell_unfinished(paths_of(line.sources), tell)
    if not line.quiet:
        from fathom.report import show

        show(tables)
