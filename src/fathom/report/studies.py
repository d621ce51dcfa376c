"""The tables of studies, for a terminal and for notebooks: made from their results alone."""

import dataclasses
import io
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import polars as pl
from markupsafe import Markup

from fathom import analysis
from fathom.analysis.ability import APART, UNCERTAIN
from fathom.analysis.effective import Reach
from fathom.analysis.steady import Estimate
from fathom.options.terminal import print_json, tell
from fathom.printing import printable
from fathom.report import words
from fathom.report.answers import answers_tables
from fathom.report.breakdown import gain_tables, run_tables, score_tables
from fathom.report.known import KNOWN, known_cells
from fathom.report.lengths import BOUNDS, LENGTHS
from fathom.report.position import contrast_tables
from fathom.report.results import ALL, System, system_of
from fathom.report.table import Cell, Column, Table
from fathom.report.tables import category_tables, neighbour_tables
from fathom.report.tables import tables as report_tables
from fathom.report.tally import COUNTS, SCORER_ERRORS, count_cells
from fathom.report.terminal import show
from fathom.report.truncation import truncation_tables
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Unanswered

Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)
WHOLE = "All lengths"
PERCENT = "Scores in percent, with 95% intervals."
ABOUT_PAIRS = (
    "Paired differences in percentage points, the first model minus the second, with 95% intervals and p-values of the "
    "sign-flip test over items."
)
SHARED = "A cell is a task at a length: differences are over the cells at which both models have a score."


class Tables(tuple[Table, ...]):
    """Tables that show themselves in consoles and notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The tables as a terminal shows them."""
        return _text(self, None)

    def _repr_html_(self) -> str:
        return "\n".join(map(as_markup, self))


def tables_of(found: Sequence[Any]) -> list[Table]:
    """The tables of the results of a study; empty without results.

    Args:
        found: Results of one study of ``fathom.analysis``.
    """
    kinds = dict.fromkeys(type(one) for one in found)
    return [table for kind in kinds for table in TABLES[kind]([one for one in found if type(one) is kind])]


def notes_of(found: Iterable[Any]) -> list[str]:
    """Notes below the tables of scores by length: why a measure is undefined, and caveats about models.

    Curves and effective lengths have only caveats about all models.
    """
    shared: dict[str, None] = {}
    own = []
    for one in found:
        if isinstance(one, analysis.CurvePoint | analysis.EffectiveLength):
            shared |= {APART: None} if APART in one.note else {}
        elif isinstance(one, analysis.LongScore | analysis.Steady):
            if one.undefined:
                own.append(f"{one.model}, {one.task}: {one.undefined}")
            for note in filter(None, one.note.split("; ")):
                if note.startswith(UNCERTAIN):
                    own.append(f"{one.model}, {one.task}: {note}")
                else:
                    shared[note] = None
        elif isinstance(one, analysis.Difficulty):
            own.extend(one.notes)
    return [printable(note) for note in (*shared, *own)]


def as_text(found: Sequence[Any], width: int | None = None) -> str:
    """The tables and notes as a terminal shows them.

    Args:
        found: See ``tables_of``.
        width: Columns of text; None for those of the terminal.
    """
    return "\n".join((_text(tables_of(found), width), *notes_of(found)))


def _text(tables: Iterable[Table], width: int | None) -> str:
    from rich.console import Console

    stream = io.StringIO()
    show(tables, Console(file=stream, width=width, color_system=None, force_jupyter=False), details=True)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()).strip("\n")


def as_html(found: Sequence[Any]) -> str:
    """The tables and notes for a notebook; every text is escaped."""
    return "\n".join(
        (*map(as_markup, tables_of(found)), *(Markup("<p>{}</p>").format(note) for note in notes_of(found)))
    )


def print_section(rows: analysis.Filtered, section: str, seed: int, unanswered: Unanswered, empty: str) -> None:
    """Print the tables of one section of the report, or the note ``empty`` if it has none."""
    chosen = [one for one in report_tables(rows, seed=seed, unanswered=unanswered) if one.section == section]
    if not chosen:
        tell(empty)
    show(chosen, details=True)


