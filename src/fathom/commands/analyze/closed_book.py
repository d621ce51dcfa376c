"""Questions that models answer closed-book, and which of them are excluded."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, known_removed, on_line, study

if TYPE_CHECKING:
    from fathom.analysis import Known


@study(Study)
def analyze_closed_book(options: Study) -> "list[Known]":
    """Questions that models answer closed-book, and which of them are excluded."""
    return list(known_removed(options).removed)


main = on_line(
    analyze_closed_book,
    section="known",
    empty="no question in these rows was asked closed-book; run a suite that has such samples",
)
