"""Runs with second judges, compared with the first."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.options.values import paths_of

if TYPE_CHECKING:
    from fathom.analysis import JudgeShift


def shifts_of(sources: Iterable[Path | str] | Path, judge: str | None, seed: int) -> "list[JudgeShift]":
    """What second judges change, for each run and second judge.

    Args:
        sources: Run folders; rows files have no judgements.
        judge: The first judge, if there are several.
        seed: Seed of the intervals.
    """
    from fathom.analysis import judge_shift
    from fathom.rows import load
    from fathom.rows.runs import is_run
    from fathom.rows.scoring import choose_judges
    from fathom.runfile.judgements import first_and_second, second_judges

    results = []
    for folder in filter(is_run, paths_of(sources)):
        if not (seconds := second_judges(folder)):
            continue
        first, chosen = load([folder], judge=judge), choose_judges([folder], judge)
        for second in seconds:
            drawn_for, name = first_and_second(second)
            if drawn_for in ("", *chosen):
                names = drawn_for or ", ".join(chosen), name
                results += judge_shift(first, load([folder], judge=second), names, seed=seed)
    return results
