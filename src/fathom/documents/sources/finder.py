"""Finds data sources in local folders by file names and record fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path, PurePosixPath

from fathom.documents.corpus.nesting import SHOWN_FIELDS
from fathom.documents.corpus.records import BadRowError
from fathom.documents.records import (
    HEADED,
    TABLES,
    TEXTS,
    Fault,
    File,
    Listed,
    Problem,
    Problems,
    Record,
    Unread,
    find_files,
    format_of,
    path_text,
    read_records,
    split_name,
    unread,
)
from fathom.documents.sources import registry
from fathom.documents.sources.forms import LEFT_OUT, LookupShape, PassedOverError, one_each, with_texts
from fathom.documents.sources.source import FILE, ROW, SPLIT, Shape, Source
from fathom.plugins.names import unknown
from fathom.printing import several
from fathom.types import Document, FathomError

BESIDES = frozenset({"_id", "id", "type", "level", "language", "citation", "answer_aliases", "answerable", "title"})
"""Optional fields of all shapes; other columns of tables are not read."""

SHOWN = 600  # maximum characters of a problem
VAGUE = 1000  # rank of non-specific names
ANY = VAGUE + 1  # rank of any other name, for sources identified by the fields of their records
SPLITS = ("test", "validation", "valid", "val", "dev", "train")
_SHARD = re.compile(r"[-_]\d+-of-\d+$")
_BRANCH = re.compile(r"[-_](?:main|master)$")  # of folders in archives that GitHub makes
_SPLIT = re.compile(rf"(?:(.+)_)?({'|'.join(SPLITS)})")
EQUAL = "equal to an earlier one, which is used once"
LISTED = 10  # problems listed in an error, and rows of each


@dataclass(frozen=True, slots=True)
class Found:  # banned-name: benchmarks of others import it
    """The data found for some sources.

    Attributes:
        documents: Documents by source, with distinct texts; sources that were not found are missing.
        files: Files read, by source; possibly without usable records.
        problems: What could not be read and why, one line each; only the first ones of a file.
        bad: All unusable rows and files of strict sources, by source.
        unread: Files that were not read, with the reason.
    """

    documents: Mapping[str, Sequence[Document]]
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    problems: Sequence[str] = ()
    bad: Mapping[str, Sequence[Problem]] = field(default_factory=dict)
    unread: Sequence[Unread] = ()


def read_sources(names: Sequence[str], folders: Sequence[Path], *, skip_bad: bool = False) -> Found:
    """Read sources from anywhere under some folders.

    A file belongs to the source named by its name, or else by the nearest folder above it that names one (see
    ``claims``), in any format of ``documents.records.TABLES``, or text if the source reads it, plain, compressed or in
    a ZIP. Its first record must have the fields of one of the source's shapes; files with others are skipped. Files
    with the source's own name come first: other names are only used if those give no documents, and training splits
    only if there is nothing else, unless the source uses all. A duplicate text adds its questions and its summary to
    the first one.

    For sources identified by the fields of their records, files of any name are tried afterwards.

    Args:
        names: Names of data sources.
        folders: Folders, searched recursively, or files.
        skip_bad: Whether to skip unusable rows of strict sources.

    Returns:
        What was found; if nothing was found for a source, the files skipped for their fields are among the problems,
        unless they belong to another of the sources.

    Raises:
        FathomError: A source is unknown, a folder is missing or cannot be read, or a strict source has unusable rows.
    """
    sources = registry.sources()
    for name in names:
        if name not in sources:
            raise unknown("data source", name, sources, see="fathom list data")
    texts = {name for name in names if sources[name].texts}
    listed = [_files(folder, TABLES + ((TEXTS[0],) if texts else ())) for folder in folders]
    every = _each_once(file for folder in listed for file in folder.files)
    problems = [str(problem) for folder in listed for problem in folder.problems]
    known = known_names(sources)
    claimed: dict[str, list[tuple[Claim, File]]] = {}
    for file in every:
        by_name = claims(file.name, known)
        unnamed = set(names) - {name for name, _ in by_name}
        for name, claim in [*by_name, *by_fields(file.name, map(sources.__getitem__, unnamed))]:
            if format_of(file.name.name) in TABLES or name in texts:
                claimed.setdefault(name, []).append((claim, file))
    readers: dict[str, _SourceReader] = {}
    for name in dict.fromkeys(names):
        files = claimed.get(name, [])
        reader = readers[name] = _SourceReader(sources[name], _table(sources[name], [file for _, file in files]))
        reader.read(files)
        if reader.bad and not skip_bad:
            raise FathomError(f"{name}: {refusal(reader.bad)}")
    used = {str(file) for reader in readers.values() for file in reader.files}
    for reader in readers.values():
        problems += [*reader.problems, *_not_found(reader, used)]
    return Found(
        {name: tuple(map(_merged, reader.documents.values())) for name, reader in readers.items() if reader.documents},
        {
            name: tuple(dict.fromkeys(file.path for file in reader.files))
            for name, reader in readers.items()
            if reader.files
        },
        tuple(map(_shortened, problems)),
        {name: tuple(reader.bad) for name, reader in readers.items() if reader.bad},
        (*(left for folder in listed for left in folder.unread), *_unread(every, claimed, readers)),
    )


@dataclass
class _SourceReader:
    """Reads the files of one source.

    Attributes:
        table: Texts that its records refer to, by key.
        documents: By id; those with equal texts together.
        files: The files they come from.
        problems: What could not be read and why; only the first ones of a file.
        passed_over: Files with other content, with the difference.
        bad: All unusable rows, if the source is strict.
        reported: Other files that need not be reported: tables that records refer to, and those among the problems.
        names: The location of each record by its name, with the id of its document.
    """

    source: Source
    table: Mapping[str, str]
    documents: dict[str, list[Document]] = field(default_factory=dict)
    files: list[File] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    bad: list[Problem] = field(default_factory=list)
    reported: list[File] = field(default_factory=list)
    names: dict[str, tuple[str, str]] = field(default_factory=dict)

    def read(self, claimed: Sequence[tuple[Claim, File]]) -> None:
        """Read the files with the best claim that have documents."""
        ranked = [(_rank(self.source, claim, file), file) for claim, file in claimed]
        ranked.sort(key=lambda entry: (entry[0], str(entry[1])))
        for _, group in groupby(ranked, key=lambda entry: entry[0]):
            for _, file in group:
                self._read_file(file)
            if self.documents:
                return

    def _read_file(self, file: File) -> None:
        """Add the documents of one file; skip it if its first record has none of the source's shapes."""
        source, problems = self.source, list[Problem]()
        unwanted: dict[str, int] = {}
        rows = 0
        named = source.strict and names_itself(file.name, source)
        for record in _records(source, file):
            if isinstance(record, Fault):
                problems.append(Problem(str(file), record.line, record.reason))
                continue
            rows += 1
            shape = _shape_of(source, record)
            if shape is None and rows == 1 and not (named or is_like(source, record.fields)):
                if _is_table(source, record):
                    self.reported.append(file)
                else:
                    self.passed_over.append((str(file), f"{file}: {_unlike(source, record)}"))
                return
            try:
                if shape is None:
                    raise BadRowError(_unlike(source, record))
                document = _document(source, shape, record, file, self.table)
                self._check_name(document, f"{file}:{record.line}")
            except PassedOverError as error:
                unwanted[str(error)] = unwanted.get(str(error), 0) + 1
            except BadRowError as error:
                problems.append(Problem(str(file), record.line, str(error)))
            else:
                left_out = document.meta.get(LEFT_OUT)
                for reason in left_out if isinstance(left_out, list) else ():
                    problems.append(Problem(str(file), record.line, str(reason)))
                cleaned = replace(document, meta={k: v for k, v in document.meta.items() if k != LEFT_OUT})
                same = self.documents.setdefault(document.id, [])
                if same and replace(cleaned, source=same[0].source) == same[0]:
                    unwanted[EQUAL] = unwanted.get(EQUAL, 0) + 1
                same.append(cleaned)
        if rows:
            self.files.append(file)
        else:
            unread = bool(problems) or source.any_name
            problems = problems or [Problem(str(file), None, "it contains no records")]
            if unread and not names_itself(file.name, source):  # other content in a folder named after the source
                self.passed_over.append((str(file), str(problems[0])))
                return
            self.reported.append(file)
        if source.strict:
            self.bad += (replace(problem, reason=_shortened(problem.reason)) for problem in problems)
        else:
            listed = Problems(str(file), "problems in this file")
            for problem in problems:
                listed.add(problem.line, problem.reason)
            self.problems += map(str, listed.listed())
        self.problems += [f"{file}: {several(count, 'row')} skipped: {reason}" for reason, count in unwanted.items()]

    def _check_name(self, document: Document, place: str) -> None:
        """Check that no other record has the same name.

        Raises:
            BadRowError: Another one has.
        """
        if self.source.key:
            name = str(document.meta[self.source.key])
            id, first = self.names.setdefault(name, (document.id, place))
            if id != document.id:
                raise BadRowError(
                    f"the {self.source.key} {name!r} is also that of {first}, which has different content"
                )


