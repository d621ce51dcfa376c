"""How models mark reasoning and turns inside a reply: a table that users can extend (``dialects.toml``).

``split_reasoning`` is the only place where reasoning is separated from answers: runs do it once when a reply arrives,
strict scorers do it for replies that other programs stored. Official scorers read the text as the released code does.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeAlias

from fathom.plugins.usertable import read_table, users_table
from fathom.storage.validation import RecordError, Words, from_record
from fathom.types import FathomError

VARIABLE = "FATHOM_DIALECTS"
FILE = "dialects.toml"

Role: TypeAlias = Literal["opens", "closes", "wraps", "starts", "ends"]
_ROLES: tuple[Role, ...] = ("opens", "closes", "wraps", "starts", "ends")
_TAG = re.compile(r"<(/?[A-Za-z][\w:]*)>")
# What may be the mark of a dialect that the table lacks: a tag, a control token, a word in brackets.
_UNKNOWN = re.compile(
    r"\s*(<\|[^<>\s]{1,40}>|<｜[^<>\s]{1,40}>|</?[a-z][\w:.-]{1,30}>|◁[^◁▷\s]{1,20}▷|\[/?[A-Z][A-Z_]{3,20}\])"
)
# Tags with which ordinary answers begin.
_ORDINARY = frozenset(
    (
        *("answer", "response", "summary", "result", "output", "json", "text", "xml", "code", "pre", "svg", "html"),
        *("head", "body", "div", "span", "table", "tr", "td", "ul", "ol", "li", "p", "br", "strong", "em", "h1", "h2"),
    )
)


_QUOTES = ("'", '"', "`", "“", "”", "‘", "’")
_NEVER_WORDS = ("<think>", "</think>", "<thinking>", "</thinking>", "</s>")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How some models mark reasoning and turns. Marks are texts; tags (``<name>``) are compared in any case.

    Attributes:
        opens: Marks before reasoning.
        closes: Marks after it.
        wraps: Marks around the answer, which are removed: plain tags (``<answer>``) only at the edges of an answer that
            follows reasoning, others anywhere.
        ends: Marks that end one.
        words: Whether the marks are ordinary words: then they count only where the reply begins with one of ``opens``
            and contains one of ``closes``.
        models: Who writes so.
        source: Where it was seen.
    """

    opens: tuple[Words, ...] = ()
    closes: tuple[Words, ...] = ()
    wraps: tuple[Words, ...] = ()
    starts: tuple[Words, ...] = ()
    ends: tuple[Words, ...] = ()
    words: bool = False
    models: str = ""
    source: str = ""

    def marks(self) -> Iterator[tuple[Role, str]]:
        """Every mark with its role."""
        for role in _ROLES:
            yield from ((role, mark) for mark in getattr(self, role))


@dataclass(frozen=True, slots=True)
class _Mark:
    """A mark of a dialect.

    Attributes:
        role: What it does.
        plain_tag: Whether it is a tag as HTML has them, which may be part of an answer.
    """

    role: Role
    dialect: str
    text: str
    plain_tag: bool


@dataclass(frozen=True, slots=True, eq=False)  # one for each table
class _Marks:
    """The marks of all dialects, ready for searching.

    Attributes:
        patterns: By the first character of a mark: a pattern with one group for each of the marks.
        marks: The marks of those groups.
        words: Dialects of ordinary words: a pattern for what opens at the beginning, and one for what closes.
        wraps: Plain tags that may be around an answer.
    """

    patterns: Mapping[str, re.Pattern[str]]
    marks: Mapping[str, tuple[_Mark, ...]]
    words: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    wraps: tuple[str, ...]

    def find(self, text: str) -> Iterator[tuple[re.Match[str], _Mark]]:
        """Every mark in a text with its meaning, in order."""
        return merge(
            *(self._find(first, text) for first in self.patterns if first in text), key=lambda place: place[0].start()
        )

    def _find(self, first: str, text: str) -> Iterator[tuple[re.Match[str], _Mark]]:
        marks = self.marks[first]
        return ((match, marks[(match.lastindex or 1) - 1]) for match in self.patterns[first].finditer(text))


def split_reasoning(text: str) -> tuple[str, str]:
    """Separate a reply's answer from the reasoning inside it, and from tokens that mark turns.

    Args:
        text: A reply, with any number of blocks of reasoning. An unclosed block extends to the end; one that is never
            opened (the chat template opened it) starts at the beginning.

    Returns:
        The answer and the reasoning, both stripped. Inside reasoning only the mark that closes it counts.
    """
    return _split(text, _marks())


