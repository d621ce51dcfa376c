"""LongLeader's many-shot in-context learning: labels are learned from examples, by rounds over all labels.

LongLeader, section 2 and table 3, based on Dialog-RE and Few-NERD of LongICLBench (Li et al. 2024, section 3). A round
shows every label once, as far as a demonstration has a single label: labels are in random order, and each label not yet
shown in the round adds an unused demonstration. Longer prompts have more rounds.

An item is one instance of the test split, asked at the end of every prompt. Its demonstrations have one order, drawn
once for all lengths. A length keeps those of the shorter ones, adds as many more as fit, and fills the rest with the
best-fitting ones of later rounds. None of them is an instance of the test split. Of many demonstrations (Few-NERD
has 150,552 sentences outside its test split) the first rounds of one draw are used, at least 2,000 demonstrations.

LongICLBench has one to five rounds, 8k to 32k tokens for Dialog-RE and 5k to 23k for Few-NERD. LongLeader's 354 and
1,500 samples have 20,271 and 14,191 tokens on average; so have five lengths of which the first holds one round, and the
last five rounds of Few-NERD and three or four of Dialog-RE, whose dialogues are shown with all their pairs.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, takewhile
from random import Random

from fathom.benchmarks.leader.dialogre_records import DEMONSTRATION, TEST
from fathom.benchmarks.leader.sets import LANGUAGES, SOURCE, facets
from fathom.score.registry import strict_score
from fathom.storage.toml import packaged_toml
from fathom.types import (
    AnswerKind,
    Arranged,
    Candidate,
    CandidatePool,
    Document,
    Draw,
    Ending,
    Grid,
    Measure,
    Part,
    Plan,
    Resources,
    Span,
    Task,
    Whole,
)

# ------------------------------------------------------------------------------------------------------ demonstrations


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
    by_text: dict[str, tuple[Document, dict[tuple[str, ...], tuple[str, ...]]]] = {}
    for document in documents:
        _, entries = by_text.setdefault(bare(document), (document, {}))
        for entry in _entries(document, form.entries):
            entries.setdefault(entry[:-1], entry)
    return [_shot(document, list(entries.values()), form) for document, entries in by_text.values()]


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


GRIDS: Mapping[str, Grid] = {
    "leader_dialogre": Grid(71, (10_000, 14_000, 20_000, 26_000, 32_000)),
    "leader_fewnerd": Grid(300, (6000, 10_000, 14_000, 18_000, 22_000)),
}
"""71 items at 5 lengths are 355 samples, one more than in table 3, whose number is not divisible by 5."""

LEAST = 0.9
"""Minimum filled share of a length; with less there are too few demonstrations for the item."""
FULL = 0.99
"""Filled share from which no demonstrations of later rounds are added."""
MOST = 2000
"""Demonstrations from which further rounds are left out; 18,000 tokens hold about 200 of Few-NERD."""
# LongICLBench truncates replies at 100 tokens, less than the gold answers of many instances.
CAP = 512

FORMS: Mapping[str, Form] = {
    name: Form(**fields) for name, fields in packaged_toml(__package__, "icl_prompts.toml").items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShotCandidate(Candidate):
    """A candidate with its question and the demonstrations of its task."""

    shot: Shot
    demonstrations: Demonstrations


def pool(resources: Resources, dataset: str) -> CandidatePool:
    """A candidate for each instance of the test split, in order, with the demonstrations of the other split."""
    form = FORMS[dataset]
    mine = [
        document
        for document in resources.documents
        if document.meta.get("dataset") == dataset and "use" in document.meta
    ]
    tests = shots_of([document for document in mine if document.meta["use"] == TEST], form)
    asked = {bare(shot.document) for shot in tests}
    shown = [document for document in mine if document.meta["use"] == DEMONSTRATION]
    apart = [document for document in shown if bare(document) not in asked]
    known = shots_of(apart, form)
    demonstrations = Demonstrations(form, _first_rounds(known, dataset), {})
    if not tests or not demonstrations.shots:
        lacking = "demonstrations" if tests else "test instances"
        return CandidatePool((), (), (f"the data have no {lacking}",) if mine else (), shuffled=False)
    labels = {label for shot in demonstrations.shots for label in shot.labels}
    unseen = sum(not labels.issuperset(shot.labels) for shot in tests)
    notes = [f"{len(demonstrations.shots)} demonstrations show {len(labels)} labels"]
    notes += [f"{unseen} of {len(tests)} test instances ask for labels that no demonstration shows"] if unseen else []
    further = len(known) - len(demonstrations.shots)
    notes += [f"demonstrations left out, because {MOST:,} fill every length: {further:,}"] if further else []
    twins = len(shown) - len(apart)
    notes += [f"demonstrations left out, because they are in the test split: {twins}"] if twins else []
    candidates = [
        ShotCandidate(shot.document, (), name=f"{number:04d}", shot=shot, demonstrations=demonstrations)
        for number, shot in enumerate(tests)
    ]
    return CandidatePool((), candidates, tuple(notes), shuffled=False, published=form.published)


def _first_rounds(shots: Sequence[Shot], dataset: str) -> Sequence[Shot]:
    """All demonstrations, or those of the first rounds of many, the same in every build."""
    if len(shots) <= MOST:
        return shots
    rounds = in_rounds([shot.labels for shot in shots], Random(f"demonstrations of {dataset}"))
    before = accumulate((len(numbers) for numbers in rounds), initial=0)
    kept = (numbers for numbers, count in zip(rounds, before, strict=False) if count < MOST)
    return [shots[number] for number in sorted(chain.from_iterable(kept))]


@dataclass(frozen=True)
class Instance:
    """The data of one item for every length.

    Attributes:
        dataset: Name of the data set.
        shot: The question.
        rounds: Indices of demonstrations, by rounds, in the order in which lengths use them.
        lengths: Lengths of the build.
        taken: Indices of the demonstrations at each length, as far as computed.
    """

    dataset: str
    shot: Shot
    demonstrations: Demonstrations
    rounds: Sequence[Sequence[int]]
    lengths: Sequence[int]
    taken: dict[int, list[int]]


def plan(draw: Draw, dataset: str) -> Plan:
    """One instance, and the order of its demonstrations."""
    candidate = draw.candidate
    assert isinstance(candidate, ShotCandidate)
    rounds = in_rounds([shot.labels for shot in candidate.demonstrations.shots], draw.rng)
    return Whole(
        partial(
            arrange, Instance(dataset, candidate.shot, candidate.demonstrations, rounds, draw.resources.lengths, {})
        )
    )


def arrange(instance: Instance, length: int, measure: Measure) -> Arranged | None:
    """The prompt of a length; None if the instance does not fit, or there are too few demonstrations to fill it."""
    taken = _taken(instance, length, measure)
    parts = _laid_out(instance, taken)
    if not taken or not LEAST * length <= measure(parts) <= length:
        return None
    labels = {label for number in taken for label in instance.demonstrations.shots[number].labels}
    whole = sum(1 for _ in takewhile(set(taken).issuperset, instance.rounds))
    end = parts[-1]
    assert isinstance(end, str)
    ending = Ending(
        question=end,
        targets=(instance.shot.gold,),
        # Each pair has one relation; entities must be found first.
        chance=1 / len(labels) if instance.dataset == "dialogre" else 0.0,
        facets={"demonstrations": len(taken), "rounds": whole, "labels": len(labels)},
    )
    return Arranged(tuple(parts), ending)


def _taken(instance: Instance, length: int, measure: Measure) -> list[int]:
    """The demonstrations at a length, in order; each length keeps those of the previous one."""
    if length not in instance.taken:
        shorter = max((known for known in instance.lengths if known < length), default=0)
        kept = _taken(instance, shorter, measure) if shorter else []
        spare = 0  # tokens of joins beyond the sum of the sizes
        while (
            over := measure(_laid_out(instance, taken := _filled(instance, kept, length - spare, measure))) - length
        ) > 0:
            if taken == kept:
                break
            spare += over
        instance.taken[length] = taken
    return instance.taken[length]


def _filled(instance: Instance, kept: Sequence[int], room: int, measure: Measure) -> list[int]:
    """The kept demonstrations, with the next ones that fit a prompt of ``room`` tokens, and later ones that fill it."""
    order = [number for numbers in instance.rounds for number in numbers]
    sizes = {number: instance.demonstrations.size(number, measure) for number in order}
    left = room - measure(_laid_out(instance, ())) - sum(map(sizes.__getitem__, kept))
    taken = set(kept)
    waiting = [number for number in order if number not in taken]
    fit = waiting[: bisect_right(list(accumulate(map(sizes.__getitem__, waiting))), left)]
    taken.update(fit)
    left -= sum(map(sizes.__getitem__, fit))
    while left > (1 - FULL) * room:
        smaller = [number for number in waiting if number not in taken and sizes[number] <= left]
        if not smaller:
            break
        best = max(smaller, key=sizes.__getitem__)
        taken.add(best)
        left -= sizes[best]
    return [number for number in order if number in taken]


def _laid_out(instance: Instance, numbers: Sequence[int]) -> list[Part]:
    """The whole prompt; literal text and document texts alternate."""
    form = instance.demonstrations.form
    parts: list[Part] = []
    before = form.intro
    for number in numbers:
        shot = instance.demonstrations.shots[number]
        parts += [before + form.heading, shot.text]
        before = f"{shot.asked}{shot.answer}\n\n"
    return [*parts, before + form.request + form.heading, instance.shot.text, instance.shot.asked]


DATA = {"dialogre": ("dialogre", "longicl_dialogre"), "fewnerd": ("fewnerd", "fewnerd_demos")}


def _task(dataset: str, title: str, answer: AnswerKind, description: str) -> Task:
    return Task(
        name=f"leader_{dataset}",
        title=title,
        plan=partial(plan, dataset=dataset),
        score=partial(strict_score, metric="leader/token_f1"),
        metric="token_f1",
        max_output_tokens=CAP,
        description=description,
        answer=answer,
        source=f"{SOURCE}; LongICLBench, section 3",
        languages=LANGUAGES,
        pool=partial(pool, dataset=dataset),
        data=DATA[dataset],
        needs=f"records of {title}, test instances and demonstrations, from its authors or LongICLBench",
        gold=("record",),
        noise=(),
        official="leader/token_f1",
        facets=facets("32k", "ICL"),
        inputs={"dataset": dataset},
    )


TASKS = (
    _task("dialogre", "Dialog-RE", "relations", "how pairs in a dialogue are related, after many examples"),
    _task(
        "fewnerd", "FewNERD", "entities", "the named entities of a sentence and their fine types, after many examples"
    ),
)