def print_results(found: Sequence[Any], as_json: bool, empty: str = "") -> None:
    """Print results as JSON, or as tables with their notes; ``empty`` is a note if there are none."""
    if as_json:
        return print_json(found)
    if not found and empty:
        tell(empty)
    show(tables_of(found), details=True)
    for note in notes_of(found):
        print(note)


def as_markup(table: Table) -> Markup:
    """One table, with the headings of groups before those of their columns, and numbered notes below."""
    headings = Markup("").join(
        Markup('<th scope="col">{}</th>').format(" ".join(filter(None, (one.group, one.label))))
        for one in table.columns
    )
    notes = table.notes
    rows = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(_html_cell(cell, notes) for cell in row)) for row in table.rows
    )
    below = Markup("").join(
        Markup("<p><sup>{}</sup> {}</p>").format(number, note) for number, note in enumerate(notes, 1)
    )
    said = filter(None, (table.about, table.divided_by))
    about = Markup("").join(Markup("<p>{}</p>").format(line) for line in said)
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
        return pl.DataFrame([_flat(dataclasses.asdict(_any(one))) for one in self], infer_schema_length=None)


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        flat |= _flat(value, f"{before}{name}_") if isinstance(value, dict) else {f"{before}{name}": value}
    return flat


# ---------------------------------------------------------------------------------------------- scores by length


def curve_tables(found: Sequence[analysis.CurvePoint]) -> list[Table]:
    """Score at each length, and chance."""
    lengths = sorted({one.length for one in found})

    def cells(own: Sequence[analysis.CurvePoint]) -> list[Cell]:
        at = {one.length: one for one in own}
        chance = Cell(words.span(one.chance for one in own))
        return [*(_score(at.get(length)) for length in lengths), chance]

    return _by_system(found, [*map(_length, lengths), Column("Chance")], cells, PERCENT)


def _score(one: analysis.CurvePoint | None) -> Cell:
    if one is None:
        return Cell()
    if one.mean is None and one.bounds:
        return Cell(words.between(one.bounds), BOUNDS, f"Not measured: {one.gap}.")
    return Cell(words.percent(one.mean), words.bounds(one.interval), f"Not measured: {one.gap}." if one.gap else "")


def length_tables(found: Sequence[analysis.EffectiveLength]) -> list[Table]:
    """Effective length under each definition."""

    def cells(own: Sequence[analysis.EffectiveLength]) -> list[Cell]:
        return [_reach(one) for one in own]

    return _by_system(found, LENGTHS, cells, "Effective context length in tokens, with 95% intervals.")


def longscore_tables(found: Sequence[analysis.LongScore]) -> list[Table]:
    """Base, mean LongScore over the lengths that all models have, and LongScore at each length."""
    lengths = sorted({point.length for one in found for point in one.points})

    def cells(own: Sequence[analysis.LongScore]) -> list[Cell]:
        (one,) = own
        values = {point.length: point.value for point in one.points}
        mean = Cell(words.change(one.shared_average), _whole(one.shared_interval, "+"))
        return [
            Cell(words.percent(one.base), _whole(one.base_interval)),
            Cell("undefined") if one.undefined else mean,
            *(Cell(_rounded(values.get(length))) for length in lengths),
        ]

    columns = (Column("Base"), Column("LongScore"), *map(_length, lengths))
    return _by_system(found, columns, cells, "Percent, with 95% intervals.")


def retention_tables(found: Sequence[analysis.Steady]) -> list[Table]:
    """Base in percent; retention, log-ratio and area as ratios; L85 and L50 in tokens."""

    def cells(own: Sequence[analysis.Steady]) -> list[Cell]:
        (one,) = own
        return [
            Cell(words.percent(one.base.value), _whole(one.base.interval)) if one.base else Cell(),
            *(_ratio(each, sign) for each, sign in ((one.retention, ""), (one.log_ratio, "+"), (one.area, ""))),
            *map(_reach, (one.l85, one.l50)),
        ]

    names = ("Base", "Retention", "Log-ratio", "Area", "L85", "L50")
    about = "Base in percent, L85 and L50 in tokens, the others are ratios; with 95% intervals."
    return _by_system(found, list(map(Column, names)), cells, about)


