"""The texts that recipes borrow from: written in groups, and read a group at a time as they are asked for."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from fathom.types import Document, FathomError

DOCUMENTS = "documents.parquet"
TOGETHER = 4_000_000  # characters of documents that are written and read together
HELD = 64_000_000  # characters of documents held in memory while their prompts are put together


class Texts(Mapping[str, str]):
    """Texts of documents by id. The last ones that were asked for are held, so that memory stays bounded."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet

        with readable(path):
            self._file = pyarrow.parquet.ParquetFile(path, page_checksum_verification=True)
            need_columns(path, self._file.schema_arrow.names, ("id", "text"))
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
        with readable(self._path):
            table = self._file.read_row_group(group, columns=["id", "text"])
            texts = dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
            self._size += sum(map(len, texts.values()))
        while self._held and self._size > HELD:
            oldest = self._held.pop(next(iter(self._held)))
            self._size -= sum(map(len, oldest.values()))
        return texts


def need_columns(path: Path, there: Sequence[str], needed: Sequence[str]) -> None:
    """Make sure that a file holds what is read of it: some other file may have its name.

    Raises:
        FathomError: A column is missing.
    """
    if missing := [name for name in needed if name not in there]:
        raise FathomError(f"{path}: no column {', '.join(missing)}; build the suite again with --force")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what goes wrong in reading a file into a message that says what to do."""
    import pyarrow

    try:
        yield
    # What is not of the form that was written ends in any of the others.
    except (OSError, pyarrow.ArrowException, TypeError, ValueError, LookupError, AttributeError) as error:
        raise FathomError(f"{path}: damaged ({error}); build the suite again with --force") from error


def write_documents(folder: Path, documents: Sequence[Document]) -> None:
    """Write the texts that recipes borrow from."""
    import pyarrow
    import pyarrow.parquet

    columns = ("id", "text", "source", "language", "title", "licence")
    schema = pyarrow.schema([(name, pyarrow.string()) for name in columns])
    path = folder / DOCUMENTS
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for group in _grouped(documents):
            writer.write_table(pyarrow.table([_column(group, name) for name in columns], schema=schema))


def _column(documents: Sequence[Document], name: str) -> Any:
    import pyarrow

    # Encoded here: pyarrow would leave the UTF-8 of every text beside it in memory for as long as the text lives.
    return pyarrow.array([getattr(document, name).encode() for document in documents], pyarrow.string())


def _grouped(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Documents that are written and read together, in their order."""
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
