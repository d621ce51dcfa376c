"""Reads threads from the official data dump: posts are sorted on disk, so that memory use does not grow.

The dump is ``Posts.xml``, plain, compressed, or inside a ``.7z``; damage is reported and the other rows are kept.
"""

from __future__ import annotations

import lzma
import re
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate, XMLParserType

from fathom.documents.corpus.stackexchange.markup import post_text
from fathom.documents.corpus.stackexchange.threads import Answer, Progress, Thread
from fathom.documents.records import COMPRESSED, DamagedError, Problem, Problems, path_text, read_chunks
from fathom.plugins.extras import install
from fathom.printing import several
from fathom.storage.foreign import open_regular
from fathom.types import FathomError

QUESTION, ANSWER = "1", "2"
LARGEST_NUMBER = 2**63 - 1
# The database does not outlive the process, so it need not survive a crash.
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536;
CREATE TABLE questions (id INTEGER PRIMARY KEY, created TEXT, score INTEGER, text TEXT, images INTEGER,
                        line INTEGER, accepted INTEGER, title TEXT, tags TEXT);
CREATE TABLE answers (id INTEGER PRIMARY KEY, created TEXT, score INTEGER, text TEXT, images INTEGER, question INTEGER);
BEGIN;
"""
ROW = b"<row "
# Ten times the longest possible post; the parser's time grows with the square of a row's length.
LONGEST_ROW = 1 << 24
POSTS = "posts.xml"
PIECE_BYTES = 1 << 20


def read_dump(path: Path, progress: Progress | None = None) -> Iterator[Thread | Problem]:
    """Yield the threads of a dump by number, and problems with others.

    Posts other than questions and answers are skipped. Answers may be anywhere in the file. A thread whose accepted
    answer is not in the dump is reported and skipped. The texts are kept in a temporary folder (``TMPDIR``) of about
    the size of ``Posts.xml`` until the last thread is read.

    Args:
        path: ``Posts.xml``, also with ``.gz`` or ``.zst``, or a ``.7z`` with it.
        progress: Called while the dump is read, which comes before the first thread.

    Raises:
        FathomError: It has no posts, cannot be opened, or the disk is full.
    """
    with TemporaryDirectory(prefix="fathom-posts-", ignore_cleanup_errors=True) as folder:
        database = sqlite3.connect(Path(folder, "posts.sqlite"), isolation_level=None)
        try:
            database.executescript(_SCHEMA)
            reader = _Reader(path, database)
            yield from reader.read(progress)
            yield from _threads(path, database)
        except sqlite3.OperationalError as error:
            raise FathomError(
                f"{path_text(path)}: sorting its posts failed in the temporary folder: {error}. "
                "Set TMPDIR to a folder with as much space as Posts.xml takes unpacked."
            ) from error
        finally:
            database.close()


def site_of(path: Path) -> str:
    """The site of a dump, from the name of its archive or folder: ``alcohol`` for ``alcohol.stackexchange.com.7z``."""
    name = path.name
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    name = path.absolute().parent.name if name.lower() == POSTS else Path(name).stem
    return re.sub(r"(?i)(-posts)?$", "", name).removesuffix(".com").removesuffix(".stackexchange") or "posts"


class _Reader:
    """Loads the posts of one dump into the database."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path = path
        self._database = database
        self._faults = Problems(path, "damaged places and posts")
        self._posts = 0

    def read(self, progress: Progress | None) -> list[Problem]:
        parser = PostsParser(self._take, self._faults.add)
        try:
            pour_posts(self._path, parser.feed, progress)
            parser.close()
        except DamagedError as error:
            self._faults.add(None, f"the file {error}; the posts before the damage are kept")
        except EntitiesError as error:
            raise FathomError(f"{path_text(self._path)}: {error}") from None
        self._database.execute("COMMIT")
        if not self._posts:
            shown = "".join(f"\n  {problem}" for problem in self._faults.listed()[:3])
            raise FathomError(f"{path_text(self._path)}: no posts could be read; name the Posts.xml of a dump.{shown}")
        return self._faults.listed()

    def _take(self, line: int, post: dict[str, str]) -> None:
        self._posts += 1
        kind = post.get("PostTypeId")
        if kind not in (QUESTION, ANSWER):
            return
        number, body, created = _number(post.get("Id")), post.get("Body"), post.get("CreationDate")
        question = _number(post.get("ParentId"))
        if number is None or body is None or created is None:
            self._faults.add(line, "a post without Id, Body or CreationDate; skipped")
            return
        if kind == ANSWER and question is None:
            self._faults.add(line, f"answer {number} has no ParentId; skipped")
            return
        content = post_text(body)
        facts = (number, created, _number(post.get("Score")) or 0, content.text, content.has_images)
        if kind == ANSWER:
            new = self._insert("answers", (*facts, question))
        else:
            title, tags = " ".join(post.get("Title", "").split()), " ".join(_tags(post.get("Tags", "")))
            new = self._insert("questions", (*facts, line, _number(post.get("AcceptedAnswerId")), title, tags))
        if not new:
            self._faults.add(line, f"duplicate post {number}; only the first is used")

    def _insert(self, table: str, values: tuple[object, ...]) -> bool:
        places = ", ".join("?" * len(values))
        return self._database.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", values).rowcount > 0