def _by_system(
    found: Sequence[Result], columns: Sequence[Column], cells: Callable[[Sequence[Result]], list[Cell]], about: str
) -> list[Table]:
    """The mean over tasks model by model, then each model task by task; one table for a single task.

    Args:
        found: Results with a model, variant and task.
        columns: Those after the first.
        cells: Makes the cells of the results of one model on one task.
        about: A sentence above the first table.
    """
    grouped = _grouped(found, lambda one: (system_of(_any(one)), str(_any(one).task)))
    tasks = list(dict.fromkeys(task for _, task in grouped))
    # With one task the mean over tasks is the same.
    overall = tasks[0] if len([task for task in tasks if task != ALL]) == 1 else ALL
    made = [("all tasks" if overall == ALL else overall, "Model", [one for one in grouped if one[1] == overall])]
    if overall == ALL:
        for system in dict.fromkeys(system for system, _ in grouped):
            made.append((system.name, "Task", [one for one in grouped if one[0] == system and one[1] != ALL]))
    return [
        Table(
            name=f"study-{number}",
            section="",
            title=printable(title),
            about="" if number else about,
            columns=(Column(heading, number=False), *columns),
            rows=tuple(
                (Cell(system.name if heading == "Model" else printable(task)), *cells(grouped[system, task]))
                for system, task in keys
            ),
            denominator="scored",
        )
        for number, (title, heading, keys) in enumerate(one for one in made if one[2])
    ]


def _any(one: object) -> Any:
    return one


