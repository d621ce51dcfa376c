"""HELMET's categories and their mean at each length, as tables."""

from collections.abc import Sequence

from fathom.analysis.grid import ALL
from fathom.analysis.helmet import GENERATED, RECORDS, Form, HelmetScore
from fathom.printing import printable
from fathom.report import words
from fathom.report.results import grouped, system_of
from fathom.report.table import Cell, Column, Table

TITLES: dict[Form, str] = {"records": "HELMET", "generated": "generated tasks, not HELMET"}
ABOUT: dict[Form, str] = {
    "records": (
        "Mean scores in percent with 95% intervals: data sets have the same weight in a category, and categories in "
        "the mean, which is over those that were asked. Data sets that HELMET judges count where a judge has scored "
        "them, results of HELMET's own code with the metric that it counts. Citations are not checked: cite is the "
        "answers alone. A dash means that nothing was asked."
    ),
    "generated": (
        "Mean scores in percent with 95% intervals of fathom's tasks that ask for the abilities of some of HELMET's "
        f"categories ({' and '.join(GENERATED)}). They are no scores of HELMET: items, prompts and scorers are others."
    ),
}


def helmet_tables(scores: Sequence[HelmetScore]) -> list[Table]:
    """A table for each model, of HELMET's records and of generated tasks: a row per category, a column per length.

    Args:
        scores: Result of ``fathom.analysis.helmet.helmet_scores``.
    """
    tables, explained = list[Table](), set[Form]()
    for (form, system), own in grouped(scores, lambda score: (score.form, system_of(score))).items():
        at = {(score.category, score.length): score for score in own}
        lengths = sorted({score.length for score in own})
        rows = [
            (Cell(title), *(_cell(at.get((name, length))) for length in lengths), Cell(_lacking(own, name)))
            for name, title in [*((name, name) for name in RECORDS), (ALL, "mean over what was asked")]
        ]
        columns = (
            Column("Category", number=False),
            *(Column(words.length(length)) for length in lengths),
            Column("Not asked", number=False, help="At some of the lengths"),
        )
        title = f"{system.name}: {TITLES[form]}"
        about = "" if form in explained else ABOUT[form]
        explained.add(form)
        name = f"helmet-{len(tables) + 1}"
        tables.append(Table(name, "", title, about, columns, tuple(rows), denominator="scored"))
    return tables


def _cell(score: HelmetScore | None) -> Cell:
    if score is None:
        return Cell()
    of = f"{len(score.present)} of {len(score.present) + len(score.lacking)}" if score.lacking else ""
    return Cell(words.percent(score.score), words.bounds(score.interval), below=(of,) if of else ())


def _lacking(scores: Sequence[HelmetScore], category: str) -> str:
    """What was not asked of a category at some length, or the categories."""
    own = [score for score in scores if score.category == category]
    return printable(", ".join(dict.fromkeys(name for score in own for name in score.lacking))) if own else "all of it"
