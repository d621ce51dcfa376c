"""Graders: who gave the scores of each task."""

from __future__ import annotations

from dataclasses import replace

from simulated import row

from fathom.analysis.counts import Graded, all_graders, graders
from fathom.rows import to_frame


def test_published_averages_are_nobodys_scores() -> None:
    scored = replace(row(1.0), metric="f1", grader="strict")
    failed = replace(scored, value=None, item="kv/1", sample="kv/1@8192")
    told = replace(scored, item="told", sample="told", facets={"aggregate": "overall"})
    assert graders(to_frame([scored, failed, told])) == [Graded(scored.task, "f1", "strict", scored=1, failed=1)]


def test_graders_of_several_parts_are_those_of_all_rows() -> None:
    rows = [
        replace(row(value, task=task, item=item), metric="f1", grader=grader)
        for task in ("kv", "qa")
        for grader, values in (("strict", (1.0, None)), ("judge", (0.0, 1.0, 0.5)))
        for item, value in enumerate(values)
    ]
    whole = graders(to_frame(rows))
    assert [(one.task, one.grader, one.scored, one.failed) for one in whole] == [
        ("kv", "strict", 1, 1), ("kv", "judge", 3, 0), ("qa", "strict", 1, 1), ("qa", "judge", 3, 0),
    ]  # fmt: skip
    assert all_graders([whole]) == whole
    for cut in range(len(rows)):
        assert all_graders([graders(to_frame(rows[:cut])), graders(to_frame(rows[cut:]))]) == whole
    assert all_graders([]) == []
