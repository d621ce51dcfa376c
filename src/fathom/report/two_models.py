"""Two models compared, as a value that every format is made of: one sentence, tables, Markdown, numbers and a page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from fathom.analysis import CurvePoint
from fathom.analysis.gate import Flip
from fathom.analysis.two_models import Difference, TwoModels
from fathom.options.terminal import as_json
from fathom.printing import printable
from fathom.report import words
from fathom.report.charts import Area, ConcatChart, Layer, LayerChart, Line, Numbers, Points
from fathom.report.colours import INK, MUTED
from fathom.report.curves import AT_ENDS, curve_chart
from fathom.report.drawing import Size, length_axis, length_domain, round_numbers, series_of
from fathom.report.figure import Figure, drawn
from fathom.report.markdown import escaped, table_lines
from fathom.report.page import Content, ShownSection, rendered
from fathom.report.parts import Definitions, PagePart, table_parts
from fathom.report.results import ALL, System, task_title
from fathom.report.studies import Tables
from fathom.report.summary import Sentence, Summary
from fathom.report.table import Cell, Column, Replies, Table

TITLE = "Two models compared"
SHOWN, LISTED = 5, 200
"""Flipped samples of each direction in a terminal and in Markdown, and on the page; JSON has all of them."""
SHORT, SHORTEST = 240, 60
"""Characters of a question, a gold answer or a reply, and those in a terminal and in Markdown."""
WIDE, NARROW = (Size(340, 190), Size(340, 120)), (Size(280, 190), Size(280, 120))
ABOUT_LENGTHS = (
    "Scores in percent with 95% intervals. The difference is the second minus the first, in points, paired over the "
    "samples of both. Its interval holds at all lengths together with 95%; that over all lengths for itself."
)
ABOUT_TASKS = (
    "Over the lengths that both have on a task. Differences have 95% intervals for themselves; one is significant if "
    "its p-value, adjusted by Holm's method for all tasks, is below 0.05."
)
ABOUT_FLIPS = "A score of 0.5 or more counts as right. Texts are shortened."


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two.

    Attributes:
        name: What it is called.
        model: The model's name.
        variant: What tells its runs apart from others of the model: a label, settings, the folder.
        sources: Its run folders and rows files.
        label: What `fathom run --label` named them, "" for nothing.
        finished: Replies so far; None for rows files.
        planned: Replies that its runs will have when finished.
        served: Names of models by which the server answered, with their fingerprints.
        servers: What the servers state of themselves, a line each.
        part: Which part of an unfinished run was asked, and in which order, in words.
    """

    name: str
    model: str
    variant: str
    sources: tuple[str, ...]
    label: str = ""
    finished: int | None = None
    planned: int | None = None
    served: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    part: str = ""

    @property
    def unfinished(self) -> str:
        """A sentence on its replies so far; "" if it is finished."""
        if self.finished is None or self.planned is None or self.finished >= self.planned:
            return ""
        part = f"; {self.part}" if self.part else ""
        return (
            f"{self.name} is unfinished: {self.finished:,} of {self.planned:,} replies so far{part}; intervals are for "
            "one look."
        )


@dataclass(frozen=True, slots=True)
class FlippedReply:
    """A sample that one of the two got right and the other wrong.

    Attributes:
        task: Name of the task.
        length: Length in tokens.
        sample: Its id.
        score_a: Score of the first, averaged over repeats.
        score_b: Score of the second.
        question: The question, "" if it is not known; this and the following are shortened.
        gold: The gold answer.
        reply_a: What the first replied.
        reply_b: What the second replied.
        suite: Name of its suite; ids may repeat in others.
    """

    task: str
    length: int
    sample: str
    score_a: float
    score_b: float
    question: str = ""
    gold: str = ""
    reply_a: str = ""
    reply_b: str = ""
    suite: str = ""


