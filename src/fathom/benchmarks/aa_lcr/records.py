"""AA-LCR as published: 100 questions over sets of documents.

The questions are in ``AA-LCR_Dataset.csv``, the texts in the archive ``extracted_text/AA-LCR_extracted-text.zip``
beside it, or unpacked in that folder. Names in the archive may be in the wrong encoding, and are recovered.
"""

import unicodedata
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NotRequired
from zipfile import BadZipFile, ZipFile

from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import storable
from fathom.documents.sources.forms import published_record
from fathom.documents.sources.source import Shape, packaged_sources
from fathom.storage.schema import Filled
from fathom.types import Document

NAME = "aa_lcr"
ARCHIVE = "extracted_text/AA-LCR_extracted-text.zip"
GAP = "\n\n"
_LARGEST = 1 << 26  # bytes of a text
_TOTAL = 1 << 28  # bytes of all texts
_MEMBERS = 10_000


class Record(TypedDict):
    """A row of the table; several gold answers or files are separated by semicolons."""

    document_category: Filled
    document_set_id: Filled
    question: Filled
    answer: Filled
    data_source_filenames: Filled
    question_id: int | str
    input_tokens: NotRequired[Any]
    data_source_urls: NotRequired[Any]
    file: NotRequired[str]


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A row: its text is all documents in their order, ``passages`` are their places.

    Raises:
        BadRowError: A field is missing, or the text of a file is not there.
    """
    fields = typed(Record, record)
    known = _texts(Path(fields.get("file", "")).parent / ARCHIVE)
    folder = f"lcr/{fields['document_category']}/{fields['document_set_id']}"
    text, passages = "", []
    for name in filter(None, map(str.strip, fields["data_source_filenames"].split(";"))):
        content = known.get(_in_unicode(f"{folder}/{name}"))
        if content is None:
            raise BadRowError(f"the text of {name!r} is not in {ARCHIVE}; download that archive next to the CSV")
        text += GAP if text else ""
        passages.append((len(text), len(text) + len(content)))
        text += content
    question = storable(fields["question"]).strip()
    meta = {
        "dataset": NAME,
        "id": str(fields["question_id"]),
        "question": question,
        "answer": storable(fields["answer"]).strip(),
        "category": fields["document_category"],
    }
    return published_record(text, where, f"{NAME} {fields['question_id']} {question}", meta, passages)


def _in_unicode(name: str) -> str:
    """A name in one encoding: archives may have UTF-8 read as code page 437."""
    with suppress(UnicodeError):
        name = name.encode("cp437").decode()
    return unicodedata.normalize("NFC", name)


@lru_cache(maxsize=2)
def _texts(archive: Path) -> Mapping[str, str]:
    """The texts of an archive by name, or of the folder in which it was unpacked; none if neither is there."""
    if not archive.is_file():
        files = [path for path in archive.parent.rglob("*.txt") if path.stat().st_size <= _LARGEST]
        root = archive.parent
        return {
            _in_unicode(path.relative_to(root).as_posix()): storable(path.read_text("utf-8", "replace"))
            for path in files
        }
    try:
        with ZipFile(archive) as opened:
            members = [each for each in opened.infolist() if each.filename.endswith(".txt")]
            if len(members) > _MEMBERS or sum(member.file_size for member in members) > _TOTAL:
                raise BadZipFile("it has more texts than AA-LCR, or larger ones")
            return {
                _in_unicode(member.filename): storable(opened.read(member).decode("utf-8", "replace"))
                for member in members
                if member.file_size <= _LARGEST
            }
    except (BadZipFile, EOFError, OSError, RuntimeError, zlib.error) as error:  # also encrypted, or an unknown method
        raise BadRowError(
            f"{archive.name} cannot be read: {error}; download it again, to {ARCHIVE} next to the CSV"
        ) from None


SOURCES = packaged_sources(__package__, {NAME: (Shape.of("AA-LCR", Record, read_record),)})
