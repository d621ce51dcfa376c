"""Keeps a bounded number of documents of a large corpus: a draw that does not depend on their order."""

from collections.abc import Collection, Iterator

from fathom.types import Document

MOST = 1 << 26
"""Bytes of the documents with questions or summaries that are kept, and of the others, if no more are of use."""


class Held:
    """Documents by id, in the order in which they came.

    Up to ``most`` bytes, all are kept. Of more, those with the smallest ids are: ids are hashes of texts, so that this
    is a draw in which each text has the same chance, whatever the names and the order of files. A text that comes again
    after it was dropped is dropped again.

    Attributes:
        most: Bytes that are kept; a quarter more until some are dropped.
        given: Number of documents given so far, duplicates not counted while the first one is kept.
        size: Their bytes.
    """

    def __init__(self, most: int = 0) -> None:
        self.most = max(MOST, most)
        self.given = 0
        self.size = 0
        self._documents: dict[str, Document] = {}
        self._sizes: dict[bool, int] = {True: 0, False: 0}  # by whether they have questions or a summary
        self._limits: dict[bool, str] = {True: "g", False: "g"}  # ids below these are kept; "g" follows all digits
        self._always: set[str] = set()

    def __contains__(self, id: str) -> bool:
        return id in self._documents

    def __getitem__(self, id: str) -> Document:
        return self._documents[id]

    def __setitem__(self, id: str, document: Document) -> None:
        """Replace a document by one with the same text; it is dropped if its kind is too much with it."""
        self._count(id, -1)
        self._documents[id] = document
        self._count(id, 1)

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents.values())

    def add(self, document: Document, size: int, *, always: bool = False) -> bool:
        """Add a document that is not kept yet.

        Args:
            document: The document.
            size: Bytes of its text.
            always: Whether to keep it in any case.

        Returns:
            Whether it is kept for now.
        """
        self.given += 1
        self.size += size
        if always:
            self._always.add(document.id)
        elif document.id >= self._limits[_asked(document)]:
            return False
        self._documents[document.id] = document
        self._count(document.id, 1)
        return True

    def keep(self, id: str) -> None:
        """Keep a document that is here in any case."""
        self._count(id, -1)
        self._always.add(id)

    def close(self) -> None:
        """Drop what is too much."""
        for asked, size in self._sizes.items():
            if size > self.most:
                self._drop(asked)

    @property
    def complete(self) -> bool:
        """Whether nothing was dropped so far."""
        return all(limit == "g" for limit in self._limits.values())

    @property
    def ids(self) -> Collection[str]:
        """The ids of the documents that are kept."""
        return self._documents.keys()

    def _count(self, id: str, sign: int) -> None:
        """Add or take away the size of a document, and drop what is too much by a quarter."""
        if id in self._always:
            return
        asked = _asked(self._documents[id])
        self._sizes[asked] += sign * len(self._documents[id].text.encode())
        if self._sizes[asked] > self.most + self.most // 4:
            self._drop(asked)

    def _drop(self, asked: bool) -> None:
        left = 0
        for id in sorted(id for id, one in self._documents.items() if id not in self._always and _asked(one) == asked):
            size = len(self._documents[id].text.encode())
            if id >= self._limits[asked]:
                del self._documents[id]
            elif left + size > self.most:
                self._limits[asked] = id
                del self._documents[id]
            else:
                left += size
        self._sizes[asked] = left


def _asked(document: Document) -> bool:
    return bool(document.questions or document.summary)