@dataclass(frozen=True)
class Compared:
    """A comparison of two models, which shows itself in consoles and notebooks.

    Attributes:
        result: Its figures.
        a: The first of the two.
        b: The second; differences are its score minus that of the first.
        flipped: The samples that flipped, those that the second got wrong first.
        notes: What a reader must know.
        made: How it was made: name and value.
        link: Gives the address of replies; None without links.
    """

    result: TwoModels
    a: Side
    b: Side
    flipped: tuple[FlippedReply, ...] = ()
    notes: tuple[str, ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    link: Callable[[Replies], str] | None = None

    def __repr__(self) -> str:
        return "\n".join((self.sentence, *self.remarks, repr(Tables(self.tables()))))

    def _repr_html_(self) -> str:
        return Tables(self.tables())._repr_html_()

    @property
    def sentence(self) -> str:
        """The answer: where the second scores more or less than the first, and how many answers flipped."""
        return _sentence(self.result, printable(self.a.name), printable(self.b.name))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was not compared, and other things that a reader must know."""
        sides = (self.a, self.b)
        unfinished = [printable(side.unfinished) for side in sides if side.unfinished]
        return (*unfinished, *_left_out(self.result, *(printable(side.name) for side in sides)), *self.notes)

    def tables(self, most: int = SHOWN) -> list[Table]:
        """The tables: by length, by task, and what flipped in each direction.

        Args:
            most: Flipped samples of each direction.
        """
        result, names = self.result, (printable(self.a.name), printable(self.b.name))
        by_length = [own for own in (*result.lengths, result.overall) if own is not None]
        made = [_table("lengths", "By length", "Length", ABOUT_LENGTHS, by_length, names)] if by_length else []
        if len(result.tasks) > 1 or not made:
            by_task = sorted(result.tasks, key=lambda own: (not own.significant, -abs(own.difference)))
            made.append(_table("tasks", "By task", "Task", ABOUT_TASKS, by_task, names))
        for name, (right, wrong), lost in (("lost", names, True), ("gained", names[::-1], False)):
            flips = [flip for flip in self.flipped if (flip.score_a > flip.score_b) is lost]
            if flips:
                title = f"Right by {right}, wrong by {wrong}: {words.several(len(flips), 'sample')}"
                made.append(_flip_table(name, title, flips, most, names))
        return made

    def markdown(self) -> str:
        """The sentence and the tables as GitHub's Markdown, for a message or a pull request."""
        parts = [f"**{escaped(self.sentence)}**", *(f"- {escaped(remark)}" for remark in self.remarks)]
        for table in self.tables():
            parts.append(f"\n#### {escaped(table.title)}\n\n{table.about}\n\n" + "\n".join(table_lines(table)))
        return "\n".join(parts) + "\n"

    def numbers(self) -> dict[str, Any]:
        """Everything as numbers and texts."""
        figures = asdict(self.result)
        del figures["lost"], figures["gained"]
        return {
            "sentence": self.sentence,
            "a": self.a,
            "b": self.b,
            **figures,
            "flipped_to_wrong": len(self.result.lost),
            "flipped_to_right": len(self.result.gained),
            "flipped": self.flipped,
            "notes": self.remarks,
            "made": dict(self.made),
        }

    def html(self) -> str:
        """One self-contained page: the sentence, one picture, the tables, and all numbers as JSON."""
        tables = self.tables(LISTED)
        first, rest = tables[0], tables[1:]
        answer = Sentence("", self.sentence)
        remarks = tuple(Sentence("", remark) for remark in self.remarks)
        summary = Summary((answer,), "", remarks, first, (), (), self.made)
        content = Content(
            title=f"{printable(self.a.name)} and {printable(self.b.name)}",
            summary=summary,
            curve=_picture(self),
            sections=[*map(_section, rest), _made_section(self.made)],
            systems=_systems(self),
            whole="Both have a score at every length and on every task.",
            lacking="Not compared",
            paired=True,
            numbers=as_json(self.numbers(), indent=None),
        )
        return rendered(content, link=self.link)

    def text(self, format: str) -> str:
        """The comparison as ``text``, ``html``, ``markdown`` or ``json``."""
        if format == "text":
            return f"{self!r}\n"
        if format == "html":
            return self.html()
        return self.markdown() if format == "markdown" else as_json(self.numbers()) + "\n"


# ------------------------------------------------------------------------------------------------------------ sentences


def _sentence(result: TwoModels, a: str, b: str) -> str:
    of = words.several(result.samples, "answer")
    ways = ((len(result.lost), "wrong"), (len(result.gained), "right"))
    counted = [f"{count:,} {'' if place else f'of {of} flipped '}to {to}" for place, (count, to) in enumerate(ways)]
    flipped = ", ".join(counted) if result.lost or result.gained else f"none of {of} flipped"
    return f"{_differences(result, a, b)}; {flipped}."


def _differences(result: TwoModels, a: str, b: str) -> str:
    """Where the scores differ significantly, and where they do not."""
    sure = [own for own in result.lengths if own.significant]
    rest = [own for own in result.lengths if not own.significant]
    if not result.lengths:
        tasks = [task_title(own.task) for own in result.tasks if own.significant]
        where = f"differ significantly on {words.listed(tasks)}" if tasks else "differ significantly on no task"
        return f"{b} and {a} {where}; no length has scores of both on every task"
    if not sure:
        whole = result.overall
        over = "" if whole is None or not rest[1:] else f"; over all lengths {b} scores {_by(whole)}"
        tested = "" if whole is None or not whole.significant or not rest[1:] else ", which is significant"
        lengths = f"any length ({_span(rest, result)})" if rest[1:] else _span(rest, result)
        return f"{b} and {a} do not differ significantly at {lengths}{over}{tested}"
    higher = sure[0].difference > 0
    ways = [[own for own in sure if (own.difference > 0) is way] for way in (higher, not higher)]
    parts = [_group(own, result, "" if place else a) for place, own in enumerate(ways) if own]
    none = f"; no difference is significant at {_span(rest, result)}" if rest else ""
    return f"{b} scores {' and '.join(parts)}{none}"


def _group(own: Sequence[Difference], result: TwoModels, than: str) -> str:
    """Significant differences of one direction."""
    word, of = ("more" if own[0].difference > 0 else "less"), (f" than {than}" if than else "")
    if len(own) == 1:
        return f"{_points(own[0])} {word}{of} at {words.tokens(own[0].length)} {_band(own[0])}"
    most = max(own, key=lambda each: abs(each.difference))
    at = f"{_points(most)} at {words.tokens(most.length)} {_band(most)}"
    return f"{word}{of} at {_span(own, result)}, by up to {at}"


def _by(own: Difference) -> str:
    if words.percent(own.difference) == "0.0":
        return f"the same {words.bounds(own.interval, signed=True)}"
    word = "more" if own.difference > 0 else "less"
    return f"{_points(own)} {word} {words.bounds(own.interval, signed=True)}"


def _points(own: Difference) -> str:
    return f"{words.percent(abs(own.difference))} points"


def _band(own: Difference) -> str:
    return words.bounds(own.band, signed=True)


def _span(some: Sequence[Difference], result: TwoModels) -> str:
    """Lengths in short: a range if they follow each other."""
    places = [result.lengths.index(own) for own in some]
    names = [words.tokens(own.length) for own in some]
    if len(names) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{names[0]} to {names[-1]}"
    return words.listed(names)


def _left_out(result: TwoModels, a: str, b: str) -> Iterator[str]:
    """Sentences on cells that are not compared."""
    cells = sorted(result.left_out, key=lambda cell: (cell.length, cell.a, cell.b, cell.task))
    for (length, *why), group in groupby(cells, key=lambda cell: (cell.length, cell.a, cell.b)):
        tasks = [task_title(cell.task) for cell in group]
        reasons = "; ".join(f"{name}: {text}" for name, text in zip((a, b), why, strict=True) if text)
        named = words.listed(tasks) if len(tasks) <= 3 else words.several(len(tasks), "task")
        yield f"Not compared at {words.length(length)}: {printable(named)} ({printable(reasons)})."
    known = {own.length for own in result.lengths}
    if some := [words.tokens(length) for length in sorted({own.length or 0 for own in result.cells} - known)]:
        yield f"At {words.listed(some)} not every task has scores of both: compared task by task only."


# --------------------------------------------------------------------------------------------------------------- tables


def _table(
    name: str, title: str, heading: str, about: str, differences: Sequence[Difference], names: tuple[str, str]
) -> Table:
    columns = (
        Column(heading, number=False),
        *map(Column, names),
        Column("Difference"),
        Column("Significant", number=False, help="With the p-value of the difference for itself"),
    )
    rows = tuple(
        (
            Cell(_heading(own, name)),
            Cell(words.percent(own.score_a), words.bounds(own.interval_a)),
            Cell(words.percent(own.score_b), words.bounds(own.interval_b)),
            Cell(words.change(own.difference), words.bounds(own.band or own.interval, signed=True)),
            Cell("yes" if own.significant else "no", below=(words.chance_of(own.p_value),)),
        )
        for own in differences
    )
    return Table(name, "", title, about, columns, rows, denominator="shared")


def _heading(own: Difference, name: str) -> str:
    if name == "tasks":
        return printable(task_title(own.task))
    return "All lengths" if own.length is None else words.tokens(own.length)


def _flip_table(name: str, title: str, flips: Sequence[FlippedReply], most: int, names: tuple[str, str]) -> Table:
    columns = (
        Column("Sample", number=False),
        Column("Question", number=False),
        Column("Gold", number=False),
        *(Column(own, number=False) for own in names),
    )
    characters = SHORT if most > SHOWN else SHORTEST

    def text(own: str, score: float | None = None) -> Cell:
        below = () if score is None else (f"score {words.percent(score)}",)
        return Cell(printable(_shortened(own, characters)) or words.ABSENT, below=below)

    rows = tuple(
        (
            Cell(
                printable(flip.sample),
                below=(f"{printable(task_title(flip.task))}, {words.length(flip.length)}",),
                replies=Replies("", "", sample=flip.sample, suite=flip.suite),
            ),
            *map(text, (flip.question, flip.gold)),
            text(flip.reply_a, flip.score_a),
            text(flip.reply_b, flip.score_b),
        )
        for flip in flips[:most]
    )
    more = f" The first {most:,} are shown; JSON has all of them." if len(flips) > most else ""
    return Table(name, "", title, ABOUT_FLIPS + more, columns, rows, denominator="none")


def flipped_reply(flip: Flip, question: str, gold: str, replies: tuple[str, str]) -> FlippedReply:
    """A flipped sample with its texts, shortened.

    Args:
        flip: The flip; its baseline is the first of the two models.
        gold: The gold answer.
        replies: What the first and the second replied.
    """
    asked, answer, first, second = map(_shortened, (question, gold, *replies))
    about = flip.task, flip.length, flip.sample, flip.baseline, flip.candidate
    return FlippedReply(*about, asked, answer, first, second, flip.suite)


def _shortened(text: str, most: int = SHORT) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most].rstrip(' …')}…"


