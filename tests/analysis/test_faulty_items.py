from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from command_line import Call
from fathom import api
from fathom.analysis.faulty_items import COLUMNS, FaultyItems, faulty_items, is_faulty, with_and_without
from fathom.suites.registry import tasks
from fathom.types import FathomError

ROWS = pl.DataFrame(
    {
        "model": ["a"] * 4 + ["b"] * 2,
        "variant": [""] * 6,
        "task": ["babilong_published_qa7"] * 5 + ["other"],
        "item": ["1", "2", "3", "4", "1", "1"],
        "target": ["none", "one", "two", "one", "none", "none"],
        "rule": ["official"] * 6,
        "value": [0.0, 1.0, 0.0, None, 0.0, 1.0],
    }
)


def test_fathoms_own_entries_name_tasks_that_there_are_with_reason_and_source() -> None:
    entries = faulty_items()
    assert entries
    for entry in entries:
        assert any(is_faulty(entry, task, "x", entry.target, entry.rule or "strict") for task in tasks())
        assert entry.reason
        assert entry.source


def test_means_are_shown_with_and_without_the_faulty_items() -> None:
    first, second = with_and_without(ROWS, faulty_items())
    assert (first.model, first.replies, first.faulty) == ("a", 3, 1)
    assert first.mean == pytest.approx(1 / 3)
    assert first.without == 0.5
    assert (second.model, second.faulty, second.without) == ("b", 1, None)
    assert with_and_without(ROWS.with_columns(rule=pl.lit("strict")), faulty_items()) == []


def test_the_command_prints_scores_with_and_without_them(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(f"{','.join(COLUMNS)}\nbabilong_qa1,*,*,,wrong,two answers,me,2026\n")
    api.build("babilong_qa1,babilong_qa6", tmp_path / "suite", lengths="1k", items=2)
    api.run(tmp_path / "suite", "fathom/guess", out=tmp_path / "run")
    (result,) = api.analyze_faulty([tmp_path / "run"], errata=[table])
    assert (result.task, result.rule, result.replies, result.faulty) == ("babilong_qa1", "strict", 2, 2)
    code, printed, _ = call("analyze", "faulty", tmp_path / "run", "--errata", table)
    assert (code, "Without" in printed) == (0, True)
    assert "no reply with a score" in "".join(call("analyze", "faulty", tmp_path / "run")[1:])


def test_rules_are_not_averaged() -> None:
    both = pl.concat([ROWS, ROWS.with_columns(rule=pl.lit("strict"), value=pl.lit(1.0))])
    entry = FaultyItems("babilong*", "*", "*", "", "wrong", "two answers", "me", "2026")
    results = [result for result in with_and_without(both, [entry]) if result.model == "a"]
    assert [(result.rule, result.mean) for result in results] == [("official", pytest.approx(1 / 3)), ("strict", 1.0)]


def test_a_users_table_adds_to_them(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(f"{','.join(COLUMNS)}\nother,1,*,,wrong,two answers,me,2026\n")
    added = [entry for entry in faulty_items([table]) if entry.source == "me"]
    assert added == [FaultyItems("other", "1", "*", "", "wrong", "two answers", "me", "2026")]
    assert [result.task for result in with_and_without(ROWS, added)] == ["other"]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("task,item\n", "target"),
        (f"{','.join(COLUMNS)}\n*,*,*,,wrong,,me,\n", "reason"),
        (f"{','.join(COLUMNS)}\n*,*,*,,wrnog,why,me,2026\n", "wrong, ambiguous"),
        (f"{','.join(COLUMNS)}\n*,*,*,Strict,wrong,why,me,2026\n", "official, strict"),
        (f"{','.join(COLUMNS)}\n*,*,*,,wrong,why,me,today\n", "YYYY"),
        (None, "read"),
    ],
)
def test_a_wrong_table_is_named_with_what_was_expected(tmp_path: Path, content: str | None, named: str) -> None:
    table = tmp_path / "mine.csv"
    if content is not None:
        table.write_text(content)
    with pytest.raises(FathomError, match=named):
        faulty_items([table])
