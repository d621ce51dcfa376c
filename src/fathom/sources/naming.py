"""What the name of a file says: which data source it may hold, and which split of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from fathom.records import split_name
from fathom.sources.source import Source

VAGUE = 1000  # the number of every name that is one among those that say little
ANY = VAGUE + 1  # and of all others, for sources that leave it to the fields of records
SPLITS = ("test", "validation", "valid", "val", "dev", "train")

_SHARD = re.compile(r"[-_]\d+-of-\d+$")
_SPLIT = re.compile(rf"(?:(.+)_)?({'|'.join(SPLITS)})")


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """How well a name fits a data source; the least is tried first.

    Attributes:
        train: Whether it is a training split: taken only where there is no other.
        name: 0 for the source's own name, then its other names in their order; ``VAGUE`` for those that say little,
            ``ANY`` where the name says nothing.
    """

    train: bool
    name: int


def plain(name: str) -> str:
    """A name in the form in which names are compared: small letters, words joined by underscores."""
    return re.sub(r"[-_. ]+", "_", name.lower()).strip("_")


def known_names(sources: Mapping[str, Source]) -> Mapping[str, Sequence[tuple[Source, int]]]:
    """The sources that go by each name, with the number of that name among their own."""
    found: dict[str, list[tuple[Source, int]]] = {}
    for source in sources.values():
        for number, name in enumerate((source.name, *source.names)):
            found.setdefault(plain(name), []).append((source, number))
        for name in source.vague:
            found.setdefault(plain(name), []).append((source, VAGUE))
    return found


def claims(path: PurePosixPath, known: Mapping[str, Sequence[tuple[Source, int]]]) -> list[tuple[str, Claim]]:
    """The sources that a file may hold, by name.

    The file's own name decides, a number of a part and an ending such as ``_test`` aside. Where it names no source at
    all, as ``test-00000-of-00001.parquet`` does, the nearest folder above does that names one; ``OWNER--NAME`` names
    what ``NAME`` does. Where no folder does either, names that say little are taken.

    Args:
        path: The file, relative to what is searched.
        known: See ``known_names``.
    """
    stem, split = _stem(path)
    if found := _claimed(stem, split, known):
        return found
    for folder in path.parents:
        name = plain(folder.name.rpartition("--")[2])
        split = split or (name if name in SPLITS else "")
        if found := _claimed(name, split, known):
            return found
    return _claimed(stem, split, known, vague=True)


def by_fields(path: PurePosixPath, sources: Iterable[Source]) -> list[tuple[str, Claim]]:
    """The sources among these that a file may hold whatever its name, because the fields of their records decide."""
    split = _stem(path)[1]
    return [(source.name, Claim(split == "train", ANY)) for source in sources if source.any_name]


def _claimed(
    name: str, split: str, known: Mapping[str, Sequence[tuple[Source, int]]], *, vague: bool = False
) -> list[tuple[str, Claim]]:
    return [
        (source.name, Claim(split == "train", number))
        for source, number in known.get(name, ())
        if (number == VAGUE) == vague
    ]


def names_itself(path: PurePosixPath, source: Source) -> bool:
    """Whether a file's own name, and not only a folder's above it, is one of a source's."""
    return _stem(path)[0] in map(plain, (source.name, *source.names))


def _stem(path: PurePosixPath) -> tuple[str, str]:
    """The name of a file without suffixes, number of a part and split; and the split, or ""."""
    stem = plain(_SHARD.sub("", split_name(path.name)[0]))
    if ending := _SPLIT.fullmatch(stem):
        return ending[1] or "", ending[2]
    return stem, ""
