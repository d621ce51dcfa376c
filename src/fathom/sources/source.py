"""What a data source is: a public data set by name, where it comes from, and how its records read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fathom.types import Document

ROW = "row"
"""A field that a form can ask for among ``besides``: the row in the file, from 0."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a data set on the Hugging Face hub.

    Attributes:
        path: Path in the repository, with forward slashes.
        sha256: Checksum of its content in hexadecimal; "" where none was ever published: it is then recorded at the
            first download and compared ever after.
    """

    path: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the records of one published form of a data set become documents.

    Attributes:
        name: Name of the form, for messages.
        fields: Fields that every record of this form has; they tell it from other forms.
        read: Turns a record, with what to say it comes from, into a document, or raises
            ``fathom.corpus.records.BadRowError``.
        besides: Fields that are read where they are there; ``ROW`` is there always.
    """

    name: str
    fields: frozenset[str]
    read: Callable[[Mapping[str, object], str], Document]
    besides: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Source:
    """Declaration of a data source.

    Attributes:
        name: Name in commands, suites and reports.
        dataset: Id of the data set on the hub, ``OWNER/NAME``.
        revision: Commit of the data set that is downloaded: 40 hexadecimal digits; "" where none could be pinned, so
            that the newest one is taken and recorded.
        files: Files of it that hold the records.
        names: Stems of local files that are taken for this source, besides ``name``.
        shapes: Forms in which its records are known to come.
        licence: SPDX id, or the publisher's words.
        citation: Authors, year and title in one line, with an arXiv or DOI number where there is one.
        description: One line for ``fathom list data``.
        language: ISO 639-1 code of its texts.
        vague: Stems of local files that say little, such as ``data``. They are taken for this source where neither file
            nor folder names any; several of them are parts of one data set.
        any_name: Whether the fields alone decide: where no file of its names is there, any file whose records have them
            is taken for this source.
        strict: Whether a row that cannot be used stops the build, unless the user goes on without it.
        key: Field of ``meta`` that names a record; two different records of one name are rows that cannot be used. ""
            where records have no names.
    """

    name: str
    dataset: str
    revision: str
    files: tuple[HubFile, ...]
    shapes: tuple[Shape, ...]
    licence: str
    citation: str
    description: str
    names: tuple[str, ...] = ()
    language: str = "en"
    vague: tuple[str, ...] = ()
    any_name: bool = False
    strict: bool = False
    key: str = ""
