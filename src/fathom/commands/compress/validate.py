"""Validate methods of choosing and estimating on held-out models."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.compress.shared import Embeddings, Scores, half_width, vectors_of
from fathom.commands.shared import Cluster, Json, Terminal, engine_of
from fathom.options.declare import Read, at_least, command, given, hidden, line_only, opt, unset
from fathom.options.values import MaybePath, Names, budgets_of, methods_of, paths_of

if TYPE_CHECKING:
    from fathom.compress.validate import Validation


class ValidateOptions(Cluster, Terminal, Json):
    sources: Scores
    budgets: Annotated[
        Read[Sequence[int] | str | int, tuple[int, ...]],
        opt(
            "Items to choose; several numbers separated by commas.",
            flag="--budget",
            metavar="ITEMS,...",
            read=budgets_of,
        ),
    ] = given("237")
    _: KW_ONLY
    methods: Annotated[
        Names, opt("Methods to try, separated by commas; all for all that these scores allow.", read=methods_of)
    ] = given("all")
    splits: Annotated[int, opt("Random splits into known and new models.", check=at_least(1))] = 50
    width: Annotated[
        float | None,
        opt(
            "Also count the items until intervals have this half-width, adaptively too; for instance 0.02.",
            check=half_width,
        ),
    ] = None
    embeddings: Embeddings = unset
    seed: Annotated[int, opt("Seed of the splits.", check=at_least(0))] = 0
    workers: Annotated[int | None, opt("Processes; one for each core by default.", check=at_least(1))] = None
    out: Annotated[
        MaybePath,
        opt(
            "A .parquet, .csv or .jsonl file for the table of every draw. Draws are kept beside it as they end, "
            "until all are made: the same command resumes.",
            "-o",
        ),
    ] = unset
    plot: Annotated[MaybePath, opt("A figure of the comparison: .svg, .png, .pdf, .html or .json.")] = unset
    categories: Annotated[bool, opt("Show every category too.")] = line_only(False)
    progress: Annotated[Callable[[int, int], None] | None, hidden("Called with (draws done, draws in all).")] = None


@command(ValidateOptions)
def compress_validate(options: ValidateOptions) -> "Validation":
    """Validate methods of choosing and estimating on held-out models.

    Models are split into known and new ones: at random, and with the weakest half known and the strongest half new.
    Each method chooses items by the known models, and estimates the new ones' scores from them.
    """
    from fathom.compress.released import is_released, read_embeddings, read_split
    from fathom.compress.tables import read_matrix
    from fathom.compress.validate import Validation, gaps_in, reach, splits_of, summary, validate
    from fathom.report.compression import validation
    from fathom.report.figure import check_format, save
    from fathom.rows.schema import check_suffix, write_table

    if options.plot is not None:
        check_format(options.plot)
    paths, progress, workers = paths_of(options.sources), options.progress, engine_of(options) or options.workers
    matrix = read_matrix(paths, least=4)
    released = paths[0] if len(paths) == 1 and is_released(paths[0]) else None
    vectors = vectors_of(options.embeddings, matrix)
    if vectors is None and released:
        vectors = read_embeddings(released)
    splits = splits_of(matrix, options.splits, seed=options.seed, published=read_split(released) if released else None)
    methods, budgets = options.methods, options.budgets
    kept: dict[str, Path] = {}
    if options.out is not None:
        check_suffix(options.out)
        kept = {kind: options.out.with_name(f"{options.out.name}.{kind}.part") for kind in ("draws", "reach")}
    draws = validate(
        matrix,
        budgets,
        methods=methods,
        splits=splits,
        embeddings=vectors,
        workers=workers,
        kept=kept.get("draws"),
        progress=progress,
    )
    if options.out is not None:
        write_table(draws, options.out)
    figures = summary(draws)
    if options.plot is not None:
        save(validation(figures), options.plot)
    reached = None
    if options.width is not None:
        reached = reach(
            matrix, options.width, splits=splits, workers=workers, kept=kept.get("reach"), progress=progress
        )
    for path in kept.values():
        path.unlink(missing_ok=True)
    return Validation(figures, reached, gaps_in(matrix))


def main(line: ValidateOptions) -> None:
    """Print a table for each kind of split and budget, and of the items that a width takes."""
    from fathom.options.terminal import print_json, print_records, progress_bar, tell
    from fathom.report.compression_tables import reach_records, validation_records

    with progress_bar("validating", line.quiet) as progress:
        validated = compress_validate.body(line.but(progress=progress))
    summary = validated.summary.to_dicts()
    reached = [] if validated.reach is None else validated.reach.to_dicts()
    if line.as_json:
        return print_json({"summary": summary, "reach": reached, "notes": validated.notes})
    for note in validated.notes:
        tell(note)
    rows = [row for row in summary if line.categories or row["target"] == "overall"]
    for title, records in validation_records(rows):
        print(title)
        print_records(records, denominator="held out")
        print()
    if reached:
        print_records(reach_records(reached), denominator="held out")
        tell(f"items until the 95% interval has a half-width of {line.width:g}; for most: for 95% of the new models")
