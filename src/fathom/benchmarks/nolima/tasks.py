"""NoLiMa: a sentence about a character, and a question that shares no word with it but follows from common knowledge.

Modarressi et al. (2025), arXiv:2502.05167. The pairs, names and words here are our own, as the licence of the released
data does not allow their use; the texts that hide the sentence are any documents. ``nolima_onehop`` needs one fact
beside the text (what stands in which country), ``nolima_twohop`` two (which country is on which continent, too).
``nolima_direct`` asks in the words of the sentence, and tells what the missing words cost.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from fathom.benchmarks.nolima.scoring import NAMES
from fathom.score.registry import strict_score
from fathom.storage.toml import packaged_toml
from fathom.types import Draw, Ending, Haystack, Needle, Plan, Task

METRIC = "nolima/contains"
_TEXTS = packaged_toml(__package__, "needles.toml")
LINKS: Mapping[str, Sequence[Sequence[str]]] = _TEXTS["links"]
"""Sights with the country and the continent in which they stand."""
CHARACTERS: Mapping[str, Sequence[str]] = _TEXTS["characters"]
PROMPTS: Mapping[str, Mapping[str, Any]] = _TEXTS["prompts"]


def plan(draw: Draw, kind: str) -> Plan:
    """One sentence at the wanted depth."""
    language, prompts = draw.resources.language, PROMPTS[draw.resources.language]
    name, sentence, asked = drawn(draw.rng, language, kind)
    names = CHARACTERS[language]
    ending = Ending(
        str(prompts["question"]).format(asked=asked),
        (name,),
        chance=1 / len(names),
        inputs={NAMES: json.dumps(names, ensure_ascii=False)},
    )
    return Haystack(str(prompts["intro"]), (Needle(sentence, draw.depth),), ending)


def drawn(rng: Random, language: str, kind: str) -> tuple[str, str, str]:
    """A name, the sentence about it, and what is asked."""
    sight, country, continent = rng.choice(LINKS[language])
    name = rng.choice(CHARACTERS[language])
    sentence = rng.choice(PROMPTS[language]["needles"]).format(name=name, sight=sight)
    return name, sentence, str(PROMPTS[language][kind]).format(sight=sight, country=country, continent=continent)


_KINDS = {
    "onehop": "a name that follows from the country of a sight",
    "twohop": "a name that follows from the continent of a sight",
    "direct": "a name asked for in the words of its sentence",
}
TASKS = tuple(
    Task(
        name=f"nolima_{kind}",
        title=f"NoLiMa, {kind}",
        plan=partial(plan, kind=kind),
        score=partial(strict_score, metric=METRIC),
        metric="accuracy",
        max_output_tokens=192,
        description=description,
        source="NoLiMa, section 3",
        positioned=True,
        gold=(),
        noise=("qa", "news", "noise"),
        official=METRIC,
        published="" if kind == "direct" else f"nolima_published_{kind}",
        shortcut="100% (8k): all names of the text, which has no other of the set",
    )
    for kind, description in _KINDS.items()
)
