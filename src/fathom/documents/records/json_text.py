"""JSON of any size: a text of which only the unread part is in memory, and the entries of lists."""

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path

from fathom.documents.records.streams import DamagedError, read_chunks

AT_ONCE = 1 << 20  # characters read at a time
LONGEST = 1 << 27  # maximum characters of an entry
LONGEST_ESCAPE = 6  # characters
_BLANK = re.compile(r"[ \t\n\r]*")
_AFTER_NUMBERS = ",] \t\n\r"
_COMPLETE = re.compile(r'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+')  # characters and escapes of a string
_DECODER = json.JSONDecoder()


def read_objects(path: Path) -> Iterator[object]:
    """Objects one after another, with anything blank between them or nothing."""
    text = JsonText(read_chunks(path))
    while text.next_character():
        yield text.entry()


def read_list(path: Path) -> Iterator[object]:
    """Yield the entries of a list.

    Args:
        path: A file with one list, compressed or not.

    Raises:
        DamagedError: The file cannot be read, or one entry has more than 128 Mi characters. As with all errors, earlier
            entries have been yielded.
        ValueError: The file is not JSON, not UTF-8, or not one list.
        RecursionError: An entry is nested too deeply.
    """
    text = JsonText(read_chunks(path))
    text.expect("[")
    if text.next_character() == "]":
        text.expect("]")
    else:
        while True:
            yield text.entry()
            if text.next_character() == "]":
                text.expect("]")
                break
            text.expect(",")
    if text.next_character():
        raise ValueError("there is more content after the end of the list")


class JsonText:
    """A text of JSON, of which only the unread part is kept in memory."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._unread, self._at, self._dropped = "", 0, 0
        self._ended = False

    def next_character(self) -> str:
        """The next non-blank character, without consuming it; "" at the end."""
        while True:
            self._at = self._after_blanks(self._at)
            if self._at < len(self._unread) or self._ended:
                return self._unread[self._at : self._at + 1]
            self._read_more()

    def expect(self, character: str) -> None:
        """Consume a character.

        Raises:
            ValueError: Another one comes.
        """
        if self.next_character() != character:
            raise ValueError(f"expected {character!r} at character {self._dropped + self._at + 1:,}")
        self._at += 1

    def entry(self) -> object:
        """Consume a value; the text after it has been read too, so that no number is split.

        Raises:
            ValueError: It is not valid.
            DamagedError: It is too long.
        """
        self.next_character()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._unread, self._at)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise ValueError(f"{error.msg} at character {self._dropped + error.pos + 1:,}") from error
            else:
                following = self._after_blanks(end)
                # A number can end at the end of a chunk and continue in the next one.
                cut = isinstance(value, int | float) and self._unread[end : end + 1] not in _AFTER_NUMBERS
                if self._ended or (following < len(self._unread) and not cut):
                    self._at = following
                    return value
            if len(self._unread) - self._at > LONGEST:
                raise DamagedError(
                    f"has no complete entry within {LONGEST >> 20:,} Mi characters; convert it to JSONL or Parquet"
                )
            self._read_more()

    def names(self) -> Iterator[object]:
        """Consume an object up to the end of the text; the value of each name is to be consumed before the next.

        Raises:
            ValueError: More follows.
        """
        self.expect("{")
        while self.next_character() != "}":
            name = self.entry()
            self.expect(":")
            yield name
            if self.next_character() != "}":
                self.expect(",")
        self.expect("}")
        if self.next_character():
            raise ValueError("there is more content after the end of the object")

    def string(self) -> Iterator[str]:
        """Consume a string, in pieces.

        Raises:
            ValueError: It is not valid.
        """
        self.expect('"')
        kept, closed = "", False
        while not closed:
            match = _COMPLETE.match(self._unread, self._at)
            end = match.end() if match else self._at
            piece = kept + json.loads(f'"{self._unread[self._at : end]}"')
            closed = self._unread[end : end + 1] == '"'
            stuck = end == self._at and not closed and len(self._unread) - end > LONGEST_ESCAPE
            self._at = end + closed
            # Two escapes for one character may be in two pieces.
            kept = "" if closed or not "\ud800" <= piece[-1:] <= "\udbff" else piece[-1]
            yield piece.removesuffix(kept).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
            if not closed and (stuck or self._ended):
                raise ValueError(f"the string is not valid at character {self._dropped + end + 1:,}")
            if not closed:
                self._read_more()

    def _after_blanks(self, at: int) -> int:
        match = _BLANK.match(self._unread, at)
        return match.end() if match else at

    def _read_more(self) -> None:
        """Drop the consumed text, and read at least as much again as is left."""
        self._dropped += self._at
        pieces, size = [self._unread[self._at :]], len(self._unread) - self._at
        wanted = max(2 * size, size + AT_ONCE)
        while size < wanted and not self._ended:
            chunk = next(self._chunks, None)
            piece = self._decoder.decode(chunk or b"", final=chunk is None)
            self._ended = chunk is None
            pieces.append(piece)
            size += len(piece)
        self._unread, self._at = "".join(pieces), 0
