"""Documents that share text with each other: editions, excerpts and copies under another name.

Public data sets overlap: the same meeting or review is in two of them, or in one of them twice. A distractor that is
another edition of the gold document would make a question unfair.
"""

import re
from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from itertools import combinations

from fathom.types import Document

SHARED = 0.1  # share of the sentences of the shorter document from which two are taken for the same
COMMON = 50  # documents that hold the same sentence: from there on it is boilerplate
_SHORT = {"zh": 12}  # letters below which a sentence says nothing of where it comes from; 32 in other languages

_END = re.compile(r"[.!?。！？\n]+")
_NO_LETTER = re.compile(r"\W+")


def related(documents: Iterable[Document]) -> Mapping[str, frozenset[str]]:
    """Ids of the documents that share a tenth or more of their sentences with a document, by its id.

    Documents without any such relation are absent.
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
    found: dict[str, set[str]] = {}
    for (one, other), count in shared.items():
        if count >= SHARED * min(sizes[one], sizes[other]):
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return {id: frozenset(others) for id, others in found.items()}


def _marks(document: Document) -> set[int]:
    """Hashes of the sentences of a document that are long enough to tell it from others; good within one process."""
    least = _SHORT.get(document.language, 32)
    letters = (_NO_LETTER.sub("", sentence) for sentence in _END.split(document.text))
    return {hash(sentence) for sentence in letters if len(sentence) >= least}
