"""Files that may hold records: those of a folder and of ZIP archives in it; what is not read is named, and why."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Generic, TypeVar

from fathom.records.streams import COMPRESSED
from fathom.types import FathomError

TEXTS = (".txt", ".md")
TABLES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow")
FORMATS = (*TEXTS, *TABLES)
ARCHIVE = ".zip"
READABLE = f"{', '.join(FORMATS)}, each also with {' or '.join(COMPRESSED)}, or {ARCHIVE} with such files"
Entry = TypeVar("Entry")
EXAMPLES_PER_FILE = 20
NAMED = 10  # names of files that are not read for one reason


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was left out, and why.

    Attributes:
        path: The file or folder.
        line: Line or row from 1; None for the whole file.
        reason: What is wrong and, where it helps, what to do.
        count: How many places this entry stands for: over 1 only where there are more than are listed one by one.
    """

    path: str
    line: int | None
    reason: str
    count: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


class Problems:
    """What was left out of one file for one kind of reason: the first cases one by one, and the count of the rest."""

    def __init__(self, path: Path | str, what: str) -> None:
        self.count = 0
        self._path = path_text(path)
        self._what = what
        self._examples: list[Problem] = []

    def add(self, line: int | None, reason: str, count: int = 1) -> None:
        """Note one case, at a line from 1 where it has one; what concerns the whole file is always listed."""
        self.count += 1
        if len(self._examples) < EXAMPLES_PER_FILE or line is None:
            self._examples.append(Problem(self._path, line, reason, count))

    def listed(self) -> list[Problem]:
        """All cases, the later ones as one entry with their count."""
        rest = self.count - len(self._examples)
        return self._examples + ([Problem(self._path, None, f"{rest:,} more {self._what}", rest)] if rest else [])


@dataclass(frozen=True, slots=True)
class File:
    """A file that may hold records.

    Attributes:
        path: Where it is, or the archive that holds it.
        name: Its path from the folder that was searched; below the archive's name without ``.zip`` in an archive.
        inside: Its name in the archive; "" for a plain file.
    """

    path: Path
    name: PurePosixPath
    inside: str = ""

    @property
    def stem(self) -> str:
        """Its own name without suffix and compression."""
        return split_name(self.name.name)[0]

    @property
    def folder(self) -> str:
        """Name of the folder that holds it, in an archive too."""
        return self.name.parent.name if self.inside else self.path.absolute().parent.name

    @classmethod
    def at(cls, path: Path) -> File:
        """A plain file by its path."""
        return cls(path, PurePosixPath(path.name))

    def __str__(self) -> str:
        return path_text(self.path) + (f"/{self.inside}" if self.inside else "")


@dataclass(frozen=True, slots=True)
class Listed(Generic[Entry]):
    """What a folder holds.

    Attributes:
        files: In the order of their paths.
        problems: Folders and archives that cannot be opened.
        unread: Files that are not read, with the reason: hidden ones, what is neither file nor folder, other formats.
    """

    files: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    unread: tuple[Problem, ...] = ()


def path_text(path: str | Path) -> str:
    """A path as text that UTF-8 can hold, whatever bytes its name has."""
    return os.fsencode(path).decode(errors="replace")


def format_of(name: str) -> str:
    """The suffix that says how a file is read, ``.gz`` and ``.zst`` aside; "" if it cannot hold records."""
    suffix = split_name(name)[1]
    return suffix if suffix in FORMATS else ""


def split_name(name: str) -> tuple[str, str]:
    """A file name without its compression: its stem, and its suffix in small letters."""
    for compressed in COMPRESSED:
        if name.lower().endswith(compressed):
            name = name[: -len(compressed)]
    dot = name.rfind(".")
    return (name[:dot], name[dot:].lower()) if dot > 0 else (name, "")


