"""Reads one uploaded file in a process with limits, so that a hostile one cannot stop or exhaust the server.

Packed formats (``.gz``, ZIP archives, Parquet) may unpack to any size, and their readers are made for files of the
user's own machine. Here a second process reads the whole file, whatever its format; it is ended when that takes too
long, and can write and hold only so much.
"""

import re
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fathom.documents.corpus import Corpus, Problem, read_corpus
from fathom.documents.records import ARCHIVE, COMPRESSED, READABLE, Unread, format_of
from fathom.documents.records.extractor import TOO_LARGE, Extractor, serve_limited
from fathom.documents.records.streams import DamagedError, read_chunks
from fathom.storage import foreign
from fathom.types import Document, FathomError

SECONDS = 300.0
"""For one file."""
MEMORY = 4 << 30
"""Bytes of the process."""
MOST_UNPACKED = 1 << 30
"""Bytes of all files that are unpacked from another."""
MOST_DOCUMENTS = 2000
"""Documents of one file."""
MOST_CHARACTERS = 60_000_000
"""Characters of all documents of one file."""
_FACTS = ("id", "text", "source", "language", "title", "licence")


def own_name(name: str) -> str:
    """The name under which an uploaded file is stored: its suffix, and nothing else that somebody chose.

    Args:
        name: Its name on the machine of the sender.

    Raises:
        FathomError: Its format is not read.
    """
    lower = name.lower()
    if lower.endswith(ARCHIVE):
        return f"file{ARCHIVE}"
    if suffix := format_of(name):
        return f"file{suffix}" + next((ending for ending in COMPRESSED if lower.endswith(ending)), "")
    raise FathomError(f"this format is not read; its name should end in {READABLE}")


def reader() -> Extractor:
    """A process that reads files; to be closed."""
    return Extractor(SECONDS, MEMORY, __name__)


def read_limited(process: Extractor, path: Path, name: str) -> Corpus:
    """Reads the documents of an uploaded file.

    Args:
        path: Where it is stored, in a folder of its own, under its ``own_name``.
        name: Its name on the machine of the sender, for the sources of its documents.

    Raises:
        FathomError: It has no document, takes too long, or is too large.
    """
    answer = process.ask({"path": str(path)})
    if "fault" in answer:
        raise FathomError(answer["fault"])
    documents = tuple(
        Document(**facts | {"source": _source(facts["source"], path, name)}) for facts in answer["documents"]
    )
    problems, duplicates = ([Problem(**problem) for problem in answer[which]] for which in ("problems", "duplicates"))
    unread = [Unread(reason["path"], reason["why"], tuple(reason["names"])) for reason in answer["unread"]]
    return Corpus(documents, tuple(problems), tuple(duplicates), name, "", tuple(unread))


def reason_of(line: str, path: Path, name: str = "") -> str:
    """What is wrong with an uploaded file, without where it was stored.

    Args:
        line: What is wrong with it, with its path.
        name: Its name on the machine of the sender, if the line may have names of its parts.
    """
    line = line.strip().removeprefix(f"{path}: ").removeprefix(f"{path}/")
    if line.startswith(f"{path}:"):
        line = "line " + line.removeprefix(f"{path}:")
    alone = re.fullmatch(rf"not read \((.*)\): {re.escape(path.name)}", line, re.DOTALL)
    return alone[1] if alone else line.replace(f": {path.name}/", f": {name or path.name}/")


def check_archive(path: Path, most_files: int, most_bytes: int) -> None:
    """Refuses an archive or a compressed file that would keep whoever reads it busy for hours.

    Args:
        path: A file, also of another kind.
        most_files: Maximum number of files in it.
        most_bytes: Maximum size of all of them, unpacked.

    Raises:
        FathomError: It has more.
    """
    if path.suffix.lower() in COMPRESSED:
        _check_compressed(path, most_bytes)
    if path.suffix.lower() != ARCHIVE or not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        sizes = [member.file_size for member in archive.infolist()]
    if len(sizes) > most_files or sum(sizes) > most_bytes:
        raise FathomError(
            f"it would unpack to {len(sizes):,} files with {sum(sizes) >> 20:,} MiB; at most {most_files:,} with "
            f"{most_bytes >> 20:,} MiB are read; split it"
        )


def _check_compressed(path: Path, most_bytes: int) -> None:
    unpacked = 0
    try:
        for piece in read_chunks(path):
            unpacked += len(piece)
            if unpacked > most_bytes:
                raise FathomError(f"it would unpack to more than {most_bytes >> 20:,} MiB; split it")
    except DamagedError as error:
        if isinstance(error.__cause__, foreign.RefusedFileError):
            raise FathomError(f"the file {error}") from error


def _source(source: str, path: Path, name: str) -> str:
    stored = path.name if source.startswith(path.name) else path.name.partition(".")[0]
    return name + source.removeprefix(stored)


def _answer(path: str) -> Mapping[str, Any]:
    tempfile.tempdir = str(Path(path).parent)  # the server removes that folder, also if this process is killed
    try:
        check_archive(Path(path), MOST_DOCUMENTS, MOST_UNPACKED)
        corpus = read_corpus(path)
        size = sum(len(document.text) for document in corpus.documents)
        if corpus.drawn or len(corpus.documents) > MOST_DOCUMENTS or size > MOST_CHARACTERS:
            more = "more than " if corpus.drawn else ""
            return {
                "fault": f"it has {more}{len(corpus.documents):,} documents with {size:,} characters; at most "
                f"{MOST_DOCUMENTS:,} with {MOST_CHARACTERS:,} are read; split it"
            }
    except FathomError as error:
        first, *others = str(error).splitlines()
        return {"fault": "; ".join(reason_of(line, Path(path)) for line in others or [first])}
    except MemoryError:
        return {"fault": TOO_LARGE}
    except Exception as error:  # whatever a library raises for a damaged file
        return {"fault": f"damaged: {type(error).__name__}: {error}"[:300]}
    return {
        "documents": [{name: getattr(document, name) for name in _FACTS} for document in corpus.documents],
        "problems": [asdict(problem) for problem in corpus.problems],
        "duplicates": [asdict(duplicate) for duplicate in corpus.duplicates],
        "unread": [asdict(reason) for reason in corpus.unread],
    }


def _main() -> None:
    with suppress(ImportError, ValueError, OSError):  # systems without such limits
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_UNPACKED, MOST_UNPACKED))
    foreign.SMALL = foreign.SMALL_MEMBER  # a bomb is refused by its size, long before its time is over
    serve_limited(_answer)


if __name__ == "__main__":
    _main()
