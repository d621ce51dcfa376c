"""Passkey: a number of N digits hidden once in the text, to be repeated.

LongLeader, table 3 (passkeys of 5, 100 and 1,000 digits), after the passkey test of InfiniteBench.
"""

from collections.abc import Mapping
from functools import partial

from fathom.score.answers import digits
from fathom.storage.toml import packaged_toml
from fathom.types import Draw, Ending, Haystack, Needle, Plan, Sample, Score, Task

PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["passkey"]


def plan(draw: Draw, size: int) -> Plan:
    """One passkey at the requested depth; keys of more than ten digits are stated once only."""
    prompts = draw.resources.texts_of(PROMPTS)
    key = str(draw.rng.randint(1, 9)) + "".join(str(draw.rng.randint(0, 9)) for _ in range(size - 1))
    needle = prompts["needle" if size <= 10 else "long"].format(key=key)
    return Haystack(
        intro=prompts["intro"].format(digits=size),
        needles=(Needle(needle, draw.depth),),
        ending=Ending(prompts["question"].format(digits=size), (key,), chance=0.0, inputs={"digits": size}),
    )


def score(reply: str, sample: Sample) -> Score:
    """1 if the digits of the reply are the passkey; valid if there are digits."""
    passkey = digits(reply, int(sample.inputs.get("digits", 0)))
    return Score(float(passkey in sample.targets), passkey is not None, passkey, "exact match")


TASKS = tuple(
    Task(
        name="passkey" if size == 5 else f"passkey_{size}",
        plan=partial(plan, size=size),
        score=score,
        metric="accuracy",
        max_output_tokens=64 + 4 * size,
        description=f"repeat a number of {size:,} digits hidden in the text",
        answer="digits",
        source="LongLeader, table 3",
        positioned=True,
    )
    for size in (5, 100, 1000)
)
