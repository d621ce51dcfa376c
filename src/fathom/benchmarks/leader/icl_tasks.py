"""LongLeader's many-shot in-context learning: labels are learned from examples, by rounds over all labels.

LongLeader, section 2 and table 3, which takes Dialog-RE and Few-NERD from LongICLBench (Li et al. 2024, section 3). A
round shows every label once, as far as one demonstration shows one label: labels come in random order, and each that
the round has not shown yet brings one demonstration that has not stood before. Longer prompts hold more rounds.

An item is one instance of the test split, asked at the end of every prompt. Its demonstrations have one order, drawn
once for all lengths. A length keeps those of the shorter ones, takes as many more as fit, and fills what is left with
those of later rounds that fit it best. None of them is an instance of the test split.

LongICLBench has one to five rounds, 8k to 32k tokens for Dialog-RE and 5k to 23k for Few-NERD. LongLeader's 354 and
1,500 samples have 20,271 and 14,191 tokens on average; so have five lengths of which the first holds one round, and
the last one five of Few-NERD and three or four of Dialog-RE, whose dialogues are shown with all their pairs.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, takewhile

from fathom.benchmarks.leader.dialogre_records import DEMONSTRATION, TEST
from fathom.benchmarks.leader.sets import LANGUAGES, SOURCE, facets
from fathom.benchmarks.leader.shots import Form, Pool, Shot, bare, in_rounds, shots_of
from fathom.score.registry import get_scorer, row_of
from fathom.types import (
    AnswerKind,
    Arranged,
    Card,
    Draw,
    Ending,
    Grid,
    Measure,
    Part,
    Plan,
    Sample,
    Scene,
    Stock,
    Task,
    Verdict,
    Whole,
)

GRIDS: Mapping[str, Grid] = {
    "leader_dialogre": Grid(71, (10_000, 14_000, 20_000, 26_000, 32_000)),
    "leader_fewnerd": Grid(300, (6000, 10_000, 14_000, 18_000, 22_000)),
}
"""71 items at 5 lengths are 355 samples, one more than in table 3, whose number 5 does not divide."""

LEAST = 0.9
"""What a prompt must have of its length; with less there are too few demonstrations for the item to stand there."""
FULL = 0.99
"""What it should have: from there on no demonstration of a later round is looked for."""
# LongICLBench ends replies at 100 tokens, which the gold answers of many instances exceed.
CAP = 512

FORMS: Mapping[str, Form] = {
    "dialogre": Form(
        entries="pairs",
        published=357,
        intro="Each dialogue below is followed by numbered pairs of people or things that occur in it, and by one "
        "relation for each pair: what the second is to the first. Learn from these examples which relations there are "
        "and how they are written.\n\n",
        request="Now do the same for one more dialogue: write a line for each of its pairs, with the number of the "
        "pair and its relation, and nothing else.\n\n",
        heading="Dialogue:\n",
        asked="\nPairs:\n{items}\nRelations:",
        item="{number}. {0} | {1}",
        answer="\n{answers}",
        line="{number}. {2}",
    ),
    "fewnerd": Form(
        entries="entities",
        published=1800,
        intro="Each sentence below is followed by the named entities that occur in it, one a line, and the type of "
        "each. Learn from these examples what counts as an entity, which types there are and how they are written.\n\n",
        request="Now do the same for one more sentence: write a line for each entity, as the sentence has it, with a "
        "colon and its type, and nothing else.\n\n",
        heading="Sentence: ",
        asked="\nEntities:",
        item="",
        answer="\n{answers}",
        line="{0}: {1}",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShotCard(Card):
    """A card that knows what is asked, and the demonstrations of its task."""

    shot: Shot
    pool: Pool


def stock(scene: Scene, dataset: str) -> Stock:
    """An item for each instance of the test split, in its order, with the demonstrations of the other one."""
    form = FORMS[dataset]
    mine = [one for one in scene.documents if one.meta.get("dataset") == dataset and "use" in one.meta]
    tests = shots_of([one for one in mine if one.meta["use"] == TEST], form)
    asked = {bare(shot.document) for shot in tests}
    shown = [one for one in mine if one.meta["use"] == DEMONSTRATION]
    apart = [one for one in shown if bare(one) not in asked]
    pool = Pool(form, shots_of(apart, form), {})
    if not tests or not pool.shots:
        lacking = "demonstrations" if tests else "test instances"
        return Stock((), (), (f"the data hold no {lacking}",) if mine else (), shuffled=False)
    labels = {label for shot in pool.shots for label in shot.labels}
    unseen = sum(not labels.issuperset(shot.labels) for shot in tests)
    notes = [f"{len(pool.shots)} demonstrations show {len(labels)} labels"]
    notes += [f"{unseen} of {len(tests)} test instances ask for labels that no demonstration shows"] if unseen else []
    twins = len(shown) - len(apart)
    notes += [f"demonstrations left out, because the test split has them: {twins}"] if twins else []
    cards = [
        ShotCard(shot.document, (), name=f"{number:04d}", shot=shot, pool=pool) for number, shot in enumerate(tests)
    ]
    return Stock((), cards, tuple(notes), shuffled=False, published=form.published)


@dataclass(frozen=True)
class Hand:
    """What one item is made of at every length.

    Attributes:
        dataset: Name of the data set.
        shot: What is asked.
        pool: The demonstrations.
        rounds: Their numbers, by rounds, in the order in which lengths take them.
        lengths: Lengths of the build.
        taken: Numbers of the demonstrations that stand at each length, as far as it was asked for.
    """

    dataset: str
    shot: Shot
    pool: Pool
    rounds: Sequence[Sequence[int]]
    lengths: Sequence[int]
    taken: dict[int, list[int]]


def plan(draw: Draw, dataset: str) -> Plan:
    """One instance, and the order of its demonstrations."""
    card = draw.card
    assert isinstance(card, ShotCard)
    rounds = in_rounds([shot.labels for shot in card.pool.shots], draw.rng)
    return Whole(partial(arrange, Hand(dataset, card.shot, card.pool, rounds, draw.scene.lengths, {})))


def arrange(hand: Hand, length: int, measure: Measure) -> Arranged | None:
    """The prompt of a length; None where the instance does not fit, or too few demonstrations are there to fill it."""
    taken = _taken(hand, length, measure)
    parts = _laid_out(hand, taken)
    if not taken or not LEAST * length <= measure(parts) <= length:
        return None
    labels = {label for number in taken for label in hand.pool.shots[number].labels}
    whole = sum(1 for _ in takewhile(set(taken).issuperset, hand.rounds))
    end = parts[-1]
    assert isinstance(end, str)
    ending = Ending(
        question=end,
        targets=(hand.shot.gold,),
        # Each pair has one relation; entities have to be found first.
        chance=1 / len(labels) if hand.dataset == "dialogre" else 0.0,
        facets={"demonstrations": len(taken), "rounds": whole, "labels": len(labels)},
    )
    return Arranged(tuple(parts), ending)


def _taken(hand: Hand, length: int, measure: Measure) -> list[int]:
    """The demonstrations that stand at a length, in their order; each length keeps those of the one before."""
    if length not in hand.taken:
        shorter = max((known for known in hand.lengths if known < length), default=0)
        kept = _taken(hand, shorter, measure) if shorter else []
        spare = 0  # what joins of texts take beyond the sum of their sizes
        while (over := measure(_laid_out(hand, taken := _filled(hand, kept, length - spare, measure))) - length) > 0:
            if taken == kept:
                break
            spare += over
        hand.taken[length] = taken
    return hand.taken[length]


def _filled(hand: Hand, kept: Sequence[int], room: int, measure: Measure) -> list[int]:
    """What was kept, with the next demonstrations that fit a prompt of so many tokens, and later ones that fill it."""
    order = [number for numbers in hand.rounds for number in numbers]
    sizes = {number: hand.pool.size(number, measure) for number in order}
    left = room - measure(_laid_out(hand, ())) - sum(map(sizes.__getitem__, kept))
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


def _laid_out(hand: Hand, numbers: Sequence[int]) -> list[Part]:
    """The whole prompt; literal text and texts of documents take turns."""
    form = hand.pool.form
    parts: list[Part] = []
    before = form.intro
    for number in numbers:
        shot = hand.pool.shots[number]
        parts += [before + form.heading, shot.text]
        before = f"{shot.asked}{shot.answer}\n\n"
    return [*parts, before + form.request + form.heading, hand.shot.text, hand.shot.asked]


def score(reply: str, sample: Sample) -> Verdict:
    """The ``strict`` rule of ``leader/token_f1``, which compares labels and entities here."""
    return get_scorer("leader/token_f1", "strict")(row_of(reply, sample))


DATA = {"dialogre": ("dialogre", "longicl_dialogre"), "fewnerd": ("fewnerd", "fewnerd_demos")}


def _task(dataset: str, title: str, answer: AnswerKind, description: str) -> Task:
    return Task(
        name=f"leader_{dataset}",
        title=title,
        plan=partial(plan, dataset=dataset),
        score=score,
        metric="token_f1",
        max_output_tokens=CAP,
        description=description,
        answer=answer,
        source=f"{SOURCE}; LongICLBench, section 3",
        languages=LANGUAGES,
        stock=partial(stock, dataset=dataset),
        data=DATA[dataset],
        needs=f"records of LongICLBench's {dataset}, test instances and demonstrations",
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
