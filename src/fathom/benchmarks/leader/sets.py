"""Code shared by the generated tasks of LongLeader: its two sets of lengths, depths, and fillers.

Table 3 gives numbers of samples and average tokens, not lengths. Passkeys of 5 digits have 16,986 tokens on average
over 160 samples of the 32K set and 64,988 over 640 of the 128K set: 2,000, 4,000, ... up to the end of the set. Llama
2, with a window of 4,000 tokens, then finds 2 of 16 lengths and 2 of 64: 12.5% and 3.13%, as in tables 5 and 6.
"""

from collections.abc import Mapping
from functools import partial

from fathom.score.registry import strict_score
from fathom.types import Facet, Role

STEP = 2000
SETS: Mapping[str, tuple[int, ...]] = {
    "32k": tuple(range(STEP, 32_001, STEP)),
    "128k": tuple(range(STEP, 128_001, STEP)),
}
"""Lengths in tokens of each set; the longer one includes those of the shorter."""
WORDS = {"32k": "short", "128k": "long"}
"""The sets in names of tasks."""
LANGUAGES = ("en",)
HAY: tuple[Role, ...] = ("qa", "multi_qa", "summary", "multi_summary", "news", "noise")
"""Roles of fillers: not records of published tasks, which may be in the same data."""
SOURCE = "LongLeader, sections 2 and 3.1, table 3"
EXACT = "leader/exact_match"


def facets(name: str, category: str) -> Mapping[str, Facet]:
    """The facets of all samples of a task: its set and category."""
    return {"set": name, "category": category}


exact_match = partial(strict_score, metric=EXACT)
"""Scores a reply by the rule ``strict`` of ``leader/exact_match``, which depends on the input ``dataset``."""


def spread(count: int) -> tuple[float, ...]:
    """Depths from 0 to 1 in equal steps, ordered so that any first ones are far apart: 0.5, 0, 1, ..."""
    left = [round(place / (count - 1), 4) for place in range(count)]
    order = [left.pop(count // 2)]
    while left:
        order.append(left.pop(max(range(len(left)), key=lambda n: min(abs(left[n] - depth) for depth in order))))
    return tuple(order)
