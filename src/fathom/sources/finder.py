"""Finds data sources in local folders by the names of files and by the fields of their records."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path, PurePosixPath

from fathom.corpus.records import SHOWN_FIELDS, BadRowError
from fathom.names import unknown
from fathom.records import (
    TABLES,
    Fault,
    File,
    Listed,
    Problem,
    Problems,
    Record,
    find_files,
    path_text,
    read_records,
    split_name,
    unread,
)
from fathom.sources import registry
from fathom.sources.forms import LEFT_OUT, LookupShape, PassedOverError, one_each, with_texts
from fathom.sources.source import ROW, Shape, Source
from fathom.types import Document, FathomError

BESIDES = frozenset({"_id", "id", "type", "level", "language", "citation", "answer_aliases", "answerable", "title"})
"""Fields that forms read where they are there; tables are read without all others."""

SHOWN = 600  # characters of a problem
VAGUE = 1000  # the number of every name that is one among those that say little
ANY = VAGUE + 1  # and of all others, for sources that leave it to the fields of records
SPLITS = ("test", "validation", "valid", "val", "dev", "train")
_SHARD = re.compile(r"[-_]\d+-of-\d+$")
_SPLIT = re.compile(rf"(?:(.+)_)?({'|'.join(SPLITS)})")
LISTED = 10  # problems that an error names, and rows of each


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of some data sources.

    Attributes:
        documents: Documents by name of the source, each text once; sources that were not found are absent.
        files: Files that were read, by name of the source; of some none of the records can be used.
        problems: What could not be read and why, one line each; of each file the first ones.
        bad: All rows and files of strict sources that cannot be used, by name of the source.
        unread: Files that are not read, with the reason.
    """

    documents: Mapping[str, Sequence[Document]]
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    problems: Sequence[str] = ()
    bad: Mapping[str, Sequence[Problem]] = field(default_factory=dict)
    unread: Sequence[Problem] = ()


def read_sources(names: Sequence[str], folders: Sequence[Path], *, skip_bad: bool = False) -> Found:
    """Read the named sources from wherever they lie under some folders.

    A file is taken for a source that its name, or else the nearest folder above it that names one, says it holds (see
    ``claims``), in any of ``fathom.records.TABLES``, plain, compressed or in a ZIP. Its first
    record must have the fields of one of the source's forms; a file that has others is passed over. Files of the
    source's own name come first: only where they give no document are those of its other names read, and training
    splits where there is nothing else. A text that came before gives its questions and its summary to the first.

    Where a source leaves it to the fields of its records, files of any name are tried after those of its own names.

    Args:
        names: Names of data sources.
        folders: Folders, each searched to its bottom, or files.
        skip_bad: Whether to go on without the rows of strict sources that cannot be used.

    Returns:
        What was found; a source that was passed over for its fields is among the problems where nothing was found, and
        no other of the sources was found there either.

    Raises:
        FathomError: A source is not known, a folder is not there or cannot be read, or a strict source has rows that
            cannot be used.
    """
    sources = registry.sources()
    for name in names:
        if name not in sources:
            raise unknown("data source", name, sources, see="fathom list data")
    listed = [_files(folder) for folder in folders]
    every = [file for one in listed for file in one.files]
    problems = [str(problem) for one in listed for problem in one.problems]
    known = known_names(sources)
    claimed: dict[str, list[tuple[Claim, File]]] = {}
    for file in every:
        by_name = claims(file.name, known)
        for name, claim in by_name:
            claimed.setdefault(name, []).append((claim, file))
        unnamed = set(names) - {name for name, _ in by_name}
        for name, claim in by_fields(file.name, map(sources.__getitem__, unnamed)):
            claimed.setdefault(name, []).append((claim, file))
    found: dict[str, _Taken] = {}
    for name in dict.fromkeys(names):
        taken = found[name] = _read_source(sources[name], claimed.get(name, []))
        if taken.bad and not skip_bad:
            raise FathomError(f"{name}: {refusal(taken.bad)}")
    read = {str(file) for taken in found.values() for file in taken.files}
    for name, taken in found.items():
        problems += [*taken.problems, *_not_found(sources[name], taken, read)]
    return Found(
        {name: tuple(map(_one, taken.documents.values())) for name, taken in found.items() if taken.documents},
        {name: tuple(dict.fromkeys(file.path for file in taken.files)) for name, taken in found.items() if taken.files},
        tuple(map(_shown, problems)),
        {name: tuple(taken.bad) for name, taken in found.items() if taken.bad},
        (*(problem for one in listed for problem in one.unread), *_unread(every, claimed, found)),
    )


