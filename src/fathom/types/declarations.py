"""Declarations of tasks and suites."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from fathom.types.common import Facet, FathomError
from fathom.types.documents import ROLES, Role
from fathom.types.plans import Draw, Plan, Scene, Stock
from fathom.types.replies import Row
from fathom.types.samples import Ordering, Sample, Verdict

AnswerKind: TypeAlias = Literal[
    "words", "sentence", "summary", "number", "count", "digits", "uuid", "option", "choice", "letter", "passage",
    "label", "order", "relations", "entities",
]  # fmt: skip
"""The kind of answer that a prompt asks for: a few words, one sentence or a summary; a number of the context, how many
texts differ, a number of so many digits, a UUID; the number of an option, a sentence with one of the choices A to D or
its letter; the number of a passage, the label of an answer, an order of parts; labels of pairs or entities that
examples show."""


@dataclass(frozen=True)
class Task:
    """Declaration of a task: how an item is drawn and how a reply is scored.

    Attributes:
        name: Name in commands and results.
        plan: Draws an item.
        score: Scores one reply; pure.
        metric: Name of the score, ``accuracy`` or ``token_f1`` or ...
        max_output_tokens: Output budget of a reply without reasoning.
        description: One line for ``fathom list tasks``.
        answer: The kind of answer that prompts ask for; offline baselines go by it.
        source: Paper and section, or the rule that defines it.
        languages: Languages that the prompts exist in.
        positioned: Whether ``Draw.depth`` places a single gold text, so that position can be swept.
        stock: What the task makes of a corpus; None where whole documents as fillers are all it needs.
        data: Names of the data sources (``fathom list data``) whose records alone it asks about.
        needs: What documents must carry, for people; "" if any text will do.
        gold: Roles of the documents that items can be about, where a corpus tells roles apart (see ``ROLES``).
        noise: Roles of the documents that contexts are filled with; empty where nothing is filled in.
        gold_alone: Whether its questions can also be asked over their gold passages alone, without distractors
            (``fathom build --alone``); for plans of ``Passages``.
        rubric: Rubric of ``fathom.score.judge`` by which a judge can score the task; "" for none.
        official: ``SUITE/METRIC`` of ``fathom list metrics`` that scores the task under the rule ``official``; "" for
            none.
        ordering: The segments whose order a sample asks for, given the texts of documents by id, where a model can be
            asked how likely each order is; None where it cannot.
        stop: Texts at which a reply ends; none of them is part of it.
        capped: Whether the output cap is part of the task: a reply that reaches it is whole.
        continued: Whether the prompt is a text to be continued, so that it should reach a model without a chat template
            where that is possible.
        lines: Whether the gold answers of a sample are the lines of one answer; else any of them is right.
        follow_up: Given the first reply and the sample, a second prompt, whose reply is the one that is scored; the
            first reply is kept as reasoning. None where one request is all.
        follow_up_tokens: Output budget of the second reply; None for that of the first.
        version: Raised when prompts or scores change.
        title: What people call it; "" for its name in words.
        facets: Facets that all its samples have, so that a choice by them passes over whole tasks.
        inputs: What its scorer needs of all its samples (``Sample.inputs``).
        formerly: An earlier name, "" for none. It is accepted wherever the name is, and items are still drawn and named
            by it, so that they stay the same.
    """

    name: str
    plan: Callable[[Draw], Plan]
    score: Callable[[str, Sample], Verdict]
    metric: str
    max_output_tokens: int
    description: str
    source: str
    answer: AnswerKind = "words"
    languages: tuple[str, ...] = ("en", "zh")
    positioned: bool = False
    stock: Callable[[Scene], Stock] | None = None
    data: tuple[str, ...] = ()
    needs: str = ""
    gold: tuple[Role, ...] = ROLES
    noise: tuple[Role, ...] = ROLES
    gold_alone: bool = False
    rubric: str = ""
    official: str = ""
    ordering: Callable[[Sample, Mapping[str, str]], Ordering] | None = None
    stop: tuple[str, ...] = ()
    capped: bool = False
    lines: bool = False
    continued: bool = False
    follow_up: Callable[[str, Sample], str] | None = None
    follow_up_tokens: int | None = None
    version: int = 1
    title: str = ""
    facets: Mapping[str, Facet] = field(default_factory=dict)
    inputs: Mapping[str, Facet] = field(default_factory=dict)
    formerly: str = ""

    def __post_init__(self) -> None:
        wrong = [
            name
            for name, is_right in (
                ("name", isinstance(self.name, str) and self.name),
                ("plan", callable(self.plan)),
                ("score", callable(self.score)),
                ("answer", self.answer in get_args(AnswerKind)),
                ("languages", isinstance(self.languages, tuple)),
            )
            if not is_right
        ]
        if wrong:
            raise FathomError(f"task {self.name!r}: {wrong[0]} cannot be {getattr(self, wrong[0])!r}")

    @property
    def first_name(self) -> str:
        """The name that seeds and the names of items are made from."""
        return self.formerly or self.name


@dataclass(frozen=True, slots=True)
class Grid:
    """How one task of a suite is laid out where it differs from the suite's other tasks.

    Attributes:
        items: Items of the task.
        lengths: Lengths in tokens, ascending.
        depths: Relative depths in [0, 1] that the gold texts of its items have in turn; empty for a random one each.
    """

    items: int
    lengths: tuple[int, ...]
    depths: tuple[float, ...] = ()


@dataclass(frozen=True)
class Suite:
    """Declaration of a suite: which tasks at which lengths make up a benchmark, and what they are made from.

    Attributes:
        name: Name in commands and results.
        tasks: Names of its tasks.
        lengths: Lengths in tokens.
        description: One line for ``fathom list suites``.
        source: Paper and section.
        items: Items of each task.
        corpus: Corpus where none is named; "" where its own sources must be given.
        sources: Names of the data sources (``fathom list data``) that play each role; empty where any corpus will do.
        closed_book: Whether questions are also asked without any context, so that known answers can be told apart.
        only: Names of the items that it is made of, ``TASK/LANGUAGE/NAME``; empty for all that there are.
        grids: Items and lengths of the tasks that have their own.
        tokenizer: What its paper counts lengths in, used where nothing else is named and it is at hand; "" for the
            default.
    """

    name: str
    tasks: tuple[str, ...]
    lengths: tuple[int, ...]
    description: str
    source: str = ""
    items: int = 50
    corpus: str = "world"
    sources: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    closed_book: bool = False
    only: tuple[str, ...] = ()
    grids: Mapping[str, Grid] = field(default_factory=dict)
    tokenizer: str = ""


Tell: TypeAlias = Callable[[str], None]
"""Is told what a reader left out."""


@dataclass(frozen=True, slots=True)
class Results:
    """Declaration of results in a form of their publishers, which become rows (``fathom rows --from NAME``).

    Attributes:
        name: Name in commands.
        read: Given a file or folder, and who is told which files are not read, the place of each file for messages and
            its rows.
        description: One line.
    """

    name: str
    read: Callable[[Path, Tell | None], Iterable[tuple[str, Iterable[Row]]]]
    description: str
