"""Recipes of samples in Parquet, written one by one and read in groups."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from fathom.suites.suitefile.texts import need_columns, open_table, readable
from fathom.types import Facet, Part, Sample, Span

SAMPLES = "samples.parquet"
FACTS = (
    *("id", "item", "task", "language", "length", "tokens", "chance", "targets", "facets", "asked"),
    *("thinking_tokens", "inputs"),
)
"""Columns to read if recipes are not needed."""

_GROUP = 128  # samples held in memory while writing or reading, at most
_TOGETHER = 16_000_000  # characters of literal text in them from which no more are added
_HELD = 4  # such groups cached by SamplesById


class SampleWriter:
    """Writes samples one by one into ``samples.parquet``, in groups."""

    def __init__(self, folder: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        text, integer = pyarrow.string(), pyarrow.int32()
        part = pyarrow.struct([("text", text), ("doc", text), ("start", integer), ("end", integer)])
        self._schema = pyarrow.schema(
            [
                ("id", text),
                ("item", text),
                ("task", text),
                ("language", text),
                ("length", integer),
                ("tokens", integer),
                ("chance", pyarrow.float64()),
                ("targets", pyarrow.list_(text)),
                ("facets", text),
                ("asked", text),
                ("thinking", text),
                ("thinking_tokens", integer),
                ("inputs", text),
                ("parts", pyarrow.list_(part)),
            ]
        )
        self._writer = pyarrow.parquet.ParquetWriter(
            folder / SAMPLES, self._schema, compression="zstd", write_page_checksum=True
        )
        self._records: list[dict[str, object]] = []
        self._size = 0

    def add(self, sample: Sample) -> None:
        """Write a sample."""
        self._records.append(record_of(sample))
        self._size += sum(len(part) for part in sample.parts if isinstance(part, str)) + len(sample.thinking)
        if len(self._records) >= _GROUP or self._size >= _TOGETHER:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._records:
            self._writer.write_table(pyarrow.Table.from_pylist(self._records, schema=self._schema))
            self._records, self._size = [], 0

    def __enter__(self) -> SampleWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self._flush()
        self._writer.close()


def add_facets(folder: Path, facets: Mapping[str, Mapping[str, Facet]]) -> None:
    """Add facets to the written samples of some items. Those that a sample has already stay as they are.

    Args:
        folder: The folder with ``samples.parquet``, which is read and written in groups.
        facets: The facets by item.
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
        need_columns(path, file.schema_arrow.names, ("id",))
        # Each on its own: batches of several would hold more long prompts than were written together.
        batches = (file.iter_batches(_GROUP, row_groups=[at], columns=columns) for at in range(file.num_row_groups))
        for batch in chain.from_iterable(batches):
            if "parts" not in batch.schema.names:
                yield batch.to_pylist()
                continue
            plain = batch.drop_columns(["parts"]).to_pylist()
            yield [record | {"parts": parts} for record, parts in zip(plain, _parts(batch["parts"]), strict=True)]


class SamplesById(Mapping[str, Sample]):
    """Samples with their recipes by id, read on demand in groups, the most recent of which are kept."""

    def __init__(self, path: Path) -> None:
        with readable(path):
            self._file = open_table(path)
            need_columns(path, self._file.schema_arrow.names, ("id",))
            self._group: dict[str, int] = {
                id: group
                for group in range(self._file.num_row_groups)
                for id in self._file.read_row_group(group, columns=["id"])["id"].to_pylist()
            }
        self._path = path
        self._held: dict[int, dict[str, Sample]] = {}  # by group, the most recent last
        self._lock = Lock()

    def __getitem__(self, id: str) -> Sample:
        group = self._group[id]
        with self._lock:
            samples = self._held.pop(group, None) or self._read(group)
            self._held[group] = samples
            while len(self._held) > _HELD:
                self._held.pop(next(iter(self._held)))
            return samples[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._group)

    def __len__(self) -> int:
        return len(self._group)

    def _read(self, group: int) -> dict[str, Sample]:
        with readable(self._path):
            table = self._file.read_row_group(group)
            plain = table.drop_columns(["parts"]).to_pylist()
            recipes = _parts(table["parts"].combine_chunks())
            records = [record | {"parts": parts} for record, parts in zip(plain, recipes, strict=True)]
            return {record["id"]: sample_of(record) for record in records}


def _parts(column: Any) -> Iterator[tuple[Part, ...]]:
    """Recipes of a column, decoded field by field: decoding them as dictionaries would be slower than a request."""
    fields = (field.to_pylist() for field in column.flatten().flatten())
    flat = [text if doc is None else Span(doc, start, end) for text, doc, start, end in zip(*fields, strict=True)]
    start = 0
    for size in column.value_lengths().to_pylist():
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
