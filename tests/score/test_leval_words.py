from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.score.registry import RULES, ScoringRow, get_scorer

METRICS = ("f1", "rouge1", "rouge2", "rouge")


def values(metric: str, said: object, gold: object) -> list[float | None]:
    return [get_scorer(f"leval/{metric}", rule)(ScoringRow(said, gold)).value for rule in RULES]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "expected"), [("edge/leval", 81), ("real/leval_ngram", 4254)])
def test_official_equals_every_golden_row_of_the_open_tasks(shared: Path, file: str, expected: int) -> None:
    with gzip.open(shared / "golden" / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["suite"] == "leval" and row["metric"] in METRICS]
    for row in rows:
        given_row = ScoringRow(row["prediction"], row["answers"], dataset=row["dataset"])
        # The score of "rouge" is rougeL; the row tells the other two beside it.
        others = {name: row["extra"][name] for name in ("rouge1", "rouge2")} if row["metric"] == "rouge" else {}
        for metric, score in {row["metric"]: row["score"], **others}.items():
            found = get_scorer(f"leval/{metric}")(given_row)
            assert found.value == (None if score is None else pytest.approx(score, abs=1e-9)), (metric, row["case_id"])
            assert found.detail.startswith(row.get("raises", ""))
    assert len(rows) == expected


@pytest.mark.parametrize(
    ("metric", "said", "gold", "official", "strict"),
    [
        ("f1", "The budget, in July", "a budget in July", 1.0, 1.0),
        ("f1", "<think>June</think>July", "July", 0.0, 1.0),
        ("f1", "“July”", "July", 0.0, 1.0),
        ("f1", "会议讨论", "讨论会议", 0.0, 1.0),
        ("f1", "Ｊｕｌｙ", "July", 0.0, 1.0),
        ("f1", "", "July", 0.0, 0.0),
        ("rouge", "the-budget/in July", "The budget in July.", 1.0, 1.0),
        ("rouge", "in July the budget", "the budget in July", 0.5, 0.5),
        ("rouge1", "in July the budget", "the budget in July", 1.0, 1.0),
        ("rouge2", "in July the budget", "the budget in July", 2 / 3, 2 / 3),
        ("rouge", "<think>no no no</think>the budget", "the budget", 4 / 9, 1.0),
        ("rouge", "会议讨论预算", "会议讨论预算", 0.0, 1.0),
        ("rouge1", "une année", "une année", 1.0, 1.0),
        ("rouge1", "ne", "année", 0.0, 0.0),
        ("rouge1", "ann", "année", 2 / 3, 0.0),
        ("rouge", "...", "July", 0.0, 0.0),
        ("rouge", "July", "", 0.0, 0.0),
    ],
)
def test_words_under_both_rules(metric: str, said: str, gold: str, official: float, strict: float) -> None:
    assert values(metric, said, gold) == [pytest.approx(official), pytest.approx(strict)]
    assert values(metric, said, [gold]) == values(metric, said, gold)


@pytest.mark.parametrize("metric", METRICS)
def test_what_is_no_text_is_not_scored(metric: str) -> None:
    for said, gold in ((None, "July"), ("July", 7), ("July", ["July", "June"])):
        official, strict = (get_scorer(f"leval/{metric}", rule)(ScoringRow(said, gold)) for rule in RULES)
        assert official.value is strict.value is None
        assert official.detail.startswith("AttributeError: ")
        assert "string" in strict.detail


@given(st.text(max_size=40), st.text(max_size=40))
def test_scores_are_shares_and_equal_texts_have_the_whole(said: str, gold: str) -> None:
    for metric in METRICS:
        assert all(value is not None and 0.0 <= value <= 1.0 for value in values(metric, said, gold))
    equal = values("rouge", gold, gold)[1]
    assert equal == pytest.approx(1.0) or not gold.strip() or "<" in gold
