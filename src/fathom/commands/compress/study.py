"""Study MiniLongBench's method: how each of its choices changes the ranks of models."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from fathom.commands.compress.shared import Scores
from fathom.commands.shared import Json, Terminal
from fathom.options.declare import Read, arg, at_least, command, hidden, opt, unset
from fathom.options.values import MaybePath, Names, files_of, numbers_of, paths_of
from fathom.types.choices import CompressionStudy

if TYPE_CHECKING:
    import polars as pl

COMPRESSION_STUDIES: tuple[CompressionStudy, ...] = get_args(CompressionStudy)


class StudyOptions(Terminal, Json):
    study: Annotated[CompressionStudy, arg()]
    sources: Scores
    _: KW_ONLY
    budget: Annotated[int, opt("Items to choose.", metavar="ITEMS")] = 237
    known: Annotated[
        Names,
        opt(
            "Models that items are chosen by, separated by commas; by default MiniLongBench's own for its released "
            "scores, else every other model."
        ),
    ] = unset
    embeddings: Annotated[
        Read[Mapping[str, Path | str] | Sequence[Path | str] | Path | str | None, dict[str, Path] | None],
        opt(
            "An .npz file that `fathom compress embed` wrote; for the study embeddings it may be given more than once. "
            "By default the file beside the released scores.",
            metavar="[NAME=]FILE",
            many=True,
            read=files_of,
        ),
    ] = unset
    published: Annotated[
        MaybePath,
        opt(
            "With categories, rankings and neighbours: folder of MiniLongBench's released data, for its 237 items.",
            metavar="FOLDER",
        ),
    ] = unset
    use: Annotated[
        Literal["start", "prior"], opt("What embeddings are: the start of the search, or the mean of the prior.")
    ] = "start"
    dimensions: Annotated[int, opt("Dimensions of item response theory.", check=at_least(1))] = 10
    values: Annotated[
        Read[Sequence[float] | str | float | None, tuple[float, ...] | None],
        opt(
            "What is tried, separated by commas: shares left out, dimensions, or numbers of models.",
            metavar="NUMBER,...",
            read=numbers_of,
        ),
    ] = unset
    draws: Annotated[
        int | None, opt("Subsets or choices of models that are drawn, or seeds for each setting.", check=at_least(1))
    ] = None
    tasks: Annotated[Names, opt("With neighbours: only items of these tasks.")] = unset
    seed: Annotated[int, opt("Seed of all draws.", check=at_least(0))] = 0
    out: Annotated[MaybePath, opt("A .parquet, .csv or .jsonl file for the whole table.", "-o")] = unset
    plot: Annotated[MaybePath, opt("A .svg, .png, .pdf, .html or .json file for a figure.")] = unset
    tell: Annotated[Callable[[str], None] | None, hidden("Called with each setting before it is tried.")] = None


@command(StudyOptions)
def compress_study(options: StudyOptions) -> "pl.DataFrame":
    """Study MiniLongBench's method: how each of its choices changes the ranks of models."""
    from fathom.compress import study as studies
    from fathom.compress.embedding import read_vectors
    from fathom.compress.released import EMBEDDINGS, is_released, read_split
    from fathom.compress.tables import read_matrix
    from fathom.report.compression import study_chart
    from fathom.report.figure import check_format, save
    from fathom.rows.schema import write_table

    name, paths = options.study, paths_of(options.sources)
    asked = studies.StudySettings(options.values, options.draws, options.published, options.tasks)
    studies.check(name, asked)
    if options.plot is not None:
        check_format(options.plot)
    matrix = read_matrix(paths, least=3)
    released = paths[0] if len(paths) == 1 and is_released(paths[0]) else None
    files = options.embeddings or {}
    if not files and released and (released / EMBEDDINGS).is_file():
        files = {"released": released / EMBEDDINGS}
    if options.known is not None:
        known = matrix.numbers(options.known)
    else:
        known = read_split(released)[0] if released else tuple(range(0, len(matrix.models), 2))
    plan = studies.Plan(
        known=known,
        budget=options.budget,
        use=options.use,
        dimensions=options.dimensions,
        seed=options.seed,
        tell=options.tell or (lambda words: None),
    )
    kinds = {kind: read_vectors(path).of(matrix.items) for kind, path in files.items()}
    table = studies.study(name, matrix, plan, asked, kinds)
    if options.out is not None:
        write_table(table, options.out)
    if options.plot is not None:
        save(study_chart(name, table), options.plot)
    return table


def main(line: StudyOptions) -> None:
    """Print a table, or JSON."""
    from fathom.compress.study import terminal_records
    from fathom.options.terminal import print_json, print_records, tell

    frame = compress_study.body(line.but(tell=None if line.quiet or not sys.stderr.isatty() else tell))
    if line.as_json:
        return print_json(frame.to_dicts())
    records, notes = terminal_records(frame)
    print_records(records, denominator="shared")
    for note in notes:
        tell(note)
