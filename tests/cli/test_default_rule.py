"""One default rule: strict; official where scores stand beside those of the papers' code. Every output names it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from command_line import Call
from fathom.types.choices import rule_or_default


def test_the_default_is_strict_unless_scores_are_compared_with_published_ones() -> None:
    assert [rule_or_default(None, compared=compared) for compared in (False, True)] == ["strict", "official"]
    assert [rule_or_default(rule, compared=True) for rule in ("strict", "official")] == ["strict", "official"]


def test_score_uses_the_default_and_names_it(call: Call) -> None:
    """LongBench's code gives the share of the gold number among all numbers; the corrected rule takes the last one."""
    row = {"prediction": "Not 3 but 5", "answers": ["5"], "suite": "longbench_v1", "metric": "count", "score": 0.5}
    Path("rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    rules = {(): ("strict", 1.0), ("--rule", "official"): ("official", 0.5)}
    for words, (rule, score) in rules.items():
        (line,) = call("score", "rows.jsonl", *words)[1].splitlines()
        assert (json.loads(line)["rule"], json.loads(line)["score"]) == (rule, score)
    code, out, _ = call("score", "rows.jsonl", "--check")
    assert (code, "rule: official" in out) == (0, True)
    assert json.loads(call("score", "rows.jsonl", "--check", "--json")[1])["rule"] == "official"
    assert "rule: strict" in call("score", "rows.jsonl", "--out", "scores.jsonl")[1]


@pytest.mark.slow
def test_rows_and_boards_use_the_same_default_and_name_it(call: Call) -> None:
    assert call("run", "passkey", "-m", "fathom/guess", "--lengths", "1k", "--items", "2", "-q", "-o", "run")[0] == 0
    assert call("rows", "run", "-o", "rows.parquet")[1] == "rows.parquet: 2 rows, scored by the rule strict\n"
    assert pl.read_parquet("rows.parquet")["rule"].unique().to_list() == ["strict"]
    alone = ("board", "build", "run", "--no-published", "-q", "--out")
    assert "scored by the rule strict" in call(*alone, "alone")[1]
    assert json.loads(call(*alone, "alone", "--json")[1])["rule"] == "strict"
    beside = ("board", "build", "run", "--board", "passkey", "-q", "--out")
    _, out, err = call(*beside, "beside")
    assert "scored by the rule official" in out
    assert "official, not strict as in score, rows and reports, because published entries are beside them" in err
    assert "not strict" not in call(*beside, "beside", "--rule", "official")[2]
    code, _, err = call(*beside, "beside", "--rule", "strict")
    assert (code, "compare them with --rule official" in err) == (0, True)
