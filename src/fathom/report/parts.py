"""Parts of the page: what a section puts between its heading and the next one."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from markupsafe import Markup

from fathom.printing import pieces
from fathom.report.drawing import style
from fathom.report.figure import Figure
from fathom.report.results import Results
from fathom.report.table import Table


class Text(NamedTuple):
    """A paragraph in small type."""

    text: str


class Heading(NamedTuple):
    """A heading within a section."""

    text: str
    level: int = 3


class Mark(NamedTuple):
    """A name with its line and marker; the colour is one of ``colours.NAMES``."""

    name: str
    colour: str
    dash: tuple[int, ...]
    shape: str


class Key(NamedTuple):
    """What colours and markers of figures mean, and what grey lines mean (names and dashes).

    ``label`` says for screen readers what it is the key of; ``spaced`` ends it with an empty line of the source.
    """

    label: str
    marks: Sequence[Mark]
    lines: Sequence[tuple[str, tuple[int, ...]]] = ()
    spaced: bool = True


class Figures(NamedTuple):
    """Figures next to each other: small ones in a grid, two as a pair, or a large one on a plate."""

    figures: Sequence[Figure]
    layout: Literal["grid", "pair", "plate"] = "grid"


class Drawing(NamedTuple):
    """A drawing that keeps its size and scrolls on narrow screens."""

    label: str
    drawing: Markup


class Items(NamedTuple):
    """A list of sentences."""

    texts: Sequence[str]


class Definitions(NamedTuple):
    """Terms and what they mean."""

    terms: Sequence[tuple[str, str]]
    small: bool = False


class Scale(NamedTuple):
    """The colours of scores from 0 to 100%."""


class Space(NamedTuple):
    """An empty line in the source of the page, which earlier versions wrote too."""


class Folded(NamedTuple):
    """Parts that are folded to a title."""

    title: str
    parts: Sequence["PagePart"]


PagePart: TypeAlias = Table | Text | Heading | Key | Figures | Drawing | Items | Definitions | Scale | Space | Folded


def soft(text: str) -> Markup:
    """Escapes a name and allows line breaks at its separators, for narrow screens."""
    return Markup("<wbr>").join(pieces(text))


def key_of_models(results: Results, lines: Sequence[tuple[str, tuple[int, ...]]] = ()) -> Key:
    """The key of figures with one line for each model, and of the chance level."""
    marks = [Mark(system.name, *style(number)[1:]) for number, system in enumerate(results.systems)]
    return Key("Models in the figures", marks, [("chance", (3, 3)), *lines])


def table_parts(tables: Sequence[Table], more: str = "Task by task") -> list[PagePart]:
    """Tables for the page: those that are breakdowns are folded below the others, under the heading ``more``."""
    details = [table for table in tables if table.detail]
    return [*(table for table in tables if not table.detail), *([Folded(more, details)] if details else [])]
