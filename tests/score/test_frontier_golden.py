from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from fathom.score.files import score_file
from fathom.score.registry import ScoringRow, get_scorer, metrics

# Files of vectors from the released code, and how many rows each has.
FILES = {
    "mrcr": 569,
    "graphwalks": 1817,
    "ruler": 1040,
    "ruler2": 614,
    "nolima": 1114,
    "babilong": 809,
    "babilong_real": 2087,
    "oolong": 561,
    "loft": 1540,
    "helmet": 1724,
    "judged": 154,
}
# Their rows name no search to compare with: the last test has it.
WITHOUT_REFERENCE = "travel_planning_partial_accuracy"
# Of this journey no reply here is the gold one.
WITHOUT_GOLD = "Hamburg**Helsinki**Krakow**Vilnius"
COMPILED = "pseudo_to_code_accuracy"


def rows_of(shared: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(shared / "golden" / "frontier" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return list(map(json.loads, lines))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_official_equals_every_row_of_the_released_code(shared: Path, name: str) -> None:
    summary = score_file(shared / "golden" / "frontier" / f"{name}.jsonl.gz", check=True)
    assert (summary.rows, summary.differences, summary.failures) == (FILES[name], [], [])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FILES, "longproc"])
def test_what_stops_the_released_code_is_named(shared: Path, name: str) -> None:
    for row in rows_of(shared, name):
        if exception := row.get("raises"):
            scorer = get_scorer(f"{row['suite']}/{row['metric']}")
            given = ScoringRow(row["prediction"], row["answers"], dataset=row["dataset"], extra=row.get("extra") or {})
            assert scorer(given).detail.startswith(exception), row["case_id"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FILES, "longproc"])
def test_strict_raises_nothing_whatever_a_reply_and_its_gold_answer_are(shared: Path, name: str) -> None:
    known = metrics()
    for row in rows_of(shared, name):
        if (metric := f"{row['suite']}/{row['metric']}") in known:
            given = ScoringRow(row["prediction"], row["answers"], dataset=row["dataset"], extra=row.get("extra") or {})
            get_scorer(metric, "strict")(given)


@pytest.mark.slow
def test_longproc_equals_every_row_but_those_that_compile_a_reply(shared: Path) -> None:
    rows = rows_of(shared, "longproc")
    whole = [
        row
        for row in rows
        if row["metric"].startswith("travel") and row["score"] == 1 and "<Solving Procedure>" in row["prediction"]
    ]
    whole.sort(key=lambda row: row["case_id"][-3:], reverse=True)  # the first reply to an item is the gold one
    searches = {row["extra"]["ground_truth_cities"]: row["prediction"] for row in whole}
    checked = 0
    for row in rows:
        if row["metric"] == COMPILED:
            continue
        extra = row.get("extra") or {}
        if row["metric"] == WITHOUT_REFERENCE:
            if extra["ground_truth_cities"] == WITHOUT_GOLD:
                continue
            extra = {**extra, "reference_output": searches[extra["ground_truth_cities"]]}
        score = get_scorer(f"longproc/{row['metric']}")(ScoringRow(row["prediction"], row["answers"], extra=extra))
        assert score.value == (None if row["score"] is None else pytest.approx(row["score"], abs=1e-9)), row["case_id"]
        checked += 1
    assert checked == 773 - 50 - 16
