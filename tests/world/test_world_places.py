"""Sentences of the suite ``world`` between the facts: places that are no second name of a work, and sense."""

import re
from random import Random

import pytest

from fathom.world.asides import teller
from fathom.world.types import Language

DRAWS = 1000


@pytest.mark.parametrize(("rule", "wrong"), [("landmark.plain", "屠场"), ("shop", "澡堂")])
def test_no_place_is_another_name_of_a_work_that_questions_count(rule: str, wrong: str) -> None:
    writer = teller(Random(6), "zh", "临滩镇", 7)
    assert wrong not in {writer.phrase(rule) for _ in range(DRAWS)}


@pytest.mark.parametrize(
    ("language", "rule", "wrong"),
    [
        ("en", "scene.weather", r"price of \w+ (went up|sank) by a hand"),
        ("en", "lead.gazette", "no truth in the denial"),
        ("zh", "idle.sound", "窗$"),
        ("zh", "act.gift", "这样做的是"),
    ],
)
def test_a_price_has_no_breadth_a_window_is_no_sound_and_news_is_not_denied_twice(
    language: Language, rule: str, wrong: str
) -> None:
    writer = teller(Random(6), language, "Oldham", 7)
    texts = [writer.phrase(rule, work="@", person="@", money="@", when="", amid="") for _ in range(DRAWS)]
    assert not [text for text in texts if re.search(wrong, text)]
