"""Results of studies as tables, for a terminal and for notebooks: made from the results alone."""

import dataclasses
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import polars as pl
from markupsafe import Markup

from fathom import analysis
from fathom.analysis.ability import APART as OTHER_QUESTIONS
from fathom.analysis.ability import UNCERTAIN
from fathom.options.terminal import print_json, tell
from fathom.printing import printable
from fathom.report import words
from fathom.report.helmet import helmet_tables
from fathom.report.results import System, grouped, system_of, task_title
from fathom.report.sections import STUDIES
from fathom.report.table import Cell, Column, Fields, Table, count_cell, score_cell, table_of
from fathom.report.tables import tables as report_tables
from fathom.report.tally import APART, SCORER_ERRORS, below_mean, clusters_of, rank_of
from fathom.report.terminal import show
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Unanswered

Result = TypeVar("Result")
WHOLE = "All lengths"
ABOUT_PAIRS = (
    "Paired differences in percentage points, the first model minus the second, with 95% intervals and p-values of the "
    "sign-flip test over items."
)
SHARED = "A cell is a task at a length: differences are over the cells at which both models have a score."
BY_QUESTION = (
    "Mean score in percent over a model's questions, every question with the same weight and its repeats averaged "
    "first, with 95% intervals. The difference is to the next model below, in percentage points, over the questions "
    "that both have, paired by item. Ranks, and whether two models are distinguishable, come from one test of all "
    "differences."
)
ABOUT_BEST = (
    "At any look, over the items before the first that lacks a reply: a model may be the best if no other is shown to "
    "score more, with an error of the level in all. Ranks hold for all models together, intervals for one difference."
)
ABOUT_SHIFT = (
    "Mean scores in percent by both judges on a random sample of the replies, and what the second one changes, in "
    "percentage points and paired by item, with 95% intervals. The score of all judged replies is expected to move as "
    "much."
)


class Tables(tuple[Table, ...]):
    """Tables that show themselves in consoles and notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The tables as a terminal shows them."""
        return _text(self, None)

    def _repr_html_(self) -> str:
        return "\n".join(map(as_markup, self))


def tables_of(results: Sequence[Any]) -> list[Table]:
    """The tables of the results of a study; empty without results.

    Args:
        results: Those of one study of ``fathom.analysis``.
    """
    kinds = dict.fromkeys(map(type, results))
    return [table for kind in kinds for table in TABLES[kind]([result for result in results if type(result) is kind])]


def notes_of(results: Iterable[Any]) -> list[str]:
    """Notes below the tables of scores by length: why a measure is undefined, and caveats about models.

    Curves and effective lengths have only caveats about all models.
    """
    shared: dict[str, None] = {}
    own = []
    for result in results:
        if isinstance(result, analysis.CurvePoint | analysis.EffectiveLength):
            shared |= {OTHER_QUESTIONS: None} if OTHER_QUESTIONS in result.note else {}
        elif isinstance(result, analysis.LongScore | analysis.Steady):
            if result.undefined:
                own.append(f"{result.model}, {result.task}: {result.undefined}")
            for note in filter(None, result.note.split("; ")):
                if note.startswith(UNCERTAIN):
                    own.append(f"{result.model}, {result.task}: {note}")
                else:
                    shared[note] = None
        elif isinstance(result, analysis.Difficulty):
            own.extend(result.notes)
    return [printable(note) for note in (*shared, *own)]


def as_text(results: Sequence[Any], width: int | None = None) -> str:
    """The tables and notes as a terminal shows them.

    Args:
        results: See ``tables_of``.
        width: Columns of text; None for those of the terminal.
    """
    return "\n".join((_text(tables_of(results), width), *notes_of(results)))


def _text(tables: Iterable[Table], width: int | None) -> str:
    from rich.console import Console

    stream = io.StringIO()
    show(tables, Console(file=stream, width=width, color_system=None, force_jupyter=False), details=True)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()).strip("\n")


def as_html(results: Sequence[Any]) -> str:
    """The tables and notes for a notebook; every text is escaped."""
    return "\n".join(
        (*map(as_markup, tables_of(results)), *(Markup("<p>{}</p>").format(note) for note in notes_of(results)))
    )


def print_section(rows: analysis.Filtered, section: str, seed: int, unanswered: Unanswered, empty: str) -> None:
    """Print the tables of one section of the report, or the note ``empty`` if it has none."""
    chosen = [table for table in report_tables(rows, seed=seed, unanswered=unanswered) if table.section == section]
    if not chosen:
        tell(empty)
    show(chosen, details=True)


