from __future__ import annotations

import pytest

from fathom.score.judge import Ask, Case, UnreadableError, rubrics
from fathom.score.judge_texts import REMINDER
from fathom.types import FathomError

CASE = Case("What is the best thing to do?", "Eat a sandwich.", ("Eat a sandwich in the park.",))
RATING = rubrics()["rating"]


def rated(case: Case, *replies: str) -> tuple[list[Ask], float]:
    """The requests, and the mark that comes of these replies of a judge."""
    steps, asks = RATING.steps(case), []
    try:
        asks.append(next(steps))
        for reply in replies:
            asks.append(steps.send(reply))
    except StopIteration as stop:
        return asks, stop.value["rating"]
    raise AssertionError("the judge was asked once more")


@pytest.mark.parametrize(("mark", "official", "strict"), [(1, 0.1, 0), (5.0, 0.5, 4 / 9), (10, 1, 1)])
def test_a_mark_is_a_score_under_both_rules(mark: float, official: float, strict: float) -> None:
    _, found = rated(CASE, f'It says less than the reference.\n{{"rating": {mark}}}')
    assert [RATING.value({"rating": found}, rule) for rule in ("official", "strict")] == [
        pytest.approx(official),
        pytest.approx(strict),
    ]


def test_the_judge_sees_question_reference_and_reply_without_its_thoughts() -> None:
    case = Case(CASE.asked, "<think>Swim?</think>Eat a sandwich.", (*CASE.references, "Sit in the park."))
    asks, _ = rated(case, '{"rating": 7}')
    assert [ask.step for ask in asks] == ["rating"]
    for text in (case.asked, *case.references, "Eat a sandwich."):
        assert f">>\n{text}\n<<end of " in asks[0].prompt
    assert "Swim?" not in asks[0].prompt
    assert asks[0].prompt.endswith('{"rating": R}')


@pytest.mark.parametrize(
    "reply", ["", "7", '{"rating": 0}', '{"rating": 11}', '{"rating": 7.5}', '{"rating": "seven"}']
)
def test_a_mark_that_cannot_be_read_is_asked_for_once_more(reply: str) -> None:
    asks, found = rated(CASE, reply, '{"rating": 3}')
    assert (len(asks), found) == (2, 3)
    assert asks[1].prompt == f"{asks[0].prompt}\n\n{REMINDER}"
    with pytest.raises(UnreadableError, match="rating could not be parsed, twice"):
        rated(CASE, reply, reply)


def test_a_reply_that_says_nothing_scores_nothing_without_a_judge() -> None:
    asks, found = rated(Case(CASE.asked, "<think>Hm", CASE.references))
    assert (asks, found) == ([], 0)
    assert [RATING.value({"rating": found}, rule) for rule in ("official", "strict")] == [0, 0]


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(FathomError, match="unknown rule 'kind'"):
        RATING.value({"rating": 5}, "kind")