@lru_cache(maxsize=16)  # several readers look at the same reply in turn
def _split(text: str, table: _Marks) -> tuple[str, str]:
    for opens, closes in table.words:
        if (start := opens.match(text)) and (end := closes.search(text, start.end())):
            return text[end.end() :].strip(), text[start.end() : end.start()].strip()
    return _Splitting(text).split(table.find(text))


def without_reasoning(reply: str) -> str:
    """A reply without reasoning and without marks of turns; the reply itself if it has neither."""
    answer, reasoning = split_reasoning(reply)
    return reply if not reasoning and answer == reply.strip() else answer


def unknown_mark(text: str) -> str:
    """The mark with which an answer begins, if it may be that of a dialect that the table lacks; "" if none.

    Args:
        text: An answer, from which known reasoning was removed.
    """
    match = _UNKNOWN.match(text)
    if match is None or match[1].strip("</>").lower() in _ORDINARY:
        return ""
    return match[1]


def unknown_marks_note(answers: Iterable[str]) -> str:
    """A note on a mark with which many answers begin and which no dialect explains; "" if there is none.

    Args:
        answers: The answers of a run, or only the first 100 characters of each.
    """
    counts: dict[str, int] = {}
    total = 0
    for answer in answers:
        total += 1
        if mark := unknown_mark(answer):
            counts[mark] = counts.get(mark, 0) + 1
    mark = max(counts, key=lambda name: counts[name], default="")
    if not mark or counts[mark] < 3 or counts[mark] * 5 < total:
        return ""
    closing = mark.replace("<", "</", 1) if mark.startswith("<") and "|" not in mark else "THE MARK THAT CLOSES IT"
    return (
        f"{counts[mark]} of {total} replies begin with {mark}, which fathom's table of dialects does not explain. If "
        f'reasoning follows it, add "my model" = {{ opens = ["{mark}"], closes = ["{closing}"] }} to '
        f"~/.config/fathom/{FILE} and run again in another folder"
    )


def dialects() -> Mapping[str, Dialect]:
    """All dialects by name, the user's own before the built-in ones.

    Raises:
        FathomError: The user's table cannot be read.
    """
    return _dialects(os.environ.get(VARIABLE), str(Path.home()))


class _Splitting:
    """Separates one text at its marks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._answer: list[str] = []
        self._thoughts: list[str] = []
        self._answer_is_blank = True
        self._place = 0
        self._thinking: str | None = None
        self._seen_reasoning = False

    def split(self, marks: Iterable[tuple[re.Match[str], _Mark]]) -> tuple[str, str]:
        """The answer and the reasoning."""
        for match, mark in marks:
            start, end = match.span()
            if start < self._place or self._is_quoted(start, end) or not self._stands_alone(mark, start, end):
                continue
            if self._thinking is not None:
                if mark.role == "closes" and mark.dialect == self._thinking:
                    self._to(self._thoughts, start, end)
                    self._thinking = None
            elif mark.role == "opens":
                self._to(self._answer, start, end)
                self._thinking, self._seen_reasoning = mark.dialect, True
            elif mark.role == "closes":
                if not self._seen_reasoning:
                    self._thoughts += self._answer
                    self._answer.clear()
                    self._answer_is_blank = True
                    self._to(self._thoughts, start, end)
                    self._seen_reasoning = True
            elif mark.role == "wraps":
                if not mark.plain_tag:
                    self._to(self._answer, start, end)
            elif self._blank_until(start):
                self._to(self._answer, start, end)
            elif not self._closes_tag(mark, start):
                self._to(self._answer, start, len(self._text))
                break
        self._to(self._answer if self._thinking is None else self._thoughts, len(self._text), len(self._text))
        answer = "".join(self._answer).strip()
        if self._seen_reasoning:
            answer = _unwrapped(answer)
        return answer, "\n\n".join(thought.strip() for thought in self._thoughts if thought.strip())

    def _is_quoted(self, start: int, end: int) -> bool:
        """Whether a mark stands in quotation marks: then the text is about it, as a line of code."""
        return self._text[start - 1 : start] in _QUOTES and self._text[end : end + 1] in _QUOTES

    def _stands_alone(self, mark: _Mark, start: int, end: int) -> bool:
        """Whether a tag that is an ordinary word begins or ends a line, if it is one: others are part of a sentence."""
        if not mark.plain_tag or mark.role == "wraps" or mark.text in _NEVER_WORDS:
            return True
        if mark.role == "ends" and len(self._text.rstrip()) <= end:
            return True
        before = self._text[max(0, start - 80) : start].rstrip(" \t")[-1:]
        after = self._text[end : end + 80].lstrip(" \t")[:1]
        opens = mark.role == "opens" and self._thinking is None
        return before in ("", "\n") if opens else self._thinking is not None or "\n" in (before, after)

    def _to(self, parts: list[str], start: int, end: int) -> None:
        piece = self._text[self._place : start]
        if parts is self._answer and piece.strip():
            self._answer_is_blank = False
        parts.append(piece)
        self._place = end

    def _blank_until(self, start: int) -> bool:
        return self._answer_is_blank and not self._text[self._place : start].strip()

    def _closes_tag(self, mark: _Mark, start: int) -> bool:
        """Whether a mark such as ``</s>`` closes a tag of the answer."""
        opening = mark.text.replace("/", "")
        return mark.text.startswith("</") and self._text.find(opening, self._place, start) >= 0


def _unwrapped(answer: str) -> str:
    """An answer without the plain tags around it."""
    for tag in _marks().wraps:
        if answer[: len(tag)].lower() == tag.lower():
            answer = answer[len(tag) :].strip()
        if answer[len(answer) - len(tag) :].lower() == tag.lower():
            answer = answer[: -len(tag)].strip()
    return answer


def _marks() -> _Marks:
    return _compiled(os.environ.get(VARIABLE), str(Path.home()))


@lru_cache(maxsize=4)
def _dialects(named: str | None, home: str) -> Mapping[str, Dialect]:
    """Cached per location of the user's table."""
    own = users_table(VARIABLE, FILE, _entry)
    built_in = read_table(files("fathom.score").joinpath(FILE).read_text("utf-8"), FILE, _entry)
    return {**own, **{name: dialect for name, dialect in built_in.items() if name not in own}}


