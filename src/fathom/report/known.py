"""What stands behind the scores: what models know without reading, and who graded their replies."""

from collections.abc import Sequence

from fathom.analysis import Filtered, Known
from fathom.analysis.counts import Graded
from fathom.printing import printable
from fathom.report import words
from fathom.report.results import Results, System
from fathom.report.table import Cell, Column, Table

POLICIES = {
    "own": "each model loses the questions that it knows itself, as in the paper",
    "intersection": "a question that any of the models knows is removed for all",
    "panel": "a question that any model of the panel knows is removed for all",
    "none": "nothing is removed",
}
SAME = "All models are so compared on the same questions; in the paper each loses its own (policy own)."
KNOWN = (
    Column("Questions", help="Asked with a context, each counted once"),
    Column("Closed book", help="Mean score without any context, percent; answers that abstain count 0"),
    Column("Asked", group="Without context", help="Questions asked without any context"),
    Column("Known", group="Without context", help="Answered with the threshold or more"),
    Column("Abstained", group="Without context", help="The answer says that it cannot be known"),
    Column("No score", group="Without context", help="The request or its grading failed: whether it is known is open"),
    Column("Removed", group="By the filter", help="Questions left out of this model's results, at all lengths"),
    Column("Share", group="By the filter", help="Of its questions, percent"),
)
PLAIN = ("token f1", "rouge")


def said_of_filter(filtered: Filtered) -> str:
    """One sentence on what the filter removed, under which policy."""
    if filtered.policy == "none":
        known = sum(one.known for one in filtered.removed)
        return (
            f"Prior knowledge is not filtered, although {words.several(known, 'answer')} without context scored "
            f"{filtered.threshold:g} or more."
        )
    return (
        f"The prior-knowledge filter removed {_removed(filtered)} (policy {filtered.policy}: "
        f"{POLICIES[filtered.policy]})."
    )


def _removed(filtered: Filtered) -> str:
    """How many questions: for each model where each loses its own, else once for all."""
    if filtered.policy != "own":
        removed, questions = filtered.distinct
        return f"{words.count(removed)} of {words.count(questions)} questions for all models"
    totals: dict[str, tuple[int, int]] = {}
    for one in filtered.removed:
        removed, questions = totals.get(_system(one).name, (0, 0))
        totals[_system(one).name] = removed + one.removed, questions + one.questions
    said = [
        f"{words.count(gone)} of {words.count(asked)} questions of {name}" for name, (gone, asked) in totals.items()
    ]
    return words.listed(said)


def known_tables(results: Results) -> list[Table]:
    """What each model knows of each task without reading; no table where no question was asked without context."""
    filtered = results.filtered
    if filtered is None or not filtered.removed:
        return []
    number = {system: place for place, system in enumerate(results.systems)}
    found = sorted(filtered.removed, key=lambda one: number.get(_system(one), len(number)))
    about = (
        "Questions that a model answers without any context say nothing of how it reads. One is known where its score "
        f"without context is {filtered.threshold:g} or more; an answer that says “unanswerable” never is. Policy "
        f"{filtered.policy}: {POLICIES[filtered.policy]}."
    )
    several = filtered.policy == "intersection" and len(results.systems) > 1
    about = " ".join((about, *([SAME] if several else []), *map(printable, filtered.notes)))
    columns = (Column("Model", number=False), Column("Task", number=False), *KNOWN)
    rows = tuple(
        (Cell(_system(one).name, series=number.get(_system(one))), Cell(printable(one.task)), *known_cells(one))
        for one in found
    )
    return [Table("known", "known", "Prior knowledge", about, columns, rows)]


def _system(one: Known) -> System:
    return System(printable(one.model), printable(one.variant))


def known_cells(one: Known) -> list[Cell]:
    """What a model answers closed-book on a task, under the columns ``KNOWN``."""
    return [
        Cell(words.count(one.questions)),
        Cell(words.percent(one.score), words.bounds(one.interval)),
        *(Cell(words.count(n), quiet=not n) for n in (one.asked, one.known, one.abstained, one.unscored, one.removed)),
        Cell(words.percent(one.share), quiet=not one.removed),
    ]


def graders_tables(results: Results) -> list[Table]:
    """Who graded which task; no table where the rows name no grader."""
    if not results.graded:
        return []
    columns = (
        Column("Task", number=False),
        Column("Score", number=False),
        Column("Grader", number=False),
        Column("Scored", help="Replies that it gave a score, with and without context"),
        Column("Failed", help="Replies that came and that it could not score: no score, and not 0"),
    )
    rows = tuple(
        (
            Cell(one.task),
            Cell(one.metric or words.ABSENT),
            Cell(one.grader),
            Cell(words.count(one.scored)),
            Cell(words.count(one.failed), quiet=not one.failed),
        )
        for one in results.graded
    )
    return [Table("graders", "graders", "Graders", " ".join(_said_of_graders(results.graded)), columns, rows)]


def _said_of_graders(graded: Sequence[Graded]) -> list[str]:
    said = ["Which rule or judge gave the scores."]
    plain: dict[str, list[str]] = {}
    for one in graded:
        if one.grader.lower().startswith(PLAIN) and one.task not in plain.setdefault(one.grader, []):
            plain[one.grader].append(one.task)
    said += [
        f"{words.listed(tasks)} {'was' if len(tasks) == 1 else 'were'} scored by {grader}, without a judge: overlap of "
        "words, not whether the reply is right."
        for grader, tasks in plain.items()
    ]
    failed, judged = (sum(getattr(one, name) for one in graded if one.judged) for name in ("failed", "scored"))
    if failed:
        said.append(
            f"{words.count(failed)} of {words.count(failed + judged)} replies for a judge have no judgement: it "
            "failed, or was not asked for. They are missing; `fathom judge` asks for what is missing."
        )
    for task in dict.fromkeys(one.task for one in graded):
        kinds = {one.grader if one.judged else "" for one in graded if one.task == task and one.scored}
        if len(kinds) > 1:
            said.append(f"The scores of {task} come from different graders and must not be compared with each other.")
    return said
