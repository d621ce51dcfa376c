"""Finds documents that share text: editions, excerpts and copies under another name.

Public data sets overlap: the same meeting or review may be in two of them, or twice in one. A distractor that is
another edition of the gold document would make a question unfair.
"""

import re
from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from itertools import combinations

from fathom.types import Document

SHARED = 0.1  # share of the shorter document's sentences from which two documents are related
COMMON = 50  # number of documents from which a shared sentence counts as boilerplate
_SHORT = {"zh": 12}  # minimum letters of a specific sentence; 32 in other languages

_END = re.compile(r"[.!?。！？\n]+")
_NO_LETTER = re.compile(r"\W+")


def related(documents: Iterable[Document]) -> Mapping[str, frozenset[str]]:
    """For each document, the ids of the documents that share at least a tenth of their sentences with it.

    Documents without related ones are omitted.
    """
    holders: dict[int, list[str]] = {}
    sizes: dict[str, int] = {}
    for document in documents:
        marks = _marks(document)
        sizes[document.id] = len(marks)
        for mark in marks:
            holders.setdefault(mark, []).append(document.id)
    shared: Tally[tuple[str, str]] = Tally()
    for ids in holders.values():
        if 1 < len(ids) <= COMMON:
            shared.update(combinations(sorted(ids), 2))
    by_document: dict[str, set[str]] = {}
    for (first, second), count in shared.items():
        if count >= SHARED * min(sizes[first], sizes[second]):
            by_document.setdefault(first, set()).add(second)
            by_document.setdefault(second, set()).add(first)
    return {id: frozenset(others) for id, others in by_document.items()}


def _marks(document: Document) -> set[int]:
    """Hashes of the sentences of a document that are long enough to be specific; valid within one process."""
    least = _SHORT.get(document.language, 32)
    letters = (_NO_LETTER.sub("", sentence) for sentence in _END.split(document.text))
    return {hash(sentence) for sentence in letters if len(sentence) >= least}
