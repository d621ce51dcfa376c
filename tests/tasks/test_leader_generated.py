"""LongLeader's generated tasks: what their prompts hold, where, and how replies are scored."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_calls import configure
from fathom.benchmarks.leader import kv_tasks, needle_tasks
from fathom.benchmarks.leader.sets import SETS, WORDS, spread
from fathom.documents.corpus.synthetic import key_and_value, pairs_document, size_of
from fathom.score.registry import get_scorer, row_of
from fathom.suites.build import build
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import Sample
from made import write_corpus

LENGTHS = (2000, 4000, 12_000)
SET_OF = {word: name for name, word in WORDS.items()}
NAMES = tuple(
    f"leader_{task}_{WORDS[name]}"
    for name in SETS
    for task in ("passkey_5", "passkey_100", "passkey_1000", "needle", "kv")
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("leader")
    corpus = str(write_corpus(folder, 120))
    wanted = configure("leader", noise=[corpus], lengths=LENGTHS, items=11, where={"category": ("SYR",)})
    return open_suite(build(wanted, folder / "suite").folder)


@pytest.mark.parametrize("name", NAMES)
def test_an_item_asks_the_same_at_every_length_at_the_depth_that_it_is_dealt(built: BuiltSuite, name: str) -> None:
    items: dict[str, list[Sample]] = {}
    for sample in built.samples(tasks=[name]):
        items.setdefault(sample.item, []).append(sample)
    depths = [samples[0].facets["depth"] for samples in items.values()]
    dealt = dict(configure("leader").grids)[name].depths
    assert depths == [dealt[index % len(dealt)] for index in range(11)]
    for samples in items.values():
        assert [sample.length for sample in samples] == list(LENGTHS)
        assert len({(sample.targets, sample.facets["depth"]) for sample in samples}) == 1
        for sample in samples:
            assert sample.tokens <= sample.length
            assert sample.tokens >= 0.96 * sample.length
            reached = sample.facets["depth_reached"]
            assert abs(float(reached) - float(sample.facets["depth"])) < 0.12
            assert (sample.facets["set"], sample.facets["category"]) == (SET_OF[name.rpartition("_")[2]], "SYR")


@pytest.mark.parametrize("name", [name for name in NAMES if "_kv_" in name])
def test_pairs_are_json_in_which_the_asked_key_has_its_value_at_its_place(built: BuiltSuite, name: str) -> None:
    texts = built.texts()
    for sample in built.samples(tasks=[name]):
        prompt = render(sample, texts)
        held = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
        assert len(held) == sample.facets["pairs"]
        key = re.search(r'the key "(.*?)"', prompt)
        assert key is not None
        assert (held[key[1]],) == sample.targets
        place = list(held).index(key[1]) / (len(held) - 1)
        assert place == pytest.approx(float(sample.facets["depth_reached"]), abs=1e-4)


def test_recipes_of_thousands_of_pairs_are_short(built: BuiltSuite) -> None:
    for sample in built.samples(tasks=["leader_kv_long"]):
        pairs = sample.facets["pairs"]
        assert isinstance(pairs, int)
        assert len(sample.parts) <= 6 + pairs / kv_tasks.BLOCK


def test_all_items_have_other_orders_of_pairs(built: BuiltSuite) -> None:
    texts = built.texts()
    prompts = [render(sample, texts) for sample in built.samples(tasks=["leader_kv_short"], lengths=[12_000])]
    assert len({prompt.split("}")[0] for prompt in prompts}) == len(prompts)


@given(st.integers(0, 10**9), st.integers(1, 70))
def test_pairs_have_their_place_by_their_number(seed: int, count: int) -> None:
    document = pairs_document(seed, count)
    assert size_of(document) == count
    held = json.loads("{" + document.text.rstrip(",") + "}")
    assert list(held.items()) == [key_and_value(document, number) for number in range(count)]
    assert document.text.startswith(pairs_document(seed, 1).text)


@pytest.mark.parametrize("name", [name for name in NAMES if "_needle_" in name])
def test_needles_differ_and_their_answers_stand_in_them(built: BuiltSuite, name: str) -> None:
    texts, answers = built.texts(), set()
    for sample in built.samples(tasks=[name]):
        prompt = render(sample, texts)
        context, asked = prompt.rsplit("\n\n", 1)
        assert context.count(sample.targets[0]) == 1
        assert sample.targets[0] not in asked
        assert sample.asked[1:] in asked
        answers.add(sample.targets[0])
    assert len(answers) == 11


@given(st.integers(0, 10**9))
def test_a_sentence_holds_its_answer_and_what_is_asked_names_it(seed: int) -> None:
    sentence, asked, answer = needle_tasks._drawn(Random(seed))
    assert answer in sentence
    assert answer not in asked
    assert asked.endswith("?")
    assert "{" not in sentence + asked + answer


@pytest.mark.parametrize(
    ("reply", "value", "valid"),
    [
        ("between a tin whistle and a box of chalk", 1.0, True),
        ("He keeps it BETWEEN a tin whistle and the box of chalk.", 1.0, True),
        ("Answer: in a tin whistle", 2 * 2 / (3 + 7), True),
        ("I do not know", 0.0, True),
        ("<think>between a tin whistle and a box of chalk", 0.0, False),
        ("", 0.0, False),
    ],
)
def test_needles_are_scored_by_their_answer_or_by_shared_words(reply: str, value: float, valid: bool) -> None:
    answer = "between a tin whistle and a box of chalk"
    sample = Sample("a", "a", "leader_needle_short", (), (answer,), 2000, 1)
    scored = needle_tasks.score(reply, sample)
    assert scored.value == pytest.approx(value)
    assert scored.valid is valid


@pytest.mark.parametrize("name", NAMES)
def test_gold_replies_are_right_under_both_rules(built: BuiltSuite, name: str) -> None:
    task = get_task(name)
    for sample in built.samples(tasks=[name], lengths=[2000]):
        assert task.score(sample.targets[0], sample).value == 1
        assert task.score("no idea", sample).value == 0
        if task.official:
            assert get_scorer(task.official)(row_of(sample.targets[0], sample)).value == 1


def test_needle_is_for_a_judge() -> None:
    assert {get_task(name).rubric for name in NAMES if "_needle_" in name} == {"rating"}
    assert {get_task(name).rubric for name in NAMES if "_needle_" not in name} == {""}


@given(st.integers(2, 40))
def test_depths_are_even_and_any_first_few_of_them_lie_far_apart(count: int) -> None:
    depths = spread(count)
    assert sorted(depths) == [round(place / (count - 1), 4) for place in range(count)]
    assert {0.0, 1.0} <= set(depths[:3])
    for few in range(3, count + 1):
        first = sorted(depths[:few])
        gaps = [after - before for before, after in pairwise(first)]
        assert max(gaps) <= 2.01 * min(gaps) + 2 / (count - 1)
