"""Plans: the question and required context of an item, and what a task uses to draw one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, Protocol, TypeAlias

from fathom.types.common import Facet, earlier_names
from fathom.types.documents import Document, Question, Span
from fathom.types.samples import Part


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A question that is not asked.

    Attributes:
        document: The source of its document, for messages.
        question: Its text.
        reason: Why, and what to do.
    """

    document: str
    question: str
    reason: str


@dataclass(frozen=True, slots=True)
class Needle:
    """A sentence to hide in running text, at ``depth`` in [0, 1] of the context (0 = first, 1 = last)."""

    text: str
    depth: float


@dataclass(frozen=True, slots=True)
class Ending:
    """A question with its answers and chance level, which can depend on the finished context.

    Attributes:
        question: The end of the prompt.
        targets: Acceptable gold answers.
        chance: Expected score of a valid answer drawn at random.
        facets: See ``Sample``.
        asked: See ``Sample``.
        closed: The whole closed-book prompt; "" if the question makes no sense without context.
        thinking: The end of the prompt, in place of ``question``, that asks for thoughts before the answer; "" for
            none.
        inputs: See ``Sample``. Like facets they are omitted for closed-book questions.
        unnamed: The end of the prompt, in place of ``question``, that does not name the passage by its number; "" if
            it never does.
    """

    question: str
    targets: tuple[str, ...]
    chance: float
    facets: Mapping[str, Facet] = field(default_factory=dict)
    asked: str = ""
    closed: str = ""
    thinking: str = ""
    inputs: Mapping[str, Facet] = field(default_factory=dict)
    unnamed: str = ""


@dataclass(frozen=True, slots=True)
class Haystack:
    """Plan of an item with needles in running text.

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
        gold: Passages required at every length, with their depth in [0, 1].
        finish: Given the finished context, one or several endings over it.
        copies: Copies of each filler, in order, or () for one each.
        shuffle: Sort keys that scatter the copies, one tuple per filler; () keeps the order as drawn.
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
        fillers: For each passage the number of its filler, -1 for gold.
    """

    spans: tuple[Span, ...]
    gold: tuple[int, ...]
    fillers: tuple[int, ...]


