"""The official data dump as threads: its posts are sorted on disk, so that memory does not grow with them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from fathom.corpus.stackexchange.archive import POSTS, pour_posts
from fathom.corpus.stackexchange.markup import post_text
from fathom.corpus.stackexchange.posts import EntitiesError, PostsParser
from fathom.corpus.stackexchange.threads import Answer, Progress, Thread
from fathom.records import COMPRESSED, DamagedError, Problem, Problems, path_text
from fathom.types import FathomError

QUESTION, ANSWER = "1", "2"
LARGEST_NUMBER = 2**63 - 1
# Nothing of this outlives the process, so that nothing need be safe against a crash.
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536;
CREATE TABLE questions (id INTEGER PRIMARY KEY, created TEXT, score INTEGER, text TEXT, images INTEGER,
                        line INTEGER, accepted INTEGER, title TEXT, tags TEXT);
CREATE TABLE answers (id INTEGER PRIMARY KEY, created TEXT, score INTEGER, text TEXT, images INTEGER, question INTEGER);
BEGIN;
"""


def read_dump(path: Path, progress: Progress | None = None) -> Iterator[Thread | Problem]:
    """Yield the threads of a dump by number, and what was left out.

    Other posts than questions and answers are passed over. Answers may stand anywhere in the file. A thread whose
    accepted answer is not in the dump is reported and left out. The texts are kept in a temporary folder (``TMPDIR``)
    of about the size of ``Posts.xml`` until the last thread is taken.

    Args:
        path: ``Posts.xml``, also with ``.gz`` or ``.zst``, or a ``.7z`` with it.
        progress: Called while the dump is read, which comes before the first thread.

    Raises:
        FathomError: There is no post in it, it cannot be opened, or the disk is full.
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
    """The site of a dump, by the name of its archive or folder: ``alcohol`` for ``alcohol.stackexchange.com.7z``."""
    name = path.name
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    name = path.absolute().parent.name if name.lower() == POSTS else Path(name).stem
    return re.sub(r"(?i)(-posts)?$", "", name).removesuffix(".com").removesuffix(".stackexchange") or "posts"


class _Reader:
    """Puts the posts of one dump into the database."""

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
            self._faults.add(line, "a post without Id, Body or CreationDate; it is left out")
            return
        if kind == ANSWER and question is None:
            self._faults.add(line, f"answer {number} has no ParentId; it is left out")
            return
        content = post_text(body)
        facts = (number, created, _number(post.get("Score")) or 0, content.text, content.has_images)
        if kind == ANSWER:
            new = self._insert("answers", (*facts, question))
        else:
            title, tags = " ".join(post.get("Title", "").split()), " ".join(_tags(post.get("Tags", "")))
            new = self._insert("questions", (*facts, line, _number(post.get("AcceptedAnswerId")), title, tags))
        if not new:
            self._faults.add(line, f"post {number} came before; the first one is kept")

    def _insert(self, table: str, values: tuple[object, ...]) -> bool:
        places = ", ".join("?" * len(values))
        return self._database.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", values).rowcount > 0


def _threads(path: Path, database: sqlite3.Connection) -> Iterator[Thread | Problem]:
    database.execute("CREATE INDEX by_question ON answers (question, created, id)")
    site = site_of(path)
    faults = Problems(path, "questions whose accepted answer is missing")
    for question in database.execute("SELECT * FROM questions ORDER BY id"):
        number, created, score, text, images, line, accepted, title, tags = question
        found = database.execute(
            "SELECT id, text, created, score, images FROM answers WHERE question = ? ORDER BY created, id", (number,)
        )
        answers = tuple(
            Answer(answer, words, answer == accepted, posted, votes, bool(pictures))
            for answer, words, posted, votes, pictures in found
        )
        if accepted is not None and not any(answer.accepted for answer in answers):
            faults.add(line, f"question {number}: its accepted answer {accepted} is missing; the thread is left out")
            continue
        yield Thread(f"{site}:{number}", title, text, tuple(tags.split()), created, score, bool(images), answers)
    yield from faults.listed()
    (orphans,) = database.execute(
        "SELECT count(*) FROM answers WHERE question NOT IN (SELECT id FROM questions)"
    ).fetchone()
    if orphans:
        yield Problem(
            path_text(path), None, f"{orphans:,} answers whose question is missing; they are left out", orphans
        )


def _number(value: str | None) -> int | None:
    """A whole number that a database can hold, or None."""
    if value is None or not re.fullmatch("-?[0-9]{1,19}", value):
        return None
    number = int(value)
    return number if abs(number) <= LARGEST_NUMBER else None


def _tags(value: str) -> list[str]:
    """Tags of a dump: ``<a><b>`` until 2024, ``|a|b|`` since."""
    return re.findall(r"[^<>|\s]+", value)
