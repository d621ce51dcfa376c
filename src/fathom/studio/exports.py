"""Accepted samples for others: records of LongBench Pro, JSON lines that the studio reads back, and a dataset card.

``suites`` writes suites that ``fathom run`` takes. Exports name no people.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from fathom.benchmarks.pro.records import read_record
from fathom.benchmarks.pro.secondary_tasks import LANGUAGES, LENGTHS
from fathom.documents.corpus.records import BadRowError
from fathom.printing import several
from fathom.storage.atomic import whole_file
from fathom.studio.records import as_record
from fathom.studio.states import DONE
from fathom.studio.tasks import StudioTask, find_task, standard_prompts
from fathom.studio.types import Evidence, Sample, StudioDocument
from fathom.tokens.length import format_length
from fathom.tokens.tokenizers import DEFAULT
from fathom.types import Document, FathomError, Part, Span

ExportFormat: TypeAlias = Literal["pro", "suite", "jsonl", "card"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
VERSION = 1
"""Of the lines in ``samples.jsonl`` and ``documents.jsonl``."""
SAMPLES, DOCUMENTS, RECORDS, CARD = "samples.jsonl", "documents.jsonl", "longbench_pro.jsonl", "README.md"
GAP = "\n\n"
_HEADING = {"en": "[Document {number}] {title}", "zh": "[文档 {number}] {title}"}
_LANGUAGE = {code: name for name, code in LANGUAGES.items()}
_LENGTH = {tokens: name for name, tokens in LENGTHS.items()}
_ID = re.compile(r"\w[\w.-]{0,127}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What an export contains.

    Attributes:
        formats: Some of ``EXPORT_FORMATS``.
        title: Title of the data set.
        licence: Identifier of its licence.
        tokenizer: Measures the prompts of the suite.
        lengths: Shorter lengths in tokens at which samples are also in the suite.
        closed_book: Whether the suite asks each question also without its context.
    """

    formats: tuple[ExportFormat, ...] = EXPORT_FORMATS
    title: str = "Samples made with fathom studio"
    licence: str = ""
    tokenizer: str = DEFAULT
    lengths: tuple[int, ...] = ()
    closed_book: bool = False


