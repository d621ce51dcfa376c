"""Needle of LongLeader: a sentence hidden in running text, and an open question about it.

Table 3: 11 depths at each length of a set, rated by a judge from 1 to 10. Every item hides a different sentence of our
own, generated from templates with names, places and things: a model cannot know the answer, and no easy sentence
decides the result of a depth, as it would if all depths had the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from fathom.benchmarks.leader.sets import HAY, LANGUAGES, SETS, SOURCE, WORDS, facets, spread
from fathom.score.answers import words_score
from fathom.storage.toml import packaged_toml
from fathom.types import CONTAINED, Draw, Ending, Grid, Haystack, Needle, Plan, Sample, Score, Task

DEPTHS = 11
INTRO = "Read the text below. Afterwards you will be asked about one thing that it says."
QUESTION = "According to the text above, {asked} Reply with one sentence that says what the text says.\nAnswer:"

_WORDS = packaged_toml(__package__, "needles.toml")
PLACES: Sequence[str] = _WORDS["places"]
PEOPLE: Sequence[str] = _WORDS["people"]
THINGS: Sequence[str] = _WORDS["things"]
KINDS: Sequence[Sequence[str]] = _WORDS["kinds"]
"""Sentences, questions about them, and answers, which occur in them verbatim."""


def plan(draw: Draw) -> Plan:
    """One sentence at the wanted depth."""
    sentence, asked, answer = _drawn(draw.rng)
    ending = Ending(QUESTION.format(asked=asked), (answer,), chance=0.0, asked=asked[0].upper() + asked[1:])
    return Haystack(intro=INTRO, needles=(Needle(sentence, draw.depth),), ending=ending)


def _drawn(rng: Random) -> Sequence[str]:
    kind = rng.choice(KINDS)
    thing, other = rng.sample(THINGS, 2)
    slots = {"person": rng.choice(PEOPLE), "place": rng.choice(PLACES), "one": thing, "other": other}
    return [text.format(**slots) for text in kind]


def score(reply: str, sample: Sample) -> Score:
    """Without a judge: 1 if the answer occurs in the reply, else their token F1; valid if the reply is not empty."""
    scored = words_score(reply, sample.targets, grader="token F1", first_line=True)
    return replace(scored, value=1.0, grader="answer in full", detail="") if scored.detail == CONTAINED else scored


TASKS = tuple(
    Task(
        name=f"leader_needle_{WORDS[name]}",
        formerly=f"leader_needle_{name}",
        title=f"Needle ({name})",
        plan=plan,
        score=score,
        metric="token_f1",
        max_output_tokens=128,
        description=f"a question about one sentence hidden in the text; LongLeader's {name} set",
        answer="sentence",
        source=SOURCE,
        languages=LANGUAGES,
        positioned=True,
        gold=(),
        noise=HAY,
        rubric="rating",
        facets=facets(name, "SYR"),
        inputs={"dataset": "needle"},
    )
    for name in SETS
)

GRIDS = {f"leader_needle_{WORDS[name]}": Grid(DEPTHS, lengths, spread(DEPTHS)) for name, lengths in SETS.items()}
