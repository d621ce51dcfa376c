"""Reads results of the programs of ``fathom.types.origins``: which program wrote a file, and its rows.

A new origin is a module with ``read``, ``recognises`` and a test for its files, and an entry in that table.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import cast

import polars as pl

from fathom.documents.records import ARCHIVE, TABLES, find_files, walk
from fathom.printing import several
from fathom.rows.parts import Part, Reader, ReadOptions, with_options
from fathom.rows.schema import check_rows, to_frame
from fathom.suites.registry import results
from fathom.types import FathomError, Results
from fathom.types.origins import ORIGINS, OWN, TABLE, Origin

NAMED = 3
"""Samples without a score that a note names."""


def origins() -> dict[str, Origin]:
    """All origins by name, with the forms of published results that benchmarks declare."""
    published = {name: Origin(name, form.description, "published results") for name, form in results().items()}
    return {origin.name: origin for origin in ORIGINS} | published


def origin_names() -> tuple[str, ...]:
    """Values of ``--from``."""
    return (OWN, *origins())


def _reader(origin: Origin) -> Reader:
    if not origin.module:
        return _published_reader(results()[origin.name])
    return cast(Reader, import_module(origin.module).read)


def _recognises(origin: Origin, file: Path) -> bool:
    return origin.name != TABLE and bool(import_module(origin.module).recognises(file))


def _published_reader(form: Results) -> Reader:
    def read(path: Path, options: ReadOptions) -> Iterator[Part]:
        for place, rows in form.read(path, options.tell):
            published = list(rows)
            if not published:
                raise FathomError(f"{place}: it contains no replies")
            yield Part(place, [(row, {}) for row in published])

    return read


def origin_of(path: Path) -> Origin | None:
    """The program that wrote a file or the files of a folder; None if none is recognised.

    Raises:
        FathomError: The folder has results of several programs.
    """
    if path.is_file() and path.suffix.lower() == ARCHIVE:
        return _of_archive(path)
    files = (path,) if path.is_file() else walk(path).files if path.is_dir() else ()
    matches: dict[str, tuple[Origin, Path]] = {}
    for file in files:
        for origin in ORIGINS:
            if origin.name not in matches and _recognises(origin, file):
                matches[origin.name] = origin, file
    if len(matches) > 1:
        listed = ", ".join(f"{origin.title} ({file.name})" for origin, file in matches.values())
        raise FathomError(f"{path}: results of several programs: {listed}. Name one with `origin`, or give its folder")
    return next((origin for origin, _ in matches.values()), None)


def _of_archive(path: Path) -> Origin | None:
    """lm-evaluation-harness if the archive holds its samples; the other programs' results are not read from one."""
    named = [file for file in find_files(path, TABLES).files if file.name.name.startswith("samples_")]
    return next(origin for origin in ORIGINS if origin.name == "lm-eval") if named else None


def read_origin(paths: Sequence[Path], origin: Origin, options: ReadOptions) -> tuple[pl.DataFrame, list[str]]:
    """Rows of another program's results, and the file of each row.

    Runs of one model that were asked with different settings are distinguished by ``variant``.

    Args:
        paths: Files and folders.
        options: What the user chose.

    Raises:
        FathomError: A file cannot be read, or its rows are invalid; the message names it.
    """
    noted: set[str] = set()

    def once(note: str) -> None:
        if note not in noted:
            noted.add(note)
            options.note(note)

    own = replace(options, tell=once)
    reader = _reader(origin)
    read: list[tuple[Part, pl.DataFrame]] = []
    for path in paths:
        for part in reader(path, own):
            frame = check_rows(to_frame(with_options(part, own), part.place), part.place)
            if not frame.is_empty():
                read.append((part, frame))
    if not read:
        raise FathomError(f"{', '.join(map(str, paths))}: no replies in these results of {origin.title}")
    if "variant" not in {*own.columns, *own.constants}:
        read = _with_variants(read)
    frame = pl.concat([rows for _, rows in read])
    _tell_of(frame, origin, own)
    _tell_of_unscored(frame, own)
    return frame, [part.place for part, rows in read for _ in range(len(rows))]


def _tell_of_unscored(frame: pl.DataFrame, options: ReadOptions) -> None:
    """Name the replies that were received and have no score, with the reason."""
    unscored = frame.filter(pl.col("value").is_null() & (pl.col("status") == "ok")).select("sample", "detail")
    if not unscored.is_empty():
        rows = unscored.head(NAMED).iter_rows(named=True)
        named = "; ".join(f"{row['sample']} ({row['detail'] or 'no score'})" for row in rows)
        more = f"; and {len(unscored) - NAMED:,} more" if len(unscored) > NAMED else ""
        counted = several(len(unscored), "reply has", "replies have")
        options.note(f"{counted} no score: {named}{more}")


def _with_variants(read: Sequence[tuple[Part, pl.DataFrame]]) -> list[tuple[Part, pl.DataFrame]]:
    """The parts with variants that name the settings in which a model's runs of one task differ."""
    groups: dict[object, list[Mapping[str, object]]] = {}
    keys = [tuple(rows.select("suite", "task", "model", "variant").row(0)) for _, rows in read]
    for key, (part, _) in zip(keys, read, strict=True):
        groups.setdefault(key, []).append(part.settings)
    parts = []
    for key, (part, rows) in zip(keys, read, strict=True):
        settings = ", ".join(setting_text(name, part.settings) for name in differing_settings(groups[key]))
        if settings:
            both = pl.concat_str(pl.col("variant"), pl.lit(f", {settings}")).str.strip_prefix(", ")
            rows = rows.with_columns(both.alias("variant"))
        parts.append((part, rows))
    return parts


def differing_settings(runs: Collection[Mapping[str, object]]) -> list[str]:
    """The names of the settings in which some runs differ, sorted."""
    names = sorted({name for settings in runs for name in settings})
    return [name for name in names if len({repr(settings.get(name)) for settings in runs}) > 1]


def setting_text(name: str, settings: Mapping[str, object]) -> str:
    """A setting in the name of a variant: ``temperature=0.5``."""
    value = settings.get(name)
    return f"{name}={'default' if value is None else value}"


def _tell_of(frame: pl.DataFrame, origin: Origin, options: ReadOptions) -> None:
    """Notes on what the results lack."""
    lost = frame.filter(pl.col("value").is_null(), pl.col("status") == "ok")
    if len(lost):
        options.note(f"{len(lost):,} of {len(frame):,} replies have no score and count as missing: {lost['detail'][0]}")
    unknown = frame.filter(pl.col("length") == 0, ~pl.col("facets").str.contains('"context"', literal=True))
    if len(unknown) and origin in ORIGINS:
        options.note(
            f"{len(unknown):,} of {len(frame):,} replies have no length: {origin.title} does not say it. `fathom rows "
            "--columns length=FIELD` names a field, `--set length=8k` one length for all"
        )
