from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from simulated import row

from fathom import api
from fathom.analysis import agreement
from fathom.rows import to_frame, write_rows
from fathom.types import FathomError, Row


def said(answer: str | None, value: float | None, *, variant: str, item: int, **facts: object) -> Row:
    return replace(row(value, item=item, variant=variant, **facts), answer=answer)  # type: ignore[arg-type]  # of a test


def both(first: str | None, second: str | None, item: int, **facts: object) -> list[Row]:
    """One sample, answered in two ways; the right answer is "A"."""
    return [
        said(answer, float(answer == "A"), variant=way, item=item, **facts)
        for way, answer in (("cheap", first), ("dear", second))
    ]


def test_equal_answers_agree_whether_right_or_not() -> None:
    pairs = [("A", "A"), ("B", "B"), ("A", "B"), (None, None), ("A", "C")]
    rows = [one for item, (first, second) in enumerate(pairs) for one in both(first, second, item)]
    (found,) = agreement(to_frame(rows))
    assert (found.variant_a, found.variant_b, found.task, found.length) == ("cheap", "dear", "kv", 2048)
    assert (found.agreement, found.score_a, found.score_b, found.items) == (2 / 5, 3 / 5, 1 / 5, 5)
    assert 0 < found.interval.low < 0.4 < found.interval.high < 1


def test_by_task_and_length_and_over_them() -> None:
    rows = [one for item in range(4) for one in both("A", "A", item, length=2048, task="a")]
    rows += [one for item in range(4) for one in both("A", "B", item, length=4096, task="a")]
    rows += [one for item in range(2) for one in both("A", "A", item, length=2048, task="b")]
    found = {(one.task, one.length): one.agreement for one in agreement(to_frame(rows))}
    assert found == {
        ("a", 2048): 1, ("a", 4096): 0, ("a", None): 0.5, ("b", 2048): 1,
        ("all", 2048): 1, ("all", 4096): 0, ("all", None): pytest.approx(4 / 6),
    }  # fmt: skip


def test_epochs_of_an_item_are_averaged_first() -> None:
    rows = [one for epoch in (1, 2, 3) for one in both("A", "A", 0, epoch=epoch)] + both("A", "B", 1)
    (found,) = agreement(to_frame(rows))
    assert (found.agreement, found.items) == (0.5, 2)


def test_only_samples_that_both_have_a_score_for() -> None:
    rows = both("A", "A", 0) + both("A", "B", 1)
    rows += [said("A", 1.0, variant="dear", item=item) for item in (2, 3)]
    (found,) = agreement(to_frame(rows))
    assert (found.agreement, found.items) == (0.5, 2)
    apart = [said("A", 1.0, variant="cheap", item=0), said("A", 1.0, variant="dear", item=1)]
    assert agreement(to_frame(apart)) == []


def test_a_cell_that_is_not_measured_is_in_no_agreement() -> None:
    rows = [one for length in (2048, 8192) for one in both("A", "A", 0, length=length)]
    assert {one.length for one in agreement(to_frame(rows))} == {2048, 8192, None}
    rows += [said("A", None, variant="cheap", item=1, status="error", length=8192)]
    assert {one.length for one in agreement(to_frame(rows))} == {2048}


def test_every_two_of_several_systems() -> None:
    rows = [*both("A", "A", 0), said("B", 0.0, variant="", item=0)]
    found = [(one.variant_a, one.variant_b, one.agreement) for one in agreement(to_frame(rows))]
    assert found == [("cheap", "dear", 1.0), ("cheap", "", 0.0), ("dear", "", 0.0)]


def test_one_system_agrees_with_nobody() -> None:
    with pytest.raises(FathomError, match="two models or variants"):
        agreement(to_frame([said("A", 1.0, variant="", item=0)]))


def test_the_study_reads_rows_files(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_rows(to_frame(both("A", "A", 0)), path)
    (found,) = api.analyze("agreement", [path])
    assert found.agreement == 1
