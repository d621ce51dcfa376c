"""The secondary tasks of LongBench Pro over a generated world, at any length.

A context is the passages with the evidence and their near misses, which it has at every length, among passages that
never change the answer. Prompts end as those of LongBench Pro do, replies are scored by its metrics.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import accumulate
from random import Random
from typing import Any, TypeAlias

from fathom.benchmarks.pro.records import NAME
from fathom.benchmarks.pro.secondary_tasks import METRIC_NAMES, SECONDARY, SUMMARY_PASSES_ABOVE, SecondaryTask
from fathom.benchmarks.pro.tasks import GAP, OUTPUT_TOKENS
from fathom.documents.corpus.text import document_id
from fathom.score.registry import strict_score
from fathom.types import (
    Arranged,
    Candidate,
    CandidatePool,
    Counter,
    Document,
    Draw,
    Ending,
    Facet,
    Measure,
    Part,
    Plan,
    Question,
    Resources,
    Span,
    Task,
    Whole,
)
from fathom.world.dials import HEEDED, dials_of
from fathom.world.families import FAMILIES
from fathom.world.private import FACET, digest
from fathom.world.types import Dials, Family, Language, Passage, Problem
from fathom.world.wording import LETTERS

DIALS = Dials()
Settings: TypeAlias = Mapping[str, Facet]
"""Dials of an item, by name."""
CLOSE = 1e-9
"""The least spread of evidence, in which passages still have an order."""
SPARE = 1.02
"""Fillers of an item, as a share of the longest length."""
JOINT = "\n\n"
NAMED = 12
"""Characters of the digest of a private family in rows."""
TRIED = 64
"""Fillers of which one may fit the rest of a budget whole."""
MARK = {"en": "[Answer]", "zh": "[答案]"}
ENDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "at once": "Write {mark} on a line of its own, and below it the answer only. Write nothing else.",
        "thinking": "Think step by step first. Then write {mark} on a line of its own, and below it the answer only.",
        "option": "The answer is the letter of the right option.",
        "closed": "Answer from what you know, without any text, or guess.",
    },
    "zh": {
        "at once": "请先单独一行写出{mark}，再在下面只写答案，不要写别的内容。",
        "thinking": "请先一步一步思考，然后单独一行写出{mark}，再在下面只写答案。",
        "option": "答案是正确选项的字母。",
        "closed": "没有给出任何文字，请根据你所知道的回答，或者猜一个答案。",
    },
}


def asked(problem: Problem, language: str) -> str:
    """The question of a problem, with its options as lines."""
    options = [f"{letter}. {text}" for letter, text in zip(LETTERS, problem.options, strict=False)]
    return "\n".join([problem.question, *options, *([ENDS[language]["option"]] if options else [])])


def documents(
    seed: int,
    language: str,
    items: int,
    longest: int,
    counter: Counter,
    settings: Sequence[Settings] = ({},),
    *,
    family: Family[Any],
    code: str,
) -> Iterable[Document]:
    """The documents of a task: one for each text with evidence, and one for each passage that fills contexts.

    Args:
        seed: Seed of the world.
        language: ``en`` or ``zh``.
        items: Number of items.
        longest: Longest length in tokens.
        counter: Counts the passages.
        settings: Dials that items take in turn; those of a round have facts of one number.
        family: The family of the task.
        code: Its secondary task.
    """
    spoken: Language = "zh" if language == "zh" else "en"
    private = {FACET: digest()[:NAMED]} if digest() else {}
    for number in range(-(-items // len(settings))):
        made: dict[Dials, tuple[tuple[Passage, ...], Problem, list[str]]] = {}
        texts: dict[str, list[tuple[tuple[Passage, ...], Problem, Mapping[str, Any]]]] = {}
        first = number * len(settings)
        for turn, chosen in enumerate(settings[: items - first], start=first):
            if (dials := dials_of(chosen)) not in made:
                facts = family.facts(code, seed, number, dials)
                fillers = list(_fillers(family.siblings(facts, spoken), language, longest, counter))
                yield from fillers
                names = [filler.id for filler in fillers]
                made[dials] = family.passages(facts, spoken), family.problem(facts, code, spoken), names
            passages, problem, names = made[dials]
            about = {"number": turn, "chance": problem.chance, "settings": dict(chosen), "fillers": names}
            texts.setdefault(JOINT.join(map(_written, passages)), []).append((passages, problem, about))
        draw = f"{seed}|{code}|{language}|{number}"
        for text, questions in texts.items():
            yield _item(text, questions, language, {"code": code, "draw": draw, **private})


def _fillers(siblings: Iterable[Passage], language: str, longest: int, counter: Counter) -> Iterator[Document]:
    """Documents that fill the longest context."""
    tokens = 0
    for passage in siblings:
        if tokens > longest * SPARE + 2048:
            return
        yield (filler := _filler(passage, language))
        tokens += counter.size(filler)


def _written(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


@lru_cache(maxsize=1 << 16)  # items of a family share fillers
def _filler(passage: Passage, language: str) -> Document:
    text = _written(passage)
    return Document(document_id(text), text, f"world:{passage.key}", language, meta={"place": passage.place})


def _item(
    text: str,
    questions: Sequence[tuple[Sequence[Passage], Problem, Mapping[str, Any]]],
    language: str,
    meta: Mapping[str, Any],
) -> Document:
    """The document of items with one text: its passages one after the other, with the questions and their evidence."""
    parts = list(map(_written, questions[0][0]))
    starts = list(accumulate((len(part) + len(JOINT) for part in parts[:-1]), initial=0))
    places = list(zip(starts, parts, strict=True))
    return Document(
        document_id(text),
        text,
        f"world:{meta['code']}/{questions[0][2]['number']}",
        language,
        questions=tuple(
            Question(asked(problem, language), problem.references or problem.answers, tuple(_evidence(places, given)))
            for given, problem, _ in questions
        ),
        meta={**meta, "asked": [
            {**about, "layout": [(passage.place, bool(passage.evidence), passage.turn) for passage in passages]}
            for passages, _, about in questions
        ]},
        passages=tuple((start, start + len(part)) for start, part in places),
    )  # fmt: skip


def _evidence(places: Iterable[tuple[int, str]], passages: Iterable[Passage]) -> Iterator[tuple[int, int]]:
    """The spans of evidence in a text of passages, each of which starts at a place."""
    for (start, part), passage in zip(places, passages, strict=True):
        body = start + len(part) - len(passage.text)
        yield from ((body + first, body + last) for first, last in passage.evidence)


@dataclass(frozen=True, slots=True)
class Item(Candidate):
    """What one item is made of.

    Attributes:
        number: Its number.
        chance: What a guess scores.
        settings: Its dials; empty if none were chosen.
        fillers: Ids of the documents that fill its contexts, in their order.
        layout: Of each passage its place, whether it is evidence, and when it is used (``Passage``).
        draw: Names the random draws of items with the same facts.
    """

    number: int = 0
    chance: float = 0.0
    settings: Settings = field(default_factory=dict)
    fillers: tuple[str, ...] = ()
    layout: tuple[tuple[float, bool, int], ...] = ()
    draw: str = ""

    def places(self, rng: Random) -> list[float]:
        """Where each passage stands in a context, from 0 to 1, if the texts have no order of their own."""
        places = [rng.random() for _ in self.layout]
        evidence = [number for number, (_, is_evidence, _) in enumerate(self.layout) if is_evidence]
        spread, order = float(self.settings.get("spread", 1)), self.settings.get("order", "random")
        start = rng.random() * (1 - spread) if spread < 1 else 0.0
        for number in evidence if spread < 1 else ():
            places[number] = start + max(spread, CLOSE) * places[number]
        if order != "random":
            used = sorted((number for number in evidence if self.layout[number][2]), key=lambda n: self.layout[n][2])
            free = sorted((places[number] for number in used), reverse=order == "reverse")
            for number, place in zip(used, free, strict=True):
                places[number] = place
        return places


def pool(resources: Resources, task: SecondaryTask) -> CandidatePool:
    """The items of a task, in order; the length of none is limited."""
    own = [document for document in resources.documents if document.meta.get("code") == task.code]
    items = sorted((item for each in own for item in _items(each, each.meta)), key=lambda item: item.number)
    return CandidatePool((), items, shuffled=False)


def _items(document: Document, meta: Mapping[str, Any]) -> Iterator[Item]:
    spans = tuple(Span(document.id, start, end) for start, end in document.passages)
    for question, about in zip(document.questions, meta["asked"], strict=True):
        cluster = meta["draw"] if about["settings"] else ""
        yield Item(document, spans, (question,), cluster=cluster, draw=meta["draw"], **about)


_ENDS = re.compile(r"\n|(?<=[a-z0-9)]\.) (?=[A-Z])|(?<=。)(?=[^\n])")
_FUNCTION = re.compile(r"\s+(?=def )")
AT_LEAST = 4
"""Parts of a cut filler: a heading, a greeting and something more."""


def ends(text: str) -> list[int]:
    """Where a filler may be cut: at ends of its sentences and entries but for the first few, or of its functions."""
    if "\ndef " in text:
        return [match.start() for match in _FUNCTION.finditer(text)][1:]
    return [match.start() for match in _ENDS.finditer(text)][AT_LEAST - 1 :]


@dataclass(frozen=True)
class Context:
    """All passages of an item in the order of their places, of which a length takes a part.

    Attributes:
        gold: Places and spans of the passages at every length.
        fillers: Places and documents of the others, in the order in which longer contexts add them.
        sizes: Tokens of the first 0, 1, 2, ... fillers, with the blank lines.
        ending: The question.
        counter: Counts parts of documents.
    """

    gold: Sequence[tuple[float, Span]]
    fillers: Sequence[tuple[float, Document]]
    sizes: Sequence[int]
    ending: Ending
    counter: Counter

    def arrange(self, length: int, measure: Measure) -> Arranged | None:
        """The prompt with as many fillers as fit; the rest of the budget takes one that fits, or the start of one.

        The prompt that asks for thoughts, which is a little longer, stays within the length too.
        """
        at_once, thinking = map(self.counter.count, (self.ending.question, self.ending.thinking))
        length -= max(0, thinking - at_once)
        room = length - measure(self._parts([]))
        if room < 0:
            return None
        count, left = 0, room
        while room >= 0:
            count = max(0, bisect_right(self.sizes, room) - 1)
            left = length - measure(self._parts(self._taken(count)))
            if left >= 0:
                break
            room = min(room + left, self.sizes[count] - 1)  # at least one filler less
        taken = self._taken(count)
        if left * 200 > length and count < len(self.fillers):
            taken = self._filled(count, length, measure)
        if (length - measure(self._parts(taken))) * 100 > length:
            return None
        return Arranged(self._parts(taken), self.ending)

    def _taken(self, count: int) -> list[tuple[float, Span]]:
        return [(place, Span(filler.id, 0, len(filler.text))) for place, filler in self.fillers[:count]]

    def _filled(self, count: int, length: int, measure: Measure) -> list[tuple[float, Span]]:
        """The fillers with another one, whole or its start, that takes what is left of a budget; or fewer and one."""
        best = self._taken(count)
        most = measure(self._parts(best))
        for kept in range(count, max(-1, count - 4), -1):
            taken = self._taken(kept)
            used = measure(self._parts(taken))
            tried = self.fillers[count : count + TRIED]
            whole = [(place, filler, len(filler.text)) for place, filler in tried]
            cut = [(place, filler, self._cut(filler, length - used - 2)) for place, filler in tried]
            for place, filler, end in (*whole, *cut):
                size = self.counter.size(filler) if end == len(filler.text) else self.counter.count(filler.text[:end])
                if end and most < used + size + 2 <= length:
                    more = [*taken, (place, Span(filler.id, 0, end))]
                    if most < (total := measure(self._parts(more))) <= length:
                        best, most = more, total
            if (length - most) * 200 <= length:
                break
        return best

    def _cut(self, filler: Document, tokens: int) -> int:
        """Where the longest start of a filler with at most so many tokens ends, by ``ends``; 0 if none does."""
        if tokens < 1 or self.counter.size(filler) <= tokens:
            return 0
        end = self.counter.head(filler, tokens).end
        return max((part for part in ends(filler.text) if part <= end), default=0)

    def _parts(self, fillers: Sequence[tuple[float, Span]]) -> tuple[Part, ...]:
        ordered = sorted([*self.gold, *fillers], key=lambda placed: placed[0])
        parts: list[Part] = []
        for number, (_, span) in enumerate(ordered):
            parts += [JOINT, span] if number else [span]
        return (*parts, self.ending.question)


def plan(draw: Draw, task: SecondaryTask) -> Plan:
    """One item: its passages and fillers have the same places at every length."""
    item, resources, rng = draw.candidate, draw.resources, draw.rng
    assert isinstance(item, Item)
    known = {document.id: document for document in resources.documents}
    fillers = [known[name] for name in item.fillers]
    places = [place for place, _, _ in item.layout]
    own = [float(str(filler.meta["place"])) for filler in fillers]
    if not any(places):  # the order does not matter
        # Items with the same facts have the same places.
        places = item.places(Random(f"{item.draw}|evidence") if item.settings else rng)
        others = Random(f"{item.draw}|fillers") if item.settings else rng
        own = [others.random() for _ in own]
    joint = resources.counter.count(f".{JOINT}") - 1
    sizes = list(accumulate((resources.counter.size(filler) + joint for filler in fillers), initial=0))
    gold = list(zip(places, item.spans, strict=True))
    context = Context(gold, list(zip(own, fillers, strict=True)), sizes, _ending(item, task), resources.counter)
    return Whole(context.arrange)


def _ending(item: Item, task: SecondaryTask) -> Ending:
    (question,), language = item.questions, item.document.language
    ends = ENDS[language]
    at_once, thinking = (ends[name].format(mark=MARK[language]) for name in ("at once", "thinking"))
    facets: dict[str, Facet] = {
        "primary_task": task.primary,
        "secondary_task": task.name,
        "contextual_requirement": task.requirement,
        "evidence_sentences": len(question.evidence),
        **item.settings,
        **{name: str(value) for name, value in item.document.meta.items() if name == FACET},
    }
    if task.metric == "Summary":
        facets["pass_above"] = SUMMARY_PASSES_ABOVE
    return Ending(
        question=f"{GAP}{question.text}\n\n{at_once}",
        targets=question.answers,
        chance=item.chance,
        facets=facets,
        asked=question.text,
        closed=f"{ends['closed']}\n\n{question.text}\n\n{at_once}",
        thinking=f"{GAP}{question.text}\n\n{thinking}",
        inputs={"dataset": task.name},
    )


def _task(family: Family[Any], task: SecondaryTask) -> Task:
    official = f"{NAME}/{task.metric}"
    return Task(
        name="world_" + task.code.lower().replace(".", "_"),
        title=task.name,
        plan=partial(plan, task=task),
        score=partial(strict_score, metric=official),
        metric=METRIC_NAMES[task.metric],
        max_output_tokens=OUTPUT_TOKENS,
        description=f"{task.name}, generated",
        answer="letter" if task.metric == "Accuracy" else "words",
        source=f"after LongBench Pro, {task.primary}",
        pool=partial(pool, task=task),
        documents=partial(documents, family=family, code=task.code),
        gold=("generated",),
        noise=(),
        rubric="similarity" if task.metric == "Summary" else "",
        official=official,
        capped=True,
        lines=task.metric != "Summary",
        dials=HEEDED[task.code],
        private=True,
    )


OF = {code: family for family in FAMILIES for code in family.codes}
"""The family of each secondary task that the world has."""
TASKS = tuple(_task(OF[task.code], task) for task in SECONDARY if task.code in OF)