def _grouped(found: Iterable[Result], key: Callable[[Result], Key]) -> dict[Key, list[Result]]:
    groups: dict[Key, list[Result]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return groups


def _length(length: int | None) -> Column:
    return Column(WHOLE if length is None else words.tokens(length))


def _whole(interval: Interval | None, sign: str = "") -> str:
    """An interval in whole percent."""
    if interval is None:
        return ""
    return _minus(f"[{100 * interval.low:{sign}.0f}, {100 * interval.high:{sign}.0f}]")


def _rounded(value: float | None) -> str:
    return words.ABSENT if value is None else _minus(f"{100 * value:+.0f}")


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _ratio(one: Estimate | None, sign: str) -> Cell:
    if one is None:
        return Cell("undefined")
    interval = f"[{one.interval.low:{sign}z.2f}, {one.interval.high:{sign}z.2f}]"
    return Cell(_minus(f"{one.value:{sign}z.2f}"), _minus(interval))


def _reach(one: Reach | analysis.EffectiveLength | None) -> Cell:
    """A length with its interval."""
    if one is None or one.interval is None:
        return Cell("undefined")
    shown = "< shortest" if one.tokens is None else words.tokens(one.tokens)
    return Cell(f"≥ {shown}" if one.censored == "above" else shown, words.token_bounds(one.interval))


# ------------------------------------------------------------------------------------------------------- two models


def comparison_tables(found: Sequence[analysis.Comparison]) -> list[Table]:
    """Differences between every two models: one table per pair, a row per task, a column per length."""

    def cell(one: analysis.Comparison) -> Cell:
        shared = f"on {words.count(one.cells)} of {words.count(one.cells_of)} cells"
        return Cell(
            words.change(one.difference),
            words.bounds(one.interval, signed=True),
            below=(*words.chances_of(one.p_value, one.p_adjusted), *([shared] if one.cells < one.cells_of else [])),
        )

    def more(one: analysis.Comparison) -> list[Cell]:
        counts = (
            f"{words.count(number)} {outcome}, {side}"
            for name, outcome in (
                ("unanswered", "unanswered"),
                ("cut", "truncated"),
                ("missing", "missing"),
                ("scorer_error", SCORER_ERRORS),
            )
            for side, number in (("first", getattr(one, f"{name}_a")), ("second", getattr(one, f"{name}_b")))
            if number
        )
        return [Cell(words.count(one.items), below=tuple(counts))]

    about = [ABOUT_PAIRS, words.adjustment(len(found))]
    if any(one.cells < one.cells_of for one in found):
        about.append(SHARED)
    return _by_pair(found, "{} − {}", " ".join(about), cell, [Column("Items")], more)


def agreement_tables(found: Sequence[analysis.Agreement]) -> list[Table]:
    """Share of the same answers of every two models: one table per pair, a row per task, a column per length."""

    def more(one: analysis.Agreement) -> list[Cell]:
        return [Cell(words.percent(one.score_a)), Cell(words.percent(one.score_b)), Cell(words.count(one.items))]

    columns = [Column("Score of first"), Column("Score of second"), Column("Items")]
    about = "How often both give the same answer, in percent with 95% intervals, and the scores of both in percent."
    return _by_pair(
        found,
        "{} and {}",
        about,
        lambda one: Cell(words.percent(one.agreement), words.bounds(one.interval)),
        columns,
        more,
    )


def _by_pair(
    found: Sequence[Result],
    title: str,
    about: str,
    cell: Callable[[Any], Cell],
    columns: Sequence[Column],
    more: Callable[[Any], list[Cell]],
) -> list[Table]:
    """One table for every two models: a row per task; a column per length, then further columns."""
    made: list[Table] = []
    pairs = _grouped(
        found,
        lambda one: (
            System(_any(one).model_a, _any(one).variant_a).name,
            System(_any(one).model_b, _any(one).variant_b).name,
        ),
    )
    for names, own in pairs.items():
        lengths = sorted({_any(one).length for one in own}, key=lambda length: (length is None, length))
        rows = []
        for task, line in _grouped(own, lambda one: str(_any(one).task)).items():
            at = {_any(one).length: one for one in line}
            heading = "all tasks" if task == ALL else printable(task)
            cells = (cell(at[length]) if length in at else Cell() for length in lengths)
            rows.append((Cell(heading), *cells, *more(at.get(None, line[-1]))))
        heads = (Column("Task", number=False), *map(_length, lengths), *columns)
        name = f"pair-{len(made) + 1}"
        made.append(
            Table(name, "", title.format(*names), "" if made else about, heads, tuple(rows), denominator="shared")
        )
    return made


# ------------------------------------------------------------------------------------------------------------ others


def position_tables(found: Sequence[analysis.PositionPoint]) -> list[Table]:
    """Score by depth: one table per model, a row per task and length, a column per depth."""
    made: list[Table] = []
    for system, own in _grouped(found, system_of).items():
        depths = sorted({(one.depth_low, one.depth_high) for one in own})
        rows = []
        for (task, length), line in _grouped(own, lambda one: (one.task, one.length)).items():
            at = {(one.depth_low, one.depth_high): _mean(one) for one in line}
            cells = (at.get(depth, Cell()) for depth in depths)
            items = Cell(words.count(max(one.items for one in line)))
            rows.append((Cell(printable(task)), Cell(words.tokens(length)), *cells, items))
        columns = (
            Column("Task", number=False),
            Column("Length"),
            *(Column(_depth(low, high), group="Depth") for low, high in depths),
            Column("Items", help="At each depth, at most"),
        )
        about = "" if made else f"{PERCENT} Depth 0% is the start of the context, 100% its end."
        title = f"{system.name}: depths"
        made.append(Table(f"depths-{len(made) + 1}", "", title, about, columns, tuple(rows), denominator="scored"))
    return made


def _mean(one: analysis.PositionPoint) -> Cell:
    return Cell(words.percent(one.mean), words.bounds(one.interval))


def _depth(low: float, high: float) -> str:
    return f"{100 * low:.0f}%" if low == high else f"{100 * low:.0f}–{100 * high:.0f}%"


def categories_tables(found: Sequence[analysis.CategoryScore]) -> list[Table]:
    """A row per model and a column per category; if tasks are among the results, then each model task by task."""
    systems = list(dict.fromkeys(map(system_of, found)))
    made = category_tables(found, systems)
    for system in systems:
        own = [one for one in found if system_of(one) == system and one.task != ALL]
        rows = tuple(
            (
                Cell(printable(one.task)),
                Cell(printable(one.group)),
                Cell(words.percent(one.score), words.bounds(one.interval), one.note),
                Cell(words.count(one.items)),
            )
            for one in own
        )
        columns = (Column("Task", number=False), Column("Category", number=False), Column("Score"), Column("Items"))
        if rows:
            made.append(Table(f"categories-{len(made)}", "", system.name, "", columns, rows, denominator="scored"))
    return made


def judge_tables(found: Sequence[analysis.JudgeAgreement]) -> list[Table]:
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
            Cell(printable(one.group or one.by)),
            Cell(words.count(one.replies)),
            Cell(words.count(one.failed), quiet=not one.failed),
            Cell(words.change(one.bias), words.bounds(one.bias_interval, signed=True)),
            Cell(words.percent(one.exact), words.bounds(one.exact_interval)),
            *(Cell(_kappa(value)) for value in (one.kappa, one.kappa_weighted, one.kappa_right)),
        )
        for one in found
    )
    about = "Bias in percentage points and share of the same scores in percent, with 95% intervals; Cohen's kappa."
    return [Table("judge", "", "Judge and people", about, columns, rows, denominator="shared")]


