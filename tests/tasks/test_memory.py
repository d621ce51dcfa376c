"""Facts of a conversation: what every prompt has, how replies are scored, what word matching finds."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from engine_calls import configure
from fathom.benchmarks.memory.facts import ATTRIBUTES, KINDS, WORKS, day_forms, other_facts
from fathom.models.baselines import get_baseline
from fathom.models.form import form_of
from fathom.score.reading import gives_name
from fathom.suites.build import build
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Sample
from fathom.world.names import OWN_TOWNS, TOWNS

LENGTHS = (4096, 8192, 16384)
ITEMS = 4
TASK = get_task("memory_facts")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("memory")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FATHOM_CACHE", str(folder / "cache"))
        wanted = configure("memory", lengths=LENGTHS, items=ITEMS, languages=("en", "zh"), tokenizer="words")
        return open_suite(build(wanted, folder / "suite").folder)


def prompts(built: BuiltSuite) -> list[tuple[Sample, str]]:
    texts = built.texts()
    return [(sample, render(sample, texts)) for sample in built.samples()]


@pytest.mark.slow
def test_a_conversation_has_one_question_of_each_kind_at_every_length(built: BuiltSuite) -> None:
    counts = Counter((sample.item, sample.length, sample.facets["kind"]) for sample in built.samples())
    assert len(counts) == 2 * ITEMS * len(LENGTHS) * len(KINDS)
    assert set(counts.values()) == {1}


@pytest.mark.slow
def test_the_gold_is_right_its_near_misses_and_the_whole_conversation_are_wrong(built: BuiltSuite) -> None:
    for sample, prompt in prompts(built):
        for target in sample.targets:
            for reply in (target, f"{target}."):
                assert TASK.score(reply, sample).value == 1
        others = json.loads(str(sample.inputs["others"]))
        assert sample.chance == pytest.approx(0.25, abs=0.05)
        assert not {*sample.targets} & {*others}
        wrong = (*others, f"{sample.targets[0]}, {others[0]}", prompt)
        is_ban = "banned" in sample.asked or "禁止" in sample.asked
        for reply in wrong if is_ban else (*wrong, f"not {sample.targets[0]}"):
            assert TASK.score(reply, sample).value == 0, reply
        for reply in ("", "  \n"):
            assert (TASK.score(reply, sample).value, TASK.score(reply, sample).valid) == (0, False)


@pytest.mark.slow
def test_the_fact_and_its_near_misses_are_there_and_the_question_does_not_give_it_away(built: BuiltSuite) -> None:
    for sample, prompt in prompts(built):
        text, _, question = prompt.rpartition("\n\n")
        assert text.count(str(sample.inputs["fact"])) == 1
        # Numbers and dates can be written in two ways.
        assert sum(other in text for other in json.loads(str(sample.inputs["others"]))) >= 3
        assert not any(target in question for target in sample.targets)


def test_a_correction_follows_what_it_corrects(built: BuiltSuite) -> None:
    for sample, prompt in prompts(built):
        if sample.facets["kind"] == "correction":
            fact, earlier = str(sample.inputs["fact"]), json.loads(str(sample.inputs["others"]))[0]
            assert -1 < prompt.find(earlier) < prompt.find(fact)


def test_a_longer_conversation_has_all_of_a_shorter_one_and_older_facts(built: BuiltSuite) -> None:
    known = {(sample.item, sample.length, sample.facets["question"]): (sample, text) for sample, text in prompts(built)}
    for (item, length, question), (sample, text) in known.items():
        if length == LENGTHS[-1]:
            continue
        longer, longer_text = known[item, 2 * length, question]
        assert longer.targets == sample.targets
        assert float(longer.facets["place"]) == pytest.approx(float(sample.facets["place"]), abs=0.1)
        assert float(longer.facets["age"]) >= float(sample.facets["age"])
        # The last exchange of a prompt is shortened to fill it.
        lines = [line for line in text.split("\n") if line.startswith(("User: ", "用户："))]
        assert sum(line in longer_text for line in lines) >= len(lines) - 1


def test_the_age_is_the_tokens_between_the_fact_and_the_question(built: BuiltSuite) -> None:
    count = get_tokenizer("words").count
    for sample, prompt in prompts(built):
        after = prompt[prompt.find(str(sample.inputs["fact"])) :].rpartition("\n\n")[0]
        rest = after[after.find("\n\n") :] if "\n\n" in after else ""
        # A longer question shortens the last exchange.
        assert abs(count(rest) - int(sample.facets["age"])) <= 0.02 * sample.length


@pytest.mark.slow
def test_word_matching_finds_what_was_stated_once_and_not_what_was_corrected(built: BuiltSuite) -> None:
    read, right = get_baseline("fathom/lexical"), Counter[str]()
    for sample, prompt in prompts(built):
        reply = read(prompt, TASK.answer, Random(0), form_of(sample, TASK.answer))
        right[str(sample.facets["kind"])] += TASK.score(reply, sample).value == 1
    each = 2 * ITEMS * len(LENGTHS)
    assert right["name"] >= 0.8 * each
    assert right["date"] >= 0.8 * each
    assert right["correction"] <= 0.3 * each


def test_the_suite_is_the_same_each_time(built: BuiltSuite, tmp_path: Path) -> None:
    wanted = configure("memory", lengths=LENGTHS[:1], items=ITEMS, languages=("en", "zh"), tokenizer="words")
    again = {sample.id: sample for sample in open_suite(build(wanted, tmp_path / "again").folder).samples()}
    for sample in built.samples():
        if sample.length == LENGTHS[0]:
            assert (again[sample.id].targets, again[sample.id].inputs) == (sample.targets, sample.inputs)


def test_a_ban_said_with_not_is_right_for_rules_alone(built: BuiltSuite) -> None:
    said = {"en": ("It must not be {}.", "{} cannot be on the next order.", "Not {}."), "zh": ("排除{}", "不能订{}。")}
    for sample, _ in prompts(built):
        if sample.facets["kind"] == "rule":
            other = json.loads(str(sample.inputs["others"]))[0]
            for form in said["zh" if "zh" in sample.item else "en"]:
                assert TASK.score(form.format(sample.targets[0]), sample).value == 1, form
                assert TASK.score(form.format(other), sample).value == 0, form


@pytest.mark.parametrize("reply", ["August 16th", "16th of August", "Aug 16", "Aug. 16", "It is on 16 August, 1850."])
def test_dates_are_read_as_people_write_them(reply: str) -> None:
    forms = day_forms("16 August", "en")
    assert gives_name(reply, forms)
    for other in ("August 1st", "6 August", "August 17th", "16 April"):
        assert not gives_name(other, forms)


def test_chinese_dates_may_have_blanks() -> None:
    for reply in ("8 月 16 日", "8月16号", "8月16日。"):
        assert gives_name(reply, day_forms("8月16日", "zh"))
    assert not gives_name("8月6日", day_forms("8月16日", "zh"))


def test_a_reply_may_say_what_was_corrected(built: BuiltSuite) -> None:
    for sample, _ in prompts(built):
        if sample.facets["kind"] == "correction":
            value, other = sample.targets[0], json.loads(str(sample.inputs["others"]))[0]
            for form in ("{}, changed from {}", "{} (previously {})", "{}（原来说的是{}）"):
                assert TASK.score(form.format(value, other), sample).value == 1, form
                assert TASK.score(form.format(other, value), sample).value == 0, form


@pytest.mark.slow
def test_conversations_of_a_million_tokens_have_enough_facts() -> None:
    facts = other_facts(Random(1))
    count = (TOWNS - OWN_TOWNS) * len(WORKS) * len(ATTRIBUTES)
    assert sum(1 for _ in islice(facts, count + 10)) == count + 10


def test_a_conversation_and_its_translation_are_one_cluster(built: BuiltSuite) -> None:
    languages: dict[object, set[str]] = {}
    for sample in built.samples():
        languages.setdefault(sample.facets["cluster"], set()).add(sample.item)
    assert len(languages) == ITEMS
    assert {len(items) for items in languages.values()} == {2}
