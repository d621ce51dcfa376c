"""The files of a built suite: recipes and texts in Parquet, and a manifest that says how they were made."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, TypeAlias

from fathom.length import format_length
from fathom.types import Document, Facet, FathomError, Json, Part, Sample, Span

Where: TypeAlias = Mapping[str, Collection[str]]
"""Values by name of a facet, any of which will do: ``{"difficulty": ("Hard", "Extreme")}``."""

MANIFEST, SAMPLES, DOCUMENTS = "manifest.json", "samples.parquet", "documents.parquet"
_MANIFEST = {
    "suite": str,
    "fingerprint": str,
    "tokenizer": str,
    "lengths": list,
    "tasks": list,
    "samples": dict,
    "notes": list,
    "left_out": list,
    "left_out_in_all": int,
    "duplicates": int,
    "inputs": dict,
}
_FACTS = (
    *("id", "item", "task", "language", "length", "tokens", "chance", "targets", "facets", "asked"),
    "thinking_tokens",
)
_COUNT_AS_FACETS = ("task", "language", "item", "length")
_GROUP = 128  # samples held in memory while writing or reading
_TEXTS = 4_000_000  # characters of documents that are written and read together
_HELD = 64_000_000  # characters of documents held in memory while their prompts are put together


@dataclass(frozen=True)
class BuiltSuite:
    """A suite folder, open for reading."""

    folder: Path
    manifest: Mapping[str, Any]

    def samples(
        self,
        tasks: Sequence[str] | None = None,
        lengths: Sequence[int] | None = None,
        limit: int | None = None,
        *,
        only: Collection[str] | None = None,
        where: Where | None = None,
        parts: bool = True,
    ) -> Iterator[Sample]:
        """Samples in run order: those with a common prefix follow each other. Memory does not grow with their number.

        Args:
            tasks: Only these tasks.
            lengths: Only these lengths, in tokens: of a prompt that was cut, the length that it was cut to. Questions
                without their context (length 0) come with any.
            limit: At most this many samples of each task, language and length; of those without their context, at most
                this many of each kind, and of prompts that were cut, at most this many of each length besides.
            only: Only samples with one of these ids, or of an item with one of these names; None for all.
            where: Only samples that have, of each facet named, one of its values; see ``is_where``.
            parts: Whether recipes are wanted too; without them reading is quick, and ``Sample.parts`` is empty.
        """
        taken: dict[tuple[str, str, int, object], int] = {}
        columns = None if parts else list(_FACTS)
        for records in _groups(self.folder / SAMPLES, columns):
            for record in records:
                if (tasks and record["task"] not in tasks) or (lengths and record["length"] not in (0, *lengths)):
                    continue
                if only is not None and record["id"] not in only and record["item"] not in only:
                    continue
                # Questions without their context come with length 0, in more than one way.
                facets = json.loads(record["facets"])
                if where and not is_where(_facts(record, facets), where):
                    continue
                kind = facets.get("context", "") if record["length"] == 0 else facets.get("cut_from")
                cell = record["task"], record["language"], record["length"], kind
                taken[cell] = taken.get(cell, 0) + 1
                if limit is None or taken[cell] <= limit:
                    yield _sample(record)

    def names(self) -> frozenset[str]:
        """The ids of all samples, and the names of their items."""
        groups = _groups(self.folder / SAMPLES, columns=["id", "item"])
        return frozenset(name for rows in groups for row in rows for name in (row["id"], row["item"]))

    def sample(self, name: str) -> Sample:
        """The sample of that id, or the first one of that item with its context; the first of all where it is "".

        Raises:
            FathomError: There is none.
        """
        for sample in self.samples():
            if name == sample.id or (sample.length and name in (sample.item, "")):
                return sample
        first = next(self.samples(), None)
        hint = f"; its first sample is {first.id!r}" if first else ""
        raise FathomError(f"{self.folder}: no sample or item {name!r}{hint}")

    def documents(self, only: Collection[str]) -> dict[str, Document]:
        """Some of the documents that recipes borrow from, by id; without questions and summaries."""
        groups = _groups(self.folder / DOCUMENTS)
        return {row["id"]: Document(**row) for rows in groups for row in rows if row["id"] in only}

    def texts(self) -> Mapping[str, str]:
        """The texts that recipes borrow from, by document id; read as they are asked for."""
        return _Texts(self.folder / DOCUMENTS)


def is_where(facets: Mapping[str, Facet], where: Where) -> bool:
    """Whether a sample is among those that are wanted.

    Args:
        facets: Its facets, and besides them its ``task``, ``language``, ``length`` (``8k``) and ``item``.
        where: Values by name of a facet, any of which will do; upper and lower case are the same.
    """
    said = {name: str(facets[name]).casefold() for name in where if name in facets}
    return all(said.get(name) in {value.casefold() for value in values} for name, values in where.items())


def facts_of(sample: Sample) -> dict[str, Facet]:
    """What ``is_where`` looks at in a sample."""
    return _facts({name: getattr(sample, name) for name in _COUNT_AS_FACETS}, sample.facets)


def _facts(record: Mapping[str, Any], facets: Mapping[str, Facet]) -> dict[str, Facet]:
    about = {name: record[name] for name in _COUNT_AS_FACETS}
    return {**facets, **about, "length": format_length(record["length"])}


class _Texts(Mapping[str, str]):
    """Texts of documents by id. The last ones that were asked for are held, so that memory stays bounded."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet

        with _readable(path):
            self._file = pyarrow.parquet.ParquetFile(path)
            self._group: dict[str, int] = {
                id: group
                for group in range(self._file.num_row_groups)
                for id in self._file.read_row_group(group, columns=["id"])["id"].to_pylist()
            }
        self._path = path
        self._held: dict[int, dict[str, str]] = {}  # by group, the one asked for last at the end
        self._size = 0
        self._lock = Lock()

    def __getitem__(self, id: str) -> str:
        group = self._group[id]
        with self._lock:
            texts = self._held.pop(group, None) or self._read(group)
            self._held[group] = texts
            return texts[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._group)

    def __len__(self) -> int:
        return len(self._group)

    def _read(self, group: int) -> dict[str, str]:
        with _readable(self._path):
            table = self._file.read_row_group(group, columns=["id", "text"])
        texts = dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
        self._size += sum(map(len, texts.values()))
        while self._held and self._size > _HELD:
            oldest = self._held.pop(next(iter(self._held)))
            self._size -= sum(map(len, oldest.values()))
        return texts


