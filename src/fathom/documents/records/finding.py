"""Finds files with records in folders and ZIP archives, and reports the files that are not read."""

from __future__ import annotations

import errno
import os
import re
import zipfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Generic, Literal, TypeVar

from fathom.documents.records.streams import COMPRESSED
from fathom.plugins.names import first_of
from fathom.printing import several
from fathom.storage.foreign import RefusedFileError, is_inside, open_regular
from fathom.types import FathomError

TEXTS = (".txt", ".md")
WORKBOOKS = (".xlsx", ".xlsm", ".ods")
"""Tables whose cells are read by another library."""
TABLES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow", *WORKBOOKS)
HEADED = (".csv", ".tsv", *WORKBOOKS)
"""Tables whose first row has the names of their columns."""
DOCUMENTS = (".pdf", ".docx", ".pptx", ".html", ".htm", ".xhtml", ".epub")
"""Formats whose text is extracted by other libraries."""
MARKUP = (".rst", ".tex", ".log", ".text", ".markdown", ".mdx", ".org", ".adoc")
# fmt: off
CODE = (
    ".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".css", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp",
    ".cu", ".java", ".kt", ".kts", ".scala", ".groovy", ".go", ".rs", ".zig", ".swift", ".m", ".cs", ".fs", ".vb",
    ".rb", ".php", ".pl", ".pm", ".lua", ".r", ".jl", ".hs", ".ml", ".ex", ".exs", ".erl", ".clj", ".lisp", ".dart",
    ".f90", ".f", ".for", ".pas", ".asm", ".s", ".sh", ".bash", ".zsh", ".ps1", ".bat", ".sql", ".vue", ".svelte",
    ".proto", ".cmake", ".nim",
)
# fmt: on
"""Source code, read as text."""
FORMATS = (*TEXTS, *TABLES, *DOCUMENTS, *MARKUP, *CODE)
_NAMED_TEXTS = frozenset(
    {"readme", "license", "licence", "copying", "notice", "authors", "changelog", "changes", "news", "todo", "install"}
    | {"contributing", "makefile", "dockerfile"}
)
"""Names of text files without a suffix."""
ARCHIVE = ".zip"
_WRITTEN = f"{', '.join((*TEXTS, *TABLES, *DOCUMENTS, *MARKUP[:3]))}, source code (.py, .java, ...)"
READABLE = f"{_WRITTEN}, each also with {' or '.join(COMPRESSED)}, or {ARCHIVE} with such files"
GENERATED = "generated or installed, and not written"
_PRUNED = frozenset(("node_modules", "bower_components", "__pycache__", "site-packages"))
_BUILT = frozenset(("build", "dist", "target", "vendor", "third_party", "venv", "env", "coverage", "htmlcov"))
"""Folders of a repository whose files are not written by its authors."""
_PROJECTS = (
    *("pyproject.toml", "setup.py", "setup.cfg", "package.json", "tsconfig.json", "Cargo.toml", "go.mod", "pom.xml"),
    *("build.gradle", "CMakeLists.txt", "meson.build", "Makefile", "Gemfile", "composer.json"),
)
"""What the root of a project of source code has."""
_GENERATED_NAME = re.compile(
    r"(?:.*\.min\.(?:js|css)|.*[-.]bundle\.js|.*_pb2(?:_grpc)?\.pyi?|.*\.pb\.(?:go|cc|h)|.*\.lock"
    r"|(?:package-lock|npm-shrinkwrap)\.json|go\.sum)",
    re.IGNORECASE,
)
Entry = TypeVar("Entry")
EXAMPLES_PER_FILE = 20
_POINTER_BYTES = 1024  # a pointer has fewer
NAMED = 40  # names of unread files listed per reason
FIRST = 3  # and in a note
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".svg", ".ico", ".heic", ".psd")
_NO_DOCUMENTS = (
    *IMAGES,
    *(".mp3", ".wav", ".m4a", ".flac", ".ogg", ".mp4", ".mov", ".avi", ".mkv", ".webm"),
    *(".map", ".woff", ".woff2", ".ttf", ".otf", ".eot"),  # of saved web pages
    *(".db", ".ini", ".lnk", ".url", ".lock", ".tmp", ".exe", ".dll", ".so", ".pyc"),
)
_WHAT_TO_DO = {
    **dict.fromkeys((".doc", ".odt", ".rtf", ".pages", ".wpd"), "save it as .docx or .pdf"),
    **dict.fromkeys((".ppt", ".odp", ".key"), "save it as .pptx or .pdf"),
    **dict.fromkeys((".xls", ".xlsb", ".numbers"), "save it as .xlsx or .csv"),
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".djvu", ".ps", ".xps"), "convert it to .pdf or .epub"),
    **dict.fromkeys((".7z", ".rar", ".tar", ".tgz", ".bz2", ".xz"), "unpack it first"),
    **dict.fromkeys(IMAGES, "an image; if it has text, run OCR first"),
    "": "no suffix; if it is text, name it .txt",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was left out, and why.

    Attributes:
        path: The file or folder.
        line: Line or row from 1; None for the whole file.
        reason: What is wrong and, if it helps, what to do.
        count: Number of places this entry stands for: over 1 only if there are too many to list.
    """

    path: str
    line: int | None
    reason: str
    count: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Unread:
    """Files that are not read for the same reason.

    Attributes:
        path: Their folder, or the option that names it.
        why: The reason and, if it helps, what to do.
        names: All their names, sorted.
    """

    path: str
    why: str
    names: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The reason with the names; too many are abbreviated."""
        listed = self.names if len(self.names) <= NAMED else _by_folder(self.names)
        more = f" and {len(listed) - NAMED:,} more" if len(listed) > NAMED else ""
        return f"not read ({self.why}): {', '.join(listed[:NAMED])}{more}"

    @property
    def short(self) -> str:
        """Their number, the reason and the first names, for what is read beside a manifest with all names."""
        files = several(len(self.names), "file")
        more = " (manifest.json)" if len(self.names) > FIRST else ""
        return f"{self.path}: {files} not read ({self.why}): {first_of(self.names, FIRST)}{more}"

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Problems:
    """Problems of one kind in one file: the first ones individually, and the number of others."""

    def __init__(self, path: Path | str, what: str) -> None:
        self.count = 0
        self._path = path_text(path)
        self._what = what
        self._examples: list[Problem] = []

    def add(self, line: int | None, reason: str, count: int = 1) -> None:
        """Add a problem, at a line from 1 or None; problems of the whole file are always listed."""
        self.count += 1
        if len(self._examples) < EXAMPLES_PER_FILE or line is None:
            self._examples.append(Problem(self._path, line, reason, count))

    def listed(self) -> list[Problem]:
        """All problems, the later ones as one entry with their number."""
        rest = self.count - len(self._examples)
        return self._examples + ([Problem(self._path, None, f"{rest:,} more {self._what}", rest)] if rest else [])


