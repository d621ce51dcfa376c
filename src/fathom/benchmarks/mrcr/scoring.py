"""Metrics of MRCR: how much a reply resembles the text that is to be copied, as ``difflib.SequenceMatcher`` sees it.

Three released rules. ``openai_mrcr`` is ``grade`` on the card of openai/mrcr: a reply that does not begin with the
random string scores 0, even for a blank before it, and a copy of more than 200 characters is compared without its most
frequent characters (``autojunk``). ``openbench_mrcr`` compares the whole texts where a row names no random string.
``gdm_mrcr_v2`` is Google's, of another benchmark with the same name: the random string may be anywhere, also inside
thoughts, its last place counts, and the two texts are exchanged, which changes the ratio.

``strict``, one rule for all three, ignores thoughts, blanks and fences around the reply, wants the random string at its
start, and compares all characters. Its answer says which of the texts in the conversation was copied, if the sample
names the others.
"""

import json
import re
from difflib import SequenceMatcher
from typing import Any

from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, metric, one_gold

SIZE = 12
"""Characters of Google's random string."""
HEAD = 600
"""Characters by which a copy of another text is told."""
EXACT = 0.99
"""The ratio from which a reply counts as a copy."""
PREFIX = "random_string_to_prepend"
OTHERS = "others"
"""The input with the other texts of the same request, a JSON list."""
_FENCE = re.compile(r"\A\s*```\w*\n(.*?)\n?```\s*\Z", re.DOTALL)


def _openai(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    prefix, answer = row.extra[PREFIX], one_gold(gold)
    if not reply.startswith(prefix):
        return 0.0, False, None
    reply, answer = reply.removeprefix(prefix), answer.removeprefix(prefix)
    return SequenceMatcher(None, reply, answer).ratio(), True, reply


def _openbench(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    if row.extra.get(PREFIX):
        return _openai(reply, gold, row)
    return SequenceMatcher(None, reply, one_gold(gold)).ratio(), True, reply


def _google(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    target = one_gold(gold)
    if not isinstance(reply, str) or not reply or len(target.strip()) < SIZE:
        return 0.0, False, None
    prefix, target = target.strip()[:SIZE], target.strip()[SIZE:].strip()
    _, mark, copied = reply.strip().rpartition(prefix)
    if not mark:
        return 0.0, False, None
    copied = copied.strip()
    return SequenceMatcher(None, target, copied).ratio(), True, copied


def _strict(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    answer = one_gold(gold)
    if not isinstance(answer, str) or not answer.strip():
        return None
    stated = row.extra.get(PREFIX)
    prefix = stated if isinstance(stated, str) and stated else answer.strip()[:SIZE]
    fenced = _FENCE.match(reply)
    reply = (fenced[1] if fenced else reply).strip()
    if not reply.startswith(prefix):
        return 0.0, False, None
    copied = reply.removeprefix(prefix).strip()
    wanted = answer.strip().removeprefix(prefix).strip()
    value = similarity(copied, wanted)
    return value, True, _copied(copied, wanted, value, row)


def similarity(copied: str, answer: str) -> float:
    """The ratio of matching characters, all of which count; they are sought in the first two lengths of the answer."""
    if copied == answer:
        return 1.0
    matcher = SequenceMatcher(None, copied[: 2 * len(answer)], answer, autojunk=False)
    return 2 * sum(block.size for block in matcher.get_matching_blocks()) / (len(copied) + len(answer))


def _copied(copied: str, wanted: str, value: float, row: ScoringRow) -> str:
    """Whether the text in question was copied, or which other one, by their beginnings."""
    others = row.extra.get(OTHERS)
    if value < EXACT and isinstance(others, str):
        own, *ratios = (similarity(copied[:HEAD], text[:HEAD]) for text in (wanted, *json.loads(others)))
        if max(ratios, default=0.0) > own:
            return f"copy of another text of the same request, number {ratios.index(max(ratios)) + 1} of the others"
    return "exact copy" if value >= EXACT else "no exact copy"


METRICS = tuple(
    metric("mrcr", name, official, _strict, description)
    for name, official, description in (
        ("openai_mrcr", _openai, "similarity of the copy to the text in question, as on the card of openai/mrcr"),
        ("openbench_mrcr", _openbench, "the same as openbench computes it"),
        ("gdm_mrcr_v2", _google, "the same as Google's eval_hub computes it for its own MRCR v2"),
    )
)
