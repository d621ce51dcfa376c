"""Demonstrations of in-context learning: how instances and their labels are written, and rounds over all labels."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from fathom.types import Document, Measure, Span


@dataclass(frozen=True, slots=True)
class Form:
    """How the instances of a data set are written in a prompt.

    Attributes:
        entries: Field of ``meta`` that lists what is known of a text, each entry with its label at the end.
        published: Test instances that there are.
        intro: What stands before the demonstrations.
        request: What stands before the instance that is asked about.
        heading: What stands before the text of an instance.
        asked: What stands after it; ``{items}`` are the entries without their labels.
        item: One of these, from its ``{number}`` and its fields; "" where entries are what is to be found.
        answer: The answer of a demonstration; ``{answers}`` are the entries with their labels.
        line: One of these.
    """

    entries: str
    published: int
    intro: str
    request: str
    heading: str
    asked: str
    item: str
    answer: str
    line: str


@dataclass(frozen=True, slots=True)
class Shot:
    """An instance, as a demonstration or to be asked about.

    Attributes:
        document: Its text.
        asked: What stands after its text.
        answer: The answer in the form of the examples.
        gold: The answer as JSON: the labels of the pairs in their order, or entities with their types.
        labels: Its labels, each once.
    """

    document: Document
    asked: str
    answer: str
    gold: str
    labels: tuple[str, ...]

    @property
    def text(self) -> Span:
        """The whole text."""
        return Span(self.document.id, 0, len(self.document.text))


@dataclass(frozen=True)
class Pool:
    """The demonstrations that all items of a task choose from.

    Attributes:
        form: How they are written.
        shots: The demonstrations.
        sizes: Tokens that each adds to a prompt, by number, as far as they were counted.
    """

    form: Form
    shots: Sequence[Shot]
    sizes: dict[int, int]

    def size(self, number: int, measure: Measure) -> int:
        """Tokens that a demonstration adds to a prompt in which others stand before and after it."""
        if number not in self.sizes:
            shot, start = self.shots[number], f"\n\n{self.form.heading}"
            self.sizes[number] = measure([start, shot.text, shot.asked + shot.answer + start]) - measure([start])
        return self.sizes[number]


def bare(document: Document) -> str:
    """A text by which copies of it are known, whatever their blanks and capitals."""
    return "".join(document.text.split()).casefold()


def shots_of(documents: Sequence[Document], form: Form) -> list[Shot]:
    """Documents as instances; those with the same text are one, which knows what is said of all.

    What has several labels keeps the first one: asked twice, nobody could tell which answer belongs where.
    """
    found: dict[str, tuple[Document, dict[tuple[str, ...], tuple[str, ...]]]] = {}
    for document in documents:
        _, entries = found.setdefault(bare(document), (document, {}))
        for entry in _entries(document, form.entries):
            entries.setdefault(entry[:-1], entry)
    return [_shot(document, list(entries.values()), form) for document, entries in found.values()]


def _entries(document: Document, field: str) -> list[tuple[str, ...]]:
    listed = document.meta[field]
    assert isinstance(listed, list)
    return [tuple(map(str, entry)) for entry in listed]


def _shot(document: Document, entries: Sequence[tuple[str, ...]], form: Form) -> Shot:
    items, answers = (
        "\n".join(line.format(*entry, number=number) for number, entry in enumerate(entries, start=1))
        for line in (form.item, form.line)
    )
    labels = [entry[-1] for entry in entries]
    return Shot(
        document=document,
        asked=form.asked.replace("{items}", items.strip()),
        answer=form.answer.replace("{answers}", answers),
        # Where the entries are part of the question, the labels alone are the answer.
        gold=json.dumps(labels if form.item else entries, ensure_ascii=False),
        labels=tuple(dict.fromkeys(labels)),
    )


def in_rounds(labels: Sequence[Sequence[str]], rng: Random) -> list[list[int]]:
    """Demonstrations by rounds over all labels.

    Labels come in a new random order in each round. One that the round has not shown yet brings a demonstration that
    shows it and has not stood before, where there is one left.

    Args:
        labels: The labels that each demonstration shows.
        rng: Generator.

    Returns:
        Numbers of all demonstrations, each once, by rounds.
    """
    waiting: dict[str, list[int]] = {}
    for number in rng.sample(range(len(labels)), len(labels)):
        for label in labels[number]:
            waiting.setdefault(label, []).append(number)
    names, left = sorted(waiting), set(range(len(labels)))
    rounds: list[list[int]] = []
    while left:
        shown: set[str] = set()
        rounds.append([])
        for name in rng.sample(names, len(names)):
            numbers = waiting[name]
            while numbers and numbers[-1] not in left:
                numbers.pop()
            if name not in shown and numbers:
                number = numbers.pop()
                left.remove(number)
                shown.update(labels[number])
                rounds[-1].append(number)
    return rounds
