from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.ada.scoring import as_order, designation, segment_order
from fathom.score.files import score_file
from fathom.score.registry import RULES, ScoringRow, get_scorer
from fathom.types import Score

BEST, SORT = "ada_leval/bestanswer", "ada_leval/tsort"
FRAMES = st.sampled_from(["{}", "Answer: {}", "**{}**", "The answer is {}.", "<think>Answer: A1 [1]</think>\n{}\n"])


def best(said: object, gold: object = "A7", choices: object = 12) -> list[Score]:
    row = ScoringRow(said, [gold], extra={"num_choice": choices})
    return [get_scorer(BEST, rule)(row) for rule in RULES]


def sort(said: object, gold: object = (4, 1, 3, 2)) -> list[float | None]:
    row = ScoringRow(said, list(gold) if isinstance(gold, tuple) else gold)
    return [get_scorer(SORT, rule)(row).value for rule in RULES]


def test_official_accuracies_over_lists_are_those_of_the_released_code(shared: Path) -> None:
    lists = json.loads((shared / "golden" / "aggregate" / "ada_leval_accuracy.json").read_text("utf-8"))
    for one in lists:
        metric = get_scorer(f"ada_leval/{one['task']}", "official")
        rows = [
            ScoringRow(row["prediction"], row["answer"], extra={"num_choice": row.get("num_choice")})
            for row in one["rows"]
        ]
        values = [metric(row).value for row in rows]
        if one["accuracy_percent"] is None:
            assert None in values  # the released code crashes on the whole list
        else:
            scored = [value for value in values if value is not None]
            assert len(scored) == len(values)
            assert 100 * sum(scored) / len(scored) == pytest.approx(one["accuracy_percent"])


def test_official_equals_and_strict_differs_where_a_golden_row_notes_a_fault(shared: Path) -> None:
    path = shared / "golden" / "edge" / "ada_leval.jsonl.gz"
    summary = score_file(path, check=True)
    assert (summary.rows, summary.differences, summary.failures) == (124, [], [])
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    for row in rows:
        given_row = ScoringRow(row["prediction"], row["answers"], extra=row.get("extra", {}))
        official, strict = (get_scorer(f"ada_leval/{row['metric']}", rule)(given_row) for rule in RULES)
        assert official.detail.startswith(row.get("raises", "")), row["case_id"]
        assert (official.answer or "???") == row.get("extra", {}).get("extracted", official.answer or "???")
        differs = (official.value, official.valid) != (strict.value, strict.valid)
        assert differs == ("note" in row), row["case_id"]


@pytest.mark.parametrize(
    ("reply", "official", "strict", "valid"),
    [
        ("A7", 1.0, 1.0, True),
        ("Answer: A7 because it uses 12 lines", 1.0, 1.0, True),
        ("A77", 1.0, 0.0, False),
        ("The 7th of the 12", 0.0, 0.0, False),
        ("seventeen (17)", 1.0, 0.0, False),
        ("A12 was close, but the answer is A7", 0.0, 1.0, False),
        ("Answer: A3. No: Answer: A7", 1.0, 1.0, False),
        ("<think>A12?</think>A7", 0.0, 1.0, True),
        ("<think>A7", 1.0, 0.0, False),
        ("", 0.0, 0.0, False),
    ],
)
def test_bestanswer(reply: str, official: float, strict: float, valid: bool) -> None:
    found = best(reply)
    assert [verdict.value for verdict in found] == [official, strict]
    assert found[1].valid == valid


def test_rows_that_cannot_be_scored_say_why() -> None:
    for said, choices, why in (("A7", None, "num_choice"), ("A7", True, "num_choice"), (None, 12, "string")):
        for verdict in best(said, choices=choices):
            assert verdict.value is None
            assert why in verdict.detail
    assert sort("[1]", "[broken") == sort("[1]", 5) == [None, None]


@pytest.mark.parametrize(
    ("reply", "official", "strict"),
    [
        ("[4, 1, 3, 2]", 1.0, 1.0),
        ("4 > 1 > 3 > 2", 1.0, 1.0),
        ("[4.0, 1, 3, 2]", 1.0, 1.0),
        ("[]", 1.0, 0.0),
        ("{}", 1.0, 0.0),
        ('""', 1.0, 0.0),
        ("[4, 1]", 1.0, 0.0),
        ("[4, 1, 3, 2, 5]", 1.0, 0.0),
        ("4132", None, 0.0),
        ("null", None, 0.0),
        (None, None, 0.0),
        ("[4, 4, 3, 2]", 0.0, 0.0),
        ("[true, 1, 3, 2]", 0.0, 0.0),
        ("1234 and 4132", 0.0, 0.0),
        ("Answer: [1,2,3,4] Answer: [4,1,3,2]", 0.0, 0.0),
    ],
)
def test_tsort(reply: str | None, official: float | None, strict: float) -> None:
    assert sort(reply) == sort(reply, "[4, 1, 3, 2]") == [official, strict]


