"""LongLeader's tasks that also exist in this package, at its lengths: passkeys, and the best of many answers.

Passkeys of 5, 100 and 1,000 digits are at 10, 10 and 5 depths: 160, 160 and 80 samples at 16 lengths (table 3).
BestChoice is Ada-LEval's BestAnswer with 4,200 samples, which equals 600 at each of Ada-LEval's seven ordinary lengths,
1k to 16k.
"""

from dataclasses import replace

from fathom.benchmarks.ada.bestanswer import TASKS as BESTANSWER
from fathom.benchmarks.leader.sets import EXACT, LANGUAGES, SETS, SOURCE, WORDS, exact_match, facets, spread
from fathom.benchmarks.starter.passkey import TASKS as PASSKEY
from fathom.suites.tasks import whole_documents
from fathom.types import CandidatePool, Grid, Resources

DEPTHS = {5: 10, 100: 10, 1000: 5}
"""Depths of a passkey by its digits."""


def one_sentence(resources: Resources) -> CandidatePool:
    """The filler of passkeys: one repeated sentence (section 4), in paragraphs."""
    return CandidatePool(whole_documents(resources))


PASSKEYS = tuple(
    replace(
        task,
        name=f"leader_passkey_{size}_{WORDS[name]}",
        formerly=f"leader_passkey_{size}_{name}",
        title=f"Passkey {size} ({name})",
        score=exact_match,
        metric="exact_match",
        description=f"{task.description}; LongLeader's {name} set",
        source=SOURCE,
        languages=LANGUAGES,
        gold=(),
        noise=("refrain",),
        pool=one_sentence,
        official=EXACT,
        facets=facets(name, "SYR"),
        inputs={"dataset": "passkey"},
        shortcut="100% (8k): all numbers of the text, which has no other",
    )
    for name in SETS
    for task, size in zip(PASSKEY, DEPTHS, strict=True)
)

BESTCHOICE = tuple(
    replace(
        task,
        name="leader_bestchoice",
        title="BestChoice",
        score=exact_match,
        metric="exact_match",
        description=f"{task.description}; LongLeader's 32k set",
        source=f"{SOURCE}; {task.source}",
        languages=LANGUAGES,
        official=EXACT,
        facets=facets("32k", "MC-QA"),
        inputs={"dataset": "choice"},
    )
    for task in BESTANSWER
)

TASKS = (*PASSKEYS, *BESTCHOICE)

GRIDS = {
    **{
        f"leader_passkey_{size}_{WORDS[name]}": Grid(count, lengths, spread(count))
        for name, lengths in SETS.items()
        for size, count in DEPTHS.items()
    },
    "leader_bestchoice": Grid(600, (1000, 2000, 4000, 6000, 8000, 12_000, 16_000)),
}