# ----------------------------------------------------------------------------------------------------------------- page


def _section(table: Table) -> ShownSection:
    by_task = table.name == "tasks"
    sure = [row[0].text for row in table.rows if row[4].text == "yes"] if by_task else []
    on = words.listed(sure) if len(sure) <= 3 else words.several(len(sure), "task")
    finding = f"A significant difference on {on}." if sure else ""
    if by_task and not sure:
        finding = "No significant difference on any task."
    parts: list[PagePart] = table_parts([table])
    return ShownSection(
        f"section-{table.name}", table.title, finding, table.about, "" if by_task else "flips", True, parts
    )


def _made_section(made: Sequence[tuple[str, str]]) -> ShownSection:
    return ShownSection("section-made", "How this was made", "", "", "", False, [Definitions(made, small=True)])


def _systems(compared: Compared) -> list[System]:
    return [System(printable(side.name), "") for side in (compared.a, compared.b)]


def _picture(compared: Compared) -> Figure | None:
    """Both curves, and below them their difference; None without a length."""
    if not compared.result.lengths:
        return None
    label = "Scores of both against length, and their difference below; figures in the table by length"
    wide, narrow = (drawn(chart(compared, *sizes), label) for sizes in (WIDE, NARROW))
    first, second = (printable(side.name) for side in (compared.a, compared.b))
    note = (
        f"Above: mean score with its 95% interval. Below: {second} minus {first} in points, with the band that holds "
        "at all lengths together; filled points are significant, hollow ones are not."
    )
    return Figure("", wide, narrow, note)


