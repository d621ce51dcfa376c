"""Paired differences between every two models on the items that they share."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, on_line, study, study_parts

if TYPE_CHECKING:
    from fathom.analysis import Comparison


@study(Study)
def analyze_compare(options: Study) -> "list[Comparison]":
    """Paired differences between every two models on the items that they share."""
    from fathom.analysis.compare import NEEDED, compare_all

    return compare_all(study_parts(options, NEEDED), seed=options.seed)


main = on_line(
    analyze_compare,
    empty="no two models or variants in these rows have scores of one task at one length; name runs of one suite, and "
    "see above which lengths have no score",
)
