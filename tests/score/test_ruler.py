from __future__ import annotations

import gzip
import json
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.leader.ruler_scoring import cleaned
from fathom.score.files import score_file
from fathom.score.registry import RULES, ScoringRow, get_scorer
from fathom.score.text import stands_in
from fathom.types import Score

ALL, PART = "ruler/string_match_all", "ruler/string_match_part"
WORDS = st.lists(st.text(st.sampled_from("abcXYZ019"), min_size=1, max_size=6), min_size=1, max_size=6)


def verdicts(metric: str, said: object, gold: object) -> list[Score]:
    return [get_scorer(metric, rule)(ScoringRow(said, gold)) for rule in RULES]


def values(metric: str, said: object, gold: object) -> list[float | None]:
    return [verdict.value for verdict in verdicts(metric, said, gold)]


def test_official_equals_every_golden_row(shared: Path) -> None:
    path = shared / "golden" / "edge" / "ruler.jsonl.gz"
    summary = score_file(path, check=True)
    assert (summary.rows, summary.differences, summary.failures) == (164, [], [])
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    for row in rows:
        official, _ = verdicts(f"ruler/{row['metric']}", row["prediction"], row["answers"])
        assert official.detail.startswith(row.get("raises", "")), row["case_id"]
        assert (official.value is None) == ("raises" in row)


def test_official_means_over_lists_are_the_released_task_scores(shared: Path) -> None:
    tasks = json.loads((shared / "golden" / "aggregate" / "ruler_task_scores.json").read_text("utf-8"))
    for task in tasks:
        assert list(map(cleaned, task["predictions"])) == task["postprocessed"]
        scorer = get_scorer(f"ruler/{task['metric']}", "official")
        pairs = zip(task["predictions"], task["answers"], strict=True)
        scores = [verdict.value for verdict in (scorer(ScoringRow(*pair)) for pair in pairs)]
        scored = [score for score in scores if score is not None]
        assert len(scored) == len(scores)
        assert round(100 * mean(scored), 2) == task["official_percent_rounded"]
    assert len(tasks) == 3


@pytest.mark.parametrize(
    ("reply", "gold", "official", "strict"),
    [
        ("7654321 and 1234567.", ["1234567", "7654321"], 1.0, 1.0),
        ("1234567", ["1234567", "7654321"], 0.5, 0.5),
        ("x71234567", ["1234567"], 1.0, 0.0),
        ("pineapple", ["apple", "pine"], 1.0, 0.0),
        ("密码是1234567。", ["1234567"], 1.0, 1.0),
        ("１２３４５６７", ["1234567"], 0.0, 1.0),
        ("New\u00a0York", ["new  york"], 0.0, 1.0),
        ("Cafe\u0301", ["café"], 0.0, 1.0),
        ("STRASSE", ["straße"], 0.0, 1.0),
        ("<think>1234567 or 7654321</think>1234567", ["1234567", "7654321"], 1.0, 0.5),
        ("<think>1234567", ["1234567"], 1.0, 0.0),
        ("a", ["a", "a", "b"], 2 / 3, 0.5),
        ("abc", "abcd", 0.75, 0.0),
        ("123", [123], None, 1.0),
        ("anything", [""], 1.0, None),
        ("new\tyork", ["new\nyork"], 1.0, 1.0),
        ("", ["a"], 0.0, 0.0),
    ],
)
def test_share_of_gold_texts(reply: str, gold: object, official: float | None, strict: float | None) -> None:
    assert values(ALL, reply, gold) == [official, strict]


def test_one_of_several_names_is_enough_where_any_may_stand() -> None:
    assert values(PART, "in nyc.", ["New York City", "NYC"]) == [1.0, 1.0]
    assert values(ALL, "in nyc.", ["New York City", "NYC"]) == [0.5, 0.5]
    assert values(PART, "Boston", ["New York City", "NYC"]) == [0.0, 0.0]
    assert verdicts(PART, "nyc", ["New York City", "NYC"])[1].answer == "NYC"


@pytest.mark.parametrize(
    ("reply", "gold", "exceptions"),
    [
        (None, ["a"], ("AttributeError", "AttributeError")),
        (5, [], ("AttributeError", "AttributeError")),
        ("a", [], ("ZeroDivisionError", "ValueError")),
        ("a", "", ("ZeroDivisionError", "ValueError")),
        ("a", None, ("TypeError", "TypeError")),
        ("a", ["a", 1], ("AttributeError", "AttributeError")),
    ],
)
def test_where_the_released_code_stops(reply: object, gold: object, exceptions: tuple[str, str]) -> None:
    for metric, exception in zip((ALL, PART), exceptions, strict=True):
        official, strict = verdicts(metric, reply, gold)
        assert official.value is None
        assert official.detail.startswith(f"{exception}: ")
        assert strict.value is not None or strict.detail


def test_a_reply_of_nothing_but_space_or_thoughts_is_not_valid() -> None:
    assert [verdict.valid for verdict in verdicts(ALL, "\x00\n ", ["a"])] == [False, False]
    assert [verdict.valid for verdict in verdicts(ALL, "<think>a</think>\n", ["a"])] == [True, False]


@given(WORDS, st.sampled_from([" ", ", ", "\n", "; ", "。", "\x00 "]))
def test_words_that_are_all_said_are_all_found(words: list[str], between: str) -> None:
    assert values(ALL, between.join(words), words) == [1.0, 1.0]


@given(WORDS, WORDS)
def test_strict_finds_no_more_than_official_in_plain_text(said: list[str], gold: list[str]) -> None:
    gold = list(dict.fromkeys(gold))
    for metric in (ALL, PART):
        official, strict = values(metric, " ".join(said), gold)
        assert official is not None
        assert strict is not None
        assert 0.0 <= strict <= official <= 1.0


@given(st.text(max_size=40), st.text(min_size=1, max_size=5))
def test_any_texts_give_an_answer(text: str, gold: str) -> None:
    assert not stands_in("", gold)
    for value in (*values(ALL, text, [gold]), *values(PART, text, [gold])):
        assert value in (0.0, 1.0, None)
