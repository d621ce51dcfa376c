"""Token counts of documents and of their pieces, cached on disk by content.

A prompt is not tokenized while it is composed: the tokens of a joined text are the tokens of its parts plus a
correction at each join, which depends only on the few characters on both sides. So a document is tokenized once,
sentence by sentence, and every piece of it that ends with a sentence is counted by subtraction. A document that is used
only as a whole is tokenized once, as a whole: a quarter of the time.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from fathom.tokens.tokenizers import Tokenizer, adds_up, bounded_by_bytes
from fathom.types import Document, Span

_CACHE_FORMAT = 5  # increase it when cut points or counts change

# Characters on each side of a join that may change its tokens. Tokenizers merge within words and runs of punctuation
# or space; 48 characters contain several of them.
REACH = 48
STRETCH = 600  # characters
KEPT = 10_000  # characters of a literal text whose tokens are remembered, at most
# Characters on each side of a join that are counted together to find out whether REACH is enough for it.
WINDOW = 512

# The mark comes first, so that only positions with one are checked; the look-behinds extend over it. A run of marks is
# tried at its first two: where these fail for what follows the run, so would all others. No sentence has 40 of them.
_SENTENCE_END = re.compile(
    r"[.!?…。！？](?:(?<=[.!?…])(?<![.!?]{2}.)(?<!\b[A-Z].)(?<!\b(?:Mr|Dr|St|No|vs|cf|Jr|Sr).)(?<!\b(?:Mrs|Rev|Gen|Col|Hon|i\.e|e\.g).)"
    r"(?<!\b(?:Prof|Capt).)[.!?…]{0,40}[\"'”’)\]]*(?=\s)"
    r"|(?<=[。！？…])[。！？…]*[\"”’」』）)]*)"
)
_PARAGRAPH_END = re.compile(r"\n(?<=\S\n)(?=\s*\n)")
_LINE_END = re.compile(r"(?<=\S)(?=\n)")
_NEXT_LINE = re.compile(r"\n(?=\S)")
_LINE_START = re.compile(r"\S\n")  # in a text read backwards
_WORD_END = re.compile(r"(?<=\S)(?=\s)|(?<=[\u3040-\u30ff\u3400-\u9fff。，、！？；：])")
# No tokenizer merges over the end of a word before a space, a line end or a Chinese mark.
_SPLIT = re.compile(r"(?<=[^\W\d_])(?=[\s。，、！？；：])")


def cut_points(text: str) -> array[int]:
    """Offsets where ``text`` may be cut: 0, the end of each sentence and paragraph, and its length.

    If paragraphs are separated by blank lines, single line ends count as hard wrapping. A stretch without a sentence
    end for ``STRETCH`` characters (a table, a transcript, one long line) is cut at lines, words or letters, because
    counting a piece takes time proportional to its length.
    """
    ends = {match.end() for match in _SENTENCE_END.finditer(text)}
    ends.update(match.start() for match in _PARAGRAPH_END.finditer(text))
    if "\n\n" not in text:
        ends.update(match.end() for match in _LINE_END.finditer(text))
    points = sorted({0, *ends, len(text)})
    dense = array("i", [0])
    for start, end in pairwise(points):
        while end - start > STRETCH:
            start = _place_to_cut(text, start)
            dense.append(start)
        dense.append(end)
    return dense


def _place_to_cut(text: str, start: int) -> int:
    """The last line end within ``STRETCH`` characters, else the last word end, else the last letter."""
    for pattern in (_LINE_END, _WORD_END):
        places = [match.end() for match in pattern.finditer(text, start + 1, start + STRETCH)]
        if places:
            return places[-1]
    return start + STRETCH


@dataclass(frozen=True, slots=True)
class Outline:
    """Cut points of a text and its tokens between them.

    ``tokens[k]`` sums the tokens of the first k pieces, each counted alone; ``joins[k]`` sums the corrections of
    the joins before pieces 1 to k - 1. ``additive`` means that all pieces joined have as many tokens as the whole text,
    which fails if a tokenizer merges over a run longer than ``REACH``, such as thousands of spaces.
    """

    points: array[int]
    tokens: array[int]
    joins: array[int]
    additive: bool = True

    def between(self, first: int, last: int) -> int:
        """Tokens of pieces ``first`` to ``last - 1`` joined."""
        if last <= first:
            return 0
        return self.tokens[last] - self.tokens[first] + self.joins[last] - self.joins[first + 1]


def _next_to_the_join(left: str, right: str) -> tuple[str, str]:
    """The parts of two texts that affect their join: no token extends over a line end into the next line.

    Text beyond a line end counts the same whether the texts are joined or not. Prompts have many joins at the headings
    of passages, and this makes them fewer distinct ones.
    """
    if left.endswith("\n") and not right[:1].isspace():
        left = left[max(0, len(left.rstrip()) - 1) :]
    elif inside := _LINE_START.search(left[::-1]):
        left = left[len(left) - 1 - inside.start() :]
    ahead = _NEXT_LINE.search(right)
    # Some tokenizers split a run of line ends depending on the next character.
    return left, right[: ahead.end() + 1] if ahead else right


def _window_before(text: str) -> str | None:
    """At most the last ``WINDOW`` characters of a text, from the end of a word on; None if no word ends there."""
    start = len(text) - WINDOW
    if start <= 0:
        return text
    match = _SPLIT.search(text, start, len(text) - REACH)
    return text[match.start() :] if match else None


def _window_after(text: str) -> str | None:
    """At most the first ``WINDOW`` characters of a text, up to the end of a word; None if no word ends there."""
    if len(text) <= WINDOW:
        return text
    match = _SPLIT.search(text, WINDOW // 2, WINDOW)
    return text[: match.start()] if match else None


class TokenCounter:
    """Counts tokens of texts, documents and spans with one tokenizer, with caching."""

    def __init__(self, tokenizer: Tokenizer, cache: CountCache | None = None) -> None:
        self.tokenizer = tokenizer
        self.cache = cache
        self._texts: dict[str, int] = {}
        self._joins: dict[tuple[str, str], int] = {}
        self._outlines: dict[str, Outline] = {}
        self._wholes: dict[str, int] = {}
        self._pieces: dict[tuple[str, int, int], int] = {}

    def count(self, text: str) -> int:
        """Tokens of a short text on its own."""
        if len(text) > KEPT:
            return self.tokenizer.count(_copy(text))
        known = self._texts.get(text)
        if known is None:
            if len(self._texts) > 200_000:
                self._texts.clear()
            known = self._texts[text] = self.tokenizer.count(text)
        return known

    def join(self, left: str, right: str) -> int:
        """Tokens that joining two texts adds (or saves, if negative), given the characters next to the join."""
        known = self._joins.get((left, right))
        if known is None:
            if len(self._joins) > 500_000:
                self._joins.clear()
            end, start = _next_to_the_join(left, right)
            known = self._joins[left, right] = self.count(end + start) - self.count(end) - self.count(start)
        return known

    def outline(self, document: Document) -> Outline:
        """Cut points and counts of a document, from memory, from disk, or tokenized now."""
        known = self._outlines.get(document.id)
        if known is None:
            known = self.cache.get(self.tokenizer.fingerprint, document) if self.cache else None
            if known is None:
                known = self._tokenize(document)
                if self.cache:
                    self.cache.put(self.tokenizer.fingerprint, document, known)
            self._outlines[document.id] = known
        return known

    def whole(self, document: Document) -> int:
        """Tokens of a whole document, without its cut points unless they are known.

        ``size`` gives the sum of the pieces instead, which differs if the document is not additive.
        """
        known = self._wholes.get(document.id)
        if known is None:
            outline = self._outlines.get(document.id)
            if outline is not None and outline.additive:
                known = outline.between(0, len(outline.points) - 1)
            else:
                known = self.cache.get_whole(self.tokenizer.fingerprint, document) if self.cache else None
            if known is None:
                known = self.tokenizer.count(_copy(document.text))
                if self.cache:
                    self.cache.put_whole(self.tokenizer.fingerprint, document, known)
            self._wholes[document.id] = known
        return known

    def sure_join(self, left: str, right: str) -> int | None:
        """Tokens that joining two texts adds; None unless more text next to the join gives the same number.

        Args:
            left: A text, or at least its last ``WINDOW + 1`` characters.
            right: A text, or at least its first ``WINDOW + 1`` characters.
        """
        end, start = _window_before(left), _window_after(right)
        if end is None or start is None:
            return None
        count = self.tokenizer.count
        near = self.join(left[-REACH:], right[:REACH])
        return near if near == count(end + start) - count(end) - count(start) else None

    def _tokenize(self, document: Document) -> Outline:
        text = _copy(document.text)
        points = cut_points(text)
        tokens, joins = array("i", [0]), array("i", [0])
        count = self.tokenizer.count
        for start, end in pairwise(points):
            left, right = text[max(0, start - REACH) : start], text[start : min(end, start + REACH)]
            seam = count(left + right) - count(left) - count(right) if start else 0
            tokens.append(tokens[-1] + count(text[start:end]))
            joins.append(joins[-1] + seam)
        whole = self._wholes.get(document.id)
        return Outline(points, tokens, joins, tokens[-1] + joins[-1] == (count(text) if whole is None else whole))

    def size(self, document: Document) -> int:
        """Tokens of a whole document."""
        return self.between(document, 0, len(document.text))

    def fits(self, document: Document, tokens: int) -> bool:
        """Whether a whole document has at most so many tokens, by ``size``.

        With most tokenizers the sum of the pieces is never far from the tokens of the whole text, and these are at most
        its bytes. Where twice of either is few enough, the document is not cut into pieces: most documents of a large
        corpus are never drawn.
        """
        text = document.text
        if document.id not in self._outlines and len(text) <= 4 * tokens and adds_up(self.tokenizer):
            if bounded_by_bytes(self.tokenizer) and 2 * len(text.encode()) <= tokens:
                return True
            if 2 * self.whole(document) <= tokens:
                return True
        return self.size(document) <= tokens

    def between(self, document: Document, start: int, end: int) -> int:
        """Tokens of characters ``start`` to ``end`` of a document."""
        key = document.id, start, end
        known = self._pieces.get(key)
        if known is None:
            if len(self._pieces) > 500_000:
                self._pieces.clear()
            known = self._pieces[key] = self._between(document, start, end)
        return known

    def _between(self, document: Document, start: int, end: int) -> int:
        outline, text = self.outline(document), document.text
        first, last = bisect_left(outline.points, start), bisect_right(outline.points, end) - 1
        if first > last:
            return self.tokenizer.count(text[start:end])
        left, right = outline.points[first], outline.points[last]
        total = outline.between(first, last)
        if start < left:
            total += self.tokenizer.count(text[start:left])
            if left < right:
                total += self.join(text[max(start, left - REACH) : left], text[left : min(right, left + REACH)])
        if right < end:
            total += self.tokenizer.count(text[right:end])
            if start < right:
                total += self.join(text[max(start, right - REACH) : right], text[right : min(end, right + REACH)])
        return total

    def cut(self, document: Document, start: int, end: int, least: int, most: int) -> int:
        """Where to end a piece of ``document`` that starts at ``start`` and has ``least`` to ``most`` tokens.

        Returns:
            The offset, at most ``end``: the last end of a paragraph in that range, else the last end of a sentence,
            else of a word, else of any character with at most ``most`` tokens (``start`` if nothing fits).
        """
        points, text = self.outline(document).points, document.text
        first, last = bisect_right(points, start), bisect_right(points, end)

        def tokens(offset: int) -> int:
            return self.between(document, start, offset)

        fit = bisect_right(points, most, lo=first, hi=last, key=tokens) - 1
        best = points[fit] if fit >= first else start
        if tokens(best) >= least:
            for index in range(fit, first - 1, -1):
                if tokens(points[index]) < least:
                    break
                if text[points[index] : points[index] + 1] in ("\n", ""):
                    return points[index]
            return best
        ceiling = min(end, points[fit + 1] if fit + 1 < len(points) else end)
        words = [match.end() for match in _WORD_END.finditer(text, best + 1, ceiling)]
        fit = bisect_right(words, most, key=tokens) - 1
        best = words[fit] if fit >= 0 else best
        if tokens(best) >= least:
            return best
        letters = range(best + 1, ceiling + 1)
        fit = bisect_right(letters, most, key=tokens) - 1
        return letters[fit] if fit >= 0 else best

    def head(self, document: Document, tokens: int) -> Span:
        """The longest start of at most ``tokens`` tokens, cut at a sentence if that keeps half of them."""
        return self._piece(document, 0, tokens)

    def pieces(self, document: Document, tokens: int) -> list[Span]:
        """``document`` in pieces of at most ``tokens`` tokens, split at paragraphs or sentences if possible."""
        pieces: list[Span] = []
        start, length = 0, len(document.text)
        if length and self.fits(document, tokens):
            return [Span(document.id, 0, length)]
        while start < length:
            pieces.append(self._piece(document, start, tokens))
            start = pieces[-1].end
            while start < length and document.text[start].isspace():
                start += 1
        return pieces

    def _piece(self, document: Document, start: int, tokens: int) -> Span:
        end = len(document.text)
        if self.between(document, start, end) > tokens:
            end = max(start + 1, self.cut(document, start, end, tokens // 2, tokens))
        return Span(document.id, start, end)

    def around(self, document: Document, evidence: Sequence[tuple[int, int]], tokens: int) -> Span | None:
        """Whole sentences of at most ``tokens`` tokens that contain all of ``evidence``; None if they do not fit."""
        if self.fits(document, tokens):
            return Span(document.id, 0, len(document.text))
        if not evidence:
            return None
        points = self.outline(document).points
        first = bisect_right(points, min(start for start, _ in evidence)) - 1
        last = bisect_left(points, max(end for _, end in evidence))
        outline = self.outline(document)
        if outline.between(first, last) > tokens:
            return None
        grown = True
        while grown:
            grown = False
            if last < len(points) - 1 and outline.between(first, last + 1) <= tokens:
                last, grown = last + 1, True
            if first > 0 and outline.between(first - 1, last) <= tokens:
                first, grown = first - 1, True
        start = points[first]
        while document.text[start].isspace():
            start += 1
        return Span(document.id, start, points[last])


def _copy(text: str) -> str:
    """An equal text for an engine, which would keep its UTF-8 in memory for as long as the text exists."""
    return text.encode().decode()


def cache_folder() -> Path:
    """Where fathom caches files: ``$FATHOM_CACHE``, else ``fathom`` in the user's cache folder."""
    if named := os.environ.get("FATHOM_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fathom"


class CountCache:
    """Outlines on disk, by tokenizer and content; shared by any number of processes.

    Nothing in it is trusted: each entry has a checksum, and a file that is not a database is deleted. A cache that
    cannot be written is not used; the build continues without it.
    """

    _SCHEMA = "CREATE TABLE IF NOT EXISTS outlines (key TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pending: dict[str, bytes] = {}
        self._db: sqlite3.Connection | None = None
        for _ in range(2):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=OFF")
                self._db.execute(self._SCHEMA)
                return
            except sqlite3.OperationalError:  # locked, read-only, no such folder: not damage
                return self._give_up()
            except sqlite3.DatabaseError:
                self._discard()
            except OSError:
                return self._give_up()

    def _give_up(self) -> None:
        if self._db:
            self._db.close()
        self._db = None

    def _discard(self) -> None:
        self._give_up()
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                self.path.with_name(self.path.name + suffix).unlink()

    def get(self, fingerprint: str, document: Document) -> Outline | None:
        """The outline of a document, or None if it is missing or damaged."""
        stored = self._stored(_key(fingerprint, document))
        return None if stored is None else _unpack(stored, len(document.text))

    def get_whole(self, fingerprint: str, document: Document) -> int | None:
        """Tokens of a whole document, or None if they are missing or damaged."""
        data = _checked(self._stored(_whole_key(fingerprint, document)) or b"")
        return int.from_bytes(data, "little") if data else None

    def _stored(self, key: str) -> bytes | None:
        if self._db is None:
            return None
        try:
            row = self._db.execute("SELECT data FROM outlines WHERE key = ?", (key,)).fetchone()
        except sqlite3.OperationalError:
            return None
        except sqlite3.DatabaseError:
            self._discard()
            return None
        return row[0] if row and isinstance(row[0], bytes) else None

    def put(self, fingerprint: str, document: Document, outline: Outline) -> None:
        """Store an outline; ``flush`` writes it to disk."""
        self._put(_key(fingerprint, document), _pack(outline))

    def put_whole(self, fingerprint: str, document: Document, tokens: int) -> None:
        """Store the tokens of a whole document; ``flush`` writes them to disk."""
        self._put(_whole_key(fingerprint, document), _with_check(tokens.to_bytes(8, "little")))

    def _put(self, key: str, data: bytes) -> None:
        self._pending[key] = data
        if len(self._pending) >= 500:
            self.flush()

    def flush(self) -> None:
        """Write the stored outlines in one short transaction."""
        pending, self._pending = self._pending, {}
        if self._db is None or not pending:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT OR REPLACE INTO outlines VALUES (?, ?)", pending.items())
            self._db.execute("COMMIT")
        except sqlite3.DatabaseError:  # a full or read-only disk only costs the cache
            self._give_up()

    def close(self) -> None:
        """Flush and close the file."""
        self.flush()
        self._give_up()


def _key(fingerprint: str, document: Document) -> str:
    return f"{_CACHE_FORMAT}|{sys.byteorder}|{fingerprint}|{document.id}"


def _whole_key(fingerprint: str, document: Document) -> str:
    return _key(fingerprint, document) + "|whole"


def _with_check(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest() + data


def _checked(stored: bytes) -> bytes | None:
    """The stored data, or None if it is damaged."""
    check, data = stored[:16], stored[16:]
    return data if hashlib.blake2b(data, digest_size=16).digest() == check else None


def _pack(outline: Outline) -> bytes:
    return _with_check(
        bytes([outline.additive]) + outline.points.tobytes() + outline.tokens.tobytes() + outline.joins.tobytes()
    )


def _unpack(stored: bytes, length: int) -> Outline | None:
    data = _checked(stored)
    if data is None or len(data) % 12 != 1:
        return None
    numbers = array("i")
    numbers.frombytes(data[1:])
    third = len(numbers) // 3
    outline = Outline(numbers[:third], numbers[third : 2 * third], numbers[2 * third :], bool(data[0]))
    return outline if third >= 2 and outline.points[-1] == length else None
