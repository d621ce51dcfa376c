from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.score.answers import choice_letters
from fathom.score.registry import RULES, ScoringRow, get_scorer
from fathom.types import Score

EXAM = ("em_choice", "em_code", "em_judge", "em_math", "em_substring")
GOLDS = {
    "em_choice": "AC",
    "em_code": "[1 2]",
    "em_judge": "True [fact: False]",
    "em_math": "18",
    "em_substring": "art",
}


def verdicts(metric: str, said: object, gold: object, dataset: str = "") -> list[Score]:
    row = ScoringRow(said, gold, dataset=dataset)
    return [get_scorer(f"leval/{metric}", rule)(row) for rule in RULES]


def values(metric: str, said: object, gold: object, dataset: str = "") -> list[float | None]:
    return [verdict.value for verdict in verdicts(metric, said, gold, dataset)]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "expected"), [("edge/leval", 383), ("real/leval_exam", 2067)])
def test_official_equals_every_golden_row_of_the_exam(shared: Path, file: str, expected: int) -> None:
    with gzip.open(shared / "golden" / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["metric"] in EXAM]
    for row in rows:
        official = verdicts(row["metric"], row["prediction"], row["answers"], row["dataset"])[0]
        assert official.value == (None if row["score"] is None else pytest.approx(row["score"], abs=1e-9)), row
        assert official.detail.startswith(row.get("raises", "")), row["case_id"]
    assert len(rows) == expected


@pytest.mark.parametrize(
    ("reply", "gold", "dataset", "official", "strict"),
    [
        ("AC", "AC", "coursera", 1.0, 1.0),
        ("CA", "AC", "coursera", 1.0, 1.0),
        ("A, C", "AC", "coursera", 0.25, 1.0),
        ("A. first\nC. third", "AC", "coursera", 1.0, 1.0),
        ("A", "AC", "coursera", 0.25, 0.25),
        ("B", "AC", "coursera", 0.0, 0.0),
        ("ABC", "AC", "coursera", 0.0, 0.0),
        ("No idea", "AC", "coursera", 0.25, 0.0),
        ("", "A", "coursera", 0.0, 0.0),
        ("Because of it: A", "A", "tpo", 0.0, 1.0),
        ("None of these", "A", "tpo", 1.0, 0.0),
        ("CB", "C", "tpo", 1.0, 0.0),
        ("B, C", "B", "tpo", 1.0, 0.0),
        ("<think>B</think>(C)", "(C) A man", "quality", 0.0, 1.0),
        ("(C) A man", "(C) A man", "quality", 1.0, 1.0),
        ("c", "C", "quality", 0.0, 1.0),
        ("AB", "AB C", "quality", 1.0, 0.0),
    ],
)
def test_choices(reply: str, gold: str, dataset: str, official: float, strict: float) -> None:
    assert values("em_choice", reply, gold, dataset) == [official, strict]


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("The answers are A. and C.", "AC"),
        ("A) one B) two", "AB"),
        ("A and B.", "AB"),
        ("B because A is wrong", "B"),
        ("A, C\nD is tempting", "AC"),
        ("Answer: BD", "BD"),
        ("d", "D"),
        ("A good question", ""),
        ("none", ""),
        ("", ""),
    ],
)
def test_letters_of_a_reply(reply: str, letters: str) -> None:
    assert choice_letters(reply) == letters


@given(st.sets(st.sampled_from("ABCD"), min_size=1), st.sampled_from([", ", " and ", "", " ", "、", "/"]))
def test_every_letter_of_a_list_is_read(letters: set[str], between: str) -> None:
    said = between.join(sorted(letters))
    for frame in ("{}", "Answer: {}", "The correct answer is {}.", "<think>D</think>{}"):
        assert choice_letters(frame.format(said)) == "".join(sorted(letters))


