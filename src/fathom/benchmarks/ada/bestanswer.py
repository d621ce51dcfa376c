"""BestAnswer: which of the candidate answers to a question is the one that its asker accepted?

Ada-LEval, sections 3.2 and 3.3 and appendix A. The answers to the same question that were given before the accepted one
stand at every length; answers to similar questions of the same site fill the rest, above 16k also answers to questions
with any tag in common. Answers are never cut, so a prompt has less than 100% of its length.

The words of the prompt are our own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from fathom.benchmarks.ada.bestanswer_prompt import Frame, label, laid_out, place
from fathom.benchmarks.ada.candidates import CandidateThread, ThreadIndex, candidate_thread, unspaced
from fathom.benchmarks.ada.scoring import designation
from fathom.types import (
    Arranged,
    Card,
    Document,
    Draw,
    Facet,
    Measure,
    Plan,
    Sample,
    Scene,
    Span,
    Stock,
    Task,
    Verdict,
    Whole,
)

LONG = 16_384  # tokens; above are the ultra-long settings of the paper
# What a prompt must fill of its length. The paper's cases have on average 0.85 of its longest at 1k, 0.92 at 2k, 0.98
# at 16k (Table 1). At 0.9 hardly a thread whose answers add up to 1k is lost there, at 0.97 one in six.
LEAST = 0.9
SMALL = 64  # a length is full when less than this part of it is left
TURNS = 8  # places at which an order is begun before a length is given up
LETTERS = 12  # in a token at most, so that long answers need not be counted to be known not to fit


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCard(Card):
    """A card that knows its thread, and where threads like it are found."""

    thread: CandidateThread
    index: ThreadIndex


def stock(scene: Scene) -> Stock:
    """An item of every thread whose accepted answer is text only; the answers around it are looked up when it is dealt.

    A thread stands at the lengths that hold it, with all answers that were given before the accepted one, and that
    there are answers enough to fill.
    """
    threads = [found for document in scene.documents if (found := candidate_thread(document))]
    index = ThreadIndex(threads)
    supply = Supply(index, scene)
    golden = [thread for thread in threads if thread.gold]
    cards = [card for thread in golden if (card := _card(thread, index, supply, scene))]
    lost = len(golden) - len(cards)
    why = "the question is too long for the shortest length, or there are not answers enough to fill any length"
    notes = (f"{lost} of {len(golden)} threads with an accepted answer left out: {why}",) if lost else ()
    return Stock((), cards, notes)


def _card(thread: CandidateThread, index: ThreadIndex, supply: Supply, scene: Scene) -> ThreadCard | None:
    assert thread.gold is not None
    spans = (thread.question, thread.gold, *thread.before)
    sizes = [scene.counter.between(thread.document, span.start, span.end) for span in spans]
    if sizes[0] + supply.frames[scene.shortest].fixed > scene.shortest:
        return None
    lengths = supply.lengths(thread, sizes)
    return ThreadCard(thread.document, spans, lengths=lengths, thread=thread, index=index) if lengths else None


class Supply:
    """Tells which lengths the answers around a thread can fill, and remembers what it has counted."""

    def __init__(self, index: ThreadIndex, scene: Scene) -> None:
        self._index = index
        self._counter = scene.counter
        self._sizes: dict[str, tuple[int, ...]] = {}
        self.frames = {length: Frame.of(scene.language, length, scene.counter) for length in scene.lengths}

    def lengths(self, thread: CandidateThread, sizes: Sequence[int]) -> tuple[int, ...]:
        """The lengths that can be filled, as far as sums tell: those of whole texts may yet come out wrong.

        Others are looked at only until all lengths are full: most threads of a large site never see most of the others.

        Args:
            thread: The thread.
            sizes: Tokens of its question and of its answers that stand at every length.
        """
        own = {length: tokens for length, frame in self.frames.items() if (tokens := frame.around(sizes)) <= length}
        found = dict.fromkeys(own, 0)

        def lacking(length: int) -> bool:
            return own[length] + found[length] < LEAST * length or not (thread.before or found[length])

        for others, shortest in ((self._index.similar(thread), 0), (self._index.loose(thread), LONG + 1)):
            open_to = [length for length in own if length >= shortest]
            for other in others:
                open_to = list(filter(lacking, open_to))
                if not open_to:
                    break
                for length in open_to:
                    found[length] += self._usable(other, length - own[length], self.frames[length].header)
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
    """The accepted answer at its place among the others, whose order is drawn once for all lengths and depths."""
    scene, card, rng = draw.scene, draw.card, draw.rng
    assert isinstance(card, ThreadCard)
    example_seed = rng.random()
    keys = {span: rng.random() for span in card.spans}
    near = list(card.index.similar(card.thread))
    far = list(card.index.loose(card.thread)) if scene.lengths[-1] > LONG else []
    documents = {thread.document.id: thread.document for thread in (card.thread, *near, *far)}
    similar, loose = ([answer for thread in threads for answer in thread.answers] for threads in (near, far))
    for spans in (similar, loose):
        rng.shuffle(spans)
        keys.update((span, rng.random()) for span in spans)
    hand = Hand(
        scene=scene,
        card=card,
        documents=documents,
        similar=similar,
        loose=loose,
        keys=keys,
        depth=draw.depth,
        example_seed=example_seed,
    )
    return Whole(partial(arrange, hand))


@dataclass(frozen=True)
class Hand:
    """What one item is made of at every length.

    Attributes:
        scene: Lengths, language and counter.
        card: The question, the accepted answer, and those given before it.
        documents: All threads that it takes texts from, by id.
        similar: Answers to similar questions, in the order in which they are tried.
        loose: Answers to questions with any tag in common, which are tried after them above 16k.
        keys: Of each distractor the key that it is sorted by.
        depth: Place of the accepted answer among all, in [0, 1].
        example_seed: Seed of the label that the instructions show, which is another one at each length.
    """

    scene: Scene
    card: Card
    documents: Mapping[str, Document]
    similar: Sequence[Span]
    loose: Sequence[Span]
    keys: Mapping[Span, float]
    depth: float
    example_seed: float


def arrange(hand: Hand, length: int, measure: Measure) -> Arranged | None:
    """The prompt of a length; None where the answers do not fill it, or there would be no distractor."""
    taken = _taken(hand, length)
    while True:
        made = _laid_out(hand, taken, length)
        tokens = measure(made.parts)
        if tokens <= length or not taken:
            break
        taken = taken[:-1]
    stands = LEAST * length <= tokens <= length and made.ending.chance <= 1 / 2
    return made if stands else None


def _taken(hand: Hand, length: int) -> list[Span]:
    """The answers to other questions that stand at a length, in the order in which they were taken.

    Each length of the build keeps those of the one before and takes more. Where long answers come first and leave a gap
    that no other fits, as they may at 1k, the order is begun at other places, and the fullest one counts.
    """
    taken: dict[Span, int] = {}
    for step in (known for known in hand.scene.lengths if known <= length):
        fullest, least = taken, step
        for turn in range(TURNS):
            found, left = _filled(hand, step, taken, turn * len(hand.similar) // TURNS)
            if left < least:
                fullest, least = found, left
            if left <= (1 - LEAST) / 2 * step:  # half of it, because labels are counted as rather too long
                break
        taken = fullest
    return list(taken)


def _filled(hand: Hand, step: int, taken: Mapping[Span, int], start: int) -> tuple[dict[Span, int], int]:
    """What was taken already with what a length takes more of, each with its tokens, and the tokens that are left.

    One after the other is taken, from the similar one at ``start`` on, passing over those that do not fit and those
    whose text stands there already.
    """
    counter, documents = hand.scene.counter, hand.documents
    frame = Frame.of(hand.scene.language, step, counter)
    found = dict(taken)
    there = {unspaced(documents[span.doc], span) for span in (*hand.card.spans[1:], *taken)}
    own = (counter.between(hand.card.document, span.start, span.end) for span in hand.card.spans)
    left = step - frame.around((*own, *taken.values()))
    for span in (*hand.similar[start:], *hand.similar[:start], *(hand.loose if step > LONG else ())):
        if left * SMALL < step:
            break
        if span in found or span.end - span.start > LETTERS * left:
            continue
        size = counter.between(documents[span.doc], span.start, span.end)
        if size + frame.header <= left and (text := unspaced(documents[span.doc], span)) not in there:
            there.add(text)
            found[span] = size
            left -= size + frame.header
    return found, left


def _laid_out(hand: Hand, taken: Sequence[Span], length: int) -> Arranged:
    question, gold, *same = hand.card.spans
    others = sorted((*same, *taken), key=lambda span: hand.keys[span])
    at = place(hand.depth, len(others) + 1)
    answers = (*others[:at], gold, *others[at:])
    similar = len(set(taken).intersection(hand.similar))
    kinds: dict[str, Facet] = {"same": len(same), "similar": similar, "loose": len(taken) - similar}
    document, language = hand.card.document, hand.scene.language
    example = label(Random(f"{hand.example_seed}|{length}").randrange(len(answers)))
    return laid_out(document, language, question, answers, gold=at, example=example, facets=kinds)


def score(reply: str, sample: Sample) -> Verdict:
    """Whether the label that the reply finally gives is the gold one; valid if it names any (paper, footnote 4)."""
    answers = sample.inputs["answers"]
    assert isinstance(answers, int)
    found = designation(reply, answers)
    return Verdict(float(found in sample.targets), found is not None, found, "answer label")


TASKS = (
    Task(
        name="bestanswer",
        title="BestAnswer",
        plan=plan,
        score=score,
        metric="accuracy",
        # The paper's cap: a smaller one would measure the cap on models that think aloud.
        max_output_tokens=1024,
        description="which of many answers to a question its asker accepted",
        answer="label",
        source="Ada-LEval, sections 3.2 and 3.3",
        positioned=True,
        stock=stock,
        needs="threads of Stack Exchange with an accepted answer",
        gold=("thread",),
        noise=(),
        official="ada_leval/bestanswer",
    ),
)