@dataclass
class _Taken:
    """What was taken of one source.

    Attributes:
        documents: By id; those with the same text stand together.
        files: Where they come from.
        problems: What could not be read and why; of each file the first ones.
        passed_over: Files that hold something else, each with what is wrong with it.
        bad: All rows that cannot be used, where the source is strict.
        told: Other files that need not be named: tables that records refer to, and those among the problems.
        names: Where each record stands, by its name, with the id of its document.
    """

    documents: dict[str, list[Document]] = field(default_factory=dict)
    files: list[File] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    bad: list[Problem] = field(default_factory=list)
    told: list[File] = field(default_factory=list)
    names: dict[str, tuple[str, str]] = field(default_factory=dict)

    def check_name(self, source: Source, document: Document, place: str) -> None:
        """Refuse a record that has the name of another one.

        Raises:
            BadRowError: It has.
        """
        if source.key:
            name = str(document.meta[source.key])
            id, first = self.names.setdefault(name, (document.id, place))
            if id != document.id:
                raise BadRowError(f"the {source.key} {name!r} is that of {first} too, with other content")


def _read_source(source: Source, claimed: Sequence[tuple[Claim, File]]) -> _Taken:
    taken = _Taken()
    table = _table(source, [file for _, file in claimed])
    ranked = sorted(claimed, key=lambda entry: (entry[0], str(entry[1])))
    for _, group in groupby(ranked, key=lambda entry: entry[0]):
        for _, file in group:
            _read_file(source, file, table, taken)
        if taken.documents:
            return taken
    return taken


def _not_found(source: Source, taken: _Taken, read: Collection[str]) -> list[str]:
    """That nothing was found of a source although files have its name; unless others took them for theirs."""
    left = [why for file, why in taken.passed_over if file not in read]
    if taken.documents or not left:
        return []
    first, *others = left
    which = "more files" if source.any_name else "more files of its name"
    more = f"; {len(others)} {which} have other fields too" if others else ""
    return [f"{source.name} was not found: {first}{more}"]


def _unread(
    files: Sequence[File], claimed: Mapping[str, Sequence[tuple[Claim, File]]], found: Mapping[str, _Taken]
) -> Iterator[Problem]:
    """Which files were not needed; those of sources that were not found are named with what is wrong with them."""
    told = {file for taken in found.values() for file in (*taken.files, *taken.told)}
    fitting = {file for name in found for _, file in claimed.get(name, ())}
    needless = {file for name, taken in found.items() if taken.documents for _, file in claimed.get(name, ())} - told
    for some, why in (
        ([file for file in files if file not in fitting], "no data set that is asked for has such a name"),
        ([file for file in files if file in needless], "other files fit the data sets that are asked for better"),
    ):
        yield from unread("--data", [str(file.name) for file in some], why)


def _table(source: Source, files: Sequence[File]) -> Mapping[str, str]:
    """Texts that records of the source refer to, by key."""
    found: dict[str, str] = {}
    for shape in source.shapes:
        if isinstance(shape, LookupShape):
            for file in files:
                for record in read_records(file, shape.table):
                    if not isinstance(record, Record) or not shape.table <= record.fields.keys():
                        break
                    if isinstance(text := record.fields[shape.text], str):
                        found.setdefault(str(record.fields[shape.key]), text)
    return found


