"""Graders: who gave the scores of each task."""

from __future__ import annotations

from dataclasses import replace

from simulated import row

from fathom.analysis.counts import Graded, graders
from fathom.rows import to_frame


def test_published_averages_are_nobodys_scores() -> None:
    scored = replace(row(1.0), metric="f1", grader="strict")
    failed = replace(scored, value=None, item="kv/1", sample="kv/1@8192")
    told = replace(scored, item="told", sample="told", facets={"aggregate": "overall"})
    assert graders(to_frame([scored, failed, told])) == [Graded(scored.task, "f1", "strict", scored=1, failed=1)]
