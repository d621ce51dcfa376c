"""Adds uploaded files to a store, one after the other, so that an interrupted upload keeps what was stored."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fathom.documents.records.extractor import Extractor
from fathom.server.database import FullStoreError
from fathom.studio.intake import IntakeRules, read_documents
from fathom.studio.reading import own_name, read_limited, reader, reason_of
from fathom.studio.store import Store
from fathom.studio.types import Person, StudioDocument
from fathom.studio.work import sketches_of, store_document
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError

SECONDS = 600.0
"""For all files of an upload; those that are left after it are named, to be sent again."""
_PREFIX = "fathom-upload-"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that somebody sent.

    Attributes:
        name: Its name on their machine: data, and no path here.
    """

    name: str
    content: BinaryIO


@dataclass(frozen=True, slots=True)
class AddedFile:
    """What became of an uploaded file.

    Attributes:
        name: Its name on the machine of the sender.
        documents: New documents.
        known: Documents with its texts that were there already.
        problems: What could not be read and why, one line each.
    """

    name: str
    documents: tuple[StudioDocument, ...] = ()
    known: tuple[StudioDocument, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UploadReport:
    """What became of an upload.

    Attributes:
        added: Each file, in the order in which they were sent.
        full: Whether the store had no space left.
    """

    added: tuple[AddedFile, ...]
    full: bool = False


def add_uploads(
    store: Store,
    uploads: Sequence[Upload],
    rules: IntakeRules,
    by: Person,
    clock: Callable[[], float] = time.monotonic,
) -> UploadReport:
    """Add the documents of uploaded files; each is stored as soon as it is read.

    Args:
        rules: How they are taken.
        by: Who sent them.
        clock: Seconds.
    """
    added: list[AddedFile] = []
    began, full = clock(), False
    with closing(reader()) as process:
        for upload in uploads:
            if full:
                problem = "not stored: no space is left; ask an administrator"
            elif clock() - began > SECONDS:
                problem = f"not read: the files before it took {SECONDS / 60:g} minutes; send it again"
            else:
                try:
                    added.append(_add(store, process, upload, rules, by))
                    continue
                except FullStoreError as error:
                    full, problem = True, f"{error}; ask an administrator"
            added.append(AddedFile(upload.name, problems=(problem,)))
    return UploadReport(tuple(added), full)


def _add(store: Store, process: Extractor, upload: Upload, rules: IntakeRules, by: Person) -> AddedFile:
    try:
        with _stored(upload) as path:
            intake = read_documents(
                [str(path)],
                get_tokenizer(store.intake().tokenizer),
                rules=rules,
                earlier=sketches_of(store),
                reader=lambda _: read_limited(process, path, upload.name),
            )
            problems = [reason_of(line, path, upload.name) for line in (*intake.problems, *intake.unread)]
    except FullStoreError:
        raise
    except FathomError as error:
        return AddedFile(upload.name, problems=(str(error),))
    documents = []
    for taken in intake.taken:
        try:
            documents.append(store_document(store, taken, by))
        except FullStoreError:
            raise
        except FathomError as error:
            problems.append(f"{taken.document.title}: {error}")
    known = tuple(store.document(id) for id, _ in intake.known)
    return AddedFile(upload.name, tuple(documents), known, tuple(problems))


@contextmanager
def _stored(upload: Upload) -> Iterator[Path]:
    """An uploaded file in a folder of its own, which is locked while it is in use and then removed."""
    own = own_name(upload.name)
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    except OSError as error:
        raise _no_space(error) from error
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        try:
            with (folder / own).open("wb") as stream:
                shutil.copyfileobj(upload.content, stream)
        except OSError as error:
            raise _no_space(error) from error
        yield folder / own
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _no_space(error: OSError) -> FullStoreError:
    return FullStoreError(f"the file cannot be kept while it is read: {error.strerror or error}")


def remove_left() -> None:
    """Remove the files of servers that were killed; those of running servers are locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                if os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