@pytest.mark.parametrize(
    ("reply", "official", "strict"),
    [
        ("The answer is $18", 1.0, 1.0),
        ("The answer is 18.5", 1.0, 0.0),
        ("The answer is -18", 1.0, 0.0),
        ("The answer is 18.0.", 1.0, 1.0),
        ("20 dollars\n\nSo 18", 0.0, 1.0),
        ("18/2", 0.0, 0.0),
        ("The answer is 1,800", 0.0, 0.0),
        ("18, 20", 0.0, 0.0),
        ("20 + 1 = 18", 1.0, 1.0),
        ("none", 0.0, 0.0),
    ],
)
def test_sums(reply: str, official: float, strict: float) -> None:
    assert values("em_math", reply, "Some steps. The answer is 18") == [official, strict]


def test_sums_with_thousands_and_points() -> None:
    assert values("em_math", "The answer is 1,800.50", "1800.5") == [1.0, 1.0]
    assert values("em_math", "The answer is .5", "0.5") == [0.0, 1.0]
    assert values("em_math", "5", "no number") == [0.0, None]


@given(st.integers(-(10**12), 10**12), st.sampled_from(["{}", "The answer is {}.", "So x = {}", "Answer: ${}"]))
def test_a_number_is_read_however_it_is_written(number: int, frame: str) -> None:
    for said in (str(number), f"{number:,}", f"{number}.0"):
        assert values("em_math", frame.format(said), str(number))[1] == 1.0


@pytest.mark.parametrize(
    ("reply", "gold", "official", "strict"),
    [
        ("The final output is [1, 2].", "[1 2]", 1.0, 1.0),
        ("the final output of the code is:\n```\narray([[1, 2],\n [3, 4]])\n```", "[[1 2][3 4]]", 1.0, 1.0),
        ("the final output is array([[0, 0], [0, 0]])", "[[0 0] [0 0]]", 1.0, 1.0),
        ("the final output is [7, 8, 10]", "0", 1.0, 0.0),
        ("the final output of `operation2` is False", "2", 1.0, 0.0),
        ("1. It will be 5, 6", "5 6", 1.0, 1.0),
        ("the final output is 5.0 6", "5 6", 1.0, 1.0),
        ("56", "5 6", 1.0, 0.0),
        ("the final output is true", "True", 1.0, 1.0),
        ("10", "1.0", 0.0, 0.0),
        ("[1, 2", "[1 2]", 0.0, 0.0),
        ("the final output is a, b", "a, b", 1.0, 1.0),
        ("", "5", 0.0, 0.0),
        ("no output", "5", 0.0, 0.0),
    ],
)
def test_outputs(reply: str, gold: str, official: float, strict: float) -> None:
    assert values("em_code", reply, gold) == [official, strict]


@given(st.lists(st.integers(-999, 999), min_size=1, max_size=8))
def test_a_list_equals_itself_and_no_other(numbers: list[int]) -> None:
    reply = f"So the final output of the code is:\n\n{numbers}"
    gold = f"[{' '.join(map(str, numbers))}]"
    assert values("em_code", reply, gold)[1] == 1.0
    assert values("em_code", reply, f"[{gold[1:-1]} 0]")[1] == 0.0


def test_topics() -> None:
    assert values("em_substring", "We spoke of The  Arts.", "the arts") == [1.0, 1.0]
    assert values("em_substring", "the starting point", "art") == [1.0, 0.0]
    assert values("em_substring", "the\u00a0arts", "the arts") == [0.0, 1.0]
    assert values("em_substring", "3", "3.00") == [1.0, 0.0]
    assert values("em_substring", "x", "") == [0.0, 0.0]


@pytest.mark.parametrize(
    ("reply", "official", "strict"),
    [
        ("True [fact: False]", 1.0, 1.0),
        ("true. [Fact: it is False]", 1.0, 1.0),
        ("False [fact: False]", 0.5, 0.5),
        ("True [fact: False", 0.5, 1.0),
        ("True【fact：False】", None, 1.0),
        ("True", None, 0.5),
        ("", None, 0.0),
        ("[fact: False] True", 0.5, 1.0),
        ("It is not true [fact: not true]", 0.5, 0.5),
        ("<think>false</think>True [fact: False]", 1.0, 1.0),
        ("Yes [fact: No]", 0.0, 0.0),
    ],
)
def test_truths(reply: str, official: float | None, strict: float) -> None:
    assert values("em_judge", reply, "True [fact: False]") == [official, strict]


