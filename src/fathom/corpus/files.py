"""Documents from files: a folder, or one file of text, JSONL or Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from fathom.corpus.gathering import Gathering, Problem, printable
from fathom.corpus.records import Fields, parts_of_document
from fathom.corpus.rows import SUFFIXES, kind_of
from fathom.corpus.spec import parse_spec, path_of
from fathom.corpus.streams import COMPRESSED
from fathom.types import Document, FathomError

READABLE = ", ".join(SUFFIXES) + ", each also with " + " or ".join(COMPRESSED)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents as read, in the order of their files and rows.

    Attributes:
        documents: Documents with distinct texts.
        problems: What could not be read; the first 20 of each file one by one, the rest as one entry with a count.
        duplicates: Rows whose text came before, in the same form; their new questions moved to the first one.
        spec: The specification that was read.
        fingerprint: Hash of the documents, their questions and summaries, in order.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    duplicates: tuple[Problem, ...]
    spec: str
    fingerprint: str


def read_corpus(spec: str, fields: Fields | None = None) -> Corpus:
    """Read the documents of a folder or a file.

    A folder is read recursively and in the order of its paths: every ``.txt``, ``.md``, ``.jsonl`` and ``.parquet``
    file, each also with ``.gz`` or ``.zst``. Hidden files and a README at its top are passed over. Bad rows are
    reported and the rest is kept; a text that came before is dropped, and its questions move to the first one.

    Args:
        spec: ``PATH``, with named fields as ``PATH?text=input&questions=instructions&answers=outputs`` where they
            differ from the defaults.
        fields: Names of the fields; those in ``spec`` win over them.

    Raises:
        FathomError: The path is missing, the query names an unknown part, or no document could be read.
    """
    name, query = parse_spec(spec)
    if unknown := sorted(set(query) - set(parts_of_document())):
        raise FathomError(
            f"Corpus {spec!r}: it has no part {unknown[0]!r}; a query can name {', '.join(parts_of_document())}."
        )
    if empty := [part for part, value in query.items() if not value]:
        raise FathomError(f"Corpus {spec!r}: write the name of a field after {empty[0]}=.")
    root = path_of(name)
    gathered = Gathering(replace(fields or Fields(), **query))
    for path in _find_files(root, spec, gathered):
        gathered.read_file(path, path.relative_to(root).as_posix() if path != root else path.name)
    if not gathered.documents:
        shown = "".join(f"\n  {problem}" for problem in gathered.problems[:5])
        raise FathomError(
            f"Corpus {spec!r}: no document could be read." + (shown or f" It needs files that end in {READABLE}.")
        )
    documents = tuple(gathered.documents.values())
    return Corpus(documents, tuple(gathered.problems), tuple(gathered.duplicates), spec, fingerprint(documents))


def fingerprint(documents: tuple[Document, ...]) -> str:
    """Hash of documents in order, with all that a built sample can depend on: 16 hexadecimal digits."""
    digest = sha256()
    for document in documents:
        facts = (document.id, document.language, document.title, document.summary)
        asked = ((question.text, question.answers, question.evidence) for question in document.questions)
        digest.update(repr((facts, tuple(asked))).encode())
    return digest.hexdigest()[:16]


def _find_files(root: Path, spec: str, gathered: Gathering) -> list[Path]:
    try:
        if root.is_file():
            if kind_of(root) is None:
                raise FathomError(f"Corpus {spec!r}: cannot tell how to read it; its name should end in {READABLE}.")
            return [root]
        if not root.is_dir():
            raise FathomError(
                f"Corpus {spec!r}: no such file or folder. Name a folder, a file that ends in {READABLE}, or `world`."
            )
    except OSError as error:
        raise FathomError(f"Corpus {spec!r}: it cannot be read: {error.strerror}.") from error
    found = sorted(_walk(root, gathered), key=lambda path: path.relative_to(root).as_posix())
    if not found and not gathered.problems:
        raise FathomError(f"Corpus {spec!r}: the folder holds no documents; it needs files that end in {READABLE}.")
    readmes = [path for path in found if path.parent == root and path.name.lower().startswith("readme.")]
    # A README beside documents describes them; alone it is all there is to read.
    return [path for path in found if path not in readmes] or found


def _walk(root: Path, gathered: Gathering) -> Iterator[Path]:
    def report(error: OSError) -> None:
        reason = f"the folder cannot be read: {error.strerror}"
        gathered.problems.append(Problem(printable(error.filename), None, reason))

    seen = set()
    for folder, subfolders, names in os.walk(root, followlinks=True, onerror=report):
        facts = Path(folder).stat()
        if (facts.st_dev, facts.st_ino) in seen:  # a link back to a folder above
            subfolders.clear()
            continue
        seen.add((facts.st_dev, facts.st_ino))
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for path in (Path(folder, name) for name in names if not name.startswith(".")):
            # A link to nowhere is kept, so that it is reported; pipes and devices are passed over.
            if kind_of(path) and (path.is_file() or not path.exists()):
                yield path
