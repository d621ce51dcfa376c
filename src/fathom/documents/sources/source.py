"""The declaration of a data source: a public data set, its location, and how its records are read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fathom.documents.records import Fault, Record
from fathom.storage.toml import packaged_toml
from fathom.types import Document

ROW = "row"
"""A pseudo-field for ``besides``: the number of the row in the file, from 0."""
SPLIT = "split"
"""Another one, for records without a field of that name: the split that the name of the file or of a folder above it
has, such as ``test``; "" if there is none."""
FILE = "file"
"""Another one: the path of the file, for records to which other files belong, or whose file says what they are."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a data set on the Hugging Face hub.

    Attributes:
        path: Path in the repository, with forward slashes.
        sha256: Checksum of its content in hexadecimal; "" if none was published: it is then recorded at the first
            download and compared from then on.
    """

    path: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """Converts the records of one published form of a data set to documents.

    Attributes:
        name: Name of the form, for messages.
        fields: Fields of every record of this form, which distinguish it from others; none if the names of files do.
        read: Converts a record, given the source to record, to a document, or raises
            ``fathom.documents.corpus.records.BadRowError``.
        besides: Optional fields; ``ROW``, ``SPLIT`` and ``FILE`` are always available.
    """

    name: str
    fields: frozenset[str]
    read: Callable[[Mapping[str, object], str], Document]
    besides: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, schema: Any, read: Callable[[Mapping[str, object], str], Document]) -> "Shape":
        """The shape of a schema: its required fields distinguish it, and its other fields are optional.

        Args:
            schema: A ``TypedDict``, as which ``read`` takes records (``documents.corpus.records.typed``).
            read: See ``Shape``.
        """
        return cls(name, schema.__required_keys__, read, schema.__optional_keys__)


@dataclass(frozen=True, slots=True)
class Source:
    """Declaration of a data source.

    Attributes:
        name: Name in commands, suites and reports.
        dataset: Id of the data set on the hub, ``OWNER/NAME``.
        revision: Commit of the data set to download: 40 hexadecimal digits; "" if none could be pinned: the latest is
            then downloaded and recorded.
        files: Its files with the records.
        names: Stems of local files that belong to this source, besides ``name``.
        shapes: Known forms of its records.
        licence: SPDX id, or the publisher's wording.
        citation: Authors, year and title in one line, with an arXiv or DOI number if available.
        description: One line for ``fathom list data``.
        language: ISO 639-1 code of its texts.
        vague: Non-specific stems of local files, such as ``data``. They belong to this source if neither file nor
            folder names another; several of them are parts of one data set.
        any_name: Whether fields alone identify it: if no file has one of its names, any file with its fields is used.
        strict: Whether an unusable row stops the build, unless it is skipped with ``--skip-bad``.
        key: Field of ``meta`` with the name of a record; different records with the same name are unusable. "" if
            records have no names.
        parts: Given a record of a file, yields the records in it (the sentences of a text), and faults for what cannot
            be read; None if each is one record.
        listed: Names of the values of records that are lists instead of objects.
        texts: Whether its text files (``.txt``) are read: each is a record with the field ``text``.
        every_split: Whether training splits are used together with the others, instead of only without them.
        folder: Folder whose files are used instead of those of other folders that have the same claim (other versions
            or languages); "" for none.
        companions: Stems of local files beside those with records, with which these are read.
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
    parts: Callable[[Record], Iterable[Record | Fault]] | None = None
    listed: tuple[str, ...] = ()
    texts: bool = False
    every_split: bool = False
    folder: str = ""
    companions: tuple[str, ...] = ()


def packaged_sources(
    package: str,
    shapes: Mapping[str, tuple[Shape, ...]],
    *,
    files: tuple[HubFile, ...] = (),
    vague: tuple[str, ...] = (),
) -> tuple[Source, ...]:
    """The data sets of ``sources.toml`` beside the modules of a package of fathom.

    An entry has the attributes of a ``Source`` under its name, a file as ``{ path, sha256 }``; one without a data set
    on the hub has neither data set, revision nor files.

    Args:
        package: ``__package__`` of the module that declares them.
        shapes: Known forms of the records of each, by name.
        files: See ``Source``; given where they follow from code and are not in the file.
        vague: Likewise.
    """
    table = packaged_toml(package, "sources.toml")
    sources = (_source(name, forms, **table[name]) for name, forms in shapes.items())
    return tuple(replace(source, files=files or source.files, vague=vague or source.vague) for source in sources)


def _source(name: str, shapes: tuple[Shape, ...], files: Sequence[Mapping[str, str]] = (), **entry: Any) -> Source:
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    located: dict[str, Any] = {"dataset": "", "revision": "", "files": tuple(HubFile(**file) for file in files)}
    return Source(name=name, shapes=shapes, **(located | fields))