def test_a_correct_prefix_is_never_right_under_strict() -> None:
    assert sort("[1, 2]", (1, 2, 3, 4)) == [1.0, 0.0]
    assert sort("[true, 2, 3, 4]", (1, 2, 3, 4)) == [1.0, 0.0]
    assert sort("[1]", []) == [1.0, None]
    assert sort("[3, 1, 2]", (3, 1, 2)) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("A3 ... A7", "A7"),
        ("A7 is better than A12", "A7"),
        ("A7 is the best. A3 is wrong.", "A7"),
        ("Between A1, A2 and A7, I pick A7 over A2", "A7"),
        ("**Answer**: A7 (e.g. A4)", "A7"),
        ("答案：A7，不是A3", "A7"),
        ("A7, not A3", "A7"),
        ("Answer: all of A1-A12", None),
        ("A13", None),
        ("A07", None),
        ("a7", None),
        ("7", "A7"),
        ("A" + "9" * 5000, None),
    ],
)
def test_designation(reply: str, found: str | None) -> None:
    assert designation(reply, 12) == found


@given(st.integers(1, 200), st.integers(1, 200), FRAMES)
def test_a_designation_alone_is_found_if_it_is_in_range(number: int, n_answers: int, frame: str) -> None:
    expected = f"A{number}" if number <= n_answers else None
    assert designation(frame.format(f"A{number}"), n_answers) == expected


@given(st.integers(1, 50), st.integers(1, 50), st.sampled_from(["A{} or A{}. Answer: A{}", "A{}, A{}? I choose A{}"]))
def test_the_final_designation_counts_whatever_was_named_before(first: int, final: int, frame: str) -> None:
    assert designation(frame.format(first, 51 - first, final), 50) == f"A{final}"


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("Answer: [1,2,3,4] Answer: [4,1,3,2]", (4, 1, 3, 2)),
        ("<think>Answer: [1,2,3,4]</think>[4,1,3,2]", (4, 1, 3, 2)),
        ("Segment 4, then 1, then 3, then 2", (4, 1, 3, 2)),
        ("4132", (4, 1, 3, 2)),
        ("［４，１，３，２］", (4, 1, 3, 2)),
        ("[4, 1, 3, 2]\nbecause 4 leads to 1. The answer is clear.", (4, 1, 3, 2)),
        ("4-1-3-2\nas 4 begins", (4, 1, 3, 2)),
        ('{"order": [4, 1, 3, 2]}', (4, 1, 3, 2)),
        ("[4,1,3]", None),
        ("[4,1,3,2,1]", None),
        ("[4,4,3,2]", None),
        ("[-4,1,3,2]", None),
        ("[4.5,1,3,2]", None),
        ("[]", None),
        ("", None),
        ("[1,2,3,4,5]", None),
        ("9" * 400, None),
    ],
)
def test_segment_order(reply: str, order: tuple[int, ...] | None) -> None:
    assert segment_order(reply, 4) == order


@given(
    st.integers(2, 12).flatmap(lambda n: st.permutations(range(1, n + 1))),
    st.sampled_from([", ", " > ", " -> ", "\n", ",", " "]),
    FRAMES,
    st.booleans(),
)
def test_an_order_of_any_size_is_found_and_none_of_another_size(
    order: list[int], between: str, frame: str, listed: bool
) -> None:
    said = between.join(map(str, order))
    reply = frame.format(f"[{said}]" if listed else said)
    assert segment_order(reply, len(order)) == tuple(order)
    assert segment_order(reply, len(order) + 1) is None


@pytest.mark.slow
@given(st.text(st.sampled_from("A0123456789 .,:-[]()\nswerix<think>/"), max_size=60), st.integers(1, 12))
def test_what_is_read_is_always_an_answer_of_the_task(reply: str, size: int) -> None:
    order = segment_order(reply, size)
    assert order is None or sorted(order) == list(range(1, size + 1))
    assert designation(reply, size) in (None, *(f"A{number}" for number in range(1, size + 1)))
    row = ScoringRow(reply, [*range(1, size + 1)], extra={"num_choice": size})
    for metric in (BEST, SORT):
        verdict = get_scorer(metric, "strict")(row)
        assert verdict.value in (0.0, 1.0)
        assert verdict.valid == (verdict.answer is not None) or metric == BEST


@pytest.mark.slow
@given(st.lists(st.integers(-1, 5) | st.floats() | st.booleans() | st.text(max_size=1) | st.none(), max_size=5))
def test_as_order_takes_permutations_only(value: list[object]) -> None:
    order = as_order(value)
    assert order is None or (list(order) == value and sorted(order) == list(range(1, len(value) + 1)))
