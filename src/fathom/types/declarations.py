"""Declarations of tasks and suites."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from fathom.types.common import Facet, FathomError, earlier_names
from fathom.types.documents import ROLES, Document, Role
from fathom.types.plans import CandidatePool, Draw, Plan, Resources
from fathom.types.replies import Row
from fathom.types.samples import Ordering, Sample, Score

AnswerKind: TypeAlias = Literal[
    "words", "sentence", "summary", "number", "count", "digits", "uuid", "option", "choice", "letter", "passage",
    "label", "order", "relations", "entities", "notes",
]  # fmt: skip
"""The kind of answer that a prompt asks for: a few words, one sentence or a summary; a number in the context, the
number of distinct texts, a number of given digits, a UUID; the number of an option, a sentence with one of the choices
A to D or its letter; the number of a passage, the label of an answer, an order of parts; labels of pairs or entities as
shown in examples; notes for another request (``fathom.run.systems``), which no task asks for."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts of a task's prompts, which ``--prompts official`` may replace.

    Attributes:
        texts: Our own texts by language and name, with placeholders such as ``{question}``. ``intro`` and ``question``
            (or ``before`` and ``after``) are before and after the context. Empty if prompts are those of the records.
        optional: Placeholders that other texts may leave out.
        also: Placeholders that other texts may have besides.
        extra: Names of texts without placeholders that only others have.
    """

    texts: Mapping[str, Mapping[str, str]]
    optional: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    extra: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PromptSource:
    """Declaration of a repository from which authors' prompts can be read; its code is never executed.

    Attributes:
        name: Name in messages and manifests.
        repository: Where it is, without ``https://``.
        tasks: Names of the tasks whose prompts it has.
        files: Paths of the files that have them, relative to the repository.
        read: Given the content of these files by path, the texts by task and name, with placeholders as in
            ``Task.wording``; empty if it is another repository. Raises a ``FathomError`` if a text is not found.
    """

    name: str
    repository: str
    tasks: tuple[str, ...]
    files: tuple[str, ...]
    read: Callable[[Mapping[str, str]], Mapping[str, Mapping[str, str]]]
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Dial:
    """What makes the items of a task harder or easier, and can be chosen in a build.

    Attributes:
        default: Its value where none is chosen.
        least: The least number that it takes.
        most: The largest one; less than ``least`` if it takes none.
        whole: Whether numbers are whole.
        words: Words that it takes.
    """

    default: Facet
    least: float = 0
    most: float = -1
    whole: bool = True
    words: tuple[str, ...] = ()

    def read(self, text: str) -> Facet | None:
        """The value that a text names; None if it takes no such value."""
        if text in self.words:
            return text
        try:
            number = float(text)
        except ValueError:
            return None
        if not self.least <= number <= self.most or (self.whole and not number.is_integer()):
            return None
        return int(number) if number.is_integer() else number

    def __str__(self) -> str:
        """The values that it takes."""
        numbers = f"{self.least:g} to {self.most:g}" if self.most >= self.least else ""
        return " or ".join(filter(None, (", ".join(self.words), numbers)))


@earlier_names(stock="pool")
@dataclass(frozen=True)
class Task:
    """Declaration of a task: how an item is drawn and how a reply is scored.

    Attributes:
        name: Name in commands and results.
        plan: Draws an item.
        score: Scores one reply; pure.
        metric: Name of the score: ``accuracy``, ``token_f1``, ...
        max_output_tokens: Cap on a reply without reasoning.
        description: One line for ``fathom list tasks``.
        answer: The kind of answer that prompts ask for; used by offline baselines.
        source: Paper and section, or the rule.
        languages: Languages of the prompts.
        positioned: Whether ``Draw.depth`` is the position of a single gold text, so that ``--depths`` applies.
        pool: Makes the candidate pool from documents; None if items need only whole documents as fillers.
        documents: Makes the documents of its items, for tasks that need no corpus: given a seed, a language, the number
            of items, the longest length and a token counter. They have the role ``generated``. With dials chosen, it is
            also given the settings of its items: values of all its dials, which items take in turn.
        data: Names of the data sources (``fathom list data``) whose records it requires.
        needs: What documents must have, for messages; "" if any text will do.
        gold: Roles of the documents that items can be about, if the corpus has roles (see ``ROLES``).
        noise: Roles of the documents that fill contexts; empty if contexts are not filled.
        gold_alone: Whether its questions can be asked over their gold passages alone (``fathom build --alone``); for
            plans of ``Passages``.
        gold_in_text: Whether its gold answers are in its gold passages: a build then leaves out questions whose passage
            lacks too much of them (``fathom.suites.tasks.support``); of published records it counts them. Its plan has
            one ending for each question of the candidate.
        rubric: Rubric of ``fathom.score.judge`` for judges; "" for none.
        official: ``SUITE/METRIC`` of ``fathom list metrics`` for the rule ``official``; "" for none.
        ordering: The segments whose order a sample asks for, given the texts of documents by id, so that likelihoods of
            orders can be compared; None if it does not ask for an order.
        stop: Stop sequences; they are not part of the reply.
        capped: Whether the output cap is part of the task: a reply that reaches it is complete.
        continued: Whether the prompt is a text to be continued, to be sent without a chat template if possible.
        lines: Whether the gold answers of a sample are the lines of one answer; otherwise any of them is correct.
        follow_up: Given the first reply and the sample, a second prompt, whose reply is scored; the first reply is kept
            as reasoning. None for a single request.
        follow_up_tokens: Cap on the second reply; None for that of the first.
        version: Increased when prompts or scores change.
        title: Display name; "" derives it from the name.
        facets: Facets common to all its samples, so that filters can skip whole tasks.
        inputs: Input of its scorer common to all its samples (``Sample.inputs``).
        substitutes: What is different about samples made from other data than the benchmark's, by the value of their
            facet ``form``. Reports and boards say so, and boards do not rank them.
        formerly: An earlier name, "" for none. It is accepted wherever the name is, and still seeds and names items, so
            that they do not change.
        shortcut: What a dump of the context or a blind rule scores where that clearly exceeds chance, and how, as
            ``performance/shortcuts.py`` measures; "" where none is known.
        wording: The texts of its prompts, if ``--prompts official`` may replace them; else None.
        published: The task on published records that asks for the same ability, so that both can be compared; "" for
            none.
        dials: Its dials, by name.
        private: Whether a private family (``fathom build --family``) can give it other names and sentence forms.
    """

    name: str
    plan: Callable[[Draw], Plan]
    score: Callable[[str, Sample], Score]
    metric: str
    max_output_tokens: int
    description: str
    source: str
    answer: AnswerKind = "words"
    languages: tuple[str, ...] = ("en", "zh")
    positioned: bool = False
    pool: Callable[[Resources], CandidatePool] | None = None
    documents: Callable[..., Iterable[Document]] | None = None
    data: tuple[str, ...] = ()
    needs: str = ""
    gold: tuple[Role, ...] = ROLES
    noise: tuple[Role, ...] = ROLES
    gold_alone: bool = False
    gold_in_text: bool = False
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
    substitutes: Mapping[str, str] = field(default_factory=dict)
    formerly: str = ""
    shortcut: str = ""
    wording: Wording | None = None
    published: str = ""
    dials: Mapping[str, Dial] = field(default_factory=dict)
    private: bool = False

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
        """The name that seeds and names items."""
        return self.formerly or self.name


@dataclass(frozen=True, slots=True)
class Grid:
    """The items, lengths and depths of a task of a suite that differ from the suite's.

    Attributes:
        items: Items of the task.
        lengths: Lengths in tokens, ascending.
        depths: Relative depths in [0, 1] of the items' gold texts in turn; empty for random ones.
    """

    items: int
    lengths: tuple[int, ...]
    depths: tuple[float, ...] = ()


@dataclass(frozen=True)
class Suite:
    """Declaration of a suite: the tasks and lengths of a benchmark, and its documents.

    Attributes:
        name: Name in commands and results.
        tasks: Names of its tasks.
        lengths: Lengths in tokens.
        description: One line for ``fathom list suites``.
        source: Paper and section.
        items: Items of each task.
        corpus: Default corpus; "" if the suite needs its own sources.
        sources: Names of the data sources (``fathom list data``) for each role; empty if any corpus will do.
        closed_book: Whether to add closed-book questions.
        only: Names of its items, ``TASK/LANGUAGE/NAME``; empty for all.
        grids: Items and lengths of tasks with their own.
        tokenizer: The tokenizer of its paper, used by default if available locally; "" for fathom's default.
        alias: Another name, accepted wherever the name is; "" for none.
        each_length: Whether ``items`` is the number of published records of each length, of which they have one each;
            otherwise the first records of a file are used, of whatever lengths.
        languages: Languages of its prompts unless others are asked for; empty for those of the corpus.
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
    alias: str = ""
    each_length: bool = False
    languages: tuple[str, ...] = ()


Tell: TypeAlias = Callable[[str], None]
"""Called with what a file reader left out."""


@dataclass(frozen=True, slots=True)
class Results:
    """Declaration of a publisher's results format, which becomes rows (``fathom rows --from NAME``).

    Attributes:
        name: Name in commands.
        read: Given a file or folder and a callback for files left out, yields the location of each file for messages,
            and its rows.
        description: One line.
    """

    name: str
    read: Callable[[Path, Tell | None], Iterable[tuple[str, Iterable[Row]]]]
    description: str
