"""Draw one figure into a file."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.analyze.shared import OfScores, profiles_of, score_tables
from fathom.commands.shared import Names, Tasks
from fathom.options.declare import arg, command, opt, unset
from fathom.options.values import paths_of
from fathom.types import FathomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


class PlotOptions(OfScores):
    kind: Annotated[
        Literal[
            "curve",
            "scores",
            "position",
            "position-lines",
            "needle",
            "answers",
            "truncation",
            "tasks",
            "task-curves",
            "longscore",
            "longscore-heatmap",
            "lengths-heatmap",
            "tasks-heatmap",
            "requirement-heatmap",
            "best-of-n",
            "pass-at-n",
        ],
        arg(
            "curve, task-curves, tasks, scores, position, position-lines, needle, truncation, answers, longscore, "
            "longscore-heatmap, lengths-heatmap, tasks-heatmap, requirement-heatmap, best-of-n or pass-at-n."
        ),
    ]
    out: Annotated[Path | str, opt("A .svg, .png, .pdf, .html or .json (Vega-Lite) file.", "-o", metavar="FILE")]
    _: KW_ONLY
    models: Annotated[Names, opt("Only these models, separated by commas, in this order.")] = unset
    tasks: Tasks = unset


@command(PlotOptions)
def plot(options: PlotOptions) -> Path:
    """Draw one figure of runs, rows files or tables of scores into a file."""
    from fathom.commands.shared import Known
    from fathom.report import plot
    from fathom.report.reading import without_known
    from fathom.rows import load

    paths, out, models = paths_of(options.sources), Path(options.out), options.models or ()
    if score_tables(paths):
        return plot(profiles_of(options), options.kind, out, models=models, seed=options.seed)
    rows = _of_tasks(_at_lengths(load(paths, judge=options.judge), options.of(OfScores)["lengths"]), options.tasks)
    how = options.of(Known)
    left = without_known(rows, **how, judge=options.judge, seed=options.seed, tell=options.tell)
    return plot(left, options.kind, out, models=models, seed=options.seed, unanswered=options.unanswered)


def main(line: PlotOptions) -> None:
    """Draw, and say where."""
    from fathom.commands.analyze.shared import telling

    print(plot.body(telling(line)))


def _of_tasks(frame: "pl.DataFrame", tasks: "Sequence[str] | None") -> "pl.DataFrame":
    """The rows of some tasks."""
    from fathom.registry import task_name

    if tasks is None:
        return frame
    there = set(frame["task"])
    tasks = [task_name(name) for name in tasks]
    if missing := [name for name in tasks if name not in there]:
        raise FathomError(f"--tasks: no row of {missing[0]!r}; there are rows of {', '.join(sorted(there))}")
    return frame.filter(frame["task"].is_in(tasks))


def _at_lengths(frame: "pl.DataFrame", lengths: "Sequence[int] | None") -> "pl.DataFrame":
    """The rows at some lengths, at those of the base, and without a context."""
    if lengths is None:
        return frame
    from fathom.analysis.base import BASE_LENGTHS
    from fathom.length import format_length, named_lengths

    tested = sorted(set(frame["length"]) - {0})
    if missing := [format_length(length) for length in lengths if length not in tested]:
        at = named_lengths(tested)
        raise FathomError(f"--lengths: no row at {', '.join(missing)}; there are rows at {at}")
    kept = frame["length"].is_in([0, *lengths, *BASE_LENGTHS])
    return frame.filter(kept)
