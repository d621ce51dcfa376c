"""Counting stars: four counts hidden in the text; which option lists them in order?

100-LongBench, appendix A.2, after Counting-Stars. Its code puts a fixed option first and may offer duplicates, and all
wrong options are changes of the right one, which can be told from the options alone: it is the one that all others are
like. Here five of the six combinations of two sets of counts and three orders are offered, so that each is as likely as
the others. In the ``corrected`` variant each count is first stated wrongly.
"""

from collections.abc import Mapping
from functools import partial

from fathom.score.answers import choice_number
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import depths
from fathom.types import Draw, Ending, Haystack, Needle, Plan, Sample, Score, Task, Wording

STARS = 4
OPTIONS = 5

PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["counting_stars"]


def texts_of(corrected: bool) -> dict[str, dict[str, str]]:
    """The texts of one variant by language and name, ``corrected`` or not."""
    suffix = "_corrected"
    return {
        language: {
            name: texts.get(name + suffix, text) if corrected else text
            for name, text in texts.items()
            if not name.endswith(suffix)
        }
        for language, texts in PROMPTS.items()
    }


def plan(draw: Draw, corrected: bool) -> Plan:
    """Four different counts at random depths, and five different lists to choose from."""
    prompts = draw.resources.texts_of(texts_of(corrected))
    numbers = draw.rng.sample(range(1, 101), 2 * STARS + 1)
    counts, wrong = numbers[:STARS], numbers[STARS : 2 * STARS]
    changed = counts.copy()
    changed[draw.rng.randrange(STARS)] = numbers[-1]
    options = _options(draw, counts, wrong if corrected else changed)
    listed = "\n".join(
        prompts["option"].format(number=number, counts=", ".join(map(str, option)))
        for number, option in enumerate(options, start=1)
    )
    needles = (prompts["needle"].format(count=c, wrong=w) for c, w in zip(counts, wrong, strict=True))
    return Haystack(
        intro=prompts["intro"],
        needles=tuple(Needle(text, depth) for text, depth in zip(needles, depths(draw, STARS), strict=True)),
        ending=Ending(
            f"{prompts['question']}\n{listed}\n{prompts['ending']}",
            (str(options.index(counts) + 1),),
            chance=1 / OPTIONS,
        ),
    )


def _options(draw: Draw, counts: list[int], others: list[int]) -> list[list[int]]:
    """The counts and four other lists: other counts, other orders, or both."""
    orders = [list(range(STARS))]
    while len(orders) < 3:
        if (order := draw.rng.sample(range(STARS), STARS)) not in orders:
            orders.append(order)
    right, *wrong = [[listed[place] for place in order] for order in orders for listed in (counts, others)]
    options = [right, *draw.rng.sample(wrong, OPTIONS - 1)]
    draw.rng.shuffle(options)
    return options


def score(reply: str, sample: Sample) -> Score:
    """1 if the reply chooses the right option; valid if it chooses one."""
    number = choice_number(reply, OPTIONS)
    return Score(float(number in sample.targets), number is not None, number, "option number")


TASKS = tuple(
    Task(
        name="counting_stars_corrected" if corrected else "counting_stars",
        plan=partial(plan, corrected=corrected),
        score=score,
        metric="accuracy",
        max_output_tokens=128,
        description=f"which of five lists has the four {'corrected ' if corrected else ''}counts in order",
        answer="option",
        source="100-LongBench, A.2",
        gold=(),
        noise=("qa", "news", "noise"),
        official="hundred/first_number",
        wording=Wording(texts_of(corrected), optional=frozenset({"wrong"} if not corrected else ())),
        version=2,
    )
    for corrected in (False, True)
)
