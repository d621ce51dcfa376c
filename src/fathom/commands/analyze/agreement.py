"""How often every two models, or two ways of asking one, give the same answer."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, on_line, study, study_rows

if TYPE_CHECKING:
    from fathom.analysis import Agreement


@study(Study)
def analyze_agreement(options: Study) -> "list[Agreement]":
    """How often every two models, or two ways of asking one, give the same answer."""
    from fathom.analysis import agreement

    return agreement(study_rows(options), seed=options.seed)


main = on_line(
    analyze_agreement,
    empty="no two models or variants in these rows have a score for the same sample; name runs of one suite",
)