def print_results(results: Sequence[Any], as_json: bool, empty: str = "") -> None:
    """Print results as JSON, or as tables with their notes; ``empty`` is a note if there are none."""
    if as_json:
        return print_json(results)
    if not results and empty:
        tell(empty)
    show(tables_of(results), details=True)
    for note in notes_of(results):
        print(note)


def as_markup(table: Table) -> Markup:
    """One table, with the headings of groups before those of their columns, and numbered notes below."""
    headings = Markup("").join(
        Markup('<th scope="col">{}</th>').format(" ".join(filter(None, (column.group, column.label))))
        for column in table.columns
    )
    notes = table.notes
    rows = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(_html_cell(cell, notes) for cell in row)) for row in table.rows
    )
    below = Markup("").join(
        Markup("<p><sup>{}</sup> {}</p>").format(number, note) for number, note in enumerate(notes, 1)
    )
    lines = filter(None, (table.about, table.divided_by))
    about = Markup("").join(Markup("<p>{}</p>").format(line) for line in lines)
    return Markup("<h3>{}</h3>{}<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}").format(
        table.title, about, headings, rows, below
    )


def _html_cell(cell: Cell, notes: Sequence[str]) -> Markup:
    mark = Markup("<sup>{}</sup>").format(notes.index(cell.note) + 1) if cell.note else ""
    small = Markup("").join(Markup("<br><small>{}</small>").format(line) for line in cell.small)
    return Markup("<td>{}{}{}</td>").format(cell.text, mark, small)


class StudyResults(list[Result]):
    """The results of a study: a list that is shown as the tables that the command prints."""

    def __repr__(self) -> str:
        """The tables as text."""
        return as_text(self) or "no results"

    def _repr_html_(self) -> str:
        return as_html(self) or "<p>no results</p>"

    def frame(self) -> pl.DataFrame:
        """One row for each result; the ends of an interval are columns such as ``interval_low``."""
        return pl.DataFrame([_flat(dataclasses.asdict(cast(Any, result))) for result in self], infer_schema_length=None)


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        flat |= _flat(value, f"{before}{name}_") if isinstance(value, dict) else {f"{before}{name}": value}
    return flat


# ------------------------------------------------------------------------------------------------------- two models


Pair = TypeVar("Pair", bound=analysis.Comparison | analysis.Agreement)


def comparison_tables(comparisons: Sequence[analysis.Comparison]) -> list[Table]:
    """Differences between every two models: one table per pair, a row per task, a column per length."""

    def cell(comparison: analysis.Comparison) -> Cell:
        shared = (f"on {words.count(comparison.cells)} of {words.count(comparison.cells_of)} cells",)
        p_values = words.chances_of(comparison.p_value, comparison.p_adjusted)
        below = (*p_values, *(shared if comparison.cells < comparison.cells_of else ()))
        return Cell(words.change(comparison.difference), words.bounds(comparison.interval, signed=True), below=below)

    def items(comparison: analysis.Comparison) -> Cell:
        outcomes = {"unanswered": "unanswered", "cut": "truncated", "missing": "missing", "scorer_error": SCORER_ERRORS}
        below = (
            f"{words.count(number)} {outcome}, {side}"
            for name, outcome in outcomes.items()
            for side, number in (
                ("first", getattr(comparison, f"{name}_a")),
                ("second", getattr(comparison, f"{name}_b")),
            )
            if number
        )
        return Cell(words.count(comparison.items), below=tuple(below))

    about = [ABOUT_PAIRS, words.adjustment(len(comparisons))]
    if any(comparison.cells < comparison.cells_of for comparison in comparisons):
        about.append(SHARED)
    return _by_pair(comparisons, "{} − {}", " ".join(about), cell, [(Column("Items"), items)])


def agreement_tables(agreements: Sequence[analysis.Agreement]) -> list[Table]:
    """Share of the same answers of every two models: one table per pair, a row per task, a column per length."""
    more: Fields[analysis.Agreement] = [
        (Column("Score of first"), lambda agreement: Cell(words.percent(agreement.score_a))),
        (Column("Score of second"), lambda agreement: Cell(words.percent(agreement.score_b))),
        (Column("Items"), lambda agreement: Cell(words.count(agreement.items))),
    ]
    about = "How often both give the same answer, in percent with 95% intervals, and the scores of both in percent."
    return _by_pair(
        agreements, "{} and {}", about, lambda agreement: score_cell(agreement.agreement, agreement.interval), more
    )