def _read_file(source: Source, file: File, table: Mapping[str, str], taken: _Taken) -> None:
    """Take in the documents of one file; pass over it where its first record has none of the source's forms."""
    problems: list[Problem] = []
    unwanted: dict[str, int] = {}
    rows = 0
    named = source.strict and names_itself(file.name, source)
    for record in read_records(file, _columns(source)):
        if isinstance(record, Fault):
            problems.append(Problem(str(file), record.line, record.reason))
            continue
        rows += 1
        shape = _shape_of(source, record)
        if shape is None and rows == 1 and not (named or is_like(source, record.fields)):
            if _is_table(source, record):
                taken.told.append(file)
            else:
                taken.passed_over.append((str(file), f"{file}: {_unlike(source, record)}"))
            return
        try:
            if shape is None:
                raise BadRowError(_unlike(source, record))
            document = _document(source, shape, record, file, table)
            taken.check_name(source, document, f"{file}:{record.line}")
        except PassedOverError as error:
            unwanted[str(error)] = unwanted.get(str(error), 0) + 1
        except BadRowError as error:
            problems.append(Problem(str(file), record.line, str(error)))
        else:
            left_out = document.meta.get(LEFT_OUT)
            for reason in left_out if isinstance(left_out, list) else ():
                problems.append(Problem(str(file), record.line, str(reason)))
            cleaned = replace(document, meta={k: v for k, v in document.meta.items() if k != LEFT_OUT})
            taken.documents.setdefault(document.id, []).append(cleaned)
    if rows:
        taken.files.append(file)
    else:
        unread = bool(problems) or source.any_name
        problems = problems or [Problem(str(file), None, "it holds no record")]
        if unread and not names_itself(file.name, source):  # something else in a folder of the source's name
            taken.passed_over.append((str(file), str(problems[0])))
            return
        taken.told.append(file)
    if source.strict:
        taken.bad += (replace(problem, reason=_shown(problem.reason)) for problem in problems)
    else:
        listed = Problems(str(file), "problems in this file")
        for problem in problems:
            listed.add(problem.line, problem.reason)
        taken.problems += map(str, listed.listed())
    taken.problems += [f"{file}: {count:,} rows passed over: {reason}" for reason, count in unwanted.items()]


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
    found = ", ".join(names[:SHOWN_FIELDS]) + (", ..." if len(names) > SHOWN_FIELDS else "")
    return f"expected the fields {forms}, found {found or 'none'}"


def _document(source: Source, shape: Shape, record: Record, file: File, table: Mapping[str, str]) -> Document:
    fields = with_texts(shape, record.fields, table) if isinstance(shape, LookupShape) else record.fields
    if ROW in shape.besides:
        fields = {**fields, ROW: (record.line or 1) - 1}
    where = f"{source.name}/{path_text(file.inside or file.path.name)}:{record.line}"
    made = shape.read(fields, where)
    return replace(
        made,
        language=made.language or source.language,
        licence=source.licence,
        meta={"dataset": source.name, **made.meta},
    )


def _one(same: Sequence[Document]) -> Document:
    """The first of some documents with the same text, with the questions and the first summary of all."""
    questions = one_each(question for document in same for question in document.questions)
    return replace(same[0], questions=questions, summary=next(filter(None, (one.summary for one in same)), ""))


def _shown(problem: str) -> str:
    """A problem as text of bearable length that UTF-8 can hold, whatever is quoted in it."""
    short = problem if len(problem) <= SHOWN else f"{problem[: SHOWN // 2]} ... {problem[-SHOWN // 2 :]}"
    return short.encode(errors="replace").decode()


def _files(folder: Path) -> Listed[File]:
    """All files with tables under a folder, in the order of their names."""
    check_folder(folder)
    found = find_files(folder, TABLES)
    if folder.is_file():
        return found
    # The folder's own name counts too: it may be named after the one source that it holds.
    base = PurePosixPath(folder.absolute().name)
    return replace(found, files=tuple(replace(file, name=base / file.name) for file in found.files))


def check_folder(folder: Path) -> None:
    """Refuse a place for data that is not there.

    Raises:
        FathomError: There is no such folder or file.
    """
    if not folder.exists():
        raise FathomError(f"{folder}: no such folder; name one with --data that holds the data sets")


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """How well a name fits a data source; the least is tried first.

    Attributes:
        train: Whether it is a training split: taken only where there is no other.
        name: 0 for the source's own name, then its other names in their order; ``VAGUE`` for those that say little,
            ``ANY`` where the name says nothing.
    """

    train: bool
    name: int


def plain(name: str) -> str:
    """A name in the form in which names are compared: small letters, words joined by underscores."""
    return re.sub(r"[-_. ]+", "_", name.lower()).strip("_")


