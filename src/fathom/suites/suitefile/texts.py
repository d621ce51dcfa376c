"""The texts that recipes refer to, written in groups and read by group on demand."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from fathom.storage.parquet import ParquetFile, ParquetWriter
from fathom.storage.tables import decoding
from fathom.types import Document, FathomError

DOCUMENTS = "documents.parquet"
TOGETHER = 4_000_000  # characters of documents per group
HELD = 64_000_000  # characters of documents cached in memory


class Texts(Mapping[str, str]):
    """Texts of documents by id. The most recent ones are cached, so that memory is bounded."""

    def __init__(self, path: Path) -> None:
        with readable(path):
            self._file = open_table(path)
            need_columns(path, self._file.names, ("id", "text"))
            self._group: dict[str, int] = {
                id: group for group in range(len(self._file.rows)) for id in self._file.read(group, ["id"])["id"]
            }
        self._path = path
        self._held: dict[int, dict[str, str]] = {}  # by group, the most recent last
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
        with readable(self._path):
            table = self._file.read(group, ["id", "text"])
            texts = dict(zip(table["id"], table["text"], strict=True))
            self._size += sum(map(len, texts.values()))
        while self._held and self._size > HELD:
            oldest = self._held.pop(next(iter(self._held)))
            self._size -= sum(map(len, oldest.values()))
        return texts


def open_table(path: Path) -> ParquetFile:
    """Open a Parquet file of a suite; its content is compared with its checksums as it is read.

    Raises:
        DamagedTableError: It is damaged.
        OSError: It cannot be read, or states more than its size explains.
    """
    return ParquetFile(path, verify=True)


def need_columns(path: Path, present: Sequence[str], needed: Sequence[str]) -> None:
    """Check that a file has the required columns.

    Raises:
        FathomError: A column is missing.
    """
    if missing := [name for name in needed if name not in present]:
        raise FathomError(f"{path}: no column {', '.join(missing)}; build the suite again with `force`")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Convert errors in reading a file to messages that say what to do.

    Raises:
        FathomError: The file is damaged.
    """
    try:
        with decoding():
            yield
    # Unexpected content raises one of the others.
    except (OSError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise FathomError(f"{path}: damaged ({error}); build the suite again with `force`") from error


def write_documents(folder: Path, documents: Sequence[Document]) -> None:
    """Write the texts that recipes refer to."""
    import polars as pl

    schema: dict[str, Any] = dict.fromkeys(("id", "text", "source", "language", "title", "licence"), pl.String)
    if any(document.pages for document in documents):
        schema["pages"] = pl.List(pl.Int32)
    with (folder / DOCUMENTS).open("wb") as stream:
        writer = ParquetWriter(stream, schema)
        for group in _grouped(documents):
            columns: dict[str, Any] = {name: [getattr(document, name) for document in group] for name in schema}
            # Encoded here: polars would keep the UTF-8 of every text in memory for as long as the text exists.
            columns["text"] = pl.Series([text.encode() for text in columns["text"]], dtype=pl.Binary).cast(pl.String)
            writer.write(pl.DataFrame(columns, schema=schema))
        writer.close()


def _grouped(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Documents in groups, in their order."""
    group: list[Document] = []
    size = 0
    for document in documents:
        if group and size + len(document.text) > TOGETHER:
            yield group
            group, size = [], 0
        group.append(document)
        size += len(document.text)
    if group:
        yield group
