"""Replies by status, validity, truncation, tokens and cost."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, on_line, study
from fathom.commands.values import paths_of

if TYPE_CHECKING:
    from fathom.analysis import Counts


@study(Study)
def counts(options: Study) -> "list[Counts]":
    """Replies by status, validity, truncation, tokens and cost, of all rows."""
    from fathom.analysis import counts
    from fathom.commands.reading import load, tell_unfinished

    sources = paths_of(options.sources)
    frame = load(sources, options.judge)
    tell_unfinished(sources, options.tell)
    return counts(frame)


Line, main = on_line(counts, section="counts")