def _rank(source: Source, claim: Claim, file: File) -> tuple[Claim, bool]:
    """The order in which files are read: by claim, and those in the source's own folder first."""
    elsewhere = bool(source.folder) and f"/{source.folder}/" not in f"/{file.name}"
    return replace(claim, train=claim.train and not source.every_split), elsewhere


def _not_found(reader: _SourceReader, used: Collection[str]) -> list[str]:
    """A problem if nothing was found for a source although files have its name, unless others use them."""
    left = [why for file, why in reader.passed_over if file not in used]
    if reader.documents or not left:
        return []
    first, *others = left
    which = "more files" if reader.source.any_name else "more files of that name"
    more = f"; {len(others)} {which} have other fields too" if others else ""
    return [f"{reader.source.name} was not found: {first}{more}"]


def _unread(
    files: Sequence[File],
    claimed: Mapping[str, Sequence[tuple[Claim, File]]],
    readers: Mapping[str, _SourceReader],
) -> Iterator[Unread]:
    """Files that were not needed; those of sources that were not found are listed with the difference."""
    reported = {file for reader in readers.values() for file in (*reader.files, *reader.reported)}
    reported |= {file for file in files if any(_belongs(file, reader) for reader in readers.values())}
    fitting = {file for name in readers for _, file in claimed.get(name, ())}
    read = [name for name, reader in readers.items() if reader.documents]
    needless = {file for name in read for _, file in claimed.get(name, ())} - reported
    for some, why in (
        ([file for file in files if file not in fitting | reported], "no requested data set has such a name"),
        ([file for file in files if file in needless], "other files match the requested data sets better"),
    ):
        yield from unread("--data", [str(file.name) for file in some], why)


