from __future__ import annotations

import gzip
import json
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.longbench.v2_scoring import compensated
from fathom.score.answers import choice_letter
from fathom.score.files import score_file
from fathom.score.registry import RULES, ScoringRow, get_scorer
from fathom.types import Score

MCQ = "longbench_v2/mcq"
FRAMES = st.sampled_from(
    [
        "{}",
        "({})",
        "{}.",
        "**{}**",
        "Answer: {}",
        "The correct answer is ({})",
        "The correct answer is **({})**.",
        "the answer is {} because of the second part",
        "So I pick option {}.",
        "\\boxed{{{}}}",
        "正确答案是（{}）。",
        "<think>The correct answer is (D)</think>\n{}\n",
    ]
)


def both(said: object, gold: object = "A") -> list[Score]:
    return [get_scorer(MCQ, rule)(ScoringRow(said, [gold])) for rule in RULES]


def test_official_equals_every_golden_row_and_strict_differs_where_a_fault_is_noted(shared: Path) -> None:
    path = shared / "golden" / "edge" / "longbench_v2.jsonl.gz"
    summary = score_file(path, check=True)
    assert (summary.rows, summary.differences, summary.failures) == (48, [], [])
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    for row in rows:
        official, strict = both(row["prediction"], row["answers"][0])
        assert official.answer == row["extra"]["extracted"], row["case_id"]
        assert "note" not in row or official.value != strict.value, row["case_id"]
    assert sum("note" in row for row in rows) == 1


def test_official_means_over_lists_are_those_of_the_released_table(shared: Path) -> None:
    lists = json.loads((shared / "golden" / "aggregate" / "longbench_v2_result.json").read_text("utf-8"))
    tables = 0
    for one in lists:
        scores = {"Overall": list[float](), **{name: list[float]() for name in _parts()}}
        for row in one["rows"]:
            said = f"The correct answer is ({row['pred']})" if row["pred"] else "I cannot say"
            value = both(said, row["answer"])[0].value
            assert value is not None
            assert value == row["judge"]
            for name in ("Overall", row["difficulty"].title(), row["length"].title()):
                scores[name].append(value)
        if one["official_result_txt"].startswith("raises"):
            assert not all(scores.values())  # the released code divides by the size of an empty part
            continue
        tables += 1
        names, _, figures = one["official_result_txt"].partition("\n")
        stated = dict(zip(names.split("\t")[1:], figures.split("\t")[1:], strict=True))
        assert {name: str(round(100 * mean(values), 1)) for name, values in scores.items()} == stated
    assert tables == 2


def test_compensated_means_give_a_quarter_for_every_reply_without_a_choice(shared: Path) -> None:
    lists = json.loads((shared / "golden" / "aggregate" / "longbench_v2_result.json").read_text("utf-8"))
    silent = 0
    for one in lists:
        plain, found = [], []
        for row in one["rows"]:
            said = f"The correct answer is ({row['pred']})" if row["pred"] else "I cannot say"
            verdicts = [get_scorer(f"{MCQ}_compensated", rule)(ScoringRow(said, [row["answer"]])) for rule in RULES]
            # As the released code has it with its switch on.
            expected = 0.25 if row["pred"] is None else float(row["judge"])
            assert [verdict.value for verdict in verdicts] == [expected, expected]
            assert verdicts[0].valid == (row["pred"] is not None)
            plain.append(float(row["judge"]))
            found.append(expected)
            silent += row["pred"] is None
        without = sum(row["pred"] is None for row in one["rows"])
        assert mean(found) == pytest.approx(mean(plain) + without / len(plain) / 4)
    assert silent


@pytest.mark.parametrize(
    ("value", "valid", "expected"),
    [(1.0, True, 1.0), (0.0, True, 0.0), (0.0, False, 0.25), (None, False, None)],
)
def test_what_has_no_score_is_not_compensated(value: float | None, valid: bool, expected: float | None) -> None:
    assert compensated(value, valid) == expected


def _parts() -> tuple[str, ...]:
    return ("Easy", "Hard", "Short", "Medium", "Long")


@pytest.mark.parametrize(
    ("reply", "official", "strict"),
    [
        ("The correct answer is (A)", "A", "A"),
        ("The correct answer is **A**", "A", "A"),
        ("The correct answer is A. Then: The correct answer is (B)", "B", "B"),
        ("The correct answer is (B). Wait, the correct answer is (A)", "B", "A"),
        ("The correct answer is Apple", "A", None),
        ("The correct answer is Clearly (A)", "C", "A"),
        ("The correct answer is (A) and (B)", "A", None),
        ("The correct answer is A, B", "A", None),
        ("The correct answer is (A), and (B) is wrong", "A", "A"),
        ("The correct answer is (D) not (A)", "D", "D"),
        ("The correct answer is not (A)", None, None),
        ("The correct answer is (AB)", None, None),
        ("The correct answer is (E)", None, None),
        ("The correct answer is: a", None, "A"),
        ("The correct answer is a good one", None, None),
        ("The answer is: A good one is (B)", None, "B"),
        ("The correct answer is [c]", None, "C"),
        ("B. Because A came first", None, "B"),
        ("Option B fits; option C fits too", None, None),
        ("I choose option B", None, "B"),
        ("It has to be B.", None, "B"),
        ("It is A or B", None, None),
        ("(A) or (B)", None, None),
        ("A, B", None, None),
        ("The correct answer is (B). The answer is clear.", "B", "B"),
        ("<think>The correct answer is (B)", "B", None),
        ("", None, None),
    ],
)
def test_choice(reply: str, official: str | None, strict: str | None) -> None:
    found = both(reply)
    assert [verdict.answer for verdict in found] == [official, strict]
    for verdict in found:
        assert verdict.valid == (verdict.answer is not None)
        assert verdict.value == (verdict.answer == "A")


def test_a_reply_that_is_no_text_is_never_scored() -> None:
    official, strict = both(None)
    assert official.value is strict.value is None
    assert official.detail.startswith("AttributeError: ")
    assert "string" in strict.detail


def test_a_reply_without_a_choice_is_wrong_even_if_no_gold_is_known() -> None:
    assert [verdict.value for verdict in both("", None)] == [0.0, 0.0]


@given(st.sampled_from("ABCD"), FRAMES)
def test_a_choice_is_found_in_every_usual_frame(letter: str, frame: str) -> None:
    assert choice_letter(frame.format(letter)) == letter


@given(st.text(st.sampled_from("ABCDEabcd ()[].,:\nnotaswerici<think>/"), max_size=60))
def test_what_is_read_is_one_letter_or_nothing(reply: str) -> None:
    assert choice_letter(reply) in {"A", "B", "C", "D", None}
    assert choice_letter("word " + reply + " The correct answer is (C)") in ("C", None) or "think" in reply