def _by_pair(
    pairs: Sequence[Pair], title: str, about: str, cell: Callable[[Pair], Cell], more: Fields[Pair]
) -> list[Table]:
    """One table for every two models: a row per task; a column per length, then further columns."""
    tables: list[Table] = []
    systems: dict[tuple[str, str], list[Pair]] = grouped(
        pairs, lambda pair: (System(pair.model_a, pair.variant_a).name, System(pair.model_b, pair.variant_b).name)
    )
    for names, own in systems.items():
        lengths = sorted({result.length for result in own}, key=lambda length: (length is None, length))
        rows = []
        for task, line in grouped(own, lambda result: result.task).items():
            at = {result.length: result for result in line}
            cells = [cell(at[length]) if length in at else Cell() for length in lengths]
            whole = at.get(None, line[-1])
            rows.append((Cell(printable(task_title(task))), *cells, *(field(whole) for _, field in more)))
        columns = (
            Column("Task", number=False),
            *(Column(WHOLE if length is None else words.tokens(length)) for length in lengths),
            *(column for column, _ in more),
        )
        name, first = f"pair-{len(tables) + 1}", "" if tables else about
        tables.append(Table(name, "", title.format(*names), first, columns, tuple(rows), denominator="shared"))
    return tables


# ------------------------------------------------------------------------------------------------------------ others


def neighbour_tables(neighbours: Sequence[analysis.Neighbour], systems: Sequence[System] = ()) -> list[Table]:
    """The table of models by their mean over questions, for a terminal; no table without models.

    Args:
        neighbours: Result of ``fathom.analysis.neighbours``, the highest score first.
        systems: Models and variants in the order of their colours; others have no colour.
    """
    if not neighbours:
        return []
    numbers = {tuple(system): number for number, system in enumerate(systems)}
    columns = (
        Column("Model", number=False),
        Column("Rank"),
        Column("Score"),
        Column("Questions"),
        Column("Difference", help="To the next model below, in percentage points", denominator="shared"),
        Column("Distinguishable", number=False, help="From the next model below"),
    )
    rows = tuple(
        (
            Cell(system_of(neighbour).name, series=numbers.get(system_of(neighbour))),
            Cell(rank_of(neighbour)),
            Cell(words.percent(neighbour.score), words.bounds(neighbour.interval), below=below_mean(neighbour)),
            Cell(words.count(neighbour.questions), below=clusters_of(neighbour.questions, neighbour.clusters)),
            _gap(neighbour),
            Cell() if neighbour is neighbours[-1] else _distinguishable(neighbour),
        )
        for neighbour in neighbours
    )
    title = "Models by their mean over questions"
    return [Table("by-question", "", title, BY_QUESTION, columns, rows, denominator="scored")]


def _gap(neighbour: analysis.Neighbour) -> Cell:
    if neighbour.gap is None:
        return Cell()
    below = () if neighbour.p_value is None else (words.chance_of(neighbour.p_value),)
    return Cell(words.change(neighbour.gap), words.bounds(neighbour.gap_interval, signed=True), below=below)


def _distinguishable(neighbour: analysis.Neighbour) -> Cell:
    if neighbour.gap is None:
        return Cell(note=APART)
    return Cell("no" if neighbour.tied else "yes")


def best_tables(candidates: Sequence[analysis.BestCandidate]) -> list[Table]:
    """The table of models that may be the best, for a terminal.

    Args:
        candidates: Result of ``fathom.analysis.best_models``.
    """
    columns = (
        Column("Model", number=False),
        Column("May be best", number=False),
        Column("p"),
        Column("Rank"),
        Column("Difference", help="To the first, in percentage points, at any look"),
        Column("Items"),
    )
    rows = tuple(
        (
            Cell(system_of(candidate).name),
            Cell("yes" if candidate.may_be_best else "no"),
            Cell(words.chance_of(candidate.p_value).removeprefix("p ")),
            Cell(rank_of(candidate)),
            Cell()
            if candidate is candidates[0]
            else Cell(words.change(candidate.difference), words.bounds(candidate.interval, signed=True)),
            Cell(words.count(candidate.items)),
        )
        for candidate in candidates
    )
    return [Table("best", "", "Which model is the best", ABOUT_BEST, columns, rows, denominator="shared")]


