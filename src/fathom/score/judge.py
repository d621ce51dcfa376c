"""How a judge scores answers and summaries: requests go out, replies come in, parts of a score come out.

A rubric is a conversation without I/O (``judge_case``). A reply that cannot be read is asked for once more, then the
judgement has failed, which is not a score of 0. The rubrics stand with the benchmarks that have them: those of answers
and of summaries in ``fathom.benchmarks.hundred.rubrics``, LongLeader's rating, and LongBench Pro's similarity, which
is for models that embed; all others are for models that chat.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from fathom.discovery import declared
from fathom.names import unknown
from fathom.score.judge_case import Ask, Case, Parts, Rubric, UnreadableError

__all__ = ["Ask", "Case", "Parts", "Rubric", "UnreadableError", "get_rubric", "rubrics"]


@cache
def rubrics() -> Mapping[str, Rubric]:
    """All rubrics by name."""
    return declared("rubrics", lambda rubric: rubric.name)


def get_rubric(name: str) -> Rubric:
    """The rubric of that name.

    Raises:
        FathomError: There is none.
    """
    known = rubrics()
    if name in known:
        return known[name]
    raise unknown("rubric", name, known, see="fathom list tasks")
