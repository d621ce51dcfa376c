"""Replies that follow the instructions or copy their example; chance, shortcuts, orders, position bias."""

from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, print_json, print_tables, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import command

if TYPE_CHECKING:
    from fathom.analysis import AnswerPoint


@command(Study)
def answers(options: Study) -> "list[AnswerPoint]":
    """Replies that follow the instructions or copy their example; chance, shortcuts, orders, position bias."""
    from fathom.analysis import answers

    return answers(study_rows(options), seed=options.seed)


class Line(Study, Json):
    """Options."""


def main(line: Line) -> None:
    """Print tables, or JSON."""
    from fathom.report.answers import answers_tables
    from fathom.terminal import tell

    found = answers.body(telling(line))
    if line.as_json:
        return print_json(found)
    if not found:
        tell(
            "no task in these rows has a chance level above 0 and a reply with a score, or an example in its "
            "instructions"
        )
    print_tables(answers_tables(found))
