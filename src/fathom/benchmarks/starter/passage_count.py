"""Passage count: the number of different paragraphs, some of which occur two or three times.

100-LongBench, appendix A.2. Its code may draw a document twice and then counts it twice; here documents are drawn
without replacement. In its code each has one to three copies with equal chances, so that about half of the paragraphs
are different and one number is right in more than a third of short prompts; here the share of different paragraphs is
drawn first, so that all counts that so many paragraphs allow are about as likely.
"""

from collections.abc import Mapping
from functools import partial

from fathom.score.answers import count_number
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import passages
from fathom.types import CandidatePool, Draw, Ending, Layout, Passages, Plan, Resources, Sample, Score, Task, Wording

MOST_COPIES = 3
SHARE = 1 / 8  # of the shortest length that one paragraph may take

PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["passage_count"]


def pool(resources: Resources) -> CandidatePool:
    """The documents in paragraphs of equal size, several of which fit the shortest length."""
    return CandidatePool(passages(resources, max(16, int(resources.shortest * SHARE))))


def plan(draw: Draw) -> Plan:
    """Paragraphs in random order, with one to three scattered copies each."""
    prompts, rng = draw.resources.texts_of(PROMPTS), draw.rng
    mean = 1 / rng.uniform(1 / MOST_COPIES, 1)
    more = (mean - 1) / (MOST_COPIES - 1)
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=(),
        finish=partial(finish, question=prompts["question"]),
        copies=tuple(1 + sum(rng.random() < more for _ in range(MOST_COPIES - 1)) for _ in range(draw.fillers)),
        shuffle=tuple(tuple(rng.random() for _ in range(MOST_COPIES)) for _ in range(draw.fillers)),
    )


def finish(layout: Layout, question: str) -> tuple[Ending, ...]:
    """The answer, and the chance of guessing among the counts that so many paragraphs allow."""
    total, different = len(layout.spans), len(set(layout.fillers))
    fewest = -(-total // MOST_COPIES)
    return (Ending(question, (str(different),), 1 / (total - fewest + 1), {"passages": total}),)


def score(reply: str, sample: Sample) -> Score:
    """1 if the number that the reply counts is correct; valid if it gives one (the official rule uses the first)."""
    number = count_number(reply)
    return Score(float(number in sample.targets), number is not None, number, "count")


TASKS = (
    Task(
        name="passage_count",
        plan=plan,
        score=score,
        metric="accuracy",
        max_output_tokens=128,
        description="the number of different paragraphs, some of which are repeated",
        answer="count",
        source="100-LongBench, A.2",
        pool=pool,
        gold=(),
        noise=("qa", "news", "noise"),
        official="hundred/first_number",
        wording=Wording(PROMPTS),
        version=2,
    ),
)
