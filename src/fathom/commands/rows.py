"""Turn runs, logs of other harnesses, or published results into one table of scored replies."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from fathom.commands.shared import JudgeOfRows, Known, Tell
from fathom.options.declare import arg, command, given, opt, unset
from fathom.options.values import ManyPaths, MaybePath, paths_of

if TYPE_CHECKING:
    import polars as pl

ORIGINS = ("fathom", "inspect", "lm-eval", "longbench-pro")
Out: TypeAlias = Annotated[MaybePath, opt("A .parquet, .csv or .jsonl file.", "-o")]


class RowsOptions(Known):
    sources: Annotated[ManyPaths, arg("Run folders and rows files; or logs of another harness, or published results.")]
    out: Out = unset
    _: KW_ONLY
    origin: Annotated[
        str,
        opt(
            "Program that wrote the sources: fathom, inspect, lm-eval or longbench-pro.",
            flag="--from",
            metavar="ORIGIN",
        ),
    ] = "fathom"
    rule: Annotated[
        Literal["strict", "official"], opt("strict, or official (as the code of the paper that a task comes from).")
    ] = "strict"
    judge: JudgeOfRows = None
    tell: Tell = None


@command(RowsOptions)
def rows(options: RowsOptions) -> "pl.DataFrame":
    """Turn runs, logs of other harnesses, or published results into one table of scored replies."""
    from fathom import rows as table
    from fathom.report.reading import without_known

    frame = table.read(paths_of(options.sources), options.origin, options.rule, options.judge, options.tell)
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