def known_names(sources: Mapping[str, Source]) -> Mapping[str, Sequence[tuple[Source, int]]]:
    """The sources that go by each name, with the number of that name among their own."""
    found: dict[str, list[tuple[Source, int]]] = {}
    for source in sources.values():
        for number, name in enumerate((source.name, *source.names)):
            found.setdefault(plain(name), []).append((source, number))
        for name in source.vague:
            found.setdefault(plain(name), []).append((source, VAGUE))
    return found


def claims(path: PurePosixPath, known: Mapping[str, Sequence[tuple[Source, int]]]) -> list[tuple[str, Claim]]:
    """The sources that a file may hold, by name.

    The file's own name decides, a number of a part and an ending such as ``_test`` aside. Where it names no source at
    all, as ``test-00000-of-00001.parquet`` does, the nearest folder above does that names one; ``OWNER--NAME`` names
    what ``NAME`` does. Where no folder does either, names that say little are taken.

    Args:
        path: The file, relative to what is searched.
        known: See ``known_names``.
    """
    stem, split = _stem(path)
    if found := _claimed(stem, split, known):
        return found
    for folder in path.parents:
        name = plain(folder.name.rpartition("--")[2])
        split = split or (name if name in SPLITS else "")
        if found := _claimed(name, split, known):
            return found
    return _claimed(stem, split, known, vague=True)


def by_fields(path: PurePosixPath, sources: Iterable[Source]) -> list[tuple[str, Claim]]:
    """The sources among these that a file may hold whatever its name, because the fields of their records decide."""
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
    """Whether a file's own name, and not only a folder's above it, is one of a source's."""
    return _stem(path)[0] in map(plain, (source.name, *source.names))


def _stem(path: PurePosixPath) -> tuple[str, str]:
    """The name of a file without suffixes, number of a part and split; and the split, or ""."""
    stem = plain(_SHARD.sub("", split_name(path.name)[0]))
    if ending := _SPLIT.fullmatch(stem):
        return ending[1] or "", ending[2]
    return stem, ""


def is_like(source: Source, fields: Collection[str]) -> bool:
    """Whether a record has at least half of the fields of a strict source, so that it is one with something missing."""
    expected = _nearest(source, fields).fields
    return source.strict and 2 * len(expected & set(fields)) >= len(expected)


def lacking(source: Source, fields: Collection[str]) -> str:
    """Which fields such a record lacks, for messages."""
    missing = sorted(_nearest(source, fields).fields - set(fields))
    what = "the field {} is missing" if len(missing) == 1 else "the fields {} are missing"
    return what.format(", ".join(map(repr, missing)))


def refusal(bad: Sequence[Problem]) -> str:
    """Why a build stops.

    Args:
        bad: All rows and files that cannot be used, and why.
    """
    count = "1 row or file cannot" if len(bad) == 1 else f"{len(bad):,} rows or files cannot"
    listed = "".join(f"\n  {line}" for line in in_short(bad))
    return f"{count} be used:{listed}\nMend the data, or go on without what cannot be used: --skip-bad"


def in_short(bad: Sequence[Problem]) -> list[str]:
    """Problems as lines to print: rows with the same problem stand together, and what is too much is counted."""
    lines: dict[tuple[str, str], list[int]] = {}
    for problem in bad:
        lines.setdefault((problem.path, problem.reason), []).extend([problem.line] if problem.line else [])
    listed = [_told(path, why, rows) for (path, why), rows in list(lines.items())[:LISTED]]
    more = len(lines) - LISTED
    return listed + ([f"and {more:,} more kinds of problem"] if more > 0 else [])


def _told(path: str, reason: str, rows: Sequence[int]) -> str:
    if len(rows) < 2:
        return str(Problem(path, rows[0] if rows else None, reason))
    more = f" and {len(rows) - LISTED:,} more" if len(rows) > LISTED else ""
    return f"{path}: rows {', '.join(map(str, rows[:LISTED]))}{more}: {reason}"


def _nearest(source: Source, fields: Collection[str]) -> Shape:
    return max(source.shapes, key=lambda shape: len(shape.fields & set(fields)) / len(shape.fields))
