"""A model's card as a value that every format is made of: tables, Markdown, numbers and a page."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fathom.analysis.card import CardRow, Check, ModelCard
from fathom.analysis.grid import ALL
from fathom.analysis.judge_shift import JudgeShift
from fathom.options.terminal import as_json
from fathom.printing import printable
from fathom.report import words
from fathom.report.markdown import escaped, table_lines
from fathom.report.page import Content, ShownSection, rendered
from fathom.report.parts import Definitions, PagePart, table_parts
from fathom.report.results import System, task_title
from fathom.report.studies import Tables, shift_tables
from fathom.report.summary import Sentence, Summary
from fathom.report.table import Cell, Column, Table

ABOUT = (
    "Scores in percent with 95% intervals, measured here; under both scoring rules where they differ. Of each length "
    "the mean over tasks."
)
ABOUT_TASKS = "Each task at each length, as above."
ABOUT_PRINTED = "As their sources print them; without intervals, because sources rarely give any."
ABOUT_CHECKS = (
    "Measured minus printed, in points. A row is reproduced if the two differ by at most one standard error of the "
    "difference (--within): of the measured score from its interval, of the printed one from its number of questions, "
    "where known."
)


@dataclass(frozen=True)
class Card:
    """A model's card, which shows itself in consoles and notebooks.

    Attributes:
        card: Its rows.
        notes: What a reader must know.
        made: How it was made: name and value.
        shifts: What second judges change.
    """

    card: ModelCard
    notes: tuple[str, ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    shifts: tuple[JudgeShift, ...] = ()

    def __repr__(self) -> str:
        return "\n".join((self.sentence, *self.notes, repr(Tables(self.tables()))))

    def _repr_html_(self) -> str:
        return Tables(self.tables())._repr_html_()

    @property
    def sentence(self) -> str:
        """How many rows there are, and how many printed ones were reproduced."""
        rows = self.card.rows
        measured = [row for row in rows if row.kind == "measured"]
        scores = words.several(len(measured), "score")
        benchmarks = words.several(len({row.benchmark for row in measured}), "benchmark")
        here = f"{scores} on {benchmarks} measured" if measured else "nothing measured"
        printed = words.several(len(rows) - len(measured), "score")
        counted = f"{printable(self.card.model)}: {here}, {printed} printed by others"
        if old := sum(bool(row.how.stale) for row in rows):
            counted += f" ({words.several(old, 'of them is', 'of them are')} stale)"
        tested = [check for check in self.card.checks if check.reproduced is not None]
        if not tested:
            return f"{counted}."
        agreed = sum(bool(check.reproduced) for check in tested)
        return f"{counted}; {agreed:,} of {len(tested):,} printed scores that were measured again are reproduced."

    def tables(self, *, tasks: bool = True) -> list[Table]:
        """Measured means, whether printed scores are reproduced, printed scores, measured tasks; those that have rows.

        Args:
            tasks: Whether the scores of each task are among them.
        """
        measured = [row for row in self.card.rows if row.kind == "measured"]
        alone = {row.benchmark for row in measured} - {row.benchmark for row in measured if row.task == ALL}
        main = [row for row in measured if row.task == ALL or row.benchmark in alone]
        rest = [row for row in measured if row not in main]
        printed = [row for row in self.card.rows if row.kind == "printed"]
        checks = [check for check in self.card.checks if check.measured is not None]
        made = (
            _rows_table("measured", "Measured", ABOUT, main),
            _checks_table(checks),
            *shift_tables(self.shifts),
            _rows_table("printed", "Printed", ABOUT_PRINTED, printed),
            _rows_table("tasks", "Measured, by task", ABOUT_TASKS, rest),
        )
        return [table for table in made if table.rows and (tasks or table.name != "tasks")]

    def markdown(self) -> str:
        """The sentence and the tables as GitHub's Markdown, for a model's page."""
        parts = [f"**{escaped(self.sentence)}**", *(f"- {escaped(note)}" for note in self.notes)]
        for table in self.tables():
            parts.append(f"\n#### {escaped(table.title)}\n\n{table.about}\n\n" + "\n".join(table_lines(table)))
        return "\n".join(parts) + "\n"

    def numbers(self) -> dict[str, Any]:
        """Everything as numbers and texts."""
        return {
            "sentence": self.sentence,
            "card": self.card,
            "second_judges": self.shifts,
            "notes": self.notes,
            "made": dict(self.made),
        }

    def html(self) -> str:
        """One self-contained page, with all numbers as JSON."""
        first, *rest = self.tables()
        notes = tuple(Sentence("", note) for note in self.notes)
        summary = Summary((Sentence("", self.sentence),), "", notes, first, (), (), self.made)
        made = ShownSection(
            "section-made", "How this was made", "", "", "", False, [Definitions(self.made, small=True)]
        )
        content = Content(
            title=f"Long contexts: {printable(self.card.model)}",
            summary=summary,
            curve=None,
            sections=[*map(_section, rest), made],
            systems=[System(printable(self.card.model), "")],
            whole="Every measured row has a score.",
            lacking="Remarks",
            numbers=as_json(self.numbers(), indent=None),
        )
        return rendered(content)

    def text(self, format: str) -> str:
        """The card as ``text``, ``html``, ``markdown`` or ``json``."""
        if format == "text":
            return f"{self!r}\n"
        if format == "html":
            return self.html()
        return self.markdown() if format == "markdown" else as_json(self.numbers()) + "\n"


def _section(table: Table) -> ShownSection:
    parts: list[PagePart] = table_parts([table])
    return ShownSection(f"section-{table.name}", table.title, "", table.about, "", table.name != "tasks", parts)


def _rows_table(name: str, title: str, about: str, rows: Sequence[CardRow]) -> Table:
    columns = (
        Column("Benchmark", number=False),
        Column("Length"),
        Column("Score"),
        Column("Items"),
        Column("How", number=False, help="Scorer and rule, whose program scored, prompt, judge, window"),
        Column("Cost"),
        Column("From", number=False, help="Source, version, revision of the data, date"),
    )
    return Table(
        name,
        "",
        title,
        about,
        columns,
        tuple(tuple(_cells(row)) for row in rows),
        denominator="published" if name == "printed" else "scored",
    )


def _cells(row: CardRow) -> Iterator[Cell]:
    how = row.how
    yield Cell(printable(row.benchmark), below=() if row.task == ALL else (printable(task_title(row.task)),))
    yield Cell(_length(row))
    below = () if row.without is None else (f"{words.percent(row.without)} without {row.faulty:,} faulty",)
    yield Cell(words.percent(row.score), words.bounds(row.interval), note=printable(how.note), below=below)
    yield Cell(words.count(row.n))
    window = "" if how.window is None else f"window {words.tokens(how.window)}"
    scorer, *more = _known(
        how.scorer,
        how.port and f"scored by {how.port}",
        how.prompt and f"{how.prompt} prompt",
        how.judge and f"judge {how.judge}",
        window,
    )
    yield Cell(scorer, below=tuple(more))
    yield Cell(words.money(row.cost))
    stale = how.stale and f"stale: {how.stale}"
    source, *more = _known(how.source, how.version, how.revision, how.date, how.url, stale)
    yield Cell(source, below=tuple(more))


def _known(first: str, *rest: str) -> Iterable[str]:
    return (printable(first) or words.ABSENT, *(printable(text) for text in rest if text))


def _length(row: CardRow) -> str:
    return "all" if row.length is None else words.tokens(row.length)


def _checks_table(checks: Sequence[Check]) -> Table:
    columns = (
        Column("Benchmark", number=False),
        Column("Length"),
        Column("Printed", denominator="published"),
        Column("Measured"),
        Column("Difference", denominator="none"),
        Column("Reproduced", number=False),
    )
    rows = tuple(tuple(_check_cells(check, check.measured)) for check in checks if check.measured is not None)
    return Table("checks", "", "Printed scores measured again", ABOUT_CHECKS, columns, rows, denominator="scored")


def _check_cells(check: Check, own: CardRow) -> Iterator[Cell]:
    printed = check.printed
    yield Cell(
        printable(printed.benchmark), below=() if printed.task == ALL else (printable(task_title(printed.task)),)
    )
    yield Cell(_length(own))
    yield Cell(words.percent(printed.score), below=tuple(_known(printed.how.source, printed.how.date)))
    yield Cell(words.percent(own.score), words.bounds(own.interval), below=tuple(filter(None, (own.how.date,))))
    yield Cell(
        words.change(check.difference),
        below=() if check.errors is None else (f"{check.errors:.1f} standard errors",),
    )
    verdict = {True: "yes", False: "no", None: "unknown"}[check.reproduced]
    yield Cell(verdict, below=tuple(f"another {name}" for name in check.differs))