def _groups(path: Path, columns: list[str] | None = None) -> Iterator[list[dict[str, Any]]]:
    """Records of a Parquet file, a group at a time.

    Raises:
        FathomError: The file is missing or damaged.
    """
    import pyarrow.parquet

    with _readable(path):
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=_GROUP, columns=columns):
            if "parts" not in batch.schema.names:
                yield batch.to_pylist()
                continue
            plain = batch.drop_columns(["parts"]).to_pylist()
            yield [record | {"parts": parts} for record, parts in zip(plain, _parts(batch["parts"]), strict=True)]


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what goes wrong in reading a file into a message that says what to do."""
    import pyarrow

    try:
        yield
    except (OSError, pyarrow.ArrowException) as error:
        raise FathomError(f"{path}: damaged ({error}); build the suite again with --force") from error


def _parts(column: Any) -> Iterator[tuple[Part, ...]]:
    """Recipes of a column, decoded field by field: as dictionaries they would cost more than the request itself."""
    fields = (field.to_pylist() for field in column.flatten().flatten())
    flat = [text if doc is None else Span(doc, start, end) for text, doc, start, end in zip(*fields, strict=True)]
    start = 0
    for size in column.value_lengths().to_pylist():
        yield tuple(flat[start : start + size])
        start += size


def is_suite(folder: Path) -> bool:
    """Whether a folder holds a built suite."""
    return (folder / MANIFEST).is_file() and (folder / SAMPLES).is_file()


def open_suite(folder: Path) -> BuiltSuite:
    """Open a folder that ``fathom build`` wrote.

    Raises:
        FathomError: It is not one, or its manifest cannot be read.
    """
    if not is_suite(folder):
        raise FathomError(f"{folder} is not a built suite (it has no {MANIFEST}); make one with `fathom build`")
    return BuiltSuite(folder, read_manifest(folder))


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """The manifest of a suite folder.

    Raises:
        FathomError: It is missing or damaged.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FathomError(f"{path}: cannot be read ({error}); build the suite again with --force") from error
    if not isinstance(manifest, dict) or manifest.get("fathom") != "suite":
        raise FathomError(f"{path}: not the manifest of a suite; choose a folder that `fathom build` wrote")
    wrong = [name for name, kind in _MANIFEST.items() if not isinstance(manifest.get(name), kind)]
    if wrong:
        raise FathomError(
            f"{path}: {', '.join(wrong)} missing or of the wrong type; build the suite again with --force"
        )
    return manifest


