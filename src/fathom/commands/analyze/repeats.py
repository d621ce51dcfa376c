"""Error of a mean due to the questions and due to few repeats; best of n and pass at n."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, on_line, study, study_rows

if TYPE_CHECKING:
    from fathom.analysis import Repeats


@study(Study)
def analyze_repeats(options: Study) -> "list[Repeats]":
    """Error of a mean due to the questions and due to few repeats; best of n and pass at n."""
    from fathom.analysis import repeats

    return repeats(study_rows(options), seed=options.seed)


main = on_line(
    analyze_repeats,
    empty="no reply has a score; of published averages see `fathom analyze breakdown --measures best_of,pass_at`",
)
