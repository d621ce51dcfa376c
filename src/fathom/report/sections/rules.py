"""The section on rules: scores under fathom's own rule and the released code's, and the loss to format between them."""

from collections.abc import Sequence

from fathom.analysis.breakdown import OVERALL
from fathom.analysis.rules import RuleGap
from fathom.printing import printable
from fathom.report import words
from fathom.report.colours import heat_step
from fathom.report.results import Measurement, Results, System, grouped, system_of
from fathom.report.section import Section
from fathom.report.sections.breakdown import LANGUAGES, NAMES
from fathom.report.table import Cell, Column, Fields, Table, table_of
from fathom.report.tally import ALPHA

ABOUT = (
    "The same replies under both rules, in percent: strict is fathom’s own, official the released code’s, which takes "
    "an answer in another form, such as one with list markers, for a wrong one. Lost to format is strict minus "
    "official in percentage points, paired by question, with its 95% interval. Wrong form is the share of replies "
    "without the form that the prompt asks for."
)
ABOUT_TASKS = (
    "Score in percent under the rule strict. Below it are the score under the rule official, where it is another, and "
    "in brackets what is lost to format, in percentage points."
)
TASKS = "secondary_task"
BY_RULES: Measurement[RuleGap] = Measurement("rules", lambda rows, _: ())
"""Measured on both rules by ``fathom.commands.analyze.rules``: rows have one."""
FIELDS: Fields[RuleGap] = (
    (Column("Questions of", number=False), lambda gap: Cell(_group(gap))),
    (Column("Strict"), lambda gap: Cell(words.percent(gap.strict), heat=heat_step(gap.strict))),
    (Column("Official"), lambda gap: Cell(words.percent(gap.official), heat=heat_step(gap.official))),
    (Column("Lost to format"), lambda gap: _lost(gap)),
    (Column("Wrong form"), lambda gap: Cell(words.percent(gap.wrong_form))),
    (Column("Questions"), lambda gap: Cell(words.count(gap.questions))),
)


def _group(gap: RuleGap) -> str:
    if gap.dimension == OVERALL:
        return "all"
    if gap.dimension == "language":
        return LANGUAGES.get(gap.group, printable(gap.group))
    name = printable(gap.group).replace("_", " ")
    return f"{name} context" if gap.dimension == "contextual_requirement" else name


def _lost(gap: RuleGap) -> Cell:
    below = () if gap.p_value is None or gap.p_adjusted is None else words.chances_of(gap.p_value, gap.p_adjusted)
    return Cell(words.change(gap.lost), words.bounds(gap.interval, signed=True), below=below if gap.lost else ())


def rule_tables(gaps: Sequence[RuleGap], systems: Sequence[System] = ()) -> list[Table]:
    """Both rules: a table for each model with a row per group, and one with a row per secondary task.

    Args:
        gaps: Result of ``fathom.analysis.rules.rule_gaps``.
        systems: Models in the order of the tables; by default the order of ``gaps``.
    """
    groups, tables = grouped(gaps, system_of), list[Table]()
    shown = [system for system in systems or groups if system in groups]
    for system in shown:
        own = [gap for gap in groups[system] if gap.dimension != TASKS]
        tests = sum(gap.p_value is not None for gap in gaps)
        about = "" if tables else f"{ABOUT} {words.adjustment(tests)}"
        notable = [number for number, gap in enumerate(own) if gap.p_adjusted is not None and gap.p_adjusted < ALPHA]
        if own:
            tables.append(
                table_of(
                    f"rules-{len(tables) + 1}",
                    f"{system.name}: both rules",
                    FIELDS,
                    own,
                    about=about,
                    notable=notable,
                    denominator="scored",
                )
            )
    tasks = grouped((gap for gap in gaps if gap.dimension == TASKS), lambda gap: gap.group)
    if tasks:
        columns = (
            Column(NAMES[TASKS].capitalize(), number=False),
            Column("Questions", help="Of the model with most"),
            *(Column(system.name) for system in shown),
        )
        rows = []
        for task, line in tasks.items():
            at = {system_of(gap): gap for gap in line}
            most = words.count(max(gap.questions for gap in line))
            rows.append((Cell(printable(task)), Cell(most), *(_of_task(at.get(system)) for system in shown)))
        title = f"By {NAMES[TASKS]} under both rules"
        tables.append(Table("rules-tasks", "", title, ABOUT_TASKS, columns, tuple(rows), denominator="scored"))
    return tables


def _of_task(gap: RuleGap | None) -> Cell:
    if gap is None:
        return Cell()
    below = (f"{words.percent(gap.official)} ({words.change(gap.lost)})",) if gap.lost else ()
    return Cell(words.percent(gap.strict), heat=heat_step(gap.strict), below=below)


def _finding(results: Results) -> str:
    most = max((gap for gap in results[BY_RULES] if gap.dimension == OVERALL), key=lambda gap: gap.lost, default=None)
    if most is None:
        return ""
    if most.lost <= 0:
        return "Nothing is lost to format under the released code."
    return (
        f"Most is lost to format under the released code{results.of_system(system_of(most))}: "
        f"{words.percent(most.lost)} points, from {words.percent(most.strict)} to {words.percent(most.official)}."
    )


SECTION = Section(
    name="rules",
    title="Both rules",
    finding=_finding,
    tables=lambda results: rule_tables(results[BY_RULES], results.systems),
    tables_class="heat",
    studies={RuleGap: rule_tables},
)