def find_files(root: Path, formats: Sequence[str] = FORMATS) -> Listed[File]:
    """The files with records of a folder or a file, and those in ZIP archives.

    Args:
        root: A folder, searched to its bottom, or a file.
        formats: Formats that are wanted, some of ``FORMATS``.

    Raises:
        FathomError: The folder itself cannot be read.
    """
    walked = walk(root)
    problems = list(walked.problems)
    found: list[File] = []
    others: list[str] = []
    hidden: list[str] = []
    for path in walked.files:
        name = PurePosixPath(path.relative_to(root) if path != root else path.name)
        files = _members(path, name) if path.suffix.lower() == ARCHIVE else [File(path, name)]
        if isinstance(files, Problem):
            problems.append(files)
            continue
        for file in files:
            if any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(file.inside).parts):
                hidden.append(f"{name}/{file.inside}")
            elif format_of(file.name.name) in formats:
                found.append(file)
            else:
                others.append(f"{name}/{file.inside}" if file.inside else str(name))
    wanted = f"formats that are read: {', '.join(formats)}, also with .gz or .zst, and .zip"
    left = [*unread(root, hidden, "hidden"), *unread(root, others, wanted)]
    return Listed(tuple(found), tuple(problems), (*walked.unread, *left))


def walk(root: Path, *, hidden: bool = False) -> Listed[Path]:
    """All files below a folder, through links to folders too.

    Args:
        root: A folder; or a file, which is all there is then.
        hidden: Whether to go through hidden files and folders too.

    Returns:
        Among the files are links to nowhere, so that they are reported.

    Raises:
        FathomError: The folder itself cannot be read.
    """
    if root.is_file():
        return Listed((root,))
    found: list[Path] = []
    problems: list[Problem] = []
    left: list[str] = []
    strange: list[str] = []
    seen = set()

    def report(error: OSError) -> None:
        if Path(error.filename) == root:
            raise FathomError(f"{path_text(root)}: cannot be read: {error.strerror or error}") from error
        problems.append(Problem(path_text(error.filename), None, f"the folder cannot be read: {error.strerror}"))

    for folder, subfolders, names in os.walk(root, followlinks=True, onerror=report):
        real = os.path.realpath(folder)
        if real in seen:  # a link back to a folder above
            subfolders.clear()
            continue
        seen.add(real)
        base = Path(folder)
        if not hidden:
            left += (str((base / name).relative_to(root)) for name in (*subfolders, *names) if name.startswith("."))
            subfolders[:] = (name for name in subfolders if not name.startswith("."))
        subfolders.sort()
        for path in (base / name for name in names if hidden or not name.startswith(".")):
            try:
                ordinary = path.is_file() or not path.exists()
            except OSError as error:
                problems.append(Problem(path_text(folder), None, f"the folder cannot be searched: {error.strerror}"))
                break
            if ordinary:
                found.append(path)
            else:
                strange.append(str(path.relative_to(root)))
    return Listed(
        tuple(sorted(found, key=lambda path: path.relative_to(root).as_posix())),
        tuple(problems),
        (*unread(root, strange, "neither files nor folders"), *unread(root, left, "hidden")),
    )


def unread(where: Path | str, names: Collection[str], why: str) -> tuple[Problem, ...]:
    """One entry for files that are not read for one reason: by name, many of one folder and suffix by their count.

    Args:
        where: The folder, or the option that names it.
        names: Their names.
        why: The reason.
    """
    listed = sorted(names) if len(names) <= NAMED else _by_folder(names)
    more = f" and {len(listed) - NAMED:,} more" if len(listed) > NAMED else ""
    shown = ", ".join(map(path_text, listed[:NAMED]))
    return (Problem(path_text(where), None, f"not read ({why}): {shown}{more}", len(names)),) if names else ()


def _by_folder(names: Collection[str]) -> list[str]:
    """Many names in short: those of one folder and suffix as ``FOLDER/*.SUFFIX (COUNT)``."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        own = PurePosixPath(name)
        groups.setdefault(str(own.with_name(f"*{''.join(own.suffixes[-2:])}")), []).append(name)
    return [group[0] if len(group) == 1 else f"{pattern} ({len(group):,})" for pattern, group in groups.items()]


def _members(path: Path, name: PurePosixPath) -> list[File] | Problem:
    """The files in an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = {member.filename for member in archive.infolist() if not member.is_dir()}
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        return Problem(path_text(path), None, f"is no archive that can be read: {error}")
    return [File(path, name.with_suffix("") / title, title) for title in sorted(inside)]