@lru_cache(maxsize=4)
def _compiled(named: str | None, home: str) -> _Marks:
    by_first: dict[str, list[_Mark]] = {}
    words = []
    for name, dialect in _dialects(named, home).items():
        if dialect.words:
            opens, closes = (_any_of(marks) for marks in (dialect.opens, dialect.closes))
            words.append((re.compile(rf"\s*(?:{opens})"), re.compile(closes)))
            continue
        for role, text in dialect.marks():
            by_first.setdefault(text[0], []).append(_Mark(role, name, text, re.fullmatch(r"</?\w+>", text) is not None))
    marks = {first: tuple(sorted(group, key=_order)) for first, group in by_first.items()}
    patterns = {first: re.compile(_alternatives(first, group)) for first, group in marks.items()}
    wraps = tuple(mark.text for group in marks.values() for mark in group if mark.role == "wraps" and mark.plain_tag)
    return _Marks(patterns, marks, tuple(words), wraps)


def _order(mark: _Mark) -> tuple[str, int]:
    """Marks with the same second character together, the longest of them first."""
    return mark.text[1].lower(), -len(mark.text)


def _alternatives(first: str, marks: Iterable[_Mark]) -> str:
    """A pattern for any of the marks, which looks at the second character before all else."""
    groups = (
        f"[{re.escape(second)}{re.escape(second.upper())}](?:{'|'.join(f'({_pattern(mark.text)})' for mark in group)})"
        for second, group in groupby(marks, key=lambda mark: mark.text[1].lower())
    )
    return f"{re.escape(first)}(?:{'|'.join(groups)})"


def _any_of(marks: Iterable[str]) -> str:
    return "|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True))


def _pattern(mark: str) -> str:
    """What follows the first two characters of a mark; a tag may have attributes, up to the next angle bracket."""
    tag = _TAG.fullmatch(mark)
    return re.escape(mark[2:]) if tag is None else rf"(?i:{re.escape(tag[1][1:])})\b[^<>]*>"


def _entry(entry: object, where: str) -> Dialect:
    try:
        dialect = from_record(Dialect, entry, "")
    except RecordError as error:
        raise FathomError(f"{where}: {error}") from None
    if not any(dialect.marks()):
        raise FathomError(f"{where}: no mark; give at least one of {', '.join(_ROLES)}")
    if short := next((mark for _, mark in dialect.marks() if len(mark) < 3), None):
        raise FathomError(f"{where}: {short!r} is too short to be a mark; expected 3 characters or more")
    if bool(dialect.opens) != bool(dialect.closes) or (dialect.words and not dialect.opens):
        raise FathomError(f"{where}: expected both opens and closes{'' if dialect.words else ', or neither'}")
    return dialect
