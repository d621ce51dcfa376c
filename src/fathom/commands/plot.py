"""Draw one figure into a file."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated

from fathom.commands.analyze.shared import OfScores, profiles_of, score_tables
from fathom.options.declare import arg, command, opt, unset
from fathom.options.values import Names, paths_of
from fathom.runfile.settings import Tasks
from fathom.types.choices import Figure


class PlotOptions(OfScores):
    kind: Annotated[Figure, arg()]
    out: Annotated[Path | str, opt("A .svg, .png, .pdf, .html or .json (Vega-Lite) file.", "-o", metavar="FILE")]
    _: KW_ONLY
    models: Annotated[Names, opt("Only these models, separated by commas, in this order.")] = unset
    tasks: Tasks = unset


@command(PlotOptions)
def plot(options: PlotOptions) -> Path:
    """Draw one figure of runs, rows files or tables of scores into a file."""
    from fathom.commands.shared import Known
    from fathom.report.plot import plot
    from fathom.report.reading import rows_at_lengths, rows_of_tasks, without_known
    from fathom.rows import RowsTable, load

    paths, out, models = paths_of(options.sources), Path(options.out), options.models or ()
    if score_tables(paths):
        return plot(profiles_of(options), options.kind, out, models=models, seed=options.seed)
    rows = rows_of_tasks(rows_at_lengths(load(paths, judge=options.judge), options.lengths), options.tasks)
    how = options.of(Known)
    left = without_known(RowsTable(rows), **how, judge=options.judge, seed=options.seed, tell=options.tell)
    return plot(left, options.kind, out, models=models, seed=options.seed, unanswered=options.unanswered)


def main(line: PlotOptions) -> None:
    """Draw, and say where."""
    from fathom.commands.analyze.shared import telling

    print(plot.body(telling(line)))
