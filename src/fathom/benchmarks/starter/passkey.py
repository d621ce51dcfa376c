"""Passkey: a number of N digits hidden once in the text, to be repeated.

LongLeader, table 3 (passkeys of 5, 100 and 1,000 digits), after the passkey test of InfiniteBench.
"""

from functools import partial

from fathom.score.answers import digits
from fathom.types import Draw, Ending, Haystack, Needle, Plan, Sample, Score, Task

PROMPTS = {
    "en": {
        "intro": "Somewhere in the text below a passkey of {digits} digits is stated. Find it and remember it.",
        "needle": "The passkey is {key}. Remember that {key} is the passkey.",
        "long": "The passkey is {key}.",
        "question": "What is the passkey stated in the text? Reply with its {digits} digits only.\nPasskey:",
    },
    "zh": {
        "intro": "下面的文字中有一处写着一个{digits}位数字的口令。请找到它并记住。",
        "needle": "口令是{key}。请记住，{key}就是口令。",
        "long": "口令是{key}。",
        "question": "文中写明的口令是什么？请只回答这{digits}位数字。\n口令：",
    },
}


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
