"""Compare full with truncated prompts: how much each task depends on the full text."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, on_line, study, study_rows
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.analysis import Truncation


@study(Study)
def analyze_truncation(options: Study) -> "list[Truncation]":
    """Compare full with truncated prompts: how much each task depends on the full text."""
    from fathom.analysis import truncation

    if found := truncation(study_rows(options), seed=options.seed):
        return found
    raise FathomError(
        "no prompt of these rows was cut and has a score beside its whole one: build with `truncate` 2k,4k,8k, and run "
        "the whole prompts and the cut ones"
    )


main = on_line(analyze_truncation)