def _belongs(file: File, reader: _SourceReader) -> bool:
    """Whether a file is read together with records beside it."""
    folders = {other.name.parent for other in reader.files} if reader.source.companions else ()
    return file.name.parent in folders and normalised(split_name(file.name.name)[0]) in reader.source.companions


def _table(source: Source, files: Sequence[File]) -> Mapping[str, str]:
    """Texts that records of the source refer to, by key."""
    by_key: dict[str, str] = {}
    for shape in source.shapes:
        if isinstance(shape, LookupShape):
            for file in files:
                for record in read_records(file, shape.table):
                    if not isinstance(record, Record) or not shape.table <= record.fields.keys():
                        break
                    if isinstance(text := record.fields[shape.text], str):
                        by_key.setdefault(str(record.fields[shape.key]), text)
    return by_key


def _records(source: Source, file: File) -> Iterator[Record | Fault]:
    """The records of a file, taken apart if the source says how."""
    for record in read_records(file, _columns(source), listed=source.listed):
        if source.parts is None or isinstance(record, Fault):
            yield record
        else:
            yield from source.parts(record)


def _columns(source: Source) -> frozenset[str]:
    return BESIDES.union(*(shape.fields | shape.besides for shape in source.shapes))


def _shape_of(source: Source, record: Record) -> Shape | None:
    return next((shape for shape in source.shapes if shape.fields <= record.fields.keys()), None)


def _is_table(source: Source, record: Record) -> bool:
    return any(isinstance(shape, LookupShape) and shape.table <= record.fields.keys() for shape in source.shapes)


