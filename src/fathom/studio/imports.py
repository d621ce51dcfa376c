"""Samples from elsewhere: records of LongBench Pro, and earlier exports of the studio, to be reviewed.

Files are read by ``documents.records``: nothing is extracted to a path that an archive names, and what is compressed
more than a hundred times is refused. What is read is data: every field is checked.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, cast

from annotated_types import Gt, Le, MaxLen, MinLen
from pydantic import ConfigDict, Strict, StringConstraints

from fathom.benchmarks.pro.records import FIELDS, read_record
from fathom.benchmarks.pro.secondary_tasks import BY_NAME, LENGTHS
from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import document_id, normalise
from fathom.documents.records import TABLES, Fault, File, find_files, read_records
from fathom.storage.validation import NO_NUL, Count, Items, Text
from fathom.studio.exports import DOCUMENTS, SAMPLES, VERSION
from fathom.studio.intake import IntakeDocument, sketch_of, taken_of
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
_Tier: TypeAlias = Literal["", "Easy", "Moderate", "Hard", "Extreme"]
_Fact: TypeAlias = Annotated[Text, MaxLen(2000)]
_Language: TypeAlias = Annotated[Text, StringConstraints(pattern="^[a-z]{2}$")]


@dataclass(frozen=True, slots=True)
class ImportedSample:
    """A sample that was read.

    Attributes:
        language: ``en`` or ``zh``.
        bucket: Its length bucket in tokens.
        documents: Ids of its documents.
        difficulty: Its tier; "" if unknown.
        place: Where it stands, for messages.
    """

    __pydantic_config__ = ConfigDict(extra="ignore")  # lines name their format too

    id: Annotated[Text, MaxLen(128)]
    task: Annotated[Text, MaxLen(200)]
    language: _Language
    bucket: Annotated[int, Strict(), Gt(0), Le(16 * BUCKETS[-1])]
    documents: Annotated[Items[Text], MinLen(1)]
    content: Content
    difficulty: _Tier = ""
    place: Text = ""

    def action(self, drafter: str) -> Create:
        """The action that adds it with its content as the only candidate.

        Args:
            drafter: Name of the origin, such as ``import:FILE``.
        """
        candidate = Candidate("imported", drafter, self.content)
        return Create(self.id, self.task, self.language, self.bucket, self.documents, (candidate,))


@dataclass(frozen=True, slots=True)
class _DocumentLine:
    """A line of ``documents.jsonl``."""

    __pydantic_config__ = ConfigDict(extra="ignore")

    id: Text
    text: Annotated[str, Strict(), NO_NUL]
    language: _Language
    tokens: Count = 0
    bucket: Count = 0
    title: _Fact = ""
    source: _Fact = ""
    licence: _Fact = ""
    domain: _Fact = ""
    format: _Fact = ""

    def taken(self) -> IntakeDocument:
        """The document.

        Raises:
            RecordError: Its text is another one.
        """
        if document_id(self.text) != self.id:
            raise RecordError("the id is not that of the text; the file was changed")
        about = {name.name: getattr(self, name.name) for name in fields(self) if name.name != "text"}
        return IntakeDocument(StudioDocument(**about), self.text, sketch_of(self.text))


@dataclass
class Imported:
    """What was read.

    Attributes:
        samples: By id.
        documents: By id.
        problems: What could not be read and why, one line each; the first ones.
    """

    samples: dict[str, ImportedSample] = field(default_factory=dict)
    documents: dict[str, IntakeDocument] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    _characters: int = 0

    def add_problem(self, place: str, reason: str) -> None:
        """Adds what could not be read, and why."""
        self.problem_count += 1
        if len(self.problems) < LISTED:
            self.problems.append(f"{place}: {reason}")

    def add_document(self, taken: IntakeDocument) -> None:
        """Adds a document.

        Raises:
            FathomError: There is too much text.
        """
        if taken.document.id not in self.documents:
            self._characters += len(taken.text)
            if self._characters > MOST_CHARACTERS:
                raise FathomError(f"more than {MOST_CHARACTERS:,} characters; import it in several parts")
            self.documents[taken.document.id] = taken

    def read_pro(self, file: File, counter: TokenCounter) -> None:
        """Reads records of LongBench Pro; a file of other records is left out.

        Raises:
            FathomError: There are too many samples, or too much text.
        """
        for place, record in self._records(file):
            if lacking := FIELDS - record.keys():
                self.add_problem(place, f"it lacks {', '.join(sorted(lacking))}; not a record of LongBench Pro")
                return
            try:
                sample, document = _pro_sample(record, place)
            except (BadRowError, RecordError) as error:
                self.add_problem(place, str(error))
                continue
            if self._is_new(sample):
                taken = taken_of(document, counter)
                # A published record has the length that it states.
                self.add_document(replace(taken, document=replace(taken.document, bucket=sample.bucket)))
                self.samples[sample.id] = sample

    def read_documents(self, file: File) -> None:
        """Reads the documents of an export.

        Raises:
            FathomError: There is too much text.
        """
        for place, record in self._records(file):
            try:
                self.add_document(_exported(_DocumentLine, record, "studio document").taken())
            except RecordError as error:
                self.add_problem(place, str(error))

    def read_samples(self, file: File) -> None:
        """Reads the samples of an export, whose documents were read before.

        Raises:
            FathomError: There are too many samples.
        """
        for place, record in self._records(file):
            try:
                sample = replace(_exported(ImportedSample, record, "studio sample"), place=place)
            except RecordError as error:
                self.add_problem(place, str(error))
                continue
            if missing := [id for id in sample.documents if id not in self.documents]:
                self.add_problem(place, f"document {missing[0]!r} is not in {DOCUMENTS}")
            elif self._is_new(sample):
                self.samples[sample.id] = replace(sample, content=self._with_true_evidence(sample))

    def _records(self, file: File) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for record in read_records(file):
            place = f"{file}:{record.line}" if record.line else str(file)
            if isinstance(record, Fault):
                self.add_problem(place, record.reason)
            else:
                yield place, record.fields

    def _is_new(self, sample: ImportedSample) -> bool:
        """Whether no sample of that id was read before."""
        if earlier := self.samples.get(sample.id):
            self.add_problem(sample.place, f"a second sample {sample.id!r}, beside {earlier.place}; left out")
            return False
        if len(self.samples) >= MOST_SAMPLES:
            raise FathomError(f"{sample.place}: more than {MOST_SAMPLES:,} samples; import them in several parts")
        return True

    def _with_true_evidence(self, sample: ImportedSample) -> Content:
        """The content without evidence that is not in the documents."""
        components = []
        for component in sample.content.components:
            true = tuple(evidence for evidence in component.evidence if self._is_true(evidence, sample))
            components.append(replace(component, evidence=true))
        return replace(sample.content, components=tuple(components))

    def _is_true(self, evidence: Evidence, sample: ImportedSample) -> bool:
        """Whether evidence is in the documents; reports it if not."""
        if evidence.quote and evidence.document in sample.documents:
            text = self.documents[evidence.document].text
            if text[evidence.start : evidence.end] == evidence.quote:
                return True
        self.add_problem(sample.place, f"evidence at {evidence.start:,} is not the quoted text; it was left out")
        return False


def read_import(path: Path, tokenizer: Tokenizer) -> Imported:
    """Read samples from a file, a folder or a ZIP archive.

    Args:
        path: An export of the studio (a folder or archive with ``samples.jsonl`` and ``documents.jsonl``), or files
            with records of LongBench Pro in any format of tables.

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
    imported = Imported()
    for problem in listed.problems:
        imported.add_problem(problem.path, problem.reason)
    with closing(CountCache(cache_folder() / "counts.sqlite")) as cache:
        counter = TokenCounter(tokenizer, cache)
        if named[SAMPLES] and named[DOCUMENTS]:
            for file in named[DOCUMENTS]:
                imported.read_documents(file)
            for file in named[SAMPLES]:
                imported.read_samples(file)
        else:
            for file in listed.files:
                imported.read_pro(file, counter)
    if not imported.samples:
        reasons = "".join(f"\n  {line}" for line in imported.problems[:5])
        raise FathomError(
            f"{path}: no sample to import; give records of LongBench Pro, or an export with {SAMPLES} and "
            f"{DOCUMENTS}{reasons}"
        )
    return imported