def _threads(path: Path, database: sqlite3.Connection) -> Iterator[Thread | Problem]:
    database.execute("CREATE INDEX by_question ON answers (question, created, id)")
    site = site_of(path)
    faults = Problems(path, "questions whose accepted answer is missing")
    for question in database.execute("SELECT * FROM questions ORDER BY id"):
        number, created, score, text, images, line, accepted, title, tags = question
        rows = database.execute(
            "SELECT id, text, created, score, images FROM answers WHERE question = ? ORDER BY created, id", (number,)
        )
        answers = tuple(
            Answer(answer, words, answer == accepted, posted, votes, bool(pictures))
            for answer, words, posted, votes, pictures in rows
        )
        if accepted is not None and not any(answer.accepted for answer in answers):
            faults.add(line, f"question {number}: its accepted answer {accepted} is missing; the thread is skipped")
            continue
        yield Thread(f"{site}:{number}", title, text, tuple(tags.split()), created, score, bool(images), answers)
    yield from faults.listed()
    (orphans,) = database.execute(
        "SELECT count(*) FROM answers WHERE question NOT IN (SELECT id FROM questions)"
    ).fetchone()
    if orphans:
        yield Problem(
            path_text(path), None, f"{several(orphans, 'answer')} whose question is missing; skipped", orphans
        )


def _number(value: str | None) -> int | None:
    """A whole number that fits a database column, or None."""
    if value is None or not re.fullmatch("-?[0-9]{1,19}", value):
        return None
    number = int(value)
    return number if abs(number) <= LARGEST_NUMBER else None


def _tags(value: str) -> list[str]:
    """Tags of a dump: ``<a><b>`` until 2024, ``|a|b|`` since."""
    return re.findall(r"[^<>|\s]+", value)


class EntitiesError(Exception):
    """The XML declares entities; the message follows the file's name."""


class PostsParser:
    """Parses the bytes of a dump incrementally and passes on its rows. Entities are refused, nothing is loaded.

    Args:
        take: Called with the line and the attributes of every ``row``.
        report: Called with the line of any damage and what it is.
    """

    def __init__(self, take: Callable[[int, dict[str, str]], None], report: Callable[[int, str], None]) -> None:
        self._take = take
        self._report = report
        self._line = 1  # on which the current parser began
        self._fed = 0  # bytes given to the current parser before the piece at hand
        self._seeking = False
        self._tail = b""
        self._parser = self._start()

    def feed(self, data: bytes) -> None:
        """Parse the next bytes, in UTF-8."""
        while data:
            if self._seeking:
                data = self._seek(data)
                continue
            try:
                self._parser.Parse(data, False)
            except ExpatError as error:
                self._report(self._line + error.lineno - 1, f"not XML: {_words(error)}; continuing at the next row")
                data = self._after_damage(data)
                continue
            self._fed += len(data)
            if self._fed - self._parser.CurrentByteIndex > LONGEST_ROW:
                self._line += self._parser.CurrentLineNumber - 1
                self._report(self._line, f"a row of more than {LONGEST_ROW >> 20} MiB; continuing at the next row")
                self._seeking = True
            return

    def close(self) -> None:
        """Finish parsing."""
        if self._seeking:
            return
        try:
            self._parser.Parse(b"", True)
        except ExpatError as error:
            line = self._line + error.lineno - 1
            self._report(line, "the file ends in the middle of the posts; earlier posts are kept; download it again")

    def _start(self, opening: bytes = b"") -> XMLParserType:
        # The bytes are UTF-8, whatever the XML declaration said.
        parser = ParserCreate("UTF-8")
        # Versions of expat from 2.6 on wait for more bytes than a row has, and then report damage after later rows.
        if hasattr(parser, "SetReparseDeferralEnabled"):
            parser.SetReparseDeferralEnabled(False)
        parser.StartElementHandler = self._element
        parser.EntityDeclHandler = _refuse_entities
        if opening:
            parser.Parse(opening, False)
        self._fed = len(opening)
        return parser

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        if name == "row":
            self._take(self._line + self._parser.CurrentLineNumber - 1, attributes)

    def _after_damage(self, data: bytes) -> bytes:
        """The bytes of the piece after the damage; at least one byte less, to guarantee progress."""
        position = max(self._parser.ErrorByteIndex - self._fed, 1)
        self._line += self._parser.ErrorLineNumber - 1
        self._seeking = True
        return data[position:]

    def _seek(self, data: bytes) -> bytes:
        """The bytes from the next row on, given to a new parser; empty if no row begins in this piece."""
        data = self._tail + data
        start = data.find(ROW)
        # The bytes kept may contain the start of a row, but no line end that was counted.
        passed = start if start >= 0 else max(len(data) - len(ROW) + 1, 0)
        self._line += data.count(b"\n", 0, passed)
        self._tail = b"" if start >= 0 else data[passed:]
        if start < 0:
            return b""
        self._seeking = False
        self._parser = self._start(b"<posts>")
        return data[start:]