Measure: TypeAlias = Callable[[Sequence[Part]], int]
"""Tokens of a prompt, given in parts."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """A prompt composed by a task itself.

    Attributes:
        parts: The whole prompt, with the question at its end.
        ending: Its ending; ``question`` is the end of the prompt.
        depth: Position of the gold text, in [0, 1]; None without a single gold text.
    """

    parts: tuple[Part, ...]
    ending: Ending
    depth: float | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    """Plan of an item made of whole texts, which does not fit every length.

    Attributes:
        arrange: Given a budget in tokens and a function that counts a prompt, the prompt that best fills the budget;
            None if the item does not fit that length.
        over: Fraction of the budget by which the prompt may exceed it: 0 except for published prompts.
        cut: What happens to longer prompts. ``never``: the item is left out, because its texts may not be truncated.
            ``tidy``: the middle is removed, at the end of a paragraph or sentence. ``even``: the middle is removed so
                that
            the beginning and the end each get exactly half the budget.
    """

    arrange: Callable[[int, Measure], Arranged | None]
    over: float = 0.0
    cut: Literal["never", "tidy", "even"] = "never"


Plan: TypeAlias = Haystack | Passages | Whole


class Counter(Protocol):
    """Counts tokens in pieces of documents; implemented by ``fathom.tokens.counts.TokenCounter``."""

    def count(self, text: str) -> int:
        """Tokens of ``text`` on its own."""
        ...

    def join(self, left: str, right: str) -> int:
        """Tokens that joining two texts adds, or saves if negative."""

    def size(self, document: Document) -> int:
        """Tokens of a whole document, from the cache if known."""
        ...

    def between(self, document: Document, start: int, end: int) -> int:
        """Tokens of characters ``start`` to ``end`` of a document."""
        ...

    def head(self, document: Document, tokens: int) -> Span:
        """The longest start of ``document`` of at most ``tokens`` tokens that ends with a sentence or word."""
        ...

    def pieces(self, document: Document, tokens: int) -> Sequence[Span]:
        """``document`` in pieces of whole sentences of at most ``tokens`` tokens."""
        ...

    def around(self, document: Document, evidence: Sequence[tuple[int, int]], tokens: int) -> Span | None:
        """Whole sentences of at most ``tokens`` tokens that contain all of ``evidence``; None if they do not fit."""
        ...


@dataclass(frozen=True)
class Resources:
    """The documents from which a task makes items in one language, with what is needed to measure them.

    Attributes:
        language: Language of the prompts.
        documents: Documents in this language that items can be about.
        noise: Documents in this language that fill contexts; often the same ones.
        lengths: Lengths of the build in tokens, ascending.
        counter: Token counter of the suite.
        templates: The publishers' prompts by name, from the user's copy of their data, with ``--prompts official``;
            else None.
        caps: Output caps in tokens that the publishers give, by name.
        wording: The authors' texts for this task by name, with ``--prompts official``; empty for our own.
    """

    language: str
    documents: Sequence[Document]
    noise: Sequence[Document]
    lengths: tuple[int, ...]
    counter: Counter
    templates: Mapping[str, str] | None = None
    caps: Mapping[str, int] = field(default_factory=dict)
    wording: Mapping[str, str] = field(default_factory=dict)

    def texts_of(self, own: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
        """The texts of a prompt by name: the authors', or else those of ``own`` in this language."""
        return {**own[self.language], **self.wording}

    @property
    def shortest(self) -> int:
        """The shortest length, in which gold text must leave room for the question."""
        return self.lengths[0]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one item can be made of. Tasks that need more information subclass it.

    Attributes:
        spans: The required parts of it: one span, or several separate ones.
        questions: Questions about it, if the task uses them; each becomes a sample over the same context.
        lengths: Lengths of the build that it fits; None for all of them.
        name: The publishers' number of the item, so that it has the same name in every build; "" for a running number.
        facets: Facets of the samples of each question, in the order of the questions; () for none.
        cluster: A name that items of the same facts share; "" if the text of the document is what items share.
    """

    document: Document
    spans: tuple[Span, ...]
    questions: tuple[Question, ...] = ()
    lengths: tuple[int, ...] | None = None
    name: str = ""
    facets: tuple[Mapping[str, Facet], ...] = ()
    cluster: str = ""


@earlier_names(cards="candidates")
@dataclass(frozen=True, slots=True)
class CandidatePool:
    """The material that a task gets from documents, once for all its items.

    Attributes:
        fillers: Texts to fill contexts with; each item uses them in its own order.
        candidates: Candidates for items, drawn without replacement and each document once before any is used twice;
            those that fit more lengths come first. None if any number of items can be generated.
        notes: Messages for the user, for instance how many texts were truncated.
        shuffled: Whether to shuffle the candidates; published items keep their order.
        published: Number of items published, if known; there are fewer candidates if the data are incomplete.
        stated: Whether candidates have the lengths stated by their publishers, whatever their tokens.
        elsewhere: Number of items left out because their stated length is not in the build.
        left_out: Questions of the user's documents without a candidate.
    """

    fillers: Sequence[Span]
    candidates: Sequence[Candidate] | None = None
    notes: tuple[str, ...] = ()
    shuffled: bool = True
    published: int | None = None
    stated: bool = False
    elsewhere: int = 0
    left_out: tuple[LeftOut, ...] = ()


@earlier_names(scene="resources", card="candidate")
@dataclass(frozen=True)
class Draw:
    """What a task can use to draw one item; nothing here depends on the length.

    Attributes:
        resources: Documents, language and counter.
        rng: Random generator of this item.
        depth: Requested relative depth of the gold text, in [0, 1].
        fillers: Maximum number of fillers in a context.
        candidate: The candidate for this item, if the task has candidates.
    """

    resources: Resources
    rng: Random
    depth: float
    fillers: int
    candidate: Candidate | None = None