def chart(compared: Compared, above: Size, below: Size) -> ConcatChart:
    """Both curves with their intervals, and below them the difference with its band.

    Args:
        compared: A comparison with at least one length.
        above: Size of the upper plotting area.
        below: Size of the lower one.
    """
    lengths, systems = compared.result.lengths, _systems(compared)
    points = [
        CurvePoint(system.name, "", ALL, own.length or 0, mean, interval, own.items, own.items, None)
        for own in lengths
        for system, mean, interval in (
            (systems[0], own.score_a, own.interval_a),
            (systems[1], own.score_b, own.interval_b),
        )
    ]
    legend = AT_ENDS if above.width > 400 else 1
    upper = replace(curve_chart(points, systems, above, legend=legend, title="Score"), aligned=True)
    return ConcatChart(concat=[upper, _difference_chart(lengths, systems, below)], columns=1, spacing=14)


def _difference_chart(lengths: Sequence[Difference], systems: Sequence[System], size: Size) -> LayerChart:
    records: list[dict[str, object]] = []
    for own in lengths:
        band = own.band or own.interval
        sure = "significant" if own.significant else "not significant"
        says = f"{words.tokens(own.length)}: {words.change(own.difference)} points {_band(own)}, {sure}"
        record = {"length": own.length, "difference": own.difference, "low": band.low, "high": band.high}
        records.append({**record, "sure": own.significant, "system": systems[1].name, "says": says})
    tested = [own.length or 0 for own in lengths]
    zero = [{"length": at, "difference": 0.0} for at in length_domain(tested)]
    layers: list[Layer] = [
        Area(records=records, x="length", low="low", high="high", opacity=0.2),
        Line(records=zero, x="length", y="difference", colour=MUTED.light, width=1.2),
        Line(records=records, x="length", y="difference", colour=INK.light, width=1.5),
    ]
    for hollow in (False, True):
        if chosen := [record for record in records if record["sure"] is not hollow]:
            points = Points(records=chosen, x="length", y="difference", colour=INK.light, size=44, hollow=hollow)
            layers.append(points)
    ends = [end for own in lengths for band in [own.band or own.interval] for end in (band.low, band.high)]
    low, high = min(-0.02, *ends), max(0.02, *ends)
    ticks = [(at, words.minus(f"{100 * at:{'+' if at else ''}.3g}")) for at in round_numbers(low, high, 4)]
    return LayerChart(
        layers=layers,
        size=size,
        x=length_axis(tested, size),
        y=Numbers(low=low, high=high, ticks=ticks, grid=True),
        series=series_of([system.name for system in systems]),
        title="Difference, points",
        aligned=True,
    )
