"""The secondary tasks of LongBench Pro over a generated world, at any length.

A context is the passages with the evidence and their near misses, which it has at every length, among passages that
never change the answer. Prompts end as those of LongBench Pro do, replies are scored by its metrics.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

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
from fathom.world.families import FAMILIES
from fathom.world.types import Dials, Family, Language, Passage, Problem
from fathom.world.wording import LETTERS

DIALS = Dials()
SPARE = 1.02
"""Fillers of an item, as a share of the longest length."""
JOINT = "\n\n"
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
    seed: int, language: str, items: int, longest: int, counter: Counter, family: Family[Any], code: str
) -> Iterable[Document]:
    """The documents of a task: one for each item, with its evidence, and one for each passage that fills contexts.

    Args:
        seed: Seed of the world.
        language: ``en`` or ``zh``.
        items: Number of items.
        longest: Longest length in tokens.
        counter: Counts the passages.
        family: The family of the task.
        code: Its secondary task.
    """
    spoken: Language = "zh" if language == "zh" else "en"
    for number in range(items):
        facts = family.facts(code, seed, number, DIALS)
        passages = family.passages(facts, spoken)
        fillers: list[Document] = []
        tokens = 0
        for passage in family.siblings(facts, spoken):
            if tokens > longest * SPARE + 2048:
                break
            fillers.append(_filler(passage, language))
            tokens += counter.size(fillers[-1])
        yield from fillers
        yield _item(passages, family.problem(facts, code, spoken), language, {
            "code": code, "number": number, "places": [passage.place for passage in passages],
            "fillers": [filler.id for filler in fillers],
        })  # fmt: skip


def _written(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


@lru_cache(maxsize=1 << 16)  # items of a family share fillers
def _filler(passage: Passage, language: str) -> Document:
    text = _written(passage)
    return Document(document_id(text), text, f"world:{passage.key}", language, meta={"place": passage.place})


def _item(passages: Sequence[Passage], problem: Problem, language: str, meta: Mapping[str, Any]) -> Document:
    """The document of an item: its passages one after the other, with the question and its evidence."""
    texts = list(map(_written, passages))
    starts = list(accumulate((len(text) + len(JOINT) for text in texts[:-1]), initial=0))
    evidence = tuple(
        (start + len(text) - len(passage.text) + first, start + len(text) - len(passage.text) + last)
        for start, text, passage in zip(starts, texts, passages, strict=True)
        for first, last in passage.evidence
    )
    text = JOINT.join(texts)
    question = Question(asked(problem, language), problem.references or problem.answers, evidence)
    return Document(
        document_id(text),
        text,
        f"world:{meta['code']}/{meta['number']}",
        language,
        questions=(question,),
        meta={**meta, "chance": problem.chance},
        passages=tuple((start, start + len(text)) for start, text in zip(starts, texts, strict=True)),
    )


def pool(resources: Resources, task: SecondaryTask) -> CandidatePool:
    """The items of a task, in order; the length of none is limited."""
    of_task = [document for document in resources.documents if document.meta.get("code") == task.code]
    candidates = [
        Candidate(document, tuple(Span(document.id, start, end) for start, end in document.passages))
        for document in sorted(of_task, key=lambda document: int(str(document.meta["number"])))
    ]
    return CandidatePool((), candidates, shuffled=False)


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
    assert draw.candidate is not None
    item, resources, rng = draw.candidate.document, draw.resources, draw.rng
    known = {document.id: document for document in resources.documents}
    fillers = [known[str(name)] for name in _listed(item, "fillers")]
    places = [float(str(place)) for place in _listed(item, "places")]
    own = [float(str(filler.meta["place"])) for filler in fillers]
    if not any(places):  # the order does not matter
        places, own = [rng.random() for _ in places], [rng.random() for _ in own]
    joint = resources.counter.count(f".{JOINT}") - 1
    sizes = list(accumulate((resources.counter.size(filler) + joint for filler in fillers), initial=0))
    gold = list(zip(places, draw.candidate.spans, strict=True))
    context = Context(gold, list(zip(own, fillers, strict=True)), sizes, _ending(item, task), resources.counter)
    return Whole(context.arrange)


def _listed(document: Document, name: str) -> Sequence[Any]:
    value = document.meta[name]
    assert isinstance(value, list)
    return value


def _ending(item: Document, task: SecondaryTask) -> Ending:
    question, ends = item.questions[0], ENDS[item.language]
    at_once, thinking = (ends[name].format(mark=MARK[item.language]) for name in ("at once", "thinking"))
    facets: dict[str, Facet] = {
        "primary_task": task.primary,
        "secondary_task": task.name,
        "contextual_requirement": task.requirement,
        "evidence_sentences": len(question.evidence),
    }
    if task.metric == "Summary":
        facets["pass_above"] = SUMMARY_PASSES_ABOVE
    return Ending(
        question=f"{GAP}{question.text}\n\n{at_once}",
        targets=question.answers,
        chance=float(str(item.meta["chance"])),
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
    )


OF = {code: family for family in FAMILIES for code in family.codes}
"""The family of each secondary task that the world has."""
TASKS = tuple(_task(OF[task.code], task) for task in SECONDARY if task.code in OF)