def test_a_gold_answer_of_another_form_is_not_scored() -> None:
    assert values("em_judge", "True [fact: False]", "True") == [None, None]
    for metric in EXAM:
        for gold in (None, 5, ["a", "b"]):
            assert values(metric, "A", gold) == [None, None]


@pytest.mark.parametrize("metric", EXAM)
def test_a_reply_that_is_no_text_is_never_scored(metric: str) -> None:
    official, strict = verdicts(metric, None, GOLDS[metric])
    assert official.value is strict.value is None
    assert official.detail.startswith(("TypeError: ", "AttributeError: "))
    assert "string" in strict.detail


@given(st.text(max_size=60) | st.text(st.sampled_from("ABCD 0123.,-[]()truefalsc:'\n"), max_size=60))
def test_any_reply_gets_a_score(reply: str) -> None:
    for metric in EXAM:
        for dataset in ("coursera", "tpo"):
            official, strict = values(metric, reply, [GOLDS[metric]], dataset)
            assert strict in (0.0, 0.25, 0.5, 1.0)
            assert official in (0.0, 0.25, 0.5, 1.0) or metric == "em_judge"


@pytest.mark.parametrize(
    ("metric", "reply", "gold", "expected"),
    [
        # Inputs of ours, values as the released code gives them (OpenLMLab/LEval at cd34b05: auto_eval.py, em.py).
        ("em_choice", "A", "", "IndexError"),
        ("em_choice", None, " ", "IndexError"),
        ("em_choice", "A", 5, "AttributeError"),
        ("em_choice", "A, B Question C.", "AB", 1.0),
        ("em_choice", "xx BAD", "BAD", 1.0),
        ("em_choice", "xx BAD", "ABD", 0.25),
        ("em_choice", "A\nE.", "A none", 1.0),
        ("em_choice", "D\u00a0", "(D) a man", 1.0),
        ("em_math", "12\n34", "1234", 1.0),
        ("em_math", "the answer is 7 of 8", "8", 1.0),
        ("em_math", "none", "none", 1.0),
        ("em_math", "²", "²", 1.0),
        ("em_code", "1, 2", "1, 2", 1.0),
        ("em_code", "it of  the code 5", "of the code", 0.0),
        ("em_code", "is", "is", 0.0),
        ("em_substring", "a", "A", 0.25),
        ("em_substring", "ABAB", "AB", 0.25),
        ("em_substring", "the topic is AB", "AB", 0.0),
        ("em_substring", "", "AB", 0.25),
        ("em_substring", "", "the", 1.0),
        ("em_substring", "x", ["x", "y"], "AttributeError"),
        ("em_substring", "5", ["x", "y"], "TypeError"),
        ("em_substring", "AB", ["A", "B"], 1.0),
        ("em_judge", "<think>false</think>True [fact: False]", "True [fact: False]", 1.0),
        ("em_judge", "untrue [fact: false] x", "True [fact: False]", 1.0),
        ("em_judge", "true [fact: falsely", "True [fact: False]", 1.0),
        ("em_judge", "true [fact: false] or not [fact: true]", "True [fact: False]", 1.0),
        ("em_judge", "true [fact: true]", "[fact: True]", 0.5),
        ("em_judge", "true [fact: true]", "True. [fact: True]", 0.5),
        ("em_judge", None, "True", "IndexError"),
    ],
)
def test_official_is_the_released_code_on_unusual_inputs(
    metric: str, reply: object, gold: object, expected: float | str
) -> None:
    found = verdicts(metric, reply, gold, "coursera")[0]
    assert (found.detail.split(":")[0] if found.value is None else found.value) == expected


def test_an_empty_gold_choice_has_no_score_by_either_rule() -> None:
    assert values("em_choice", "A", " ") == [None, None]
    assert values("em_choice", "A", "none of them") == [1.0, None]  # the released code takes A
