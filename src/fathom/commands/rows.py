"""Turn runs, logs of other harnesses, or published results into one table of scored replies."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from fathom.commands.shared import JudgeOfRows, Known, ManyPaths, MaybePath, Tell
from fathom.options.declare import arg, command, given, opt, unset
from fathom.options.values import paths_of
from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

Out: TypeAlias = Annotated[MaybePath, opt("A .parquet, .csv or .jsonl file.", "-o")]
ORIGINS = ("fathom", "inspect", "lm-eval", "longbench-pro")


class RowsOptions(Known):
    sources: Annotated[ManyPaths, arg("Run folders and rows files; or logs of another harness, or published results.")]
    out: Out = unset
    _: KW_ONLY
    origin: Annotated[
        str, opt("Whose the sources are: fathom, inspect, lm-eval or longbench-pro.", flag="--from", metavar="ORIGIN")
    ] = "fathom"
    rule: Annotated[
        Literal["strict", "official"], opt("strict, or official (as the code of the paper that a task comes from).")
    ] = "strict"
    judge: JudgeOfRows = None
    tell: Tell = None


@command(RowsOptions)
def rows(options: RowsOptions) -> "pl.DataFrame":
    """Turn runs, logs of other harnesses, or published results into one table of scored replies."""
    import polars

    from fathom import rows as table
    from fathom.registry import results
    from fathom.report.reading import without_known

    paths, origin, tell = paths_of(options.sources), options.origin, options.tell
    if origin == "fathom":
        frame = table.load(paths, options.rule, options.judge)
    elif origin == "inspect":
        frame = polars.concat([table.rows_from_inspect(path) for path in paths])
    elif origin == "lm-eval":
        frame = polars.concat([table.rows_from_lm_eval(path, tell=tell) for path in paths])
    elif origin in results():
        frame = polars.concat([table.rows_from_results(results()[origin], path, tell) for path in paths])
    else:
        raise FathomError(f"--from {origin}: choose {', '.join(dict.fromkeys((*ORIGINS, *results())))}")
    if options.filter is not None or options.panel:
        frame = without_known(frame, **options.of(Known), judge=options.judge).rows
    if options.out is not None:
        table.write_rows(frame, Path(options.out))
    return frame


class Line(RowsOptions):
    out: Out = given(Path("rows.parquet"))


def main(line: Line) -> None:
    """Write the table, and say how long it is."""
    from fathom.terminal import tell

    frame = rows.body(line.but(tell=tell))
    print(f"{line.out}: {len(frame):,} rows")