@dataclass(frozen=True, slots=True)
class File:
    """A file that may hold records.

    Attributes:
        path: Its path, or that of the archive that contains it.
        name: Its path relative to the searched folder; in an archive, below the archive's name without ``.zip``.
        inside: Its name in the archive; "" for a plain file.
    """

    path: Path
    name: PurePosixPath
    inside: str = ""

    @property
    def stem(self) -> str:
        """Its name without suffix and compression."""
        return split_name(self.name.name)[0]

    @property
    def folder(self) -> str:
        """Name of its folder, also in an archive."""
        return self.name.parent.name if self.inside else self.path.absolute().parent.name

    @classmethod
    def at(cls, path: Path) -> File:
        """A plain file by its path."""
        return cls(path, PurePosixPath(path.name))

    def __str__(self) -> str:
        return path_text(self.path) + (f"/{self.inside}" if self.inside else "")


@dataclass(frozen=True, slots=True)
class Listed(Generic[Entry]):
    """The contents of a folder.

    Attributes:
        files: Sorted by path.
        problems: Folders and archives that cannot be opened.
        unread: Files that are not read, with the reason: hidden, not regular, other formats.
    """

    files: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    unread: tuple[Unread, ...] = ()


def path_text(path: str | Path) -> str:
    """A path as valid UTF-8, whatever bytes its name has."""
    return os.fsencode(path).decode(errors="replace")