def _pro_sample(record: Mapping[str, object], place: str) -> tuple[ImportedSample, Document]:
    read = read_record(record, place)
    text = normalise(read.text)
    document = Document(document_id(text), text, place, read.language)
    facts = read.meta
    question = checked_text(str(facts["question_nonthinking"]), "question_nonthinking")
    answers = facts["answer"]
    assert isinstance(answers, list)
    content = Content(
        question=question,
        components=tuple(Component(checked_text(str(line), "answer")) for line in answers),
        requirement="full" if facts["contextual_requirement"] == "Full" else "partial",
        prompt_thinking=checked_text(str(facts["question_thinking"]), "question_thinking"),
        prompt_answering=question,
    )
    sample = ImportedSample(
        id=str(facts["id"]),
        task=BY_NAME[str(facts["secondary_task"])].name,
        language=read.language,
        bucket=LENGTHS[str(facts["token_length"])],
        documents=(document.id,),
        content=content,
        difficulty=cast(_Tier, facts.get("difficulty") or ""),
        place=place,
    )
    return sample, document


def _exported(kind: type[Value], record: Mapping[str, Any], written_as: str) -> Value:
    """A line of an export."""
    if record.get("fathom") != written_as:
        raise RecordError(f"not a {written_as}; expected lines written by `fathom studio export`")
    if record.get("version") != VERSION:
        raise RecordError(f"version {str(record.get('version'))[:20]!r}; this version of fathom reads {VERSION}")
    return from_record(kind, record, "")
