"""Recipes of samples in Parquet, written one by one and read in groups."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fathom.storage.parquet import ParquetWriter
from fathom.suites.suitefile.texts import need_columns, open_table, readable
from fathom.types import Facet, Part, Sample, Span

if TYPE_CHECKING:
    import polars as pl

SAMPLES = "samples.parquet"
FACTS = (
    *("id", "item", "task", "language", "length", "tokens", "chance", "targets", "facets", "asked"),
    *("thinking_tokens", "inputs"),
)
"""Columns to read if recipes are not needed."""

_GROUP = 128  # samples held in memory while writing or reading, at most
_TOGETHER = 16_000_000  # characters of literal text in them from which no more are added
HELD = 4
"""Such groups that ``SamplesById`` keeps, unless told otherwise."""


class SampleWriter:
    """Writes samples one by one into ``samples.parquet``, in groups."""

    def __init__(self, folder: Path) -> None:
        self._schema = _schema()
        self._stream = (folder / SAMPLES).open("wb")
        self._writer = ParquetWriter(self._stream, self._schema)
        self._records: list[dict[str, object]] = []
        self._size = 0

    def add(self, sample: Sample) -> None:
        """Write a sample."""
        self._records.append(record_of(sample))
        self._size += sum(len(part) for part in sample.parts if isinstance(part, str)) + len(sample.thinking)
        if len(self._records) >= _GROUP or self._size >= _TOGETHER:
            self._flush()

    def _flush(self) -> None:
        import polars as pl

        if self._records:
            columns = {name: [record[name] for record in self._records] for name in self._schema}
            self._writer.write(pl.DataFrame(columns, schema=self._schema))
            self._records, self._size = [], 0

    def __enter__(self) -> SampleWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        with self._stream:
            if kind is None:
                self._flush()
                self._writer.close()


def _schema() -> dict[str, Any]:
    import polars as pl

    part = pl.Struct({"text": pl.String, "doc": pl.String, "start": pl.Int32, "end": pl.Int32})
    return {
        "id": pl.String,
        "item": pl.String,
        "task": pl.String,
        "language": pl.String,
        "length": pl.Int32,
        "tokens": pl.Int32,
        "chance": pl.Float64,
        "targets": pl.List(pl.String),
        "facets": pl.String,
        "asked": pl.String,
        "thinking": pl.String,
        "thinking_tokens": pl.Int32,
        "inputs": pl.String,
        "parts": pl.List(part),
    }


def add_facets(folder: Path, facets: Mapping[str, Mapping[str, Facet]]) -> None:
    """Add facets to the written samples of some items. Those that a sample has already stay as they are.

    Args:
        folder: The folder with ``samples.parquet``, which is read and written in groups.
    """
    before = (folder / SAMPLES).replace(folder / f"{SAMPLES}.before")
    with SampleWriter(folder) as writer:
        for record in chain.from_iterable(read_groups(before)):
            sample = sample_of(record)
            more = facets.get(sample.item, {})
            writer.add(replace(sample, facets={**more, **sample.facets}))
    before.unlink()


def read_groups(path: Path, columns: list[str] | None = None) -> Iterator[list[dict[str, Any]]]:
    """Records of a Parquet file, in groups.

    Raises:
        FathomError: The file is missing or damaged.
    """
    with readable(path):
        file = open_table(path)
        need_columns(path, file.names, ("id",))
        names = [name for name in columns if name in file.names] if columns else None
        for group in range(len(file.rows)):
            frame = file.read(group, names)
            # No more than were written together: files of earlier versions may have larger groups.
            for part in frame.iter_slices(_GROUP):
                yield _records(part)


class SamplesById(Mapping[str, Sample]):
    """Samples with their recipes by id, read on demand in groups, the most recent of which are kept."""

    def __init__(self, path: Path, most: int = HELD) -> None:
        with readable(path):
            self._file = open_table(path)
            need_columns(path, self._file.names, ("id",))
            self._group: dict[str, int] = {
                id: group for group in range(len(self._file.rows)) for id in self._file.read(group, ["id"])["id"]
            }
        self._path, self._most = path, most
        self._held: dict[int, dict[str, Sample]] = {}  # by group, the most recent last
        self._lock = Lock()

    def __getitem__(self, id: str) -> Sample:
        group = self._group[id]
        with self._lock:
            samples = self._held.pop(group, None) or self._read(group)
            self._held[group] = samples
            while len(self._held) > self._most:
                self._held.pop(next(iter(self._held)))
            return samples[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._group)

    def __len__(self) -> int:
        return len(self._group)

    def _read(self, group: int) -> dict[str, Sample]:
        with readable(self._path):
            return {record["id"]: sample_of(record) for record in _records(self._file.read(group))}


def _records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows; recipes are decoded field by field, as dictionaries they would be slower than a request."""
    if "parts" not in frame.columns:
        return frame.to_dicts()
    plain = frame.drop("parts").to_dicts()
    return [record | {"parts": parts} for record, parts in zip(plain, _parts(frame["parts"]), strict=True)]


def _parts(column: pl.Series) -> Iterator[tuple[Part, ...]]:
    sizes = column.list.len().to_list()
    fields = (column.filter(column.list.len() > 0) if 0 in sizes else column).explode().struct.unnest()
    columns = (fields[name].to_list() for name in ("text", "doc", "start", "end"))
    flat = [text if doc is None else Span(doc, start, end) for text, doc, start, end in zip(*columns, strict=True)]
    start = 0
    for size in sizes:
        yield tuple(flat[start : start + size])
        start += size


def record_of(sample: Sample) -> dict[str, object]:
    """The record of a sample, with its recipe, as JSON can hold it."""
    return {
        "id": sample.id,
        "item": sample.item,
        "task": sample.task,
        "language": sample.language,
        "length": sample.length,
        "tokens": sample.tokens,
        "chance": sample.chance,
        "targets": list(sample.targets),
        "facets": json.dumps(dict(sample.facets), ensure_ascii=False),
        "asked": sample.asked,
        "thinking": sample.thinking,
        "thinking_tokens": sample.thinking_tokens,
        "inputs": json.dumps(dict(sample.inputs), ensure_ascii=False),
        "parts": [
            {"text": part} if isinstance(part, str) else {"doc": part.doc, "start": part.start, "end": part.end}
            for part in sample.parts
        ],
    }


def sample_of(record: Mapping[str, Any]) -> Sample:
    """The sample of a record; without ``parts`` if it was read without its recipe."""
    facets, inputs = record["facets"], record.get("inputs")
    return Sample(
        id=record["id"],
        item=record["item"],
        task=record["task"],
        parts=record.get("parts", ()),
        targets=tuple(record["targets"]),
        length=record["length"],
        tokens=record["tokens"],
        language=record["language"],
        chance=record["chance"],
        facets=json.loads(facets),
        asked=record["asked"],
        # Suites of earlier versions have no such prompts, and suites of format 2 have one field for both uses.
        thinking=record.get("thinking") or "",
        thinking_tokens=record.get("thinking_tokens") or 0,
        inputs=json.loads(facets if inputs is None else inputs),
    )