def format_of(name: str) -> str:
    """The suffix that determines the format, ignoring ``.gz`` and ``.zst``; "" if it is unknown."""
    stem, suffix = split_name(name)
    if not suffix and stem.lower() in _NAMED_TEXTS:
        return TEXTS[0]
    return suffix if suffix in FORMATS else ""


def split_name(name: str) -> tuple[str, str]:
    """A file name without its compression: its stem, and its suffix in lower case."""
    for compressed in COMPRESSED:
        if name.lower().endswith(compressed):
            name = name[: -len(compressed)]
    dot = name.rfind(".")
    return (name[:dot], name[dot:].lower()) if dot > 0 else (name, "")


class FileFinder:
    """The files with records in a folder or a file, one by one, including those in ZIP archives.

    Their number does not matter for the memory used, except that of the files in one folder: their names are sorted.

    Attributes:
        root: A folder, searched recursively, or a file.
        formats: Formats to include, some of ``FORMATS``.
        repository: Whether the folder is that of a project's source code. Then files that are generated are not read,
            and what is not read is not missed unless it is a document (``looks_like_document``).
    """

    def __init__(self, root: Path, formats: Sequence[str] = FORMATS) -> None:
        self.root = root
        self.formats = formats
        self.repository = formats is FORMATS and _is_repository(root)
        self._walker = Walker(root, pruned=(_PRUNED | _BUILT if self.repository else _PRUNED))
        self._damaged: list[Problem] = []
        self._others: list[str] = []
        self._hidden: list[str] = []
        self._generated: list[str] = []

    def __iter__(self) -> Iterator[File]:
        """The files in the order of their paths.

        Raises:
            FathomError: The folder itself cannot be read.
        """
        for title in self._walker:
            path, name = self._walker.path(title), PurePosixPath(title)
            files = _members(path, name) if path.suffix.lower() == ARCHIVE else [File(path, name)]
            if isinstance(files, Problem):
                self._damaged.append(files)
                continue
            for file in files:
                if any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(file.inside).parts):
                    self._hidden.append(f"{name}/{file.inside}")
                elif self.repository and _GENERATED_NAME.fullmatch(file.name.name):
                    self._generated.append(f"{name}/{file.inside}" if file.inside else title)
                elif format_of(file.name.name) in self.formats and not _of_saved_page(file.name):
                    yield file
                else:
                    self._others.append(f"{name}/{file.inside}" if file.inside else title)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Folders and archives that could not be opened so far."""
        return (*self._walker.problems, *self._damaged)

    @property
    def unread(self) -> tuple[Unread, ...]:
        """Files that are not read, with the reason: hidden, not regular, other formats."""
        formats = _WRITTEN if self.formats is FORMATS else ", ".join(self.formats)
        wanted = f"readable formats: {formats}, also with .gz or .zst, and .zip"
        reasons: dict[str, list[str]] = {}
        for other in self._others:
            reasons.setdefault(_WHAT_TO_DO.get(split_name(other)[1], wanted), []).append(other)
        left = (file for why, names in reasons.items() for file in unread(self.root, names, why))
        generated = unread(self.root, self._generated, GENERATED)
        return (*self._walker.unread, *unread(self.root, self._hidden, "hidden"), *generated, *left)


def find_files(root: Path, formats: Sequence[str] = FORMATS) -> Listed[File]:
    """All the files that ``FileFinder`` finds.

    Args:
        root: A folder, searched recursively, or a file.
        formats: Formats to include, some of ``FORMATS``.

    Raises:
        FathomError: The folder itself cannot be read.
    """
    finder = FileFinder(root, formats)
    return Listed(tuple(finder), finder.problems, finder.unread)


def looks_like_document(name: str) -> bool:
    """Whether a file may be a document by its name: not a hidden file, an image, a sound, or part of a web page."""
    path = PurePosixPath(name)
    if any(part.startswith((".", "__MACOSX")) for part in path.parts) or _of_saved_page(path):
        return False
    return split_name(name)[1] not in _NO_DOCUMENTS


def is_office_document(name: str) -> bool:
    """Whether a file holds a text to be read by its format, and is not a file of a program."""
    suffix = split_name(name)[1]
    return suffix in DOCUMENTS or (suffix in _WHAT_TO_DO and suffix not in ("", *IMAGES))


def _of_saved_page(path: PurePosixPath) -> bool:
    """Whether a file is a part of a web page that a browser saved."""
    saved = any(part.endswith(("_files", ".files")) for part in path.parts[:-1])
    return saved and path.suffix.lower() in (".js", ".mjs", ".css")


def _is_repository(root: Path) -> bool:
    if not root.is_dir() or any((root / name).is_file() for name in _PROJECTS):
        return root.is_dir()
    with suppress(OSError):  # which is reported when the folder is searched
        return (root / ".git").exists() and any(split_name(path.name)[1] in CODE for path in root.iterdir())
    return False


class Walker:
    """The files below a folder, one by one, following links that stay within it.

    Attributes:
        root: A folder, or a single file.
        problems: Folders that could not be read so far.
    """

    def __init__(
        self, root: Path, *, hidden: bool = False, by_parts: bool = False, pruned: Collection[str] = ()
    ) -> None:
        """Prepare to walk.

        Args:
            root: A folder, or a single file.
            hidden: Whether to include hidden files and folders.
            by_parts: Whether ``a/b`` comes before ``a-c``: the order of paths instead of that of their texts.
            pruned: Names of folders that are not searched.
        """
        self.root = root
        self.problems: list[Problem] = []
        self._single = root.is_file()
        self._all = hidden
        self._by_parts = by_parts
        self._left: list[str] = []
        self._strange: list[str] = []
        self._outside: list[str] = []
        self._pruned = pruned
        self._skipped: list[str] = []
        self._seen: set[str] = set()

    def path(self, name: str) -> Path:
        """The path of a file that was found."""
        return self.root if self._single else self.root / name

    def __iter__(self) -> Iterator[str]:
        """The files by their paths below the folder, with ``/``; dangling links too, so that they are reported.

        Raises:
            FathomError: The folder itself cannot be read.
        """
        if self._single:
            yield self.root.name
            return
        waiting = [iter(self._names(""))]
        while waiting:
            for name in waiting[-1]:
                if name.endswith("/"):
                    waiting.append(iter(self._names(name)))
                    break
                yield name
            else:
                waiting.pop()

    @property
    def unread(self) -> tuple[Unread, ...]:
        """Files that were left out so far, with the reason."""
        strange = unread(self.root, self._strange, "neither files nor folders")
        outside = unread(self.root, self._outside, "links that lead out of the folder; copy the files into it")
        return (
            *strange,
            *outside,
            *unread(self.root, self._left, "hidden"),
            *unread(self.root, self._skipped, GENERATED),
        )

    def _names(self, below: str) -> Iterator[str]:
        """The sorted contents of a folder, whose path below the root ends with a slash; so do those of its folders."""
        folder = self.root / below
        real = os.path.realpath(folder)
        if real in self._seen:  # a link to a parent folder
            return iter(())
        self._seen.add(real)
        names = []
        try:
            with os.scandir(folder) as entries:
                if not os.access(folder, os.X_OK):
                    self._report(folder, f"cannot be searched: {os.strerror(errno.EACCES)}")
                    return iter(())
                for entry in entries:
                    if not self._all and entry.name.startswith("."):
                        self._left.append(below + entry.name)
                    elif entry.is_symlink() and not is_inside(self.root, Path(entry.path)):
                        self._outside.append(below + entry.name)
                    elif (kind := _kind(entry)) == "folder" and entry.name in self._pruned:
                        self._skipped.append(f"{below}{entry.name}/")
                    elif kind == "other":
                        self._strange.append(below + entry.name)
                    else:
                        names.append(f"{entry.name}/" if kind == "folder" else entry.name)
        except OSError as error:
            if not below:
                raise FathomError(f"{path_text(self.root)}: cannot be read: {error.strerror or error}") from error
            self._report(folder, f"cannot be read: {error.strerror}")
            return iter(())
        # With the slash, names sort as the texts of all paths do.
        names.sort(key=(lambda name: name.removesuffix("/")) if self._by_parts else None)
        return (below + name for name in names)

    def _report(self, folder: Path, reason: str) -> None:
        self.problems.append(Problem(path_text(folder), None, f"the folder {reason}"))


def _kind(entry: os.DirEntry[str]) -> Literal["folder", "file", "other"]:
    """What an entry of a folder is; a link that leads nowhere is a file, so that it is reported."""
    with suppress(OSError):
        return "folder" if entry.is_dir() else "file" if entry.is_file() or not Path(entry.path).exists() else "other"
    return "file"


def walk(root: Path, *, hidden: bool = False) -> Listed[Path]:
    """All files below a folder, following links that stay within it.

    Args:
        root: A folder, or a single file.
        hidden: Whether to include hidden files and folders.

    Returns:
        The files, including dangling links, so that they are reported.

    Raises:
        FathomError: The folder itself cannot be read.
    """
    walker = Walker(root, hidden=hidden)
    return Listed(tuple(map(walker.path, walker)), tuple(walker.problems), walker.unread)


def unread(where: Path | str, names: Collection[str], why: str) -> tuple[Unread, ...]:
    """One entry for files that are not read for the same reason; none without files.

    Args:
        where: The folder, or the option that names it.
        why: The reason and, if it helps, what to do.
    """
    return (Unread(path_text(where), why, tuple(map(path_text, sorted(names)))),) if names else ()


def _by_folder(names: Collection[str]) -> list[str]:
    """Many names abbreviated: those with the same folder and suffix as ``FOLDER/*.SUFFIX (COUNT)``."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        own = PurePosixPath(name)
        groups.setdefault(str(own.with_name(f"*{''.join(own.suffixes[-2:])}")), []).append(name)
    return [group[0] if len(group) == 1 else f"{pattern} ({len(group):,})" for pattern, group in groups.items()]


def pointer(path: Path) -> str:
    """What a file is that cannot be read: no regular file, or a stand-in for one that was not downloaded; else ""."""
    try:
        with open_regular(path) as file:
            head = file.read(_POINTER_BYTES)
    except RefusedFileError as error:
        return f"is {error}"
    except OSError:
        return ""
    if len(head) < _POINTER_BYTES and head.startswith(b"version https://git-lfs.github.com/spec/"):
        return "is a pointer of Git LFS and not the file itself; run `git lfs pull` in its repository, or download it"
    if len(head) < _POINTER_BYTES and re.match(rb"\.{0,2}(?:/\.\.)*/?(?:\.git/)?annex/objects/", head):
        return "is a pointer of git-annex and not the file itself; run `git annex get` in its repository"
    return ""


def _members(path: Path, name: PurePosixPath) -> list[File] | Problem:
    """The files in an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = {member.filename for member in archive.infolist() if not member.is_dir()}
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        return Problem(path_text(path), None, pointer(path) or f"not a readable archive: {error}")
    return [File(path, name.with_suffix("") / title, title) for title in sorted(inside)]
