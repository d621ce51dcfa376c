"""The files of a built suite: recipes and texts in Parquet, and a manifest."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NotRequired

from typing_extensions import TypedDict

from fathom.storage.checksums import (
    CHECKSUM,
    check_content,
    check_file,
    check_format,
    check_size,
    file_facts,
    with_checksum,
)
from fathom.storage.foreign import check_files, read_regular
from fathom.storage.schema import MismatchError, read_as
from fathom.suites.registry import task_name
from fathom.suites.suitefile.fresh import check_contents, fresh_folder
from fathom.suites.suitefile.samples import (
    FACTS,
    HELD,
    SAMPLES,
    SamplesById,
    SampleWriter,
    add_facets,
    read_groups,
    sample_of,
)
from fathom.suites.suitefile.texts import DOCUMENTS, Texts, open_table, readable, write_documents
from fathom.suites.suitefile.where import (
    Values,
    Where,
    all_values,
    facts_in,
    facts_of,
    is_where,
    may_match,
    values_of,
    why_none,
)
from fathom.types import Document, FathomError, Json, Sample
from fathom.types.samples import CONTROLS

__all__ = [
    "DOCUMENTS",
    "FILES",
    "LEFT_OUT",
    "MANIFEST",
    "SAMPLES",
    "BuiltSuite",
    "SampleWriter",
    "Values",
    "Where",
    "add_facets",
    "all_values",
    "check_contents",
    "facts_of",
    "fresh_folder",
    "is_suite",
    "is_where",
    "may_match",
    "open_suite",
    "read_manifest",
    "values_of",
    "why_none",
    "write_documents",
    "write_manifest",
]

MANIFEST = "manifest.json"
FILES = (MANIFEST, SAMPLES, DOCUMENTS)
"""All files of a suite that has all questions of its documents."""
LEFT_OUT = "questions_left_out.csv"
"""The questions of the user's documents that a suite does not ask, with the reasons."""
FORMAT = 3
"""Of the folder. Format 1 has no number and no checksums. Up to format 2, facets also serve as inputs."""
_ADVICE = "build the suite again with `force`"


class FolderFacts(TypedDict):
    """What a manifest has of a folder of the corpus."""

    missed: int


