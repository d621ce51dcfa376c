"""Demonstrations of in-context learning: the format of instances and labels, and rounds over all labels."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from fathom.types import Document, Measure, Span


@dataclass(frozen=True, slots=True)
class Form:
    """The format of a data set's instances in a prompt.

    Attributes:
        entries: Field of ``meta`` with the entries of a text, each with its label at the end.
        published: Number of test instances.
        intro: Text before the demonstrations.
        request: Text before the instance in question.
        heading: Text before an instance.
        asked: Text after it; ``{items}`` are the entries without their labels.
        item: Format of an item, with its ``{number}`` and fields; "" if entries are to be found.
        answer: The answer of a demonstration; ``{answers}`` are the entries with their labels.
        line: Format of an answer.
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
    """An instance, as a demonstration or a question.

    Attributes:
        document: Its text.
        asked: Text after it.
        answer: The answer in the format of the examples.
        gold: The answer as JSON: the labels of the pairs in order, or entities with their types.
        labels: Its distinct labels.
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
class Demonstrations:
    """The demonstrations of a task, shared by all its items.

    Attributes:
        form: Their format.
        shots: The demonstrations.
        sizes: Tokens that each adds to a prompt, by index, as far as counted.
    """

    form: Form
    shots: Sequence[Shot]
    sizes: dict[int, int]

    def size(self, number: int, measure: Measure) -> int:
        """Tokens that a demonstration adds to a prompt between others."""
        if number not in self.sizes:
            shot, start = self.shots[number], f"\n\n{self.form.heading}"
            self.sizes[number] = measure([start, shot.text, shot.asked + shot.answer + start]) - measure([start])
        return self.sizes[number]


def bare(document: Document) -> str:
    """A text without blanks and case, to detect duplicates."""
    return "".join(document.text.split()).casefold()


def shots_of(documents: Sequence[Document], form: Form) -> list[Shot]:
    """Documents as instances; those with equal texts are merged.

    An entry with several labels keeps the first one, since repeated questions would be ambiguous.
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
        # If the entries are part of the question, the answer consists of the labels.
        gold=json.dumps(labels if form.item else entries, ensure_ascii=False),
        labels=tuple(dict.fromkeys(labels)),
    )


def in_rounds(labels: Sequence[Sequence[str]], rng: Random) -> list[list[int]]:
    """Demonstrations by rounds over all labels.

    Each round has a new random order of labels. A label not yet shown in the round adds an unused demonstration with
    it, if there is one left.

    Args:
        labels: The labels of each demonstration.
        rng: Random generator.

    Returns:
        Indices of all demonstrations, each once, by rounds.
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