def _unlike(source: Source, record: Record) -> str:
    if is_like(source, record.fields):
        return lacking(source, record.fields)
    forms = " or ".join(f"{', '.join(sorted(shape.fields))} ({shape.name})" for shape in source.shapes)
    names = sorted(record.fields)
    present = ", ".join(names[:SHOWN_FIELDS]) + (", ..." if len(names) > SHOWN_FIELDS else "")
    return f"expected the fields {forms}, found {present or 'none'}"


def _document(source: Source, shape: Shape, record: Record, file: File, table: Mapping[str, str]) -> Document:
    fields = with_texts(shape, record.fields, table) if isinstance(shape, LookupShape) else record.fields
    if ROW in shape.besides:
        first = 2 if format_of(file.name.name) in HEADED else 1
        fields = {**fields, ROW: (record.line or first) - first}
    if SPLIT in shape.besides:
        fields = {SPLIT: split_of(file.name), **fields}
    if FILE in shape.besides:
        fields = {**fields, FILE: str(file)}
    where = f"{source.name}/{path_text(file.inside or file.path.name)}:{record.line}"
    made = shape.read(fields, where)
    return replace(
        made,
        language=made.language or source.language,
        licence=source.licence,
        meta={"dataset": source.name, **made.meta},
    )


def _merged(same: Sequence[Document]) -> Document:
    """The first of some documents with equal texts, with the questions and the first summary of all."""
    questions = one_each(question for document in same for question in document.questions)
    return replace(
        same[0], questions=questions, summary=next(filter(None, (document.summary for document in same)), "")
    )


def _shortened(problem: str) -> str:
    """A problem in valid UTF-8, shortened if necessary."""
    short = problem if len(problem) <= SHOWN else f"{problem[: SHOWN // 2]} ... {problem[-SHOWN // 2 :]}"
    return short.encode(errors="replace").decode()


def _each_once(files: Iterable[File]) -> list[File]:
    """Each file once, although folders may overlap: by its longest name, which has most of the folders above it."""
    once: dict[tuple[Path, str], File] = {}
    for file in files:
        known = once.setdefault((file.path.resolve(), file.inside), file)
        if len(file.name.parts) > len(known.name.parts):
            once[known.path.resolve(), known.inside] = file
    return list(once.values())


def _files(folder: Path, formats: Sequence[str]) -> Listed[File]:
    """All files of some formats under a folder, sorted by name."""
    check_folder(folder)
    listing = find_files(folder, formats)
    if folder.is_file():
        return listing
    # The folder itself may be named after the one source in it.
    base = PurePosixPath(folder.absolute().name)
    return replace(listing, files=tuple(replace(file, name=base / file.name) for file in listing.files))


def check_folder(folder: Path) -> None:
    """Check that a data folder exists.

    Raises:
        FathomError: It does not.
    """
    if not folder.exists():
        raise FathomError(f"{folder}: no such folder; name the folder of the data sets with `data`")


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """How well a name matches a data source; lower is better.

    Attributes:
        train: Whether it is a training split, used only if there is nothing else.
        name: 0 for the source's own name, then its other names in order; ``VAGUE`` for non-specific names, ``ANY`` for
            others.
    """

    train: bool
    name: int


def normalised(name: str) -> str:
    """A name normalised for comparison: lower case, words joined by underscores."""
    return re.sub(r"[-_. ]+", "_", name.lower()).strip("_")


def known_names(sources: Mapping[str, Source]) -> Mapping[str, Sequence[tuple[Source, int]]]:
    """The sources by name, with the rank of the name."""
    by_name: dict[str, list[tuple[Source, int]]] = {}
    for source in sources.values():
        for number, name in enumerate((source.name, *source.names)):
            by_name.setdefault(normalised(name), []).append((source, number))
        for name in source.vague:
            by_name.setdefault(normalised(name), []).append((source, VAGUE))
    return by_name