def write_manifest(folder: Path, manifest: Mapping[str, Json]) -> None:
    """Write the manifest into a folder."""
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_documents(folder: Path, documents: Sequence[Document]) -> None:
    """Write the texts that recipes borrow from."""
    import pyarrow
    import pyarrow.parquet

    columns = ("id", "text", "source", "language", "title", "licence")
    schema = pyarrow.schema([(name, pyarrow.string()) for name in columns])
    with pyarrow.parquet.ParquetWriter(folder / DOCUMENTS, schema, compression="zstd") as writer:
        for group in _grouped(documents):
            arrays = {name: pyarrow.array([getattr(d, name) for d in group], pyarrow.string()) for name in columns}
            writer.write_table(pyarrow.table(arrays, schema=schema))


def _grouped(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Documents that are written and read together, in their order."""
    group: list[Document] = []
    size = 0
    for document in documents:
        if group and size + len(document.text) > _TEXTS:
            yield group
            group, size = [], 0
        group.append(document)
        size += len(document.text)
    if group:
        yield group


class SampleWriter:
    """Writes samples one by one into ``samples.parquet``, a group at a time."""

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
                ("parts", pyarrow.list_(part)),
            ]
        )
        self._writer = pyarrow.parquet.ParquetWriter(folder / SAMPLES, self._schema, compression="zstd")
        self._records: list[dict[str, object]] = []

    def add(self, sample: Sample) -> None:
        """Write a sample."""
        self._records.append(_record(sample))
        if len(self._records) >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._records:
            self._writer.write_table(pyarrow.Table.from_pylist(self._records, schema=self._schema))
            self._records = []

    def __enter__(self) -> SampleWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self._flush()
        self._writer.close()


@contextmanager
def fresh_folder(out: Path) -> Iterator[Path]:
    """A new folder beside ``out`` that takes its place when all went well and vanishes when it did not.

    Raises:
        FathomError: The disk is full or the place cannot be written.
    """
    folder = out.parent / f".{out.name}.{os.getpid()}.part"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _sweep(out)
        folder.mkdir()
        yield folder
        if out.exists():
            old = out.parent / f".{out.name}.{os.getpid()}.old"
            out.rename(old)
            folder.rename(out)
            shutil.rmtree(old, ignore_errors=True)
        else:
            folder.rename(out)
    except OSError as error:
        raise FathomError(f"{out}: cannot be written ({error.strerror or error}); nothing was changed") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(out: Path) -> None:
    """Put right what builds that were killed left behind."""
    for left in [*out.parent.glob(f".{out.name}.*.part"), *out.parent.glob(f".{out.name}.*.old")]:
        owner = left.suffixes[-2].removeprefix(".") if len(left.suffixes) > 1 else ""
        if not owner.isdigit() or _lives(int(owner)):
            continue
        if left.suffix == ".old" and not out.exists():  # killed between the two renames of a replacement
            left.rename(out)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _record(sample: Sample) -> dict[str, object]:
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
        "parts": [
            {"text": part} if isinstance(part, str) else {"doc": part.doc, "start": part.start, "end": part.end}
            for part in sample.parts
        ],
    }


def _sample(record: Mapping[str, Any]) -> Sample:
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
        facets=json.loads(record["facets"]),
        asked=record["asked"],
        # Suites of earlier versions have no such prompts.
        thinking=record.get("thinking") or "",
        thinking_tokens=record.get("thinking_tokens") or 0,
    )
