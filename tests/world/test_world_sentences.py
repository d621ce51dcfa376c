"""Sentences of the suite ``world`` between the facts: choices of one sentence that make no sense together."""

import re
from random import Random

import pytest

from fathom.world.asides import teller
from fathom.world.types import Language

SLOTS = {"work": "@", "firm": "@", "money": "@", "count": "@", "material": "@", "cause": "@", "effect": "@", "when": ""}


@pytest.mark.parametrize(
    ("language", "rule", "wrong"),
    [
        ("en", "scene.people", r"[Hh]ats were|[Bb]etween (the|those)"),
        ("zh", "scene.people", "帽子各式|没听(?!过)"),
        ("en", "scene.weather", "thanked"),
        ("zh", "scene.weather", "谢[一两三]只|长势倒好，[^，]+也不见好"),
        ("en", "scene.river", "takes its share"),
        ("en", "lead.gazette", "(told|reported to us) from"),
        ("zh", "opening.chronicle", "的们|也不差|更差"),
        ("zh", "link", "的们"),
        ("zh", "act.delivery", "送货运来"),
        ("zh", "act.contract", "(抽签|表决|核算)之后"),
    ],
)
def test_choices_of_one_sentence_go_together(language: Language, rule: str, wrong: str) -> None:
    writer = teller(Random(5), language, "Oldham", 7)
    texts = [writer.phrase(rule, **SLOTS) for _ in range(1000)]
    assert not [text for text in texts if re.search(wrong, text)]