def claims(path: PurePosixPath, known: Mapping[str, Sequence[tuple[Source, int]]]) -> list[tuple[str, Claim]]:
    """The sources that a file may hold, by name.

    The file's own name decides, ignoring part numbers and endings such as ``_test``. If it names no source, as in
    ``test-00000-of-00001.parquet``, the nearest folder that names one decides; ``OWNER--NAME`` and
    ``NAME-main`` count as ``NAME``. Otherwise non-specific names are used.

    Args:
        path: The file, relative to the searched folder.
        known: See ``known_names``.
    """
    stem, split = _stem(path)
    if claimed := _claimed(stem, split, known):
        return claimed
    for folder in path.parents:
        name = normalised(_BRANCH.sub("", folder.name.rpartition("--")[2]))
        split = split or (name if name in SPLITS else "")
        if claimed := _claimed(name, split, known):
            return claimed
    return _claimed(stem, split, known, vague=True)


def by_fields(path: PurePosixPath, sources: Iterable[Source]) -> list[tuple[str, Claim]]:
    """Those sources that a file may hold whatever its name, because they are identified by their fields."""
    split = _stem(path)[1]
    return [(source.name, Claim(split == "train", ANY)) for source in sources if source.any_name]


def _claimed(
    name: str, split: str, known: Mapping[str, Sequence[tuple[Source, int]]], *, vague: bool = False
) -> list[tuple[str, Claim]]:
    return [
        (source.name, Claim(split == "train", number))
        for source, number in known.get(name, ())
        if (number == VAGUE) == vague
    ]


def names_itself(path: PurePosixPath, source: Source) -> bool:
    """Whether a file's own name, not just that of a folder above it, is one of a source's."""
    return _stem(path)[0] in map(normalised, (source.name, *source.names))


def _stem(path: PurePosixPath) -> tuple[str, str]:
    """The name of a file without suffixes, part number and split; and the split, or ""."""
    stem = normalised(_SHARD.sub("", split_name(path.name)[0]))
    if ending := _SPLIT.fullmatch(stem):
        return ending[1] or "", ending[2]
    return stem, ""


def split_of(path: PurePosixPath) -> str:
    """The split that a file belongs to by its name, as in ``test_5_1.jsonl``, or that of the nearest folder; or ""."""
    for name in (split_name(path.name)[0], *(folder.name for folder in path.parents)):
        if splits := [word for word in normalised(name).split("_") if word in SPLITS]:
            return splits[-1]
    return ""


def is_like(source: Source, fields: Collection[str]) -> bool:
    """Whether a record has at least half of the fields of a strict source, so that some are missing."""
    expected = _nearest(source, fields).fields
    return source.strict and 2 * len(expected & set(fields)) >= len(expected)


def lacking(source: Source, fields: Collection[str]) -> str:
    """The missing fields of such a record, for messages."""
    missing = sorted(_nearest(source, fields).fields - set(fields))
    what = "the field {} is missing" if len(missing) == 1 else "the fields {} are missing"
    return what.format(", ".join(map(repr, missing)))


def refusal(bad: Sequence[Problem]) -> str:
    """The error message of a build with unusable data.

    Args:
        bad: All unusable rows and files, and why.
    """
    count = several(len(bad), "row or file cannot", "rows or files cannot")
    listed = "".join(f"\n  {line}" for line in in_short(bad))
    return f"{count} be used:{listed}\nFix the data, or skip what cannot be used with `skip_bad`"


def in_short(bad: Sequence[Problem]) -> list[str]:
    """Problems as lines to print: rows with the same problem are merged, and the excess is counted."""
    lines: dict[tuple[str, str], list[int]] = {}
    for problem in bad:
        lines.setdefault((problem.path, problem.reason), []).extend([problem.line] if problem.line else [])
    listed = [_problem_line(path, why, rows) for (path, why), rows in list(lines.items())[:LISTED]]
    more = len(lines) - LISTED
    return listed + ([f"and {more:,} more kinds of problem"] if more > 0 else [])


def _problem_line(path: str, reason: str, rows: Sequence[int]) -> str:
    if len(rows) < 2:
        return str(Problem(path, rows[0] if rows else None, reason))
    more = f" and {len(rows) - LISTED:,} more" if len(rows) > LISTED else ""
    return f"{path}: rows {', '.join(map(str, rows[:LISTED]))}{more}: {reason}"


def _nearest(source: Source, fields: Collection[str]) -> Shape:
    return max(source.shapes, key=lambda shape: len(shape.fields & set(fields)) / len(shape.fields))
