"""The facts and questions of generated frontier tasks, before any text is around them."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.babilong.tasks import ASKED, CARRIED, drawn


@given(st.integers(0, 1 << 32), st.sampled_from(sorted(ASKED)))
def test_a_person_takes_a_thing_only_where_it_lies(seed: int, task: str) -> None:
    facts, _, _ = drawn(Random(seed), task)
    places: dict[str, str] = {}
    lies: dict[str, str] = {}
    carrier: dict[str, str] = {}
    for fact in facts:
        ((person, verb, name),) = re.findall(r"^(\w+) (went to|took|put down) the (\w+)", fact)
        if verb == "went to":
            places[person] = name
        elif verb == "took":
            assert name not in carrier
            assert lies.pop(name, places[person]) == places[person], facts
            carrier[name] = person
        else:
            assert carrier.pop(name) == person
            lies[name] = places[person]


def test_each_number_of_carried_things_is_equally_often_the_answer() -> None:
    answers = Counter(drawn(Random(seed), "qa7")[2] for seed in range(300))
    assert set(answers) == set(CARRIED)
    assert all(count == pytest.approx(100, abs=35) for count in answers.values())
