from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fathom.benchmarks.leader.scoring import LISTS, METRICS, entities_strict, relations_strict
from fathom.score.registry import RULES, ScoringRow, get_scorer, row_of
from fathom.types import Sample, Score

NAMES = [metric.name for metric in METRICS]
DATASETS = [
    "passkey",
    "kv",
    "needle",
    "choice",
    "code_debug",
    "math_find",
    "dialogre",
    "fewnerd",
    "triviaqa",
    "musique",
]
UUID = "1a2b3c4d-0000-4000-8000-123456789abc"
RELATIONS = json.dumps(["per:friends", "per:girl/boyfriend", "per:alternate_names"])
ENTITIES = json.dumps([["Apple Inc.", "organization-company"], ["Star Wars: A New Hope", "art-film"]])

anything = st.recursive(
    st.none() | st.integers() | st.text() | st.sampled_from([RELATIONS, ENTITIES, "A7", "5", "[", '["a", 1]']),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


def both(metric: str, dataset: str, said: object, gold: object, **extra: object) -> tuple[Score, Score]:
    row = ScoringRow(said, gold, dataset=dataset, extra=extra)
    official, strict = (get_scorer(f"leader/{metric}", rule)(row) for rule in RULES)
    return official, strict


def values(metric: str, dataset: str, said: object, gold: object, **extra: object) -> tuple[Any, Any]:
    official, strict = both(metric, dataset, said, gold, **extra)
    return official.value, strict.value


@given(anything, anything)
def test_whatever_stands_in_a_row_no_rule_raises(said: object, gold: object) -> None:
    for metric in NAMES:
        for dataset in DATASETS:
            for verdict in both(metric, dataset, said, gold):
                assert verdict.value is None or 0 <= verdict.value <= 1
                assert verdict.value is not None or verdict.detail


@pytest.mark.parametrize(
    ("metric", "dataset", "gold", "reply"),
    [
        ("exact_match", "passkey", ["0" * 999 + "7"], "0" * 999 + "7"),
        ("exact_match", "kv", [UUID], UUID),
        ("exact_match", "needle", ["Eat a sandwich in the park."], "Eat a sandwich in the park."),
        ("exact_match", "choice", ["John Smith", "B"], "B"),
        ("exact_match", "choice", ["A7"], "A7"),
        ("exact_match", "code_debug", ["B", "cmd_gen"], "B."),
        ("exact_match", "code_debug", ["cmd_gen", "B"], "B."),
        ("exact_match", "math_find", ["5.5"], "5.5"),
        ("exact_match", "math_find", ["-5"], "-5"),
        ("token_f1", "musique", ["Ada Lovelace", "Ada"], "Ada"),
        ("token_f1", "triviaqa", ["Ada"], "Ada"),
        ("token_f1", "dialogre", [RELATIONS], "\n".join(json.loads(RELATIONS))),
        ("token_f1", "fewnerd", ['[["Apple", "organization-company"]]'], "Apple: organization-company"),
        ("rouge_l_sum", "qmsum", ["They met. They spoke."], "They met. They spoke."),
    ],
)
def test_a_gold_reply_scores_one_and_an_empty_one_is_not_valid(
    metric: str, dataset: str, gold: list[str], reply: str
) -> None:
    official, strict = both(metric, dataset, reply, gold, answers=12)
    assert (strict.value, strict.valid, strict.grader) == (1, True, "strict")
    # InfiniteBench's rule passes over signs.
    assert (official.value, official.valid, official.grader) == (float(reply != "-5"), True, "official")
    for verdict in both(metric, dataset, "", gold, answers=12):
        assert (verdict.value, verdict.valid) == (0, False)
    for verdict in both(metric, dataset, None, gold, answers=12):
        assert (verdict.value, verdict.valid) == (None, False)


@pytest.mark.parametrize(
    ("dataset", "said", "gold", "official", "strict"),
    [
        ("passkey", "The 1st key: 71432", ["71432"], 0, 1),
        ("passkey", "<think>1</think>71432", ["71432"], 0, 1),
        ("passkey", "7143 2", ["71432"], 0, 1),
        ("kv", f"`{UUID}`", [UUID], 0, 1),
        ("choice", "Answer: B", ["John", "A"], 1, 0),
        ("choice", "Answer: B", ["John", "B"], 0, 1),
        ("choice", "A3 is good, but A7 is the best", ["A7"], 1, 1),
        ("choice", "A3, not A7", ["A3"], 0, 1),
        ("choice", "A12", ["A1"], 0, 0),
        ("code_debug", " A\n", ["cmd_gen", "A"], 1, 1),
        ("code_debug", "B", ["cmd_gen", "A"], 0, 0),
        ("code_debug", "Answer: A", ["cmd_gen", "A"], 0, 1),
        ("code_debug", "B.", ["cmd_gen", "A"], 0, 0),
        ("math_find", "5.5", ["5"], None, 0),
        ("math_find", "5.0", ["5.0"], 1, 1),
        ("math_find", "5", ["five"], None, None),
        ("needle", "the Park!", ["The park"], 1, 1),
        ("needle", "It is in the park.", ["the park"], 0, 1),
        ("needle", "It is in the parking lot.", ["the park"], 0, 0),
        ("", "It is Ada", ["Ada", "Eva"], 0, 1),
    ],
)
def test_exact_match(dataset: str, said: str, gold: list[str], official: object, strict: object) -> None:
    assert values("exact_match", dataset, said, gold, answers=12) == (official, strict)


def test_designations_need_to_know_how_many_there_are() -> None:
    for verdict in both("exact_match", "choice", "A7", ["A7"]):
        assert verdict.value is None
        assert "number of answers" in verdict.detail


@pytest.mark.parametrize(
    ("dataset", "said", "official", "strict"),
    [
        ("hotpotqa", "the Ada Lovelace", 2 / 3, 2 / 3),
        ("hotpotqa", "“Ada”", 0, 1),
        ("hotpotqa", "Ada\nPassage: more words", 2 / 5, 2 / 5),
        ("triviaqa", "Ada\nPassage: more words", 1, 1),
        ("triviaqa", "\n\nAda\nPassage", 1, 1),
        ("hotpotqa", "<think>Eva, or so</think> Ada", 2 / 5, 1),
    ],
)
def test_token_f1(dataset: str, said: str, official: float, strict: float) -> None:
    assert values("token_f1", dataset, said, ["Ada"]) == (pytest.approx(official), pytest.approx(strict))


# ----------------------------------------------------------------------------------------------------- lists


@pytest.mark.parametrize(
    ("said", "official", "strict"),
    [
        ("per:friends, per:girl/boyfriend, per:alternate_names", 1, 1),
        ("per:friends\nper:title\nper:alternate_names", 2 / 3, 2 / 3),
        ("1. per:friends\n3. per:alternate_names", 2 / 5, 4 / 5),
        (
            "The relations are:\n1. (A, B): per:friends\n2. (B, C): per:girl/boyfriend\n3. x -> per:alternate_names",
            0,
            1,
        ),
        ("per:friends", 2 / 4, 2 / 4),
        ("PER:FRIENDS\nPer:Girl/Boyfriend\nper:alternate_names", 2 / 4, 1),
        ("per:girl/boyfriend, per:friends", 0, 0),
        ("friends", 0, 0),
        ("1. per:friends or per:spouse\n2. per:girl/boyfriend\n3. per:alternate_names", 1, 6 / 7),
        ("<think>per:title\n</think>per:friends\nper:girl/boyfriend\nper:alternate_names", 0, 1),
    ],
)
def test_relations(said: str, official: float, strict: float) -> None:
    assert values("token_f1", "dialogre", said, [RELATIONS]) == (pytest.approx(official), pytest.approx(strict))


@pytest.mark.parametrize(
    ("said", "official", "strict"),
    [
        ("Apple Inc.: organization-company\nStar Wars: A New Hope: art-film", 1 / 2, 1),
        ("Apple Inc.: organization-company", 2 / 3, 2 / 3),
        ('1. **Apple Inc.** -> organization-company\n2. "Star Wars: A New Hope" → `art-film`', 0, 1),
        ("| Apple Inc. | organization-company |\n| Star Wars: A New Hope | art-film |", 0, 1),
        ("- Apple Inc. (organization-company)\n- Star Wars: A New Hope - art-film", 0, 1),
        ("Apple Inc. (organization-company)\nStar Wars: A New Hope [art-film]", 0, 1),
        ("Here they are.\n\napple inc: Organization-Company", 0, 2 / 3),
        ("Apple Inc.: person-actor\nApple Inc.: organization-company", 2 / 3, 2 / 4),
        ("Apple: organization-company", 0, 0),
        ("Apple Inc.: organization-company\nSentence: The next: art-film", 2 / 3, 2 / 4),
    ],
)
def test_entities(said: str, official: float, strict: float) -> None:
    assert values("token_f1", "fewnerd", said, [ENTITIES]) == (pytest.approx(official), pytest.approx(strict))


def test_a_sentence_without_entities_is_right_where_none_are_named() -> None:
    assert values("token_f1", "fewnerd", "None.", ["[]"]) == (1, 1)
    assert values("token_f1", "fewnerd", "Ada: person-actor", ["[]"]) == (0, 0)


@pytest.mark.parametrize("gold", [["per:friends"], ["{}"], ['["a", 1]'], ['[["a"]]'], [], [RELATIONS, RELATIONS], None])
def test_a_list_that_is_not_of_its_form_is_not_scored(gold: object) -> None:
    for dataset in LISTS:
        for verdict in both("token_f1", dataset, "per:friends", gold):
            assert verdict.value is None
            assert verdict.detail.startswith("expected a gold answer that is a JSON list of")


@given(st.lists(st.sampled_from(json.loads(RELATIONS)), min_size=1, max_size=6))
def test_any_list_of_relations_reads_as_itself(labels: list[str]) -> None:
    for lines in ("\n".join(labels), ", ".join(labels), "\n".join(f"{n}. {x}" for n, x in enumerate(labels, 1))):
        assert [label for _, label in relations_strict(lines)] == labels
        assert values("token_f1", "dialogre", lines, [json.dumps(labels)]) == (1, 1)


names = st.text(alphabet="AbcÉ漢 -'/&", min_size=1, max_size=12).filter(lambda name: name.strip(" -'") == name)


@example({"A - B": "person-actor"})
@given(st.dictionaries(names, st.sampled_from(["person-actor", "art-film", "location-GPE"]), min_size=1, max_size=5))
def test_any_table_of_entities_reads_as_itself(entities: dict[str, str]) -> None:
    gold = json.dumps(list(entities.items()))
    for line in ("{}: {}", "* {} -> {}", "{}\t{}", "{} ({})"):
        said = "\n".join(line.format(*pair) for pair in entities.items())
        assert values("token_f1", "fewnerd", said, [gold])[1] == 1
        assert len(entities_strict(said)) <= len(entities)


def test_a_sample_says_which_data_set_it_is_of() -> None:
    sample = Sample("a", "a", "leader_bestchoice", (), ("A7",), 1024, 1000, facets={"dataset": "choice", "answers": 9})
    assert get_scorer("leader/exact_match", "strict")(row_of("A7", sample)).value == 1
