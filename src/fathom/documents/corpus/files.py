"""Reads documents from a folder or a file; of a large corpus a draw that does not depend on their order."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path

from fathom.documents.corpus.nesting import MISSING, PROBED, describe_fields, inner_records, lookup, split_by_itself
from fathom.documents.corpus.questions import NamedDocuments, asked_for
from fathom.documents.corpus.records import (
    BadRowError,
    Fields,
    NoTextFieldError,
    make_document,
    parts_of_document,
    plain_record,
)
from fathom.documents.corpus.spec import parse_spec, path_of
from fathom.documents.corpus.text import joined_pages, merged, normalise
from fathom.documents.records import (
    ARCHIVE,
    DOCUMENTS,
    GENERATED,
    READABLE,
    TABLES,
    Fault,
    File,
    FileFinder,
    Problem,
    Problems,
    Record,
    Unread,
    format_of,
    is_office_document,
    looks_like_document,
    path_text,
    read_records,
    unread,
)
from fathom.documents.records.streams import LONG, parts_of
from fathom.plugins.names import beside
from fathom.printing import printable
from fathom.storage.foreign import identity_of
from fathom.storage.time_limits import TooLongError, within_time
from fathom.types import Document, FathomError

MOST = 1 << 26
"""Bytes of the documents with questions or summaries that are kept, and of the others, if no more are of use."""


class BoundedDocuments:
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
        for id in sorted(
            id for id, document in self._documents.items() if id not in self._always and _asked(document) == asked
        ):
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


_GENERATED = re.compile(r"@generated\b|\bDO NOT EDIT\b|\b[Aa]uto-?generated (?:by|from)\b|\bCode generated by\b")
HEAD = 1000  # characters of a file that say whether it is generated
MOST_MISSED = 0.1
"""Share of the files of a corpus that may be unread without stopping a build."""
TOLD = 1_000_000  # bytes between two messages about progress
SHOWN = 40  # files without a document shown in an error message
README = "it describes the documents next to it"
QUESTIONS = "it has the questions"
RECORDS = "records"
"""The part of a specification that names the records within objects."""
EMPTY = "empty"
SETTINGS = "no field with a text, as in the settings of a program"
PASSED = (README, QUESTIONS, GENERATED, SETTINGS, EMPTY)
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
        names: Names of the sources of all documents, each with its id; duplicates have that of the first one.
        without: Files of a readable format in which there is no document, with the reason of each. Those of tables and
            texts are among the problems too.
        drawn: Says which documents these are, if the corpus has more; "" if they are all.
        repository: Whether it is the folder of a project's source code.
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
    drawn: str = ""
    repository: bool = False

    @property
    def missed(self) -> int:
        """Number of files without a document, of those that look like documents."""
        return len(self.without) + sum(map(len, (left.names for left in self._mattering())))

    def _mattering(self) -> Iterator[Unread]:
        """The files that are not read and may be documents."""
        matters = is_office_document if self.repository else looks_like_document
        for left in self.unread:
            names = tuple(filter(matters, left.names)) if left.why not in PASSED else ()
            if names:
                yield replace(left, names=names)

    def check_read(self) -> None:
        """Check that at most a tenth of the files that look like documents were not read.

        Raises:
            FathomError: More were not; the message names them.
        """
        every = self.read + self.missed
        if self.missed <= MOST_MISSED * every:
            return
        lines = "".join(f"\n  {printable(str(line))}" for line in (*self.without[:SHOWN], *self._mattering()))
        more = f"\n  and {len(self.without) - SHOWN:,} more" if len(self.without) > SHOWN else ""
        raise FathomError(
            f"Corpus {self.spec!r}: {self.missed:,} of {every:,} files were not read:{lines}{more}\nConvert, repair or "
            "remove them, or give `allow_unread` to build without them."
        )


def read_corpus(
    spec: str,
    fields: Fields | None = None,
    *,
    questions: Collection[Path] = (),
    reading: Callable[[int, int | None], None] | None = None,
    most: int = 0,
) -> Corpus:
    """Read the documents of a folder or a file.

    A folder is read recursively in the order of its paths: every file in a format of ``documents.records.FORMATS``,
    also with ``.gz`` or ``.zst`` or in a ZIP archive. Files that are not read (hidden ones, a README at the top, other
    formats) are listed. Bad rows are reported and skipped; a duplicate text is dropped, and its questions are added to
    the first one.

    Memory is bounded. A text of more than ``LONG`` bytes is several documents: its parts. Of a corpus of more than
    ``MOST`` bytes, or ``most`` if that is more, documents of so many are kept (``BoundedDocuments``), and those that
    ``questions`` name.

    Args:
        spec: ``PATH``, with field names that differ from the defaults as
            ``PATH?text=input&questions=instructions&answers=outputs``. Names may be paths
            (``fathom.documents.corpus.nesting``), and ``records`` is the path of the records within an object.
        fields: Names of the fields; those in ``spec`` take precedence.
        questions: Files with questions about the documents, which are no documents if they are in the folder.
        reading: Called with the bytes of text read so far and None.
        most: Bytes of text that are of use.

    Raises:
        FathomError: The path is missing, the query names an unknown part, or no document could be read.
    """
    name, query = parse_spec(spec)
    known = (*parts_of_document(), RECORDS)
    if unknown := sorted(set(query) - set(known)):
        raise FathomError(f"Corpus {spec!r}: unknown part {unknown[0]!r}; a query can name {', '.join(known)}.")
    if empty := [part for part, value in query.items() if not value]:
        raise FathomError(f"Corpus {spec!r}: give the name of a field after {empty[0]}=.")
    root = path_of(name)
    _check_root(root, spec)
    inside = query.pop(RECORDS, "")
    gathered = Gathering(
        replace(fields or Fields(), **query),
        inside=inside,
        asked=asked_for(questions),
        reading=reading,
        documents=BoundedDocuments(most),
    )
    finder = FileFinder(root)
    gathered.repository = finder.repository
    chosen = _Chosen(finder, questions)
    for file in chosen:
        gathered.read_file(file)
    gathered.close()
    textless = (unread_file for why, names in gathered.textless.items() for unread_file in unread(root, names, why))
    passed = (unread_file for why, names in chosen.passed.items() for unread_file in unread(root, names, why))
    left = (*finder.unread, *passed, *textless)
    problems = (*finder.problems, *gathered.problems)
    documents = tuple(gathered.documents)
    if not documents:
        listed = "".join(f"\n  {problem}" for problem in (*problems[:5], *left))
        why = "no document could be read." if chosen.count else "it contains no documents."
        needs = "" if problems or gathered.textless else f" It needs files that end in {READABLE}."
        if problems and all("not JSON" in str(problem) for problem in problems):
            needs = " Each line of a .jsonl file is a JSON object; the name of a table ends in .csv."
        raise FathomError(f"Corpus {spec!r}: {why}{needs}{listed}")
    return Corpus(
        documents,
        problems,
        tuple(gathered.duplicates),
        spec,
        fingerprint(documents),
        left,
        gathered.read,
        (*finder.problems, *gathered.without),
        tuple(gathered.sources),
        "" if gathered.documents.complete else _drawn(gathered.documents),
        finder.repository,
    )


def _drawn(texts: BoundedDocuments) -> str:
    return (
        f"{texts.given:,} texts with {texts.size / 1e6:,.0f} MB (parts of long documents count as texts); "
        f"{len(texts.ids):,} of them, drawn by their content, are used"
    )


def fingerprint(documents: tuple[Document, ...]) -> str:
    """Hash of documents in order, with everything that affects samples: 16 hexadecimal digits."""
    digest = sha256()
    for document in documents:
        facts = (document.id, document.language, document.title, document.summary)
        asked = ((question.text, question.answers, question.evidence) for question in document.questions)
        digest.update(repr((facts, tuple(asked))).encode())
    return digest.hexdigest()[:16]


def _check_root(root: Path, spec: str) -> None:
    try:
        if root.is_file():
            if not format_of(root.name) and root.suffix.lower() != ARCHIVE:
                raise FathomError(f"Corpus {spec!r}: unknown format; the name should end in {READABLE}.")
        elif not root.is_dir():
            hint = beside(root) or f". Name a folder, a file that ends in {READABLE}, or 'world'."
            raise FathomError(f"Corpus {spec!r}: no such file or folder{hint}")
    except OSError as error:
        raise FathomError(f"Corpus {spec!r}: cannot be read: {error.strerror}.") from error


class _Chosen:
    """The files of a corpus without those that describe it.

    Attributes:
        count: Number of files so far.
        passed: Names of the others, by the reason.
    """

    def __init__(self, finder: FileFinder, questions: Collection[Path]) -> None:
        self.count = 0
        self.passed: dict[str, list[str]] = {README: [], QUESTIONS: []}
        self._finder = finder
        self._questions = {identity for identity in map(identity_of, questions) if identity}

    def __iter__(self) -> Iterator[File]:
        readmes, others = list[File](), False
        for file in self._finder:
            top = len(file.name.parts) == 1 and not self._finder.repository
            if top and file.name.name.lower().startswith("readme."):
                readmes.append(file)
                continue
            others = True
            if self._questions and not file.inside and identity_of(file.path) in self._questions:
                self.passed[QUESTIONS].append(str(file.name))
            else:
                self.count += 1
                yield file
        # A README next to documents describes them; alone it is the corpus.
        for file in readmes:
            if others:
                self.passed[README].append(str(file.name))
            elif self._questions and identity_of(file.path) in self._questions:
                self.passed[QUESTIONS].append(str(file.name))
            else:
                self.count += 1
                yield file


@dataclass
class Gathering:
    """Documents read so far, and what was left out."""

    names: Fields
    asked: NamedDocuments
    inside: str = ""
    reading: Callable[[int, int | None], None] | None = None
    documents: BoundedDocuments = field(default_factory=BoundedDocuments)
    problems: list[Problem] = field(default_factory=list)
    duplicates: list[Problem] = field(default_factory=list)
    read: int = 0
    without: list[Problem] = field(default_factory=list)
    textless: dict[str, list[str]] = field(default_factory=dict)
    sources: list[tuple[str, str]] = field(default_factory=list)
    reported: int = 0
    repository: bool = False

    def read_file(self, file: File) -> None:
        """Add the documents of one file, which is recorded as their source."""
        problems = Problems(str(file), "problems in this file")
        without_text = Problems(str(file), "rows without a text")
        duplicates = Problems(str(file), "rows of this file with a text seen before")
        rows, used, empty, generated, unseen = 0, 0, 0, False, self._optional_fields_named_by_user()
        for record in self._records(file):
            if isinstance(record, Fault):
                problems.add(record.line, record.reason)
                continue
            rows += 1
            text = record.fields.get(self.names.text)
            empty += isinstance(text, str) and not text.strip()
            if self.repository and record.line is None and isinstance(text, str) and _GENERATED.search(text[:HEAD]):
                generated = True
                break
            unseen = {name for name in unseen if lookup(record.fields, name) is MISSING}
            try:
                for part in _divided(record, self.names.text):
                    with within_time(len(text) if isinstance(text, str) else 0):
                        remarks, duplicate = self._add(part, path_text(str(file.name)))
                    for remark in remarks:
                        problems.add(record.line, remark)
                    if duplicate:
                        duplicates.add(record.line, duplicate)
                used += 1
            except NoTextFieldError as error:
                without_text.add(record.line, str(error))
            except BadRowError as error:
                problems.add(record.line, str(error))
            except TooLongError as error:
                problems.add(record.line, f"reading {error}; it was stopped")
        if rows and without_text.count == rows:
            # A wrong field name is one problem, not thousands.
            reason = f"no field {self.names.text!r}; {self._described(file)}"
            problems.add(None, f"none of its {rows:,} rows is a document: {reason}", rows)
        else:
            self.problems += without_text.listed()
            for name in sorted(unseen) if rows and format_of(file.name.name) in TABLES else ():
                problems.add(None, f"none of its {rows:,} rows has the field {name!r}")
        self.read += bool(used)
        if not used:
            reason = next((problem.reason for problem in problems.listed()), "it is empty")
            if passed := self._why_passed(file, generated=generated, empty=rows == empty):
                self.textless.setdefault(passed, []).append(str(file.name))
                return
            if format_of(file.name.name) in DOCUMENTS:
                self.textless.setdefault(reason, []).append(str(file.name))
                return
            self.without.append(Problem(path_text(str(file.name)), None, reason))
        self.problems += problems.listed()
        self.duplicates += duplicates.listed()

    def _records(self, file: File) -> Iterator[Record | Fault]:
        """The records of a file; those within objects if they are named, or the object of a file has no text."""
        wanted = self.names.field_names() | ({self.inside.partition(".")[0]} - {""})
        read = read_records(file, wanted, self.names.text, divided=True)
        first = list(islice(read, 2))
        alone = len(first) == 1 and format_of(file.name.name) == ".json"
        for record in chain(first, read):
            inside = self.inside
            if not inside and alone and isinstance(record, Record):
                inside = split_by_itself(record.fields, self.names.text)
            if not inside or isinstance(record, Fault):
                yield record
                continue
            inner = [replace(record, fields=each) for each in inner_records(record.fields, inside)]
            numbered = (replace(each, line=number) for number, each in enumerate(inner, start=1))
            yield from numbered if alone else inner
            if not inner:
                yield Fault(record.line, f"no records at {inside!r}; {describe_fields([record.fields], whole=True)}")

    def _described(self, file: File) -> str:
        """The fields of a file without a text, of all columns of its first records."""
        records = [each for each in islice(read_records(file), PROBED) if isinstance(each, Record)]
        inner = (
            [each for record in records for each in inner_records(record.fields, self.inside)] if self.inside else []
        )
        alone = len(records) == 1 and format_of(file.name.name) == ".json" and not inner
        return describe_fields(inner or [record.fields for record in records], whole=alone)

    def _why_passed(self, file: File, *, generated: bool, empty: bool) -> str:
        """Why nothing is lost with a file of a repository that is no document; "" if it may be."""
        if not self.repository:
            return ""
        if format_of(file.name.name) in TABLES:
            return SETTINGS
        return GENERATED if generated else EMPTY * (empty and format_of(file.name.name) not in DOCUMENTS)

    def close(self) -> None:
        """Drop what is too much."""
        self.documents.close()
        self.sources = [(name, id) for name, id in self.sources if id in self.documents]

    def _add(self, record: Record, source: str) -> tuple[list[str], str]:
        """Add the document of a record; returns remarks about it, and of which document it is a duplicate."""
        where = source if record.line is None else f"{source}:{record.line}"
        content, left = plain_record(record.fields, self.names)
        pages = tuple[int, ...]()
        if record.pages:
            whole, pages = joined_pages(record.pages)
            content = {**content, self.names.text: whole}
        document, remarks = make_document(content, self.names, where)
        document, remarks = replace(document, pages=pages), [*left, *remarks]
        if record.part:
            document = _of_part(document, replace(record, fields=content), self.names)
        duplicate = ""
        self._tell(size := len(document.text.encode()))
        always = self.asked.needs(where, document, part=bool(record.part))
        if document.id in self.documents:
            self.sources.append((where, document.id))
            first = self.documents[document.id]
            new = tuple(question for question in document.questions if question not in first.questions)
            moved = f"; its questions were added there ({len(new)})" if new else ""
            duplicate = f"the same text as {first.source}{moved}"
            if always:
                self.documents.keep(first.id)
            self.documents[first.id] = merged(first, document)
        elif self.documents.add(document, size, always=always):
            self.sources.append((where, document.id))
        return (remarks if record.part < 2 else []), duplicate

    def _tell(self, size: int) -> None:
        """Tell the progress, once per megabyte."""
        read = self.documents.size + size
        if self.reading and read >= self.reported + TOLD:
            self.reported = read
            self.reading(read, None)

    def _optional_fields_named_by_user(self) -> set[str]:
        chosen = {getattr(self.names, part.name) for part in fields(Fields)}
        usual = {getattr(Fields(), part.name) for part in fields(Fields)}
        return chosen - usual - {self.names.text}


def _divided(record: Record, text: str) -> Iterator[Record]:
    """A record, or one for each part of its text if that is long."""
    value = record.fields.get(text)
    if (
        record.part
        or not isinstance(value, str)
        or len(value) <= LONG // 4
        or len(value.encode(errors="replace")) <= LONG
    ):
        yield record
        return
    lines = value.replace("\r\n", "\n").replace("\r", "\n")
    for number, part in enumerate(parts_of([lines]), start=1):
        yield Record(record.line, {**record.fields, text: part}, part=number)


def _of_part(document: Document, record: Record, names: Fields) -> Document:
    """A document that is a part of a text: without the summary of the whole, and with the questions that it answers."""
    asked = record.fields.get(names.questions)
    with_evidence = {
        normalise(str(record.get("question") or record.get("text")))
        for record in (asked if isinstance(asked, list) else [asked])
        if isinstance(record, dict) and record.get("evidence")
    }
    answered = (
        question
        for question in document.questions
        if question.evidence
        or (question.text not in with_evidence and any(answer in document.text for answer in question.answers))
    )
    source = f"{document.source}, part {record.part:,}"
    return replace(document, source=source, summary="", questions=tuple(answered))
