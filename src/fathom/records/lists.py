"""The entries of one JSON list that fills a file, one after the other: never the whole list in memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path

from fathom.records.streams import DamagedError, read_chunks

AT_ONCE = 1 << 20  # characters that are read before an entry is looked for
LONGEST = 1 << 27  # characters of an entry
_BLANK = re.compile(r"[ \t\n\r]*")
_AFTER_NUMBERS = ",] \t\n\r"
_DECODER = json.JSONDecoder()


def read_list(path: Path) -> Iterator[object]:
    """Yield the entries of a list.

    Args:
        path: A file whose content is one list, compressed or not.

    Raises:
        DamagedError: The file cannot be read, or one entry has more than 128 Mi characters; as for all errors, the
            entries before have been yielded.
        ValueError: The file is not JSON, not UTF-8, or not one list.
        RecursionError: An entry is nested too deeply.
    """
    text = _Text(path)
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
        raise ValueError("there is more after the end of the list")


class _Text:
    """Text of a file of which only what is not read yet is held."""

    def __init__(self, path: Path) -> None:
        self._chunks = read_chunks(path)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._held, self._at, self._dropped = "", 0, 0
        self._ended = False

    def next_character(self) -> str:
        """The next character that is no blank, without taking it; "" at the end."""
        while True:
            self._at = self._after_blanks(self._at)
            if self._at < len(self._held) or self._ended:
                return self._held[self._at : self._at + 1]
            self._read_more()

    def expect(self, character: str) -> None:
        """Take a character.

        Raises:
            ValueError: Another one comes.
        """
        if self.next_character() != character:
            raise ValueError(f"expected {character!r} at character {self._dropped + self._at + 1:,}")
        self._at += 1

    def entry(self) -> object:
        """Take a value; what follows it has been read too, so that no number is cut in two."""
        self.next_character()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise ValueError(f"{error.msg} at character {self._dropped + error.pos + 1:,}") from error
            else:
                following = self._after_blanks(end)
                # A number can end where a piece of the file does, and go on in the next one.
                cut = isinstance(value, int | float) and self._held[end : end + 1] not in _AFTER_NUMBERS
                if self._ended or (following < len(self._held) and not cut):
                    self._at = following
                    return value
            if len(self._held) - self._at > LONGEST:
                raise DamagedError(
                    f"has no whole entry within {LONGEST >> 20:,} Mi characters; make JSONL or Parquet of it"
                )
            self._read_more()

    def _after_blanks(self, at: int) -> int:
        found = _BLANK.match(self._held, at)
        return found.end() if found else at

    def _read_more(self) -> None:
        """Drop what was taken, and read at least as much again as is left."""
        self._dropped += self._at
        pieces, size = [self._held[self._at :]], len(self._held) - self._at
        wanted = max(2 * size, size + AT_ONCE)
        while size < wanted and not self._ended:
            chunk = next(self._chunks, None)
            piece = self._decoder.decode(chunk or b"", final=chunk is None)
            self._ended = chunk is None
            pieces.append(piece)
            size += len(piece)
        self._held, self._at = "".join(pieces), 0