def judge_tables(agreements: Sequence[analysis.JudgeAgreement]) -> list[Table]:
    """A judge compared with people: one table, a row per group of replies."""
    columns = (
        Column("Replies", number=False),
        Column("Count"),
        Column("Failed", help="Replies that the judge could not score"),
        Column("Bias", help="The judge's mean score minus that of people, in percentage points"),
        Column("Exact", help="Share of the same scores, percent"),
        *(Column(f"Kappa{name}") for name in ("", ", weighted", " of correct or wrong")),
    )
    rows = tuple(
        (
            Cell(printable(agreement.group or agreement.by)),
            Cell(words.count(agreement.replies)),
            count_cell(agreement.failed),
            Cell(words.change(agreement.bias), words.bounds(agreement.bias_interval, signed=True)),
            score_cell(agreement.exact, agreement.exact_interval),
            *map(_kappa, (agreement.kappa, agreement.kappa_weighted, agreement.kappa_right)),
        )
        for agreement in agreements
    )
    about = "Bias in percentage points and share of the same scores in percent, with 95% intervals; Cohen's kappa."
    return [Table("judge", "", "Judge and people", about, columns, rows, denominator="shared")]


def shift_tables(shifts: Sequence[analysis.JudgeShift]) -> list[Table]:
    """Second judges compared with first ones: one table, a row per model and task; none without any."""
    if not shifts:
        return []
    fields: Fields[analysis.JudgeShift] = (
        (Column("Model", number=False), lambda shift: Cell(system_of(shift).name, below=(task_title(shift.task),))),
        (
            Column("Second judge", number=False, help="Below it the first"),
            lambda shift: Cell(
                "second prompt" if shift.second == shift.judge else printable(shift.second),
                below=(printable(shift.judge),),
            ),
        ),
        (
            Column("Replies", help="Judged by both"),
            lambda shift: Cell(words.count(shift.replies), below=(f"{shift.failed:,} failed",) if shift.failed else ()),
        ),
        (Column("First"), lambda shift: Cell(words.percent(shift.first_mean))),
        (Column("Second"), lambda shift: Cell(words.percent(shift.second_mean))),
        (
            Column("Shift", help="Second minus first, in percentage points"),
            lambda shift: Cell(
                words.change(shift.shift),
                words.bounds(shift.interval, signed=True),
                below=(words.chance_of(shift.p_value),),
            ),
        ),
        (
            Column("Kappa", help="Fleiss' kappa of right (50 percent or more) and wrong"),
            lambda shift: Cell(_kappa(shift.kappa).text, _kappa_bounds(shift.kappa_interval)),
        ),
    )
    return [table_of("second-judge", "Second judges", fields, shifts, about=ABOUT_SHIFT, denominator="shared")]


def _kappa_bounds(interval: Interval | None) -> str:
    return "" if interval is None else words.minus(f"[{interval.low:.2f}, {interval.high:.2f}]")


def _kappa(value: float | None) -> Cell:
    return Cell() if value is None else Cell(words.minus(f"{value:.2f}"))


def difficulty_tables(difficulties: Sequence[analysis.Difficulty]) -> list[Table]:
    """A row per label: its questions, and the probability of each label from other models."""
    return list(map(_difficulty_table, difficulties))


def _difficulty_table(difficulty: analysis.Difficulty) -> Table:
    asked = sum(difficulty.counts.values())
    columns = (
        Column("Label", number=False),
        Column("Questions"),
        Column("Share"),
        *(Column(f"→{label}", help="By other models") for label in difficulty.counts),
    )
    rows = tuple(
        (
            Cell(label),
            Cell(words.count(count)),
            Cell(words.percent(count / asked if asked else None)),
            *(Cell(words.percent(difficulty.moved.get((label, other)))) for other in difficulty.counts),
        )
        for label, count in difficulty.counts.items()
    )
    about = "Shares in percent. Other models of these tiers give a question the same label "
    about += f"{words.percent(difficulty.agreement)}% of the time." if difficulty.labels else "in no question."
    return Table("difficulty", "", "Difficulty", about, columns, rows, denominator="shared")


TABLES: Mapping[type, Callable[[Any], Sequence[Table]]] = {
    **STUDIES,
    analysis.Comparison: comparison_tables,
    analysis.Agreement: agreement_tables,
    analysis.JudgeAgreement: judge_tables,
    analysis.JudgeShift: shift_tables,
    analysis.Neighbour: neighbour_tables,
    analysis.BestCandidate: best_tables,
    analysis.Difficulty: difficulty_tables,
    analysis.HelmetScore: helmet_tables,
}
"""Tables by the type of the results: of sections, and of studies that no section shows."""
