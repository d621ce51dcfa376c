"""Turn runs, results of other programs, or published results into one table of scored replies."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fathom.commands.shared import JudgeOfRows, Known, Tell, sources_of
from fathom.options.declare import arg, command, given, opt, unset
from fathom.options.values import ManyPaths, MaybePath, Texts, paths_of
from fathom.printing import printable, several
from fathom.types import origins
from fathom.types.choices import Rule

if TYPE_CHECKING:
    import polars as pl

    from fathom.rows import RowsTable

ORIGINS = (origins.OWN, *(origin.name for origin in origins.ORIGINS))
"""Names after ``--from``; benchmarks declare more, for published results."""
Out: TypeAlias = Annotated[MaybePath, opt("A .parquet, .csv or .jsonl file.", "-o")]


class RowsOptions(Known):
    sources: Annotated[
        ManyPaths,
        arg(
            "Run folders, folders of runs, rows files, results of other programs, or published results.",
            read=sources_of,
        ),
    ]
    out: Out = unset
    _: KW_ONLY
    origin: Annotated[
        str,
        opt(
            f"Program that wrote the sources: {', '.join(ORIGINS)}, or a benchmark whose published results are read, "
            "such as longbench-pro. With fathom, files of the other programs are recognised, except those of table.",
            flag="--from",
            metavar="ORIGIN",
        ),
    ] = origins.OWN
    metric: Annotated[
        str | None,
        opt("Metric or scorer to use if results of another program have several; default: the first that can be used."),
    ] = None
    columns: Annotated[
        Texts,
        opt(
            "Field of the other program's records for a column of rows: value=score, length=metadata.max_length. May "
            "be given more than once.",
            metavar="COLUMN=FIELD",
        ),
    ] = unset
    constants: Annotated[
        Texts,
        opt(
            "One value of a column for all rows: model=my-model, length=8k. May be given more than once.",
            flag="--set",
            metavar="COLUMN=VALUE",
        ),
    ] = unset
    rule: Annotated[Rule, opt("strict, or official (as the code of the paper that a task comes from).")] = "strict"
    judge: JudgeOfRows = None
    tell: Tell = None


@command(RowsOptions)
def rows(options: RowsOptions) -> "pl.DataFrame":
    """Turn runs, results of other programs, or published results into one table of scored replies."""
    return _written(options).read()


def _written(options: RowsOptions) -> "RowsTable":
    """The table, written if a file is named; it may be larger than memory."""
    from fathom.rows import open_results, write_rows
    from fathom.rows.table import notes_on_scorers

    table = open_results(
        paths_of(options.sources),
        options.origin,
        options.rule,
        options.judge,
        metric=options.metric or "",
        columns=options.columns,
        constants=options.constants,
        tell=options.tell,
    )
    if options.filter is not None or options.panel:
        from fathom.report.reading import without_known

        table = without_known(table, **options.of(Known), judge=options.judge).left
    if options.tell is not None:
        for note in notes_on_scorers(table):
            options.tell(note)
    if options.out is not None:
        write_rows(table.slices(), Path(options.out))
    return table


class Line(RowsOptions):
    out: Out = given(Path("rows.parquet"))


def main(line: Line) -> None:
    """Write the table, and say how long it is."""
    from fathom.options.terminal import tell

    table = _written(line.but(tell=tell))
    rules = table.read(table.rows.select("rule").unique())["rule"].sort()
    print(f"{line.out}: {several(table.count, 'row')}, scored by the rule {', '.join(map(printable, rules))}")
