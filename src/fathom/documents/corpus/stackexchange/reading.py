"""Reads threads from a dump, JSONL, or a folder of either."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.stackexchange.dump import content_size, read_dump
from fathom.documents.corpus.stackexchange.markup import PostText, post_text
from fathom.documents.corpus.stackexchange.threads import Answer, Progress, Thread
from fathom.documents.corpus.text import normalise, storable
from fathom.documents.records import COMPRESSED, DamagedError, Problem, Problems, path_text, read_lines, unread
from fathom.storage.schema import FILLED
from fathom.types import FathomError

JSONL, XML, ARCHIVE = ".jsonl", ".xml", ".7z"
READABLE = "Posts.xml or .jsonl, each also with .gz or .zst, or a .7z with Posts.xml"


def read_threads(path: Path, progress: Progress | None = None) -> Iterator[Thread | Problem]:
    """Yield the threads of a file or folder, and problems with what is left out.

    Args:
        path: ``Posts.xml`` of the official data dump, plain or in a ``.7z``; JSONL with one thread per line; or a
            folder of such files, read in the order of their names.
        progress: Called with the bytes read and the size, for each file from 0.

    Yields:
        Threads with distinct ids, with or without an accepted answer; and a ``Problem`` for everything left out: a
        thread whose accepted answer is missing, a bad line, the end of a truncated file.

    Raises:
        FathomError: There is nothing to read, or a dump cannot be opened. One of several files that cannot be opened is
            skipped instead.
    """
    seen: set[str] = set()
    files, others = _files(path)
    for file in files:
        repeated = Problems(file, "duplicate threads")
        try:
            for thread in _read(file, progress):
                if isinstance(thread, Thread) and thread.id in seen:
                    repeated.add(None, f"duplicate thread {thread.id}; only the first is used")
                    continue
                if isinstance(thread, Thread):
                    seen.add(thread.id)
                yield thread
        except FathomError as error:
            # An error of the machine, not of the file, would also affect the next file.
            if len(files) == 1 or isinstance(error.__cause__, sqlite3.Error | ModuleNotFoundError):
                raise
            yield Problem(path_text(file), None, f"skipped: {str(error).removeprefix(f'{path_text(file)}: ')}")
        yield from repeated.listed()
    for left in unread(path, others, f"threads are in {READABLE}"):
        yield Problem(left.path, None, left.reason, len(left.names))


def _read(path: Path, progress: Progress | None) -> Iterator[Thread | Problem]:
    """The threads of a file; reports a file without any."""
    empty = True
    for thread in (_read_jsonl if _kind(path) == JSONL else read_dump)(path, progress):
        empty = False
        yield thread
    if empty:
        yield Problem(path_text(path), None, "it contains no threads")


def _files(path: Path) -> tuple[list[Path], list[str]]:
    """The files with threads, and the names of the others in their folder."""
    if path.is_file():
        if _kind(path) is None:
            raise FathomError(f"{path_text(path)}: unknown format; it should be {READABLE}.")
        return [path], []
    if not path.is_dir():
        raise FathomError(f"{path_text(path)}: no such file or folder. Name {READABLE}, or a folder of them.")
    # An unpacked dump also contains users, votes and comments.
    inside = sorted(path.iterdir())
    kinds = {file: _kind(file) for file in inside if file.is_file() and not file.name.startswith(".")}
    chosen = [file for file, kind in kinds.items() if kind and (kind != XML or file.name.lower().startswith("posts."))]
    if not chosen:
        raise FathomError(f"{path_text(path)}: the folder contains no threads; it needs {READABLE}.")
    return chosen, [file.name for file in inside if file not in chosen]


def _kind(path: Path) -> str | None:
    name = path.name.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    return next((suffix for suffix in (JSONL, XML, ARCHIVE) if name.endswith(suffix)), None)


class Post(TypedDict):
    """What questions and answers have in common."""

    creation_date: Annotated[str, FILLED]
    score: NotRequired[Any]


class AnswerRecord(Post):
    """An answer: ``html`` if available, which has code and images, else ``text``."""

    answer_id: int
    accepted: NotRequired[Any]
    html: NotRequired[Any]
    text: NotRequired[Any]


class ThreadRecord(Post):
    """A line: a question with its answers."""

    id: Annotated[str, FILLED]
    title: Annotated[str, FILLED]
    question: NotRequired[Any]
    question_html: NotRequired[Any]
    tags: NotRequired[list[str] | None]
    answers: list[AnswerRecord]
    accepted_answer_id: NotRequired[Any]


def _read_jsonl(path: Path, progress: Progress | None) -> Iterator[Thread | Problem]:
    faults = Problems(path, "lines that are not threads")
    number = read = 0
    size = content_size(path)
    try:
        for number, line in enumerate(read_lines(path), start=1):
            read += len(line) + 1
            if progress:
                progress(read if size is None else min(read, size), size)
            if not line.strip():
                continue
            try:
                yield _thread(json.loads(line))
            except BadRowError as error:
                faults.add(number, str(error))
            except (ValueError, RecursionError) as error:
                faults.add(number, f"not JSON: {error}")
    except DamagedError as error:
        faults.add(number + 1, f"the file {error}; the threads before this line are kept")
    yield from faults.listed()


def _thread(record: object) -> Thread:
    fields = typed(ThreadRecord, record)
    accepted, name = fields.get("accepted_answer_id"), _line(fields["id"])
    answers = sorted((_answer(answer, accepted) for answer in fields["answers"]), key=lambda a: (a.created, a.id))
    gold = sum(answer.accepted for answer in answers)
    if accepted is not None and not gold:
        raise BadRowError(f"thread {name}: its accepted answer {accepted} is missing; the thread is skipped")
    if gold > 1:
        raise BadRowError(f"thread {name}: {gold} answers are accepted; expected one")
    body = _body(fields.get("question_html"), fields.get("question"), "question")
    return Thread(
        id=name,
        title=_line(fields["title"]),
        question=body.text,
        tags=tuple(fields.get("tags") or ()),
        created=_line(fields["creation_date"]),
        score=_score(fields),
        has_images=body.has_images,
        answers=tuple(answers),
    )


def _answer(record: AnswerRecord, accepted: object) -> Answer:
    number = record["answer_id"]
    chosen = record.get("accepted") is True if accepted is None else number == accepted
    body = _body(record.get("html"), record.get("text"), "text")
    return Answer(number, body.text, chosen, _line(record["creation_date"]), _score(record), body.has_images)


def _body(markup: object, text: object, field: str) -> PostText:
    """The text of a post: from its HTML if available, which has code and images."""
    if isinstance(markup, str):
        return post_text(markup)
    if not isinstance(text, str):
        raise BadRowError(f"the field {field!r} should be a string")
    return PostText(normalise(storable(text)), has_images=False)


def _line(text: str) -> str:
    return " ".join(normalise(storable(text)).split())


def _score(post: Post) -> int:
    score = post.get("score")
    return score if isinstance(score, int) else 0
