"""BestAnswer: which of the candidate answers to a question did its asker accept?

Ada-LEval, sections 3.2 and 3.3 and appendix A. The answers to the same question given before the accepted one are in
the prompt at every length; answers to similar questions of the same site fill the rest, above 16k also answers to
questions with any tag in common. Answers are never truncated, so that a prompt has less than 100% of its length.

The wording of the prompt is our own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from fathom.benchmarks.ada.bestanswer_prompt import PROMPTS, WORDING, Frame, label, laid_out, place
from fathom.score.registry import strict_score
from fathom.types import (
    Arranged,
    Candidate,
    CandidatePool,
    Document,
    Draw,
    Facet,
    Measure,
    Plan,
    Resources,
    Sample,
    Score,
    Span,
    Task,
    Whole,
)

# ---------------------------------------------------------------------------------------------------------- candidates

IN_COMMON = 0.4  # share of the tags, Ada-LEval, appendix A
UNTAGGED = "untagged"  # placeholder of Stack Exchange for a question without tags


@dataclass(frozen=True, slots=True)
class CandidateThread:
    """A thread as a source of candidates. Answers without text, or with an image, are excluded.

    Attributes:
        gold: The accepted answer; None if there is none, or its text is incomplete.
        before: The answers given before the accepted one: distractors at every length.
        answers: All its answers: distractors of other questions.
    """

    document: Document
    site: str
    tags: frozenset[str]
    question: Span
    gold: Span | None
    before: tuple[Span, ...]
    answers: tuple[Span, ...]


def candidate_thread(document: Document) -> CandidateThread | None:
    """The candidates of a document; None if it is not a thread."""
    meta = document.meta
    images, accepted = meta.get("images"), meta.get("accepted")
    if "thread" not in meta or not isinstance(images, Sequence):
        return None
    question, *posts = (Span(document.id, start, end) for start, end in document.passages)
    whole = [post.end > post.start and not image for post, image in zip(posts, images, strict=True)]
    gold = posts[accepted] if isinstance(accepted, int) and whole[accepted] else None
    seen = {unspaced(document, gold)} if gold else set()
    before: list[Span] = []
    for number in range(accepted if isinstance(accepted, int) else 0):
        if whole[number] and (text := unspaced(document, posts[number])) not in seen:
            seen.add(text)
            before.append(posts[number])
    return CandidateThread(
        document=document,
        site=str(meta.get("site", "")),
        tags=_tags_of(document),
        question=question,
        gold=gold,
        before=tuple(before),
        answers=tuple(post for post, usable in zip(posts, whole, strict=True) if usable),
    )


def _tags_of(document: Document) -> frozenset[str]:
    """The tags of a thread, without the placeholder for none."""
    tags = document.meta.get("tags")
    return frozenset(map(str, tags)) - {UNTAGGED} if isinstance(tags, Sequence) else frozenset()


def unspaced(document: Document, span: Span) -> str:
    """The text of a span without blanks, to detect duplicates."""
    return "".join(document.text[span.start : span.end].split())


def in_common(tags: frozenset[str], other: frozenset[str]) -> float:
    """Share of tags in common: common tags divided by the larger number of tags.

    The paper does not specify the base of its 40%. With the larger number, the measure is symmetric.
    """
    return len(tags & other) / max(len(tags), len(other), 1)


class ThreadIndex:
    """Finds the threads of the same site with tags in common."""

    def __init__(self, threads: Iterable[CandidateThread]) -> None:
        self._by_tag: dict[tuple[str, str], list[CandidateThread]] = {}
        for thread in threads:
            for tag in thread.tags:
                self._by_tag.setdefault((thread.site, tag), []).append(thread)

    def similar(self, thread: CandidateThread) -> Iterator[CandidateThread]:
        """Other threads of its site with at least 40% of their tags in common."""
        count = len(thread.tags)
        least = next((n for n in range(1, count + 1) if n / count >= IN_COMMON), 1)
        return (other for other in self._near(thread, least) if in_common(thread.tags, other.tags) >= IN_COMMON)

    def loose(self, thread: CandidateThread) -> Iterator[CandidateThread]:
        """Other threads of its site with a tag in common, but less than 40% of them."""
        return (other for other in self._near(thread, 1) if in_common(thread.tags, other.tags) < IN_COMMON)

    def _near(self, thread: CandidateThread, least: int) -> Iterator[CandidateThread]:
        """Other threads, each once, including all with ``least`` tags in common. Lazy: some callers stop early.

        Rare tags come first, and the most frequent ones are skipped: a thread with two tags in common has one among all
        but the most frequent.
        """
        listed = [(tag, self._by_tag.get((thread.site, tag), [])) for tag in thread.tags]
        listed.sort(key=lambda entry: (len(entry[1]), entry[0]))
        passed: set[str] = set()
        for tag, others in listed[: len(listed) - least + 1]:
            for other in others:
                if other is not thread and passed.isdisjoint(other.tags):
                    yield other
            passed.add(tag)


LONG = 16_384  # tokens; longer ones are the ultra-long settings of the paper
# Minimum filled share of a length. The paper's cases fill on average 0.85 of the longest at 1k, 0.92 at 2k, 0.98 at
# 16k (Table 1). At 0.9 hardly any thread whose answers fill 1k is lost there, at 0.97 one in six.
LEAST = 0.9
SMALL = 64  # a length is full if less than 1/64 of it is left
TURNS = 8  # starting points tried in the order of answers
LETTERS = 12  # maximum characters per token, so that long answers that cannot fit need not be counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCandidate(Candidate):
    """A candidate with its thread, and the supply of similar threads."""

    thread: CandidateThread
    index: ThreadIndex


def pool(resources: Resources) -> CandidatePool:
    """A candidate for every thread with a text-only accepted answer; other answers are looked up later.

    A thread fits the lengths that hold it with all answers given before the accepted one, and that other answers fill.
    """
    threads = list(filter(None, map(candidate_thread, resources.documents)))
    index = ThreadIndex(threads)
    supply = Supply(index, resources)
    golden = [thread for thread in threads if thread.gold]
    candidates = [candidate for thread in golden if (candidate := _candidate(thread, index, supply, resources))]
    lost = len(golden) - len(candidates)
    why = "the question is too long for the shortest length, or there are not answers enough to fill any length"
    notes = (f"{lost} of {len(golden)} threads with an accepted answer left out: {why}",) if lost else ()
    return CandidatePool((), candidates, notes)


def _candidate(
    thread: CandidateThread, index: ThreadIndex, supply: Supply, resources: Resources
) -> ThreadCandidate | None:
    assert thread.gold is not None
    spans = (thread.question, thread.gold, *thread.before)
    sizes = [resources.counter.between(thread.document, span.start, span.end) for span in spans]
    if sizes[0] + supply.frames[resources.shortest].fixed > resources.shortest:
        return None
    lengths = supply.lengths(thread, sizes)
    return ThreadCandidate(thread.document, spans, lengths=lengths, thread=thread, index=index) if lengths else None


class Supply:
    """Determines which lengths the answers around a thread can fill, with cached counts."""

    def __init__(self, index: ThreadIndex, resources: Resources) -> None:
        self._index = index
        self._counter = resources.counter
        self._sizes: dict[str, tuple[int, ...]] = {}
        prompts = resources.texts_of(PROMPTS)
        self.frames = {length: Frame.of(prompts, length, resources.counter) for length in resources.lengths}

    def lengths(self, thread: CandidateThread, sizes: Sequence[int]) -> tuple[int, ...]:
        """The lengths that can be filled according to sums of tokens; exact counts of whole texts may differ.

        Other threads are only read until all lengths are full, which for most threads of a large site is early.

        Args:
            sizes: Tokens of its question and of the answers included at every length.
        """
        own = {length: tokens for length, frame in self.frames.items() if (tokens := frame.around(sizes)) <= length}
        usable = dict.fromkeys(own, 0)

        def lacking(length: int) -> bool:
            return own[length] + usable[length] < LEAST * length or not (thread.before or usable[length])

        for others, shortest in ((self._index.similar(thread), 0), (self._index.loose(thread), LONG + 1)):
            open_to = [length for length in own if length >= shortest]
            for other in others:
                open_to = list(filter(lacking, open_to))
                if not open_to:
                    break
                for length in open_to:
                    usable[length] += self._usable(other, length - own[length], self.frames[length].header)
        return tuple(length for length in own if not lacking(length))

    def _usable(self, other: CandidateThread, room: int, header: int) -> int:
        """Tokens of those answers of a thread that fit a room, each with its header."""
        sizes = self._sizes.get(other.document.id)
        if sizes is None:
            counted = (self._counter.between(other.document, span.start, span.end) for span in other.answers)
            sizes = self._sizes[other.document.id] = tuple(sorted(counted))
        fit = bisect_right(sizes, room - header)
        return sum(sizes[:fit]) + fit * header


def plan(draw: Draw) -> Plan:
    """The accepted answer at its position among the others, whose order is drawn once for all lengths and depths."""
    resources, candidate, rng = draw.resources, draw.candidate, draw.rng
    assert isinstance(candidate, ThreadCandidate)
    example_seed = rng.random()
    keys = {span: rng.random() for span in candidate.spans}
    near = list(candidate.index.similar(candidate.thread))
    far = list(candidate.index.loose(candidate.thread)) if resources.lengths[-1] > LONG else []
    documents = {thread.document.id: thread.document for thread in (candidate.thread, *near, *far)}
    similar, loose = ([answer for thread in threads for answer in thread.answers] for threads in (near, far))
    for spans in (similar, loose):
        rng.shuffle(spans)
        keys.update((span, rng.random()) for span in spans)
    instance = Instance(
        resources=resources,
        candidate=candidate,
        documents=documents,
        similar=similar,
        loose=loose,
        keys=keys,
        depth=draw.depth,
        example_seed=example_seed,
    )
    return Whole(partial(arrange, instance))


@dataclass(frozen=True)
class Instance:
    """The data of one item for every length.

    Attributes:
        resources: Lengths, language and counter.
        candidate: The question, the accepted answer, and those given before it.
        documents: All threads used, by id.
        similar: Answers to similar questions, in the order in which they are tried.
        loose: Answers to questions with any tag in common, tried after them above 16k.
        keys: Sort key of each distractor.
        depth: Position of the accepted answer among all, in [0, 1].
        example_seed: Seed of the example label in the instructions, which differs between lengths.
    """

    resources: Resources
    candidate: Candidate
    documents: Mapping[str, Document]
    similar: Sequence[Span]
    loose: Sequence[Span]
    keys: Mapping[Span, float]
    depth: float
    example_seed: float


def arrange(instance: Instance, length: int, measure: Measure) -> Arranged | None:
    """The prompt of a length; None if the answers do not fill it, or there would be no distractor."""
    taken = _taken(instance, length)
    while True:
        made = _laid_out(instance, taken, length)
        tokens = measure(made.parts)
        if tokens <= length or not taken:
            break
        taken = taken[:-1]
    stands = LEAST * length <= tokens <= length and made.ending.chance <= 1 / 2
    return made if stands else None


def _taken(instance: Instance, length: int) -> list[Span]:
    """The answers to other questions at a length, in the order in which they were added.

    Each length of the build keeps those of the previous one and adds more. If long answers come first and leave a gap
    that no other fits, as can happen at 1k, other starting points are tried, and the fullest result is used.
    """
    taken: dict[Span, int] = {}
    for step in (known for known in instance.resources.lengths if known <= length):
        fullest, least = taken, step
        for turn in range(TURNS):
            sizes, left = _filled(instance, step, taken, turn * len(instance.similar) // TURNS)
            if left < least:
                fullest, least = sizes, left
            if left <= (1 - LEAST) / 2 * step:  # half of it, because labels are overestimated
                break
        taken = fullest
    return list(taken)


def _filled(instance: Instance, step: int, taken: Mapping[Span, int], start: int) -> tuple[dict[Span, int], int]:
    """The answers of the previous length with those added for this one, with their tokens, and the tokens left.

    They are tried in order from the similar one at ``start``; those that do not fit and duplicate texts are skipped.
    """
    counter, documents = instance.resources.counter, instance.documents
    frame = Frame.of(instance.resources.texts_of(PROMPTS), step, counter)
    sizes = dict(taken)
    texts = {unspaced(documents[span.doc], span) for span in (*instance.candidate.spans[1:], *taken)}
    own = (counter.between(instance.candidate.document, span.start, span.end) for span in instance.candidate.spans)
    left = step - frame.around((*own, *taken.values()))
    for span in (*instance.similar[start:], *instance.similar[:start], *(instance.loose if step > LONG else ())):
        if left * SMALL < step:
            break
        if span in sizes or span.end - span.start > LETTERS * left:
            continue
        size = counter.between(documents[span.doc], span.start, span.end)
        if size + frame.header <= left and (text := unspaced(documents[span.doc], span)) not in texts:
            texts.add(text)
            sizes[span] = size
            left -= size + frame.header
    return sizes, left


def _laid_out(instance: Instance, taken: Sequence[Span], length: int) -> Arranged:
    question, gold, *same = instance.candidate.spans
    others = sorted((*same, *taken), key=lambda span: instance.keys[span])
    at = place(instance.depth, len(others) + 1)
    answers = (*others[:at], gold, *others[at:])
    similar = len(set(taken).intersection(instance.similar))
    kinds: dict[str, Facet] = {"same": len(same), "similar": similar, "loose": len(taken) - similar}
    document, prompts = instance.candidate.document, instance.resources.texts_of(PROMPTS)
    example = label(Random(f"{instance.example_seed}|{length}").randrange(len(answers)))
    return laid_out(document, prompts, question, answers, gold=at, example=example, facets=kinds)


def score(reply: str, sample: Sample) -> Score:
    """Whether the label that the reply gives is correct; valid if it names that label and no other."""
    scored = strict_score(reply, sample, "ada/bestanswer")
    return replace(scored, grader="answer label")


TASKS = (
    Task(
        name="bestanswer",
        title="BestAnswer",
        plan=plan,
        score=score,
        metric="accuracy",
        # The paper's cap: a smaller one would penalize models that think aloud.
        max_output_tokens=1024,
        description="which of many answers to a question its asker accepted",
        answer="label",
        source="Ada-LEval, sections 3.2 and 3.3",
        positioned=True,
        pool=pool,
        needs="threads of Stack Exchange with an accepted answer",
        gold=("thread",),
        noise=(),
        official="ada/bestanswer",
        wording=WORDING,
        shortcut="30% (8k): the longest run of words in common with the question",
    ),
)