class Manifest(TypedDict):
    """What every manifest has; it has more fields."""

    suite: str
    fingerprint: str
    tokenizer: str
    lengths: list[int]
    tasks: list[str]
    samples: Mapping[str, int]
    notes: list[str]
    left_out: list[str]
    left_out_in_all: int
    duplicates: int
    inputs: Mapping[str, Any]
    files_of_corpus: NotRequired[list[FolderFacts] | None]
    truncate: NotRequired[list[int]]
    files: NotRequired[Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class BuiltSuite:
    """A suite folder, opened for reading.

    Both files are checked against their checksums once, before the first sample or text is read; later reads rely on
    Parquet's page checksums.

    Attributes:
        known: Whether another process has checked both files; then only their sizes are, and pages as they are read.
    """

    folder: Path
    manifest: Mapping[str, Any]
    known: bool = False

    @property
    def unverified(self) -> str:
        """Why the files cannot be verified; "" if they have checksums."""
        return "" if "files" in self.manifest else "the suite was built before checksums; it cannot be verified"

    @cached_property
    def _samples(self) -> Path:
        return self._checked(SAMPLES)

    @cached_property
    def _documents(self) -> Path:
        return self._checked(DOCUMENTS)

    def _checked(self, name: str) -> Path:
        if not self.unverified:
            check = check_size if self.known else check_file
            check(self.folder / name, self.manifest["files"].get(name), _ADVICE)
        return self.folder / name

    def check(self) -> None:
        """Check both files against their checksums.

        Raises:
            FathomError: One of them is damaged or missing.
        """
        for name in (SAMPLES, DOCUMENTS):
            self._checked(name)

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
        """Samples in run order, those with a common prefix adjacent. Memory use does not grow with their number.

        Args:
            tasks: Only these tasks.
            lengths: Only these lengths, in tokens; truncated prompts count at their shorter length. Questions without
                their context (length 0) are always included.
            limit: At most this many samples of each task, language and length; of those without their context, of each
                kind, and of truncated prompts, of each length in addition.
            only: Only samples with these ids or item names; None for all.
            where: Only samples with one of the given values of each facet; see ``is_where``.
            parts: Whether to read recipes; without them reading is faster, and ``Sample.parts`` is empty.
        """
        taken: dict[tuple[str, str, int, object], int] = {}
        last: dict[tuple[str, str, int], str] = {}
        columns = None if parts else list(FACTS)
        chosen = {task_name(name) for name in tasks or ()}
        with readable(self.folder / SAMPLES):
            for records in read_groups(self._samples, columns):
                for record in records:
                    if chosen and task_name(record["task"]) not in chosen:
                        continue
                    if lengths and record["length"] not in (0, *lengths):
                        continue
                    if only is not None and record["id"] not in only and record["item"] not in only:
                        continue
                    # There are several kinds of questions without context, all with length 0.
                    facets = json.loads(record["facets"])
                    if where and not is_where(facts_in(record, facets), where):
                        continue
                    kind = facets.get("cut_from", facets.get("context", ""))
                    cell = record["task"], record["language"], record["length"], kind
                    if limit is not None and kind in CONTROLS:  # only beside the same question with its whole context
                        if last.get(cell[:3]) == record["item"]:
                            yield sample_of(record)
                        continue
                    taken[cell] = taken.get(cell, 0) + 1
                    if limit is None or taken[cell] <= limit:
                        last[cell[:3]] = record["item"]
                        yield sample_of(record)

    def names(self) -> frozenset[str]:
        """The ids of all samples, and the names of their items."""
        groups = read_groups(self._samples, columns=["id", "item"])
        return frozenset(name for rows in groups for row in rows for name in (row["id"], row["item"]))

    def sample(self, name: str) -> Sample:
        """The sample with that id, or the first of that item with its context; the first of all if it is "".

        Raises:
            FathomError: It does not exist.
        """
        for sample in self.samples():
            if name == sample.id or (sample.length and name in (sample.item, "")):
                return sample
        first = next(self.samples(), None)
        hint = f"; its first sample is {first.id!r}" if first else ""
        raise FathomError(f"{self.folder}: no sample or item {name!r}{hint}")

    def by_id(self) -> Mapping[str, Sample]:
        """The samples by id, with their recipes, read on demand."""
        # A run takes a few samples of each task in turn.
        return SamplesById(self._samples, HELD + len(self.manifest["tasks"]))

    def sources(self) -> dict[str, tuple[str, str]]:
        """Title and source of all documents by id."""
        groups = read_groups(self._documents, columns=["id", "title", "source"])
        with readable(self.folder / DOCUMENTS):
            return {row["id"]: (row["title"], row["source"]) for rows in groups for row in rows}

    def sizes(self) -> dict[str, int]:
        """Characters of all texts by document id, in the order of the file."""
        sizes: dict[str, int] = {}
        with readable(self.folder / DOCUMENTS):
            file = open_table(self._documents)
            for group in range(len(file.rows)):
                table = file.read(group, ["id", "text"])
                sizes |= zip(table["id"], table["text"].str.len_chars(), strict=True)
        return sizes

    def documents(self, only: Collection[str]) -> dict[str, Document]:
        """Some documents by id, without questions and summaries."""
        groups = read_groups(self._documents)
        with readable(self.folder / DOCUMENTS):
            return {
                row["id"]: Document(**{**row, "pages": tuple(row.get("pages") or ())})
                for rows in groups
                for row in rows
                if row["id"] in only
            }

    def texts(self) -> Mapping[str, str]:
        """The texts by document id, read on demand."""
        return Texts(self._documents)


def is_suite(folder: Path) -> bool:
    """Whether a folder holds a built suite."""
    return (folder / MANIFEST).is_file() and (folder / SAMPLES).is_file()


def open_suite(folder: Path) -> BuiltSuite:
    """Open a folder written by ``fathom build``.

    Raises:
        FathomError: It is not a suite, or its manifest cannot be read.
    """
    check_files(folder, FILES)
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
        manifest = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise FathomError(f"{path}: cannot be read ({error}); build the suite again with `force`") from error
    if not isinstance(manifest, dict) or manifest.get("fathom") != "suite":
        raise FathomError(f"{path}: not the manifest of a suite; choose a folder written by `fathom build`")
    if "format" in manifest or CHECKSUM in manifest:
        check_format(path, manifest.get("format"), FORMAT, _ADVICE)
        check_content(path, manifest, _ADVICE)
    try:
        read_as(Manifest, manifest)
    except MismatchError as error:
        raise FathomError(f"{path}: {error}; {_ADVICE}") from None
    return manifest


def write_manifest(folder: Path, manifest: Mapping[str, Json]) -> Mapping[str, Json]:
    """Write the manifest into a folder that already holds the samples and documents.

    Returns:
        The manifest as written: with the folder's format and all checksums.
    """
    files: Json = {name: file_facts(folder / name) for name in (SAMPLES, DOCUMENTS)}
    whole = with_checksum({"fathom": "suite", "format": FORMAT, **manifest, "files": files})
    (folder / MANIFEST).write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return whole
