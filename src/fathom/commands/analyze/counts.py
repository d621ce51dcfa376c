"""Replies by status, validity, truncation, tokens and cost."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, on_line, study
from fathom.options.values import paths_of

if TYPE_CHECKING:
    from fathom.analysis import Counts


@study(Study)
def analyze_counts(options: Study) -> "list[Counts]":
    """Replies by status, validity, truncation, tokens and cost, of all rows."""
    from fathom.analysis import counts
    from fathom.report.reading import tell_unfinished
    from fathom.rows import load

    sources = paths_of(options.sources)
    frame = load(sources, judge=options.judge)
    tell_unfinished(sources, options.tell)
    return counts(frame)


main = on_line(analyze_counts, section="counts")
