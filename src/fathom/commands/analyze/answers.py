"""Replies that follow the instructions or copy their example; shortcuts, orders, position bias."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, on_line, study, study_rows

if TYPE_CHECKING:
    from fathom.analysis import AnswerPoint


@study(Study)
def analyze_answers(options: Study) -> "list[AnswerPoint]":
    """Replies that follow the instructions or copy their example; shortcuts, orders, position bias."""
    from fathom.analysis import answers

    return answers(study_rows(options), seed=options.seed)


main = on_line(
    analyze_answers,
    empty="no task in these rows has a chance level above 0 and a scored reply, or an example in its instructions",
)
