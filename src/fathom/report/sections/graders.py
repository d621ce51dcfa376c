"""The section on graders: which rule or judge scored the replies of each task."""

from collections.abc import Sequence

from fathom.analysis.counts import Graded, all_graders, graders
from fathom.report import words
from fathom.report.results import Measurement, Results, grouped
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Fields, Table, count_cell, table_of

NAMED = 3
"""Judges that the line on the section names."""
OVERLAPS = ("token f1", "rouge")
"""Beginnings of the names of graders that compare words."""
FIELDS: Fields[Graded] = (
    (Column("Task", number=False), lambda graded: Cell(graded.task)),
    (Column("Score", number=False), lambda graded: Cell(graded.metric or words.ABSENT)),
    (Column("Grader", number=False), lambda graded: Cell(graded.grader)),
    (
        Column("Scored", help="Replies that it scored, with context and closed-book"),
        lambda graded: Cell(words.count(graded.scored)),
    ),
    (
        Column("Failed", help="Replies that it could not score; they have no score, not 0"),
        lambda graded: count_cell(graded.failed),
    ),
)
GRADED = Measurement("graders", lambda rows, _: graders(rows.replies), finish=lambda parts: all_graders([parts]))


def _tables(results: Results) -> list[Table]:
    graded = results[GRADED]
    about = " ".join(_about(graded))
    return [table_of("graders", "Graders", FIELDS, graded, about=about, denominator="none")] if graded else []


def _about(graded: Sequence[Graded]) -> list[str]:
    sentences = ["The rule or judge that scored the replies."]
    compared = [grade for grade in graded if grade.grader.lower().startswith(OVERLAPS)]
    for grader, group in grouped(compared, lambda grade: grade.grader).items():
        tasks = list(dict.fromkeys(grade.task for grade in group))
        sentences.append(
            f"{words.listed(tasks)} {'was' if len(tasks) == 1 else 'were'} scored by {grader}, without a judge: a word "
            "overlap, which does not show whether the reply is correct."
        )
    failed, judged = (sum(getattr(grade, name) for grade in graded if grade.judged) for name in ("failed", "scored"))
    if failed:
        sentences.append(
            f"{words.count(failed)} of {words.count(failed + judged)} replies for a judge have no judgement and count "
            "as missing: the request failed or was not sent. Run `fathom judge` to complete them."
        )
    for task, group in grouped(graded, lambda grade: grade.task).items():
        if len({grade.grader if grade.judged else "" for grade in group if grade.scored}) > 1:
            sentences.append(
                f"The scores of {task} come from different graders and must not be compared with each other."
            )
    return sentences


def _finding(results: Results) -> str:
    judges = list(dict.fromkeys(graded.grader for graded in results[GRADED] if graded.judged))
    return f"Judged by {words.listed(judges[:NAMED])}." if judges else "Scored by rules, without a judge."


SECTION = Section(
    name="graders",
    title="Graders",
    finding=_finding,
    tables=_tables,
    in_notebook=False,
    measurements=(GRADED,),
)
