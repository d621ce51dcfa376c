"""Print what papers found: their tables that compare methods, and what can be compared with them."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Json
from fathom.options.declare import command, opt

if TYPE_CHECKING:
    from fathom.extend.published import PublishedComparison


class PublishedOptions(Json):
    _: KW_ONLY
    paper: Annotated[str | None, opt("Only this paper, by its suite: leader, ada or hundred.", metavar="NAME")] = None


@command(PublishedOptions)
def lab_published(options: PublishedOptions) -> "list[PublishedComparison]":
    """Print what papers found: their tables that compare methods, and what can be compared with them."""
    from fathom.extend.published import published_comparisons
    from fathom.plugins.names import unknown

    comparisons = published_comparisons()
    papers = {comparison.paper for comparison in comparisons}
    if options.paper is not None and options.paper not in papers:
        raise unknown("paper", options.paper, papers, see="fathom lab published")
    return [comparison for comparison in comparisons if options.paper in (None, comparison.paper)]


def main(line: PublishedOptions) -> None:
    """Print tables with remarks, or JSON."""
    from rich.text import Text

    from fathom.options.terminal import print_json
    from fathom.printing import console as wide_console
    from fathom.report.published import published_tables, remarks_of
    from fathom.report.terminal import show

    comparisons = lab_published.body(line)
    if line.as_json:
        return print_json(comparisons)
    console = wide_console()
    for comparison in comparisons:
        show(published_tables([comparison], remarks=False), console, details=True)
        for heading, sentences in remarks_of(comparison).items():
            console.print(Text(heading, style="bold"))
            for sentence in sentences:
                console.print(Text(f"- {sentence}"))