def _kappa(value: float | None) -> str:
    return words.ABSENT if value is None else _minus(f"{value:.2f}")


def difficulty_tables(found: Sequence[analysis.Difficulty]) -> list[Table]:
    """A row per label: its questions, and the probability of each label from other models."""
    made = []
    for one in found:
        asked = sum(one.counts.values())
        columns = (
            Column("Label", number=False),
            Column("Questions"),
            Column("Share"),
            *(Column(f"→{label}", help="By other models") for label in one.counts),
        )
        rows = tuple(
            (
                Cell(label),
                Cell(words.count(count)),
                Cell(words.percent(count / asked if asked else None)),
                *(Cell(words.percent(one.moved.get((label, other)))) for other in one.counts),
            )
            for label, count in one.counts.items()
        )
        about = "Shares in percent. Other models of these tiers give a question the same label "
        about += f"{words.percent(one.agreement)}% of the time." if one.labels else "in no question."
        made.append(Table("difficulty", "", "Difficulty", about, columns, rows, denominator="shared"))
    return made


def closed_book_tables(found: Sequence[analysis.Known]) -> list[Table]:
    """What each model answers closed-book."""
    columns = (Column("Model", number=False), Column("Task", number=False), *KNOWN)
    rows = tuple((Cell(system_of(one).name), Cell(printable(one.task)), *known_cells(one)) for one in found)
    return [Table("known", "", "Closed-book", "", columns, rows, denominator="scored")]


def count_tables(found: Sequence[analysis.Counts]) -> list[Table]:
    """Outcomes of the replies of each model."""
    rows = tuple((Cell(system_of(one).name), *count_cells(one)) for one in found)
    columns = (Column("Model", number=False), *COUNTS)
    return [Table("counts", "", "Counts", "", columns, rows, denominator="none")]


TABLES: Mapping[type, Callable[[Any], list[Table]]] = {
    analysis.LongScore: longscore_tables,
    analysis.Steady: retention_tables,
    analysis.CurvePoint: curve_tables,
    analysis.EffectiveLength: length_tables,
    analysis.Truncation: truncation_tables,
    analysis.AnswerPoint: answers_tables,
    analysis.Counts: count_tables,
    analysis.Comparison: comparison_tables,
    analysis.Agreement: agreement_tables,
    analysis.Known: closed_book_tables,
    analysis.PositionPoint: position_tables,
    analysis.PositionContrast: contrast_tables,
    analysis.JudgeAgreement: judge_tables,
    analysis.CategoryScore: categories_tables,
    analysis.GroupScore: score_tables,
    analysis.Repeats: run_tables,
    analysis.Neighbour: neighbour_tables,
    analysis.ThinkingGain: gain_tables,
    analysis.Difficulty: difficulty_tables,
}
