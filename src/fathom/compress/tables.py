"""Score matrices from files: tables with a column for each model, rows of runs, and MiniLongBench's own data.

Next to the file of a sampled subset are the scores of the known models that it was chosen with. Estimates need those
scores. They are a table like any other.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from fathom.compress.matrix import ENDED, Floats, ScoreMatrix, checked_matrix
from fathom.compress.released import is_released, read_released
from fathom.rows.runs import load
from fathom.rows.schema import read_table, write_table
from fathom.stats.outcomes import COUNTED, LOST, Unanswered, alone, outcome
from fathom.stats.side_rows import is_side_row
from fathom.storage.checksums import check_file, file_facts
from fathom.storage.parquet import ParquetFile
from fathom.storage.tables import DamagedTableError
from fathom.suites.subsetfile import read_subset, write_subset
from fathom.suites.suitefile import is_suite, open_suite
from fathom.types import FathomError, Subset

ABOUT = ("item", "item_index", "task", "task_index", "index", "category", "language", "length", "cost", "weight")
"""Columns of a table that are not models."""
_OF_ROWS = {"item", "sample", "model", "value"}
BESIDE = ".known.parquet"


def read_matrix(
    sources: Path | str | Sequence[Path | str],
    *,
    least: int = 1,
    wanted: Collection[str] = (),
    unanswered: Unanswered = "zero",
) -> ScoreMatrix:
    """Reads a score matrix.

    Args:
        sources: One of: a table (see ``fathom.rows.schema.read_table``) with one row per item; a folder with
            MiniLongBench's released scores (``performance.parquet``, ``models.json``, ``tasks.json``); a suite folder,
            which has items but no models; any number of rows files and run folders. A table has a column
            ``item``, or ``task`` with ``task_index`` or ``index``; optional ``category``, ``length``, ``cost`` and
            ``weight``; every other column has the scores of one model. Empty cells are gaps: NaN in the matrix.
        least: Minimum number of models.
        wanted: Names of items to look for; if rows have two names for an item, its own and its sample's, these decide.
        unanswered: How unanswered replies of rows count, see ``of_rows``.

    Returns:
        The matrix; without given weights, with those of ``balanced``.

    Raises:
        FathomError: The message names the file, and the item and the model of a wrong cell.
    """
    given = [sources] if isinstance(sources, Path | str) else list(sources)
    paths = [Path(source) for source in given]
    if not paths:
        raise FathomError("no scores: give a table, a folder of released scores, run folders or rows files")
    if len(paths) == 1 and is_released(paths[0]):
        matrix = read_released(paths[0])
    elif len(paths) == 1 and is_suite(paths[0]):
        matrix = of_suite(paths[0])
    elif len(paths) == 1 and paths[0].is_file() and not _holds_rows(paths[0]):
        matrix = _of_table(read_table(paths[0]), str(paths[0]))
    else:
        matrix = of_rows(load(paths), ", ".join(map(str, paths)), wanted, unanswered)
    if len(matrix.models) < least:
        named = f" ({', '.join(matrix.models)})" if matrix.models else ""
        raise FathomError(
            f"{', '.join(map(str, paths))}: scores of {len(matrix.models)} models{named}; {least} or more are needed"
        )
    return matrix


def write_matrix(matrix: ScoreMatrix, path: Path) -> None:
    """Writes a table that ``read_matrix`` reads.

    Raises:
        FathomError: The suffix is not one of a table, a model has the name of a column, or the file cannot be written.
    """
    about = {
        "item": matrix.items,
        "task": matrix.tasks,
        "category": matrix.categories,
        "length": matrix.lengths,
        "cost": matrix.costs,
        "weight": matrix.weights,
    }
    if clash := sorted({*ABOUT} & {*matrix.models}):
        raise FathomError(f"{path}: a model has the name of a column, {clash[0]!r}; rename it")
    scores = {name: pl.Series(row).fill_nan(None) for name, row in zip(matrix.models, matrix.scores, strict=True)}
    write_table(pl.DataFrame({name: pl.Series(values) for name, values in about.items()} | scores), path)


def of_suite(folder: Path) -> ScoreMatrix:
    """A matrix without models: the items of a built suite, for choosing before there are scores.

    Every sample is an item, named as in ``of_rows``; its cost is the tokens of its prompt. Closed-book questions and
    truncated prompts are left out.

    Raises:
        FathomError: It is not a suite, or has no samples.
    """
    suite = open_suite(folder)
    samples = [sample for sample in suite.samples() if sample.whole]
    one_each = len({sample.item for sample in samples}) == len(samples)
    return checked_matrix(
        str(folder),
        (),
        [sample.item if one_each else sample.id for sample in samples],
        np.empty((0, len(samples))),
        tasks=[sample.task for sample in samples],
        categories=[str(sample.facets.get("category", "")) for sample in samples],
        lengths=np.array([sample.length for sample in samples], dtype=np.int64),
        costs=np.array([max(1, sample.tokens) for sample in samples], dtype=np.float64),
    )


def of_rows(
    frame: pl.DataFrame, source: str, wanted: Collection[str] = (), unanswered: Unanswered = "zero"
) -> ScoreMatrix:
    """The matrix of a rows table: each sample is an item, and each model with its variant a model.

    If every item has one sample, items have the names of the rows' items, otherwise those of the samples. Closed-book
    questions, truncated prompts and published averages are left out. Epochs are averaged. The category of an item is
    the facet ``category``; its cost is the tokens of its prompt, the suite's own count or the provider's. Samples that
    a model was not asked, or with missing replies, are gaps (``fathom.stats.outcomes``).

    Args:
        source: Its source, for messages.
        wanted: See ``read_matrix``.
        unanswered: ``zero``: unanswered replies and prompts that did not fit count 0. ``drop``: they are gaps too.

    Raises:
        FathomError: No row has a score, or two suites have samples of one name.
    """
    frame = frame.filter(~is_side_row())
    if frame.is_empty() or frame.select(outcome().is_in(LOST).all()).item():
        raise FathomError(f"{source}: no row has a score, so there is no score matrix")
    suites = frame.group_by("sample").agg(pl.col("suite").n_unique().alias("suites")).filter(pl.col("suites") > 1)
    if len(suites):
        raise FathomError(f"{source}: sample {suites['sample'][0]!r} belongs to several suites; give runs of one suite")
    named = frame.with_columns(
        pl.when(pl.col("variant") == "")
        .then(pl.col("model"))
        .otherwise(pl.concat_str("model", "variant", separator=" · "))
        .alias("model"),
        pl.col("facets").str.json_path_match("$.category").fill_null("").alias("category"),
        pl.coalesce("tokens", "tokens_in").alias("prompt"),
    )
    items = named.group_by("sample", maintain_order=True).agg(
        pl.col("item", "task", "category", "length").first(), pl.col("prompt").mean()
    )
    one_each = named["item"].n_unique() == named.unique(["item", "sample"]).height == len(items)
    if wanted:
        one_each = one_each and not items["sample"].is_in(list(wanted)).any()
    models = named["model"].unique(maintain_order=True).to_list()
    ended = [(pl.col("outcome") == name).sum().alias(name) for name in COUNTED]
    cells = (
        named.with_columns(outcome().alias("outcome"), alone("zero").alias("zero"), alone("drop").alias("drop"))
        .group_by("sample", "model")
        # Without the repeats that failed, the mean of the others would be too high.
        .agg(
            pl.when(~pl.col("zero").has_nulls()).then(pl.col("zero").mean()),
            pl.col("drop").mean(),
            pl.len().alias(ENDED[0]),
            *ended,
        )
    )
    tables = {column: _wide(cells, column, items["sample"], models) for column in ("zero", "drop", *ENDED)}
    costs = items["prompt"].fill_null(items["length"].cast(pl.Float64)).fill_null(0.0).to_numpy()
    matrix = checked_matrix(
        source,
        models,
        items["item" if one_each else "sample"].to_list(),
        tables[unanswered],
        tasks=items["task"].to_list(),
        categories=items["category"].to_list(),
        lengths=items["length"].to_numpy(),
        costs=np.where(costs > 0, costs, 1.0),
    )
    counts = np.stack([np.nan_to_num(tables[name]).astype(np.int64) for name in ENDED], axis=2)
    return replace(matrix, other=tables["drop" if unanswered == "zero" else "zero"], ended=counts)


def _wide(cells: pl.DataFrame, column: str, samples: pl.Series, models: Sequence[str]) -> Floats:
    """A column of cells as a table of models and samples, NaN if a model was not asked."""
    wide = cells.pivot("model", index="sample", values=column)
    ordered = samples.to_frame("sample").join(wide, on="sample", how="left", maintain_order="left")
    return np.asarray(ordered.select(models).cast(pl.Float64).to_numpy().T, dtype=np.float64)


def _of_table(frame: pl.DataFrame, source: str) -> ScoreMatrix:
    if frame.is_empty():
        raise FathomError(f"{source}: no items: expected one row per item")
    models = [name for name in frame.columns if name not in ABOUT]
    if not models:
        raise FathomError(
            f"{source}: no model: expected a column of scores for each, besides {', '.join(frame.columns)}"
        )
    items = _names(frame, source)
    columns = [_numbers(frame[name], f"{source}: {name}", items) for name in models]
    lengths = _numbers(frame["length"], f"{source}: length", items) if "length" in frame.columns else None
    given = {
        name: _whole(_numbers(frame[name], f"{source}: {name}", items), f"{source}: {name}", items)
        for name in ("cost", "weight")
        if name in frame.columns
    }
    return checked_matrix(
        source,
        models,
        items,
        np.vstack(columns),
        tasks=_texts(frame, "task"),
        categories=_texts(frame, "category"),
        lengths=None if lengths is None else np.nan_to_num(lengths).round().astype(np.int64),
        costs=given.get("cost"),
        weights=given.get("weight"),
    )


def _names(frame: pl.DataFrame, source: str) -> list[str]:
    if "item" in frame.columns:
        names = frame["item"].cast(pl.String).to_list()
        if None in names or "" in names:
            line = next(n for n, name in enumerate(names, start=1) if not name)
            raise FathomError(f"{source}: row {line}: item is empty, expected its name")
        return names
    index = next((name for name in ("task_index", "index") if name in frame.columns), None)
    if "task" not in frame.columns or index is None:
        raise FathomError(
            f"{source}: items have no names: expected a column item, or task and task_index; it has "
            f"{', '.join(frame.columns)}"
        )
    numbers = frame[index].cast(pl.Int64, strict=False).to_list()
    if None in numbers or frame["task"].is_null().any():
        raise FathomError(f"{source}: {index} must be a whole number in every row, and task a name")
    return [f"{task}/{number:04d}" for task, number in zip(frame["task"].cast(pl.String), numbers, strict=True)]


def _numbers(column: pl.Series, where: str, items: Sequence[str]) -> Floats:
    """A column as numbers, NaN for empty cells."""
    known = column.cast(pl.String).str.strip_chars() if column.dtype == pl.String else column
    if column.dtype == pl.String:
        known = known.set(known == "", None)
    numbers = known.cast(pl.Float64, strict=False)
    lost = (numbers.is_null() & known.is_not_null()).arg_true()
    if len(lost):
        line = int(lost[0])
        raise FathomError(f"{where}, item {items[line]!r}: {column[line]!r} is not a number; leave gaps empty")
    return np.asarray(numbers.fill_null(float("nan")).to_numpy(), dtype=np.float64)


def _whole(numbers: Floats, where: str, items: Sequence[str]) -> Floats:
    if np.isnan(numbers).any():
        raise FathomError(f"{where}, item {items[int(np.argmax(np.isnan(numbers)))]!r}: expected a number, found none")
    return numbers


def _texts(frame: pl.DataFrame, name: str) -> list[str]:
    if name not in frame.columns:
        return [""] * len(frame)
    return [text or "" for text in frame[name].cast(pl.String).to_list()]


def _holds_rows(path: Path) -> bool:
    """Whether a file is a rows table, not one with a column for each model."""
    if path.suffix == ".parquet":
        try:
            return set(ParquetFile(path).names) >= _OF_ROWS
        except (OSError, DamagedTableError):
            return False  # read_table raises the error
    return set(read_table(path).columns) >= _OF_ROWS


def write_sampled(subset: Subset, known: ScoreMatrix, path: Path) -> None:
    """Writes a subset and the known scores next to it (``NAME.known.parquet``), the scores first.

    Args:
        subset: The subset.
        known: The scores that it was chosen with; not written without models.
        path: The subset's file.

    Raises:
        FathomError: A file cannot be written.
    """
    if path.is_dir():
        raise FathomError(f"{path}: is a folder; name a file, for instance small.json")
    design = dict(subset.design)
    if known.models:
        sidecar = path.with_suffix(BESIDE)
        sidecar.parent.mkdir(parents=True, exist_ok=True)
        write_matrix(known, sidecar)
        design |= {"known": sidecar.name, "known_file": file_facts(sidecar)}
    write_subset(replace(subset, design=design), path)


def read_sampled(path: Path) -> tuple[Subset, ScoreMatrix | None]:
    """A subset and the scores that it was chosen with, None if it names none.

    Raises:
        FathomError: The scores that the subset names are missing, or a file cannot be read.
    """
    subset = read_subset(path)
    name = subset.design.get("known")
    if not isinstance(name, str):
        return subset, None
    sidecar = path.parent / Path(name).name
    if not sidecar.is_file():
        raise FathomError(
            f"{sidecar}: missing; {path} was chosen with these scores, and estimates need them. Put it next to the "
            "subset, or give the scores with `known`"
        )
    if stated := subset.design.get("known_file"):  # missing in subsets of earlier versions
        check_file(
            sidecar, stated, f"restore it from a copy, choose {path.name} again, or give the scores with `known`"
        )
    return subset, read_matrix(sidecar)
