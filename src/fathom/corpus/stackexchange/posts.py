"""The rows of ``Posts.xml``, as its bytes come in; damage is reported and the rows around it are kept."""

from __future__ import annotations

from collections.abc import Callable
from xml.parsers.expat import ExpatError, ParserCreate, XMLParserType

ROW = b"<row "
# Ten times the longest post there can be; the time that the parser takes grows with the square of a row's length.
LONGEST_ROW = 1 << 24


class EntitiesError(Exception):
    """The XML declares entities; the message says so, in words that follow the file's name."""


class PostsParser:
    """Takes the bytes of a dump piece by piece and hands on its rows. Entities are refused, nothing is loaded.

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
                self._report(
                    self._line + error.lineno - 1, f"not XML: {_words(error)}; reading goes on at the next row"
                )
                data = self._after_damage(data)
                continue
            self._fed += len(data)
            if self._fed - self._parser.CurrentByteIndex > LONGEST_ROW:
                self._line += self._parser.CurrentLineNumber - 1
                self._report(self._line, f"a row of more than {LONGEST_ROW >> 20} MiB; reading goes on at the next row")
                self._seeking = True
            return

    def close(self) -> None:
        """Say that no more bytes come."""
        if self._seeking:
            return
        try:
            self._parser.Parse(b"", True)
        except ExpatError as error:
            line = self._line + error.lineno - 1
            self._report(line, "the file ends in the middle of the posts; what came before is kept; fetch it again")

    def _start(self, opening: bytes = b"") -> XMLParserType:
        # Bytes come as UTF-8, whatever the file's first line says it was.
        parser = ParserCreate("UTF-8")
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
        """The bytes of the piece from the damage on; at least one byte less, so that it always goes on."""
        position = max(self._parser.ErrorByteIndex - self._fed, 1)
        self._line += self._parser.ErrorLineNumber - 1
        self._seeking = True
        return data[position:]

    def _seek(self, data: bytes) -> bytes:
        """The bytes from the next row on, given to a new parser; none where no row begins in this piece."""
        data = self._tail + data
        start = data.find(ROW)
        # What is kept for later may hold the start of a row, and never a line end that was counted.
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
    raise EntitiesError("declares entities, which no dump of Stack Exchange does; fetch it from its publisher.")
