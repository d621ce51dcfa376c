"""Retrieve.KV of LongLeader: the value of one key in an object of random pairs that fills the whole prompt.

InfiniteBench's Retrieve.KV, which LongLeader uses at the end of each set: 90 and 360 samples of 31,665 and 126,441
tokens on average (table 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fathom.benchmarks.ada.bestanswer_prompt import place
from fathom.benchmarks.leader.sets import EXACT, LANGUAGES, SETS, SOURCE, WORDS, exact_match, facets, spread
from fathom.documents.corpus.synthetic import WIDTH, key_and_value, size_of
from fathom.types import (
    Arranged,
    CandidatePool,
    Counter,
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

BLOCK = 32
"""Number of pairs that are adjacent in every prompt with them, which keeps recipes short."""
ROUNDS = 6
INTRO = "This JSON object maps keys to values:\n\n{\n"
QUESTION = 'What is the value of the key "{key}" in the object above? Reply with the UUID only.\nValue:'
ITEMS = {"32k": 90, "128k": 360}
DEPTHS = 10


@dataclass(frozen=True)
class Instance:
    """The data of one item for every length.

    Attributes:
        document: The pairs.
        gold: Index of the pair in question.
        others: Indices of the others in the order in which lengths use them.
        depth: Position of the pair among all, in [0, 1].
        counter: Counts tokens of pairs.
    """

    document: Document
    gold: int
    others: Sequence[int]
    depth: float
    counter: Counter


def pool(resources: Resources) -> CandidatePool:
    """No fillers: contexts consist of pairs."""
    return CandidatePool(())


def plan(draw: Draw) -> Plan:
    """One pair in question, and all others in blocks, whose order is drawn once for all lengths and depths."""
    document = draw.resources.documents[0]
    gold = draw.rng.randrange(size_of(document))
    blocks = [range(first, min(first + BLOCK, size_of(document))) for first in range(0, size_of(document), BLOCK)]
    draw.rng.shuffle(blocks)
    others = [number for block in blocks for number in block if number != gold]
    return Whole(partial(arrange, Instance(document, gold, others, draw.depth, draw.resources.counter)))


def arrange(instance: Instance, length: int, measure: Measure) -> Arranged | None:
    """The prompt with as many pairs as a length holds; None if there are too few pairs to fill it."""
    each = instance.counter.size(instance.document) / size_of(instance.document)
    count, best, full = int(length / each), None, False
    for _ in range(ROUNDS):
        count = min(count, 1 + len(instance.others))
        made = _laid_out(instance, count)
        tokens = measure(made.parts)
        if tokens <= length:
            best, full = made, tokens + 2 * each > length
        if full or count < 2:
            break
        count += int((length - tokens) // each) or 1
    return best if full else None


def _laid_out(instance: Instance, count: int) -> Arranged:
    """The prompt of so many pairs, including the one in question."""
    at = place(instance.depth, count)
    numbers = [*instance.others[:at], instance.gold, *instance.others[at : count - 1]]
    key, value = key_and_value(instance.document, instance.gold)
    question = QUESTION.format(key=key)
    ending = Ending(question, (value,), chance=0.0, facets={"pairs": count}, inputs={"key": key})
    parts: tuple[Part, ...] = (INTRO, *_borrowed(instance.document, numbers), "\n}\n\n" + question)
    return Arranged(parts, ending, at / (count - 1) if count > 1 else None)


def _borrowed(document: Document, numbers: Sequence[int]) -> list[Span]:
    """Pairs by their indices, in as few spans as possible; no comma follows the last one."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = runs[-1][0], number + 1
        else:
            runs.append((number, number + 1))
    spans = [Span(document.id, first * WIDTH, min(last * WIDTH, len(document.text))) for first, last in runs]
    last = spans[-1]
    return [*spans[:-1], Span(last.doc, last.start, runs[-1][1] * WIDTH - len(",\n"))]


TASKS = tuple(
    Task(
        name=f"leader_kv_{WORDS[name]}",
        formerly=f"leader_kv_{name}",
        title=f"Retrieve.KV ({name})",
        plan=plan,
        score=exact_match,
        metric="exact_match",
        max_output_tokens=256,
        description=f"the value of one key in an object of random pairs; LongLeader's {name} set",
        answer="uuid",
        source=f"{SOURCE}; InfiniteBench (Retrieve.KV)",
        languages=LANGUAGES,
        positioned=True,
        pool=pool,
        gold=("pairs",),
        noise=(),
        official=EXACT,
        facets=facets(name, "SYR"),
        inputs={"dataset": "kv"},
        shortcut="100% (8k, official): all UUIDs, any of which counts",
    )
    for name in SETS
)

GRIDS = {f"leader_kv_{WORDS[name]}": Grid(items, SETS[name][-1:], spread(DEPTHS)) for name, items in ITEMS.items()}
