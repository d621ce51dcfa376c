"""Exports of a store's accepted samples, and imports into it."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from fathom.benchmarks.pro.official import fold
from fathom.documents.records import path_text
from fathom.plugins.names import chosen
from fathom.printing import readable
from fathom.storage.atomic import whole_file
from fathom.studio.checks import is_id
from fathom.studio.exports import (
    CARD,
    DOCUMENTS,
    EXPORT_FORMATS,
    RECORDS,
    SAMPLES,
    Collection,
    ExportFormat,
    ExportOptions,
    LeftOut,
    dataset_card,
    document_lines,
    pro_records,
    sample_lines,
    write_lines,
)
from fathom.studio.faults import faults_of, faults_of_sample, repeats
from fathom.studio.imports import Imported, read_import
from fathom.studio.records import RecordError
from fathom.studio.states import RefusedError
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.suites import write_suite
from fathom.studio.tasks import StudioTask
from fathom.studio.types import IMPORT, DocumentState, Sample, SetDifficulty
from fathom.studio.work import collection_of, settle_intake, store_document
from fathom.suites.suitefile import check_contents
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError

SUITE = "suite"


@readable
@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was exported.

    Attributes:
        samples: Number of accepted samples without fault.
        left_out: What is not in the export and why, one line each.
    """

    folder: Path
    files: tuple[str, ...]
    samples: int
    left_out: tuple[str, ...]


def formats_of(names: Sequence[str]) -> tuple[ExportFormat, ...]:
    """Formats of an export by name.

    Raises:
        FathomError: One is unknown, or none is given.
    """
    return chosen("`formats`", names, EXPORT_FORMATS)


def export_samples(
    store: Store,
    tasks: Mapping[str, StudioTask],
    out: Path,
    options: ExportOptions,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> ExportReport:
    """Write the accepted samples of a store into a folder; files of an earlier export are replaced.

    Args:
        progress: Called with the numbers of samples of the suite and of all.

    Raises:
        FathomError: No sample is accepted, the folder has other files, or it cannot be written.
    """
    whole = collection_of(store, tasks, states=("accepted", "audited"))
    if not whole.samples:
        raise FathomError("no sample is accepted yet; `fathom studio stats` says where they are")
    withheld = _withheld(whole)
    reasons = {id: str(LeftOut(id, why)) for id, why in withheld.items()}
    collection = replace(whole, samples=tuple(sample for sample in whole.samples if sample.id not in withheld))
    if not collection.samples:
        raise FathomError(f"no accepted sample is without fault: {next(iter(reasons.values()))}")
    check_contents(out, (RECORDS, SAMPLES, DOCUMENTS, SUITE, CARD), "an export")
    files: list[str] = []
    lines: list[str] = []
    left_out = reasons
    if "pro" in options.formats:
        lines += [f"{RECORDS}: {reason}" for reason in write_lines(out / RECORDS, pro_records(collection))]
        files.append(RECORDS)
    if "jsonl" in options.formats:
        left_out |= {reason.name: str(reason) for reason in write_lines(out / SAMPLES, sample_lines(collection))}
        write_lines(out / DOCUMENTS, document_lines(collection))
        files += [SAMPLES, DOCUMENTS]
    if "suite" in options.formats:
        written = write_suite(collection, out / SUITE, options, progress)
        left_out |= {reason.name: str(reason) for reason in written.left_out}
        files.append(SUITE)
    if "card" in options.formats:
        with whole_file(out / CARD) as stream:
            stream.write(dataset_card(collection, title=options.title, licence=options.licence))
        files.append(CARD)
    return ExportReport(out, tuple(files), len(collection.samples), (*lines, *left_out.values()))


def _withheld(whole: Collection) -> dict[str, str]:
    """Why accepted samples are not released: faults, a document that was excluded since, or a question asked before."""
    withheld, released = dict[str, str](), defaultdict[str, list[Sample]](list)
    for sample in sorted(whole.samples, key=lambda sample: sample.id):
        alike = released[fold(sample.content.question)]
        reasons = [*map(str, faults_of_sample(sample, whole.tasks)), *map(str, repeats(sample, alike))]
        for document in (whole.documents[id] for id in sample.documents if id in whole.documents):
            if document.state == "excluded":
                reasons.append(f"document {document.id} is excluded: {document.reason}")
        if reasons:
            withheld[sample.id] = ". ".join(reasons)
        else:
            alike.append(sample)
    return withheld


@readable
@dataclass(frozen=True, slots=True)
class ImportedSamples:
    """What was imported.

    Attributes:
        samples: Ids of the new samples.
        known: Ids of samples that the studio has already, which were left unchanged.
        documents: Number of new documents.
        problems: What could not be read and why, one line each.
    """

    samples: tuple[str, ...]
    known: tuple[str, ...]
    documents: int
    problems: tuple[str, ...]
    problem_count: int


def import_samples(
    store: Store, path: Path, *, tokenizer: str | None = None, available: bool = False
) -> ImportedSamples:
    """Add samples of LongBench Pro or of an earlier export to a store, to be reviewed.

    Args:
        path: A file, folder or ZIP archive.
        tokenizer: Measures documents; None for that of the store.
        available: Whether new documents need no compliance review.

    Raises:
        FathomError: There is nothing to import.
    """
    imported = read_import(path, get_tokenizer(settle_intake(store, tokenizer).tokenizer))
    present = set(store.document_ids())
    new = 0
    for taken in imported.documents.values():
        if taken.document.id not in present:
            state: DocumentState = "available" if available else "collected"
            document = replace(taken.document, state=state)
            with _reported(imported, f"document {document.id}"):
                store_document(store, replace(taken, document=document))
                new += 1
    known = {sample.id for sample in store.samples()}
    added, left = [], []
    for sample in imported.samples.values():
        action = replace(sample.action(f"{IMPORT}{path_text(path.name)}"), sample=store_id(sample.id))
        if action.sample in known:
            left.append(action.sample)
            continue
        with _reported(imported, sample.place):
            made = store.act(action, AT_SERVER)
            added.append(made.id)
            for fault in faults_of(sample.content, store.tasks.get(made.task), made.language):
                imported.add_problem(sample.place, f"sample {made.id} has a fault, to be mended: {fault}")
            if sample.difficulty:
                store.act(SetDifficulty(made.id, made.version, sample.difficulty), AT_SERVER)
    return ImportedSamples(tuple(added), tuple(left), new, tuple(imported.problems), imported.problem_count)


@contextmanager
def _reported(imported: Imported, place: str) -> Iterator[None]:
    """Reports what the store refuses, so that the rest is imported."""
    try:
        yield
    except (RefusedError, RecordError) as error:
        imported.add_problem(place, str(error))


def store_id(id: str) -> str:
    """An id that a store accepts, equal for those that are accepted."""
    return id if is_id(id) else f"s-{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
