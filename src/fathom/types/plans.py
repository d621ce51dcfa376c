"""Plans: what one item asks and what must be in its context; and what a task may use to draw one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, Protocol, TypeAlias

from fathom.types.common import Facet
from fathom.types.documents import Document, Question, Span
from fathom.types.samples import Part


@dataclass(frozen=True, slots=True)
class Needle:
    """A sentence to hide in running text, at ``depth`` in [0, 1] of the context (0 = first, 1 = last)."""

    text: str
    depth: float


@dataclass(frozen=True, slots=True)
class Ending:
    """What can be known only when the context stands: a question, its answer and its chance level.

    Attributes:
        question: The end of the prompt.
        targets: Acceptable gold answers.
        chance: Expected score of a valid answer drawn at random.
        facets: See ``Sample``.
        asked: See ``Sample``.
        closed: The whole prompt that asks the same without any context; "" where that makes no sense.
        thinking: The end of the prompt, in place of ``question``, that asks for thoughts before the answer; "" where
            there is none.
        inputs: See ``Sample``. Like facets they are left out where the question is asked without any context.
    """

    question: str
    targets: tuple[str, ...]
    chance: float
    facets: Mapping[str, Facet] = field(default_factory=dict)
    asked: str = ""
    closed: str = ""
    thinking: str = ""
    inputs: Mapping[str, Facet] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Haystack:
    """Plan of an item whose needles lie in running text.

    ``intro``, then filler documents with the needles between their sentences, then the ending's question.
    """

    intro: str
    needles: tuple[Needle, ...]
    ending: Ending


@dataclass(frozen=True, slots=True)
class Passages:
    """Plan of an item over numbered passages.

    Attributes:
        intro: Instruction before the context.
        header: Heading of a passage; ``{number}`` stands for its number, from 1.
        gold: Passages that must be there at every length, with their depth in [0, 1].
        finish: What is asked, once the context stands: one ending or, over the same context, several.
        copies: Copies of each filler in the order in which lengths take them, or () for one each.
        shuffle: Sort keys that scatter the copies, one tuple a filler; () keeps the order as drawn.
    """

    intro: str
    header: str
    gold: tuple[tuple[Span, float], ...]
    finish: Callable[[Layout], tuple[Ending, ...]]
    copies: tuple[int, ...] = ()
    shuffle: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """A finished context of passages.

    Attributes:
        spans: The passages in order.
        gold: Indices of the gold passages among them.
        fillers: For each passage the number of the filler that it came from, -1 for gold.
    """

    spans: tuple[Span, ...]
    gold: tuple[int, ...]
    fillers: tuple[int, ...]


Measure: TypeAlias = Callable[[Sequence[Part]], int]
"""Tokens of a prompt, given in parts."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """A prompt that a task has put together itself.

    Attributes:
        parts: The whole prompt, with what is asked at its end.
        ending: What is asked; its ``question`` is the end of the prompt.
        depth: Where the gold text lies, in [0, 1]; None where there is no single gold text.
    """

    parts: tuple[Part, ...]
    ending: Ending
    depth: float | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    """Plan of an item that is made of whole texts: it cannot fill every length.

    Attributes:
        arrange: Given a budget in tokens and what measures a prompt: the prompt that fills the budget best, or None
            where the item cannot stand at that length.
        over: Share of the budget by which the prompt may exceed it: 0 but for prompts that somebody has published.
        cut: What becomes of a prompt beyond that. ``never``: the item is left out, because none of its texts may be
            cut. ``tidy``: it loses its middle, at the end of a paragraph or sentence. ``even``: it loses its middle, so
            that half the budget is its beginning and half its end, wherever that cuts.
    """

    arrange: Callable[[int, Measure], Arranged | None]
    over: float = 0.0
    cut: Literal["never", "tidy", "even"] = "never"


Plan: TypeAlias = Haystack | Passages | Whole


class Counter(Protocol):
    """Counts tokens in pieces of documents; implemented by ``fathom.counts.TokenCounter``."""

    def count(self, text: str) -> int:
        """Tokens of ``text`` on its own."""
        ...

    def size(self, document: Document) -> int:
        """Tokens of a whole document, from the cache where it is known."""
        ...

    def between(self, document: Document, start: int, end: int) -> int:
        """Tokens of characters ``start`` to ``end`` of a document."""
        ...

    def head(self, document: Document, tokens: int) -> Span:
        """The longest start of ``document`` of at most ``tokens`` tokens that ends with a sentence or word."""
        ...

    def pieces(self, document: Document, tokens: int) -> Sequence[Span]:
        """All of ``document`` in pieces of whole sentences of at most ``tokens`` tokens."""
        ...

    def around(self, document: Document, evidence: Sequence[tuple[int, int]], tokens: int) -> Span | None:
        """Whole sentences of at most ``tokens`` tokens that hold all of ``evidence``; None if they do not fit."""
        ...


@dataclass(frozen=True)
class Scene:
    """What the items of a task in one language are made from.

    Attributes:
        language: Language of the prompts.
        documents: Documents in this language that items can be about.
        noise: Documents in this language that contexts are filled with; often the same ones.
        lengths: Lengths of the build in tokens, ascending.
        counter: Token counter of the suite.
        templates: Under the official profile the publishers' prompts by name, from the user's copy of their data; None
            where tasks use their own words.
        caps: Output caps in tokens that stand beside them, by name.
    """

    language: str
    documents: Sequence[Document]
    noise: Sequence[Document]
    lengths: tuple[int, ...]
    counter: Counter
    templates: Mapping[str, str] | None = None
    caps: Mapping[str, int] = field(default_factory=dict)

    @property
    def shortest(self) -> int:
        """The shortest length; gold text must leave room for it there."""
        return self.lengths[0]


@dataclass(frozen=True, slots=True)
class Card:
    """What one item can be made of. Tasks that must know more of an item extend it.

    Attributes:
        document: The document that the item is about.
        spans: What of it must stand in the context: one piece, or several that stand apart.
        questions: Questions about it, where the task needs them; each becomes a sample over the same context.
        lengths: Lengths of the build at which an item can be made of it; None for all of them.
        name: What its publishers number the item by, where it is published, so that it has the same name in every
            build; "" numbers items as they are dealt.
    """

    document: Document
    spans: tuple[Span, ...]
    questions: tuple[Question, ...] = ()
    lengths: tuple[int, ...] | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Stock:
    """What a task makes of a corpus, once for all its items.

    Attributes:
        fillers: Text to fill contexts with; each item takes it in an order of its own.
        cards: What items can be made of, dealt without replacement and each document once before any comes twice; those
            that can stand at more lengths come first. None where any number of items can be drawn.
        notes: What people should know about it, for instance how much had to be cut.
        shuffled: Whether the cards are shuffled before they are dealt; published cases keep their order.
        published: How many items their publishers have, where that is known; there are fewer cards where their data
            are at hand in part.
        stated: Whether cards stand at the lengths that their publishers state, however many tokens they have.
        elsewhere: How many are not among the cards because they state lengths that the build has not.
    """

    fillers: Sequence[Span]
    cards: Sequence[Card] | None = None
    notes: tuple[str, ...] = ()
    shuffled: bool = True
    published: int | None = None
    stated: bool = False
    elsewhere: int = 0


@dataclass(frozen=True)
class Draw:
    """All that a task may use to draw one item: nothing here depends on the length.

    Attributes:
        scene: Corpus, language and counter.
        rng: Generator of this item alone.
        depth: Relative depth in [0, 1] asked for the gold text.
        fillers: Number of fillers that contexts may take.
        card: The card dealt to this item, where the task has cards.
    """

    scene: Scene
    rng: Random
    depth: float
    fillers: int
    card: Card | None = None
