"""Samples from elsewhere: records of LongBench Pro, and earlier exports of the studio, to be reviewed.

Files are read by ``documents.records``: nothing is extracted to a path that an archive names, and what is compressed
more than a hundred times is refused. What is read is data: every field is checked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from fathom.benchmarks.pro.records import FIELDS, read_record
from fathom.benchmarks.pro.secondary_tasks import BY_NAME, LENGTHS
from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import document_id, normalise
from fathom.documents.records import TABLES, Fault, File, find_files, read_records
from fathom.studio.exports import DOCUMENTS, SAMPLES, VERSION
from fathom.studio.intake import Taken, sketch_of, taken_of
from fathom.studio.reading import check_archive
from fathom.studio.records import RecordError, checked_text, from_record
from fathom.studio.types import BUCKETS, Candidate, Component, Content, Create, Evidence, StudioDocument
from fathom.tokens.counts import CountCache, TokenCounter, cache_folder
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import Document, FathomError

Value = TypeVar("Value")
MOST_SAMPLES = 100_000
MOST_CHARACTERS = 4_000_000_000
"""Maximum characters of all documents of one import."""
MOST_FILES = 10_000
MOST_UNPACKED = 16 << 30
"""Maximum bytes of all files of an archive."""
LISTED = 50
DIFFICULTIES = ("", "Easy", "Moderate", "Hard", "Extreme")
_DOCUMENT = ("title", "source", "licence", "domain", "format")


@dataclass(frozen=True, slots=True)
class ImportedSample:
    """A sample that was read.

    Attributes:
        id: Its id in the file.
        task: Name of its task.
        language: ``en`` or ``zh``.
        bucket: Its length bucket in tokens.
        documents: Ids of its documents.
        content: Its content.
        difficulty: Its tier; "" if unknown.
        place: Where it stands, for messages.
    """

    id: str
    task: str
    language: str
    bucket: int
    documents: tuple[str, ...]
    content: Content
    difficulty: str
    place: str

    def action(self, drafter: str) -> Create:
        """The action that adds it with its content as the only candidate.

        Args:
            drafter: Name of the origin, such as ``import:FILE``.
        """
        candidate = Candidate("imported", drafter, self.content)
        return Create(self.id, self.task, self.language, self.bucket, self.documents, (candidate,))


@dataclass
class Imported:
    """What was read.

    Attributes:
        samples: By id.
        documents: By id.
        problems: What could not be read and why, one line each; the first ones.
        problem_count: Number of all problems.
    """

    samples: dict[str, ImportedSample] = field(default_factory=dict)
    documents: dict[str, Taken] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    _characters: int = 0

    def tell(self, place: str, reason: str) -> None:
        """Add a problem."""
        self.problem_count += 1
        if len(self.problems) < LISTED:
            self.problems.append(f"{place}: {reason}")

    def take(self, taken: Taken) -> None:
        """Add a document.

        Raises:
            FathomError: There is too much text.
        """
        if taken.document.id not in self.documents:
            self._characters += len(taken.text)
            if self._characters > MOST_CHARACTERS:
                raise FathomError(f"more than {MOST_CHARACTERS:,} characters; import it in several parts")
            self.documents[taken.document.id] = taken


def read_import(path: Path, tokenizer: Tokenizer) -> Imported:
    """Read samples from a file, a folder or a ZIP archive.

    Args:
        path: An export of the studio (a folder or archive with ``samples.jsonl`` and ``documents.jsonl``), or files
            with records of LongBench Pro in any format of tables.
        tokenizer: Measures documents.

    Raises:
        FathomError: There is nothing to import, or too much.
    """
    if not path.exists():
        raise FathomError(f"{path}: no such file or folder")
    try:
        check_archive(path, MOST_FILES, MOST_UNPACKED)
    except FathomError as error:
        raise FathomError(f"{path}: {error}") from error
    listed = find_files(path, TABLES)
    named = {name: [file for file in listed.files if file.name.name == name] for name in (SAMPLES, DOCUMENTS)}
    found = Imported()
    for problem in listed.problems:
        found.tell(problem.path, problem.reason)
    cache = CountCache(cache_folder() / "counts.sqlite")
    try:
        counter = TokenCounter(tokenizer, cache)
        if named[SAMPLES] and named[DOCUMENTS]:
            for file in named[DOCUMENTS]:
                _read_documents(file, found)
            for file in named[SAMPLES]:
                _read_samples(file, found)
        else:
            for file in listed.files:
                _read_pro(file, found, counter)
    finally:
        cache.close()
    if not found.samples:
        reasons = "".join(f"\n  {line}" for line in found.problems[:5])
        raise FathomError(
            f"{path}: no sample to import; give records of LongBench Pro, or an export with {SAMPLES} and "
            f"{DOCUMENTS}{reasons}"
        )
    return found


# ------------------------------------------------------------------------------------------------------- LongBench Pro


def _read_pro(file: File, found: Imported, counter: TokenCounter) -> None:
    for place, record in _records(file, found):
        if not record.keys() >= FIELDS:
            found.tell(place, f"it lacks {', '.join(sorted(FIELDS - record.keys()))}; not a record of LongBench Pro")
            return
        try:
            sample, document = _pro_sample(record, place)
        except (BadRowError, RecordError) as error:
            found.tell(place, str(error))
            continue
        if _is_new(sample, found):
            taken = taken_of(document, counter)
            # A published record has the length that it states.
            found.take(replace(taken, document=replace(taken.document, bucket=sample.bucket)))


def _pro_sample(record: Mapping[str, object], place: str) -> tuple[ImportedSample, Document]:
    read = read_record(record, place)
    text = normalise(read.text)
    document = Document(document_id(text), text, place, read.language)
    said = read.meta
    question = checked_text(str(said["question_nonthinking"]), "question_nonthinking")
    answers = said["answer"]
    assert isinstance(answers, list)
    content = Content(
        question=question,
        components=tuple(Component(checked_text(str(line), "answer")) for line in answers),
        requirement="full" if said["contextual_requirement"] == "Full" else "partial",
        prompt_thinking=checked_text(str(said["question_thinking"]), "question_thinking"),
        prompt_answering=question,
    )
    sample = ImportedSample(
        id=str(said["id"]),
        task=BY_NAME[str(said["secondary_task"])].name,
        language=read.language,
        bucket=LENGTHS[str(said["token_length"])],
        documents=(document.id,),
        content=content,
        difficulty=str(said.get("difficulty") or ""),
        place=place,
    )
    return sample, document


# ----------------------------------------------------------------------------------------------------- earlier exports


def _read_documents(file: File, found: Imported) -> None:
    for place, record in _records(file, found):
        try:
            _check_kind(record, "studio document")
            said = {name: checked_text(_of(str, record, name, ""), name, most=2000) for name in _DOCUMENT}
            text = _of(str, record, "text")
            checked_text(text, "text", most=len(text))
            if document_id(text) != record.get("id"):
                raise RecordError("the id is not that of the text; the file was changed")
            document = StudioDocument(
                id=document_id(text),
                language=_language(record),
                tokens=_of(int, record, "tokens", 0),
                bucket=_of(int, record, "bucket", 0),
                title=said["title"],
                source=said["source"],
                licence=said["licence"],
                domain=said["domain"],
                format=said["format"],
            )
        except RecordError as error:
            found.tell(place, str(error))
            continue
        found.take(Taken(document, text, sketch_of(text)))


def _read_samples(file: File, found: Imported) -> None:
    for place, record in _records(file, found):
        try:
            _check_kind(record, "studio sample")
            sample = _exported_sample(record, place)
        except RecordError as error:
            found.tell(place, str(error))
            continue
        if missing := [id for id in sample.documents if id not in found.documents]:
            found.tell(place, f"document {missing[0]!r} is not in {DOCUMENTS}")
        elif _is_new(sample, found, keep=True):
            found.samples[sample.id] = replace(sample, content=_with_true_evidence(sample, found))


def _exported_sample(record: Mapping[str, Any], place: str) -> ImportedSample:
    documents = from_record(Create, {**_EMPTY, "documents": record.get("documents")}, "sample").documents
    difficulty = _of(str, record, "difficulty", "")
    if difficulty not in DIFFICULTIES:
        raise RecordError(f"difficulty is unknown; expected {', '.join(DIFFICULTIES[1:])}")
    if not documents:
        raise RecordError("documents is empty")
    bucket = _of(int, record, "bucket")
    if not 0 < bucket <= 16 * BUCKETS[-1]:
        raise RecordError("bucket: expected a length in tokens")
    return ImportedSample(
        id=checked_text(_of(str, record, "id"), "id", most=128),
        task=checked_text(_of(str, record, "task"), "task", most=200),
        language=_language(record),
        bucket=bucket,
        documents=documents,
        content=from_record(Content, record.get("content"), "content"),
        difficulty=difficulty,
        place=place,
    )


_EMPTY = {"sample": "", "task": "", "language": "", "bucket": 0}


def _with_true_evidence(sample: ImportedSample, found: Imported) -> Content:
    """The content without evidence that is not in the documents."""

    def is_true(one: Evidence) -> bool:
        taken = found.documents.get(one.document)
        right = (
            taken is not None
            and one.document in sample.documents
            and bool(one.quote)
            and taken.text[one.start : one.end] == one.quote
        )
        if not right:
            found.tell(sample.place, f"evidence at {one.start:,} is not the quoted text; it was left out")
        return right

    components = tuple(replace(one, evidence=tuple(filter(is_true, one.evidence))) for one in sample.content.components)
    return replace(sample.content, components=components)


def _check_kind(record: Mapping[str, Any], kind: str) -> None:
    if record.get("fathom") != kind:
        raise RecordError(f"not a {kind}; expected lines written by `fathom studio export`")
    if record.get("version") != VERSION:
        raise RecordError(f"version {str(record.get('version'))[:20]!r}; this version of fathom reads {VERSION}")


def _language(record: Mapping[str, Any]) -> str:
    language = _of(str, record, "language")
    if not (len(language) == 2 and language.isascii() and language.islower()):
        raise RecordError("language: expected two letters such as en or zh")
    return language


def _of(kind: type[Value], record: Mapping[str, Any], name: str, default: Value | None = None) -> Value:
    value = record.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordError(f"{name}: expected {'a whole number' if kind is int else 'a text'}")
    if isinstance(value, int) and value < 0:
        raise RecordError(f"{name}: expected a number of at least 0")
    return value


# -------------------------------------------------------------------------------------------------------------- records


def _records(file: File, found: Imported) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for record in read_records(file):
        place = f"{file}:{record.line}" if record.line else str(file)
        if isinstance(record, Fault):
            found.tell(place, record.reason)
        else:
            yield place, record.fields


def _is_new(sample: ImportedSample, found: Imported, *, keep: bool = False) -> bool:
    """Whether no sample of that id was read before; adds it, unless the caller does."""
    if sample.id in found.samples:
        found.tell(sample.place, f"a second sample {sample.id!r}, beside {found.samples[sample.id].place}; left out")
        return False
    if len(found.samples) >= MOST_SAMPLES:
        raise FathomError(f"{sample.place}: more than {MOST_SAMPLES:,} samples; import them in several parts")
    if not keep:
        found.samples[sample.id] = sample
    return True
