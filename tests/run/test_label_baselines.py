"""Offline baselines on what LongLeader asks besides: letters, numbers of a list, and labels that examples show."""

from __future__ import annotations

import json
from random import Random

import pytest

from fathom.models.baselines import baselines, get_baseline
from fathom.models.baselines.parsing import any_relations, common_relations, known_entities, parse_prompt
from fathom.models.overflow import Overflow, fit
from fathom.score.registry import get_scorer, row_of
from fathom.suites.registry import get_task
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import AnswerKind, Sample
from made_infinitebench import build_leader, write_infinite
from made_records import prompts_of
from made_shots import write_shots

KINDS: dict[str, AnswerKind] = {
    "leader_en_mc": "letter",
    "leader_code_debug": "letter",
    "leader_math_find": "number",
    "leader_dialogre": "relations",
    "leader_fewnerd": "entities",
}
EXAMPLES = """Dialogue:
A: Hello.
Pairs:
1. Ada | Ben
2. Ada | Rex
Relations:
1. per:friends
2. per:pet

Dialogue:
B: Hello.
Pairs:
1. Ada | Ben
2. Eva | Ben
Relations:
1. per:friends
2. per:boss

"""


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Sample, str]]:
    folder = tmp_path_factory.mktemp("labels")
    data = [write_infinite(folder / "infinite", 6), write_shots(folder / "shots", 3)]
    return prompts_of(build_leader(list(KINDS), folder, data, lengths=(1024,)))


@pytest.mark.parametrize("name", KINDS)
def test_prompts_are_understood(prompts: list[tuple[Sample, str]], name: str) -> None:
    kind = get_task(name).answer
    assert kind == KINDS[name]
    found = [(sample, parse_prompt(prompt, kind)) for sample, prompt in prompts if sample.task == name]
    assert {asked.kind for _, asked in found} == {kind}
    for sample, asked in found:
        assert list(asked.options) == ([1, 2, 3, 4] if KINDS[name] == "letter" else [])
        if name == "leader_en_mc":
            assert asked.question.startswith("Question: Who keeps volume")
            assert sample.asked.endswith(f"D. {asked.options[4]}")


@pytest.mark.parametrize("baseline", sorted(baselines()))
@pytest.mark.parametrize("truncate", ["refuse", "middle", "left"])
def test_replies_are_valid_under_both_rules(
    prompts: list[tuple[Sample, str]], baseline: str, truncate: Overflow
) -> None:
    for sample, whole in prompts:
        task = get_task(sample.task)
        cut = fit(whole, 200, truncate, get_tokenizer("words"))
        prompt = cut.prompt if cut else whole
        reply = get_baseline(baseline)(prompt, task.answer, Random(sample.id))
        for rule in ("official", "strict"):
            assert get_scorer(task.official, rule)(row_of(reply, sample)).valid, (sample.id, rule, reply)


@pytest.mark.slow
def test_guesses_reach_the_chance_level(prompts: list[tuple[Sample, str]]) -> None:
    guess = get_baseline("fathom/guess")
    for name in ("leader_en_mc", "leader_code_debug", "leader_dialogre"):
        asked = [(sample, prompt) for sample, prompt in prompts if sample.task == name]
        values = [
            get_task(name).score(guess(prompt, get_task(name).answer, Random(f"{sample.id}|{dice}")), sample).value
            for sample, prompt in asked
            for dice in range(200)
        ]
        chance = sum(sample.chance for sample, _ in asked) / len(asked)
        assert sum(filter(None, values)) / len(values) == pytest.approx(chance, abs=0.05), name


def test_relations_are_those_of_the_same_words_or_the_commonest() -> None:
    asked = "Dialogue:\nC: Hello.\nPairs:\n1. Eva | Ben\n2. Max | Ben\nRelations:"
    assert parse_prompt(EXAMPLES + asked, "relations").question == asked.removesuffix("\nRelations:")
    assert common_relations(EXAMPLES, asked) == "1. per:boss\n2. per:friends"
    assert common_relations("", asked) is None
    assert any_relations("", asked, Random(0)) == "1. unanswerable\n2. unanswerable"


def test_entities_are_those_that_examples_name() -> None:
    examples = "Sentence: Ada saw Oz.\nEntities:\nAda: person-other\nOz: art-film\n\n"
    asked = "Sentence: Adam and Ada went to Ozark.\nEntities:"
    assert known_entities(examples, asked) == "Ada: person-other"
    assert known_entities(examples, "Sentence: Nobody.\nEntities:") is None


def test_reading_gives_what_examples_say(prompts: list[tuple[Sample, str]]) -> None:
    for sample, prompt in prompts:
        if sample.task == "leader_dialogre":
            reply = get_baseline("fathom/lexical")(prompt, "relations", Random(0))
            assert len(reply.splitlines()) == len(json.loads(sample.targets[0]))