def _words(error: ExpatError) -> str:
    return str(error).partition(":")[0]


def _refuse_entities(*_: object) -> None:
    raise EntitiesError("declares entities, which no Stack Exchange dump does; download it from its publisher.")


def pour_posts(path: Path, feed: Callable[[bytes], None], progress: Progress | None = None) -> None:
    """Pass the bytes of ``Posts.xml`` to ``feed``, piece by piece.

    Args:
        path: ``Posts.xml``, also with ``.gz`` or ``.zst``, or a ``.7z`` with a file of that name in it.
        progress: Called after every piece.

    Raises:
        DamagedError: The bytes cannot be read to their end; earlier ones have been passed on.
        FathomError: The archive cannot be opened, has no posts, or py7zr is not installed.
    """
    if path.suffix.lower() == ".7z":
        _pour_archive(path, feed, progress)
        return
    size = content_size(path)
    read = 0
    for chunk in read_chunks(path):
        feed(chunk)
        read += len(chunk)
        if progress:
            progress(read, size)


def content_size(path: Path) -> int | None:
    """The unpacked size of a file, or None if unknown."""
    return None if path.suffix.lower() in COMPRESSED else path.stat().st_size


class _Pipe:
    """Passes on what py7zr unpacks; it is never read back. The methods are those of ``py7zr.Py7zIO``."""

    def __init__(self, feed: Callable[[bytes], None], progress: Progress | None, total: int) -> None:
        self._feed = feed
        self._progress = progress
        self._total = total
        self._written = 0

    def create(self, filename: str) -> _Pipe:
        """Implements ``py7zr.WriterFactory`` for a single file."""
        return self

    def write(self, data: bytes | bytearray) -> int:
        for start in range(0, len(data), PIECE_BYTES):
            self._feed(bytes(data[start : start + PIECE_BYTES]))
        self._written += len(data)
        if self._progress:
            self._progress(self._written, self._total)
        return len(data)

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return 0

    def flush(self) -> None:
        pass

    def size(self) -> int:
        return self._written

    def close(self) -> None:
        pass


def _pour_archive(path: Path, feed: Callable[[bytes], None], progress: Progress | None) -> None:
    py7zr = _library(path)
    damage = (py7zr.exceptions.ArchiveError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError)
    try:
        file = open_regular(path)
    except OSError as error:
        raise DamagedError(f"cannot be read: {error.strerror or error}") from error
    # Given an open file instead of its path, py7zr unpacks in this thread.
    with file:
        try:
            archive = py7zr.SevenZipFile(file)
            sizes = {entry.filename: entry.uncompressed for entry in archive.list() if entry.is_file}
        except py7zr.exceptions.PasswordRequired as error:
            raise FathomError(f"{path_text(path)}: the archive has a password; unpack it first.") from error
        except (*damage, LookupError, TypeError, AssertionError, struct.error) as error:
            reason = "not a readable .7z, or truncated before its file table; download it again"
            raise FathomError(f"{path_text(path)}: {reason}.") from error
        with archive:
            name = next((name for name in sizes if PurePosixPath(name).name.lower() == POSTS), None)
            if name is None:
                has = ", ".join(sorted(sizes)[:8]) or "nothing"
                raise FathomError(f"{path_text(path)}: no Posts.xml in it but {has}. Name the archive with the posts.")
            try:
                archive.extract(targets=[name], factory=_Pipe(feed, progress, sizes[name]))
            except py7zr.exceptions.PasswordRequired as error:
                raise FathomError(f"{path_text(path)}: the archive has a password; unpack it first.") from error
            except damage as error:
                raise DamagedError(f"is damaged ({type(error).__name__}); download it again") from error


def _library(path: Path) -> Any:
    try:
        return import_module("py7zr")
    except ModuleNotFoundError as error:
        raise FathomError(
            f"{path_text(path)}: reading a .7z needs py7zr. Install it with `{install('dump')}`, "
            "or unpack the archive and name its Posts.xml."
        ) from error
