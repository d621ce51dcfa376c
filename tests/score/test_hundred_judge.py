from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.score.files import score_file
from fathom.score.registry import RULES, ScoringRow, get_scorer
from fathom.types import Score

QA, SUM = "100longbench/qa_judge", "100longbench/sum_judge"
FULL = '{"fluency": 2, "correctness": 3}'
FLUENT = '{"fluency": 1}'


def verdict(metric: str, rule: str, outputs: list[object], gold: int = 1, said: object = "x", **extra: object) -> Score:
    row = ScoringRow(said, [f"g{number}" for number in range(gold)], extra={"judge_outputs": outputs, **extra})
    return get_scorer(metric, rule)(row)


def both(metric: str, outputs: list[object], gold: int = 1, said: object = "x", **extra: object) -> list[float | None]:
    return [verdict(metric, rule, outputs, gold, said, **extra).value for rule in ("official", "strict")]


def test_every_row_of_the_golden_file_agrees(shared: Path) -> None:
    path = shared / "golden" / "edge" / "100longbench.jsonl.gz"
    summary = score_file(path, check=True)
    assert (summary.differences, summary.failures) == ([], [])
    assert (summary.by_metric[QA].checked, summary.by_metric[SUM].checked) == (41, 28)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["metric"] in ("qa_judge", "sum_judge")]
    for row in rows:
        found = get_scorer(f"100longbench/{row['metric']}")(
            ScoringRow(row["prediction"], row["answers"], extra=row["extra"])
        )
        assert found.detail.startswith(row.get("raises", "")), row["case_id"]


@pytest.mark.parametrize(
    ("output", "official", "strict"),
    [
        (FULL, 1.0, 1.0),
        ("no marks", 0.0, None),
        ('{"fluency": 2, "correctness": 4}', 4 / 3, None),
        ('{"fluency": 1.5, "correctness": 2}', 0.5, None),
        ('{"fluency": -2, "correctness": 3}', 0.0, None),
        (f'{FULL} "{{x}}"', 0.0, None),
        ('{"fluency": 2, "correctness": 3, "why": "{x}"}', 0.0, 1.0),
        ('{"fluency": 2}', None, None),
        ('{"fluency": 2, "correctness": "3"}', None, 1.0),
        # Values as the released code gives them (uservan/100-LongBench at 1254aae: utils/metrics.py).
        ('{"fluency": 2, "correctness": null}', 0.0, None),
        ('{"fluency": null, "correctness": null}', 0.0, None),
        ('{"fluency": null, "correctness": ""}', None, None),
        ('{"fluency": 1e999, "correctness": 3}', None, None),
        ('{"fluency": ' + "9" * 400 + ', "correctness": 3}', None, None),
        ("__none__", 0.0, None),
        (None, None, None),
    ],
)
def test_answers(output: object, official: float | None, strict: float | None) -> None:
    assert both(QA, [output]) == [pytest.approx(value) if value is not None else None for value in (official, strict)]


@pytest.mark.parametrize(
    ("outputs", "official", "strict"),
    [
        ([FLUENT, '{"precision": 3, "sentence_count": 4}'], 0.75, 0.75),
        (["?", FLUENT, None, '{"precision": 3, "sentence_count": 4}'], 0.75, 0.75),
        (["?", "?", FLUENT], 0.0, None),
        ([FLUENT], 0.0, None),
        ([FLUENT, '{"precision": 5, "sentence_count": 4}'], 1.25, None),
        ([FLUENT, '{"precision": 0, "sentence_count": 0}'], 0.0, None),
        ([FLUENT, '{"precision": 3}'], None, None),
        ([f"```json\n{FLUENT}\n``` {{x}}", '{"precision": 1, "sentence_count": 4}'], 0.25, None),
        (["```json\nx\n``` {x}", '{"precision": 1, "sentence_count": 4}'], None, None),
        (["```json\n[1]\n``` {x}", '{"precision": 1, "sentence_count": 4}'], None, None),
        (["```json\n[1]\n``` {x}", "?", "?"], 0.0, None),
        ([FLUENT, 5], None, None),
        ([f'{{"fluency": 1{"0" * 400}}}', '{"precision": 1, "sentence_count": 0}'], 0.0, None),
        ([FLUENT, '{"precision": null, "sentence_count": 4}'], None, None),
    ],
)
def test_summaries(outputs: list[object], official: float | None, strict: float | None) -> None:
    assert both(SUM, outputs) == [official, strict]


def test_the_best_gold_answer_counts() -> None:
    half = '{"fluency": 1, "correctness": 3}'
    assert both(QA, [half, FULL], gold=2) == both(QA, [FULL, half], gold=2) == [1.0, 1.0]
    assert both(QA, ["?", FULL], gold=2) == [1.0, None]
    assert both(SUM, ["?", "?", FLUENT, '{"precision": 4, "sentence_count": 4}'], gold=2) == [1.0, None]


def test_the_filter_drops_an_item_under_the_official_rule_only() -> None:
    assert both(QA, [FULL, FULL], null_pred="gold") == [None, 1.0]
    assert "ZeroDivisionError" in verdict(QA, "official", [FULL, FULL], null_pred="gold").detail
    assert both(QA, ["?", FULL], null_pred="gold") == [1.0, 1.0]
    assert both(QA, [FULL, "?"], null_pred="\nUnanswerable, I fear") == [1.0, 1.0]
    assert both(QA, [FULL], null_pred=None) == [None, 1.0]
    assert both(QA, ["?", FULL, "?", FULL], gold=2, null_pred="gold") == [None, None]


@pytest.mark.parametrize("metric", [QA, SUM])
def test_replies_that_need_no_judge(metric: str) -> None:
    assert both(metric, [FULL], said="") == both(metric, [FULL], said="\n") == [0.0, 0.0]
    assert both(metric, [FULL], said=None) == [None, None]
    assert both(metric, [FULL], gold=0) == [0.0, None]
    for rule in RULES:
        assert not verdict(metric, rule, [FULL], said="").valid
        unrecorded = get_scorer(metric, rule)(ScoringRow("x", ["g"]))
        assert unrecorded.value is None
        assert "extra.judge_outputs" in unrecorded.detail


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers())
marks = st.dictionaries(st.sampled_from(["fluency", "correctness", "precision", "sentence_count"]), values)
outputs = st.lists(
    st.none() | st.just("__none__") | st.text() | marks.map(json.dumps) | st.sampled_from([FULL, FLUENT]), max_size=6
)


@given(st.sampled_from([QA, SUM]), outputs, st.integers(0, 2), st.none() | st.text(max_size=5))
def test_no_output_stops_a_scorer(metric: str, outputs: list[object], gold: int, null: str | None) -> None:
    for rule in RULES:
        found = verdict(metric, rule, outputs, gold, null_pred=null)
        assert found.grader == rule
        if found.value is None:
            assert found.detail
        elif rule == "strict":
            assert 0 <= found.value <= 1
        else:
            assert found.value >= 0


@pytest.mark.parametrize(
    ("output", "exception"),
    [
        ('{"fluency": "x"}', "KeyError"),
        ('{"fluency": "x", "correctness": 1}', "TypeError"),
        (f'{{"fluency": "x", "correctness": {10**40}}}', "OverflowError"),
        (f'{{"fluency": {10**40}, "correctness": {10**400}}}', "OverflowError"),
        (5, "TypeError"),
    ],
)
def test_the_exception_is_that_of_the_released_code(output: object, exception: str) -> None:
    assert verdict(QA, "official", [output]).detail.startswith(f"{exception}: ")
