"""Reads documents from a folder or a file."""

from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path

from fathom.corpus.records import BadRowError, Fields, NoTextFieldError, make_document, parts_of_document
from fathom.corpus.spec import parse_spec, path_of
from fathom.corpus.text import joined_pages, merged
from fathom.printing import printable
from fathom.records import (
    ARCHIVE,
    DOCUMENTS,
    READABLE,
    TABLES,
    Fault,
    File,
    Listed,
    Problem,
    Problems,
    Record,
    Unread,
    find_files,
    format_of,
    looks_like_document,
    path_text,
    read_records,
    unread,
)
from fathom.types import Document, FathomError

MOST_MISSED = 0.1
"""Share of the files of a corpus that may be unread without stopping a build."""
SHOWN = 40  # files without a document shown in an error message
README = "it describes the documents next to it"
QUESTIONS = "it has the questions"
DESCRIBING = (README, QUESTIONS)
"""Why files are not read although nothing is lost."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents in the order of their files and rows.

    Attributes:
        documents: Documents with distinct texts.
        problems: What could not be read; the first 20 of each file individually, the rest as one entry with a count.
        duplicates: Rows with a text seen before, in the same form; their new questions were added to the first one.
        spec: The specification that was read.
        fingerprint: Hash of the documents, their questions and summaries, in order.
        unread: Files that are not read, with the reason.
        read: Number of files with documents.
        names: Names of the sources of all documents, each with its id; duplicates have that of the first one.
        without: Files of a readable format in which there is no document, with the reason of each. Those of tables and
            texts are among the problems too.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    duplicates: tuple[Problem, ...]
    spec: str
    fingerprint: str
    unread: tuple[Unread, ...] = ()
    read: int = 0
    without: tuple[Problem, ...] = ()
    names: tuple[tuple[str, str], ...] = ()

    @property
    def missed(self) -> int:
        """Number of files without a document, of those that look like documents."""
        passed = (name for left in self.unread if left.why not in DESCRIBING for name in left.names)
        return len(self.without) + sum(map(looks_like_document, passed))

    def check_read(self) -> None:
        """Check that at most a tenth of the files that look like documents were not read.

        Raises:
            FathomError: More were not; the message names them.
        """
        every = self.read + self.missed
        if self.missed <= MOST_MISSED * every:
            return
        mattering = (
            replace(left, names=names)
            for left in self.unread
            if left.why not in DESCRIBING and (names := tuple(filter(looks_like_document, left.names)))
        )
        lines = "".join(f"\n  {printable(str(line))}" for line in (*self.without[:SHOWN], *mattering))
        more = f"\n  and {len(self.without) - SHOWN:,} more" if len(self.without) > SHOWN else ""
        raise FathomError(
            f"Corpus {self.spec!r}: {self.missed:,} of {every:,} files were not read:{lines}{more}\nConvert, repair or "
            "remove them, or give --allow-unread to build without them."
        )


def read_corpus(spec: str, fields: Fields | None = None, *, questions: Collection[Path] = ()) -> Corpus:
    """Read the documents of a folder or a file.

    A folder is read recursively in the order of its paths: every file in a format of ``fathom.records.FORMATS``, also
    with ``.gz`` or ``.zst`` or in a ZIP archive. Files that are not read (hidden ones, a README at the top, other
    formats) are listed. Bad rows are reported and skipped; a duplicate text is dropped, and its questions are added to
    the first one.

    Args:
        spec: ``PATH``, with field names that differ from the defaults as
            ``PATH?text=input&questions=instructions&answers=outputs``.
        fields: Names of the fields; those in ``spec`` take precedence.
        questions: Files with questions about the documents, which are no documents if they are in the folder.

    Raises:
        FathomError: The path is missing, the query names an unknown part, or no document could be read.
    """
    name, query = parse_spec(spec)
    if unknown := sorted(set(query) - set(parts_of_document())):
        raise FathomError(
            f"Corpus {spec!r}: unknown part {unknown[0]!r}; a query can name {', '.join(parts_of_document())}."
        )
    if empty := [part for part, value in query.items() if not value]:
        raise FathomError(f"Corpus {spec!r}: give the name of a field after {empty[0]}=.")
    root = path_of(name)
    found = _without(_find_files(root, spec), root, questions)
    gathered = Gathering(replace(fields or Fields(), **query), problems=list(found.problems))
    for file in found.files:
        gathered.read_file(file)
    textless = (one for why, names in gathered.textless.items() for one in unread(root, names, why))
    found = replace(found, unread=(*found.unread, *textless))
    if not gathered.documents:
        listed = "".join(f"\n  {problem}" for problem in (*gathered.problems[:5], *found.unread))
        why = "no document could be read." if found.files else "it contains no documents."
        needs = "" if gathered.problems or gathered.textless else f" It needs files that end in {READABLE}."
        raise FathomError(f"Corpus {spec!r}: {why}{needs}{listed}")
    documents = tuple(gathered.documents.values())
    return Corpus(
        documents,
        tuple(gathered.problems),
        tuple(gathered.duplicates),
        spec,
        fingerprint(documents),
        found.unread,
        gathered.read,
        (*found.problems, *gathered.without),
        tuple(gathered.sources),
    )


def fingerprint(documents: tuple[Document, ...]) -> str:
    """Hash of documents in order, with everything that affects samples: 16 hexadecimal digits."""
    digest = sha256()
    for document in documents:
        facts = (document.id, document.language, document.title, document.summary)
        asked = ((question.text, question.answers, question.evidence) for question in document.questions)
        digest.update(repr((facts, tuple(asked))).encode())
    return digest.hexdigest()[:16]


def _find_files(root: Path, spec: str) -> Listed[File]:
    try:
        if root.is_file():
            if not format_of(root.name) and root.suffix.lower() != ARCHIVE:
                raise FathomError(f"Corpus {spec!r}: unknown format; the name should end in {READABLE}.")
        elif not root.is_dir():
            raise FathomError(
                f"Corpus {spec!r}: no such file or folder. Name a folder, a file that ends in {READABLE}, or `world`."
            )
    except OSError as error:
        raise FathomError(f"Corpus {spec!r}: cannot be read: {error.strerror}.") from error
    found = find_files(root)
    top = [file for file in found.files if len(file.name.parts) == 1]
    readmes = [file for file in top if file.name.name.lower().startswith("readme.")]
    if len(readmes) == len(found.files):
        return found
    # A README next to documents describes them; alone it is the corpus.
    passed = unread(root, [str(file.name) for file in readmes], README)
    files = tuple(file for file in found.files if file not in readmes)
    return replace(found, files=files, unread=(*found.unread, *passed))


def _without(found: Listed[File], root: Path, questions: Collection[Path]) -> Listed[File]:
    """The files that do not have the questions."""
    real = {path.resolve() for path in questions}
    passed = [file for file in found.files if not file.inside and file.path.resolve() in real] if real else []
    files = tuple(file for file in found.files if file not in passed)
    left = unread(root, [str(file.name) for file in passed], QUESTIONS)
    return replace(found, files=files, unread=(*found.unread, *left))


@dataclass
class Gathering:
    """Documents read so far, by id, and what was left out."""

    names: Fields
    documents: dict[str, Document] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    duplicates: list[Problem] = field(default_factory=list)
    read: int = 0
    without: list[Problem] = field(default_factory=list)
    textless: dict[str, list[str]] = field(default_factory=dict)
    sources: list[tuple[str, str]] = field(default_factory=list)

    def read_file(self, file: File) -> None:
        """Add the documents of one file, which is recorded as their source."""
        problems = Problems(str(file), "problems in this file")
        without_text = Problems(str(file), "rows without a text")
        duplicates = Problems(str(file), "rows of this file with a text seen before")
        rows, used, unseen = 0, 0, self._optional_fields_named_by_user()
        for record in read_records(file, self.names.named(), self.names.text):
            if isinstance(record, Fault):
                problems.add(record.line, record.reason)
                continue
            rows += 1
            unseen -= record.fields.keys()
            try:
                self._add(record, path_text(str(file.name)), problems, duplicates)
                used += 1
            except NoTextFieldError as error:
                without_text.add(record.line, str(error))
            except BadRowError as error:
                problems.add(record.line, str(error))
        if rows and without_text.count == rows:
            # A wrong field name is one problem, not thousands.
            problems.add(None, f"none of its {rows:,} rows is a document: {without_text.listed()[0].reason}", rows)
        else:
            self.problems += without_text.listed()
            for name in sorted(unseen) if rows and format_of(file.name.name) in TABLES else ():
                problems.add(None, f"none of its {rows:,} rows has the field {name!r}")
        self.read += bool(used)
        if not used:
            reason = next((problem.reason for problem in problems.listed()), "it is empty")
            if format_of(file.name.name) in DOCUMENTS:
                self.textless.setdefault(reason, []).append(str(file.name))
                return
            self.without.append(Problem(path_text(str(file.name)), None, reason))
        self.problems += problems.listed()
        self.duplicates += duplicates.listed()

    def _add(self, record: Record, source: str, problems: Problems, duplicates: Problems) -> None:
        where = source if record.line is None else f"{source}:{record.line}"
        content, pages = record.fields, tuple[int, ...]()
        if record.pages:
            whole, pages = joined_pages(record.pages)
            content = {**content, self.names.text: whole}
        document, remarks = make_document(content, self.names, where)
        document = replace(document, pages=pages)
        for remark in remarks:
            problems.add(record.line, remark)
        self.sources.append((where, document.id))
        first = self.documents.setdefault(document.id, document)
        if first is document:
            return
        new = tuple(question for question in document.questions if question not in first.questions)
        moved = f"; its questions were added there ({len(new)})" if new else ""
        duplicates.add(record.line, f"the same text as {first.source}{moved}")
        self.documents[first.id] = merged(first, document)

    def _optional_fields_named_by_user(self) -> set[str]:
        chosen = {getattr(self.names, part.name) for part in fields(Fields)}
        usual = {getattr(Fields(), part.name) for part in fields(Fields)}
        return chosen - usual - {self.names.text}