@dataclass(frozen=True)
class Collection:
    """Samples with what they refer to.

    Attributes:
        documents: Their documents by id.
        texts: The documents' texts by id; read when they are needed.
    """

    samples: Sequence[Sample]
    documents: Mapping[str, StudioDocument]
    texts: Mapping[str, str]
    tasks: Mapping[str, StudioTask]

    def done(self) -> list[Sample]:
        """Accepted and audited samples, by id."""
        return sorted((sample for sample in self.samples if sample.state in DONE), key=lambda sample: sample.id)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not in an export.

    Attributes:
        name: Id of the sample, and its length if it is only left out at one.
        reason: Why.
    """

    name: str
    reason: str

    def __str__(self) -> str:
        return f"sample {self.name}: left out: {self.reason}"


# ------------------------------------------------------------------------------------------------------------- contexts


def context_of(sample: Sample, collection: Collection) -> tuple[Part, ...]:
    """The context of a sample: its document, or its documents with headings.

    Raises:
        FathomError: A document is missing.
    """
    for id in sample.documents:
        if id not in collection.documents or id not in collection.texts:
            raise FathomError(f"document {id} is missing; add it again with `fathom studio add-documents`")
    whole = [Span(id, 0, len(collection.texts[id])) for id in sample.documents]
    if len(whole) == 1:
        return tuple(whole)
    heading = _HEADING.get(sample.language, _HEADING["en"])
    parts: list[Part] = []
    for number, (id, span) in enumerate(zip(sample.documents, whole, strict=True), start=1):
        title = " ".join(collection.documents[id].title.split())
        start = heading.format(number=number, title=title).rstrip()
        parts += [f"{GAP if parts else ''}{start}{GAP}", span]
    return tuple(parts)


def evidence_of(sample: Sample, texts: Mapping[str, str]) -> tuple[Evidence, ...]:
    """The evidence of all components, in the order of documents and text, each passage once.

    Raises:
        FathomError: A passage is not in the sample's documents, or its text is not the quote.
    """
    passages = dict.fromkeys(passage for component in sample.content.components for passage in component.evidence)
    for passage in passages:
        if passage.document not in sample.documents:
            raise FathomError(f"its evidence is from document {passage.document}, which is not one of its documents")
        if not passage.quote or texts[passage.document][passage.start : passage.end] != passage.quote:
            where = f"{passage.start:,} of document {passage.document}"
            raise FathomError(f"its evidence at {where} is not the quoted text; mark it again")
    place = {id: number for number, id in enumerate(sample.documents)}
    return tuple(sorted(passages, key=lambda passage: (place[passage.document], passage.start, passage.end)))


def prompts_of(sample: Sample, tasks: Mapping[str, StudioTask]) -> tuple[str, str]:
    """The thinking and the non-thinking prompt of a sample: its own, or the standard ones of its task."""
    content = sample.content
    if content.prompt_thinking.strip() and content.prompt_answering.strip():
        return content.prompt_thinking.strip(), content.prompt_answering.strip()
    return standard_prompts(find_task(tasks, sample.task), sample.language, content.question)


def answer_of(sample: Sample, task: StudioTask) -> tuple[str, ...]:
    """The answer: its components, one line each; of summaries, the references unchanged."""
    texts = (component.text.strip() for component in sample.content.components)
    return tuple(texts) if task.is_summary else tuple(" ".join(text.split()) for text in texts)


def joined(parts: Iterable[Part], texts: Mapping[str, str]) -> str:
    """Parts as one text."""
    return "".join(part if isinstance(part, str) else texts[part.doc][part.start : part.end] for part in parts)


def item_name(id: str) -> str:
    """An id that is usable in files and commands, equal for all valid ids."""
    return id if _ID.fullmatch(id) else f"s-{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


# ------------------------------------------------------------------------------------------------- LongBench Pro, JSONL


def pro_records(collection: Collection) -> Iterator[dict[str, Any] | LeftOut]:
    """Records in LongBench Pro's schema, which ``fathom build pro --data FILE`` and the released code read.

    Args:
        collection: The samples; those that are accepted and of one of the 25 tasks are exported.
    """
    for sample in collection.done():
        try:
            yield pro_record(sample, collection)
        except FathomError as error:
            yield LeftOut(sample.id, str(error))


def pro_record(sample: Sample, collection: Collection) -> dict[str, Any]:
    """One sample in LongBench Pro's schema.

    Raises:
        FathomError: It cannot be expressed in it; the message says why.
    """
    task = find_task(collection.tasks, sample.task)
    published = task.published
    if published is None:
        raise FathomError(f"{task.name} is not a task of LongBench Pro; export it as a suite or as JSON lines")
    if sample.bucket not in _LENGTH:
        length = f"length of {sample.bucket:,} tokens" if sample.bucket else "sample without a length bucket"
        raise FathomError(f"LongBench Pro has no {length}, only {', '.join(LENGTHS)}")
    if sample.language not in _LANGUAGE:
        raise FathomError(f"LongBench Pro has no language {sample.language!r}")
    thinking, answering = prompts_of(sample, collection.tasks)
    record = {
        "id": item_name(sample.id),
        "context": joined(context_of(sample, collection), collection.texts),
        "language": _LANGUAGE[sample.language],
        "token_length": _LENGTH[sample.bucket],
        "primary_task": published.primary,
        "secondary_task": published.name,
        "contextual_requirement": sample.content.requirement.title(),
        "question_nonthinking": answering,
        "question_thinking": thinking,
        "answer": list(answer_of(sample, task)),
    }
    if sample.difficulty:
        record["difficulty"] = sample.difficulty
    try:
        read_record(record, "export")
    except BadRowError as error:
        raise FathomError(str(error)) from None
    return record


def sample_lines(collection: Collection) -> Iterator[dict[str, Any] | LeftOut]:
    """Accepted samples as the studio reads them back: content, evidence and difficulty, without people."""
    for sample in collection.done():
        try:
            context_of(sample, collection)
            evidence_of(sample, collection.texts)
        except FathomError as error:
            yield LeftOut(sample.id, str(error))
            continue
        yield {
            "fathom": "studio sample",
            "version": VERSION,
            "id": sample.id,
            "task": sample.task,
            "language": sample.language,
            "bucket": sample.bucket,
            "documents": list(sample.documents),
            "difficulty": sample.difficulty,
            "content": as_record(sample.content),
        }


def document_lines(collection: Collection) -> Iterator[dict[str, Any]]:
    """The documents of accepted samples, each with its text."""
    for id in sorted({id for sample in collection.done() for id in sample.documents}):
        if id in collection.documents and id in collection.texts:
            about = as_record(collection.documents[id])
            yield {"fathom": "studio document", "version": VERSION, **about, "text": collection.texts[id]}


def write_lines(path: Path, records: Iterable[Mapping[str, Any] | LeftOut]) -> tuple[LeftOut, ...]:
    """Write records as JSON lines.

    Returns:
        What is left out.

    Raises:
        FathomError: The file cannot be written.
    """
    left_out = []
    with whole_file(path) as stream:
        for record in records:
            if isinstance(record, LeftOut):
                left_out.append(record)
            else:
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return tuple(left_out)


# --------------------------------------------------------------------------------------------------------- dataset card


def dataset_card(collection: Collection, *, title: str, licence: str = "", about: str = "") -> str:
    """A README with the metadata that the Hugging Face hub reads.

    Args:
        collection: The samples; only accepted ones are described.
        title: Title of the data set.
        licence: Identifier of its licence; "" for ``other``.
        about: A paragraph on it.
    """
    samples = collection.done()
    used = [collection.documents[id] for id in sorted({id for sample in samples for id in sample.documents})]
    summaries = {name for name, task in collection.tasks.items() if task.is_summary}
    kinds = {"summarization" if sample.task in summaries else "question-answering" for sample in samples}
    facts: dict[str, Any] = {
        "pretty_name": title,
        "license": licence or "other",
        "language": sorted({sample.language for sample in samples}),
        "task_categories": sorted(kinds),
        "size_categories": [_size(len(samples))],
        "annotations_creators": ["expert-generated", "machine-generated"],
        "tags": ["long-context", "fathom"],
        "configs": [{"config_name": "default", "data_files": RECORDS}],
    }
    # JSON is YAML, whatever the texts contain.
    front = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in facts.items())
    lengths = sorted({sample.bucket for sample in samples})
    counts = Counter((sample.task, sample.language, sample.bucket) for sample in samples)
    rows = [
        f"| {_cell(task)} | {language} | "
        + " | ".join(str(counts[task, language, length]) for length in lengths)
        + " |"
        for task, language in dict.fromkeys((task, language) for task, language, _ in sorted(counts))
    ]
    licences = Counter(document.licence or "not stated" for document in used)
    tiers = Counter(sample.difficulty or "not known" for sample in samples)
    audited = sum(sample.state == "audited" for sample in samples)
    parts = [
        f"---\n{front}\n---",
        f"# {_escaped(title)}",
        _escaped(about) or "Questions about long texts with reference answers.",
        f"{several(len(samples), 'sample')} over {several(len(used), 'document')}, made with `fathom studio`. "
        f"{_reviewed_by(samples)}; audited later: {audited:,}.",
        "## Samples",
        f"| task | language | {' | '.join(map(format_length, lengths))} |\n| --- | --- |{' --: |' * len(lengths)}\n"
        + "\n".join(rows),
        f"Difficulty: {_counts_in_words(tiers)}.",
        "## Documents",
        f"Licences of the documents: {_counts_in_words(licences)}.",
        "## Files",
        f"- `{RECORDS}`: samples of the 25 tasks in LongBench Pro's schema; `fathom build pro --data FOLDER` reads it\n"
        "- `suite/`: a suite for `fathom run`, with all tasks\n"
        f"- `{SAMPLES}`, `{DOCUMENTS}`: everything, with evidence; `fathom studio import` reads both",
    ]
    return "\n\n".join(parts) + "\n"


def _reviewed_by(samples: Sequence[Sample]) -> str:
    """How many people reviewed the answers."""
    counts = Counter(len({review.reviewer for review in sample.current_reviews}) for sample in samples)
    if set(counts) == {2}:
        who = "two people who did not see each other's verdicts"
    elif set(counts) == {1}:
        who = "one person who did not write it"
    else:
        who = ", ".join(f"{several(people, 'person', 'people')} ({counts[people]:,})" for people in sorted(counts))
    return f"Every answer was reviewed component by component by {who}"


def _size(count: int) -> str:
    bounds = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
    return next((name for most, name in bounds if count < most), "100K<n<1M")


def _counts_in_words(counts: Counter[str]) -> str:
    return ", ".join(f"{_escaped(name)} ({count:,})" for name, count in sorted(counts.items())) or "none"


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|")


def _escaped(text: str) -> str:
    """A text without line ends and marks of Markdown and HTML."""
    return re.sub(r"([<>\[\]`*_\\#])", r"\\\1", " ".join(text.split()))


def document_of(document: StudioDocument, text: str) -> Document:
    """A document of the studio as one that suites have."""
    return Document(
        id=document.id,
        text=text,
        source=document.source,
        language=document.language,
        title=document.title,
        licence=document.licence,
    )
