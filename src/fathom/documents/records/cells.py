"""Lists in the cells of tables, as JSON, Python, NumPy and pandas write them.

A cell that looks like a list is read as one or refused, and never taken as one text.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence

MOST_DEPTH = 8
WHAT_TO_DO = 'write it as a JSON list, as in ["two", "2"]'
_PAIRS = {"“": "”", "„": "“”", "‘": "’", "«": "»", "‹": "›"}  # what closes a typographic quotation
_QUOTES = "'\"" + "".join(_PAIRS)
_LOOKS_QUOTED = re.compile(rf"(?:(?:np\.|numpy\.)?array\()?[\[(]\s*(?:u|np\.\w+\(|array\()?[\[({_QUOTES}]")
_LOOKS_KEYED = re.compile(r"\{\s*u?['\"]")
_LOOKS_PLAIN = re.compile(r"\[[^\[\],;|'\"“”]*+[,;|'\"“”][^\[\]]*+\]")
_LOOKS_NUMERIC = re.compile(
    r"(?:(?:np\.|numpy\.)?array\(\s*)?[\[{]\s*(?:[-+]?[\d.]+|nan|None)(?:[\s,]+(?:[-+]?[\d.]+|nan|None))*\s*[\]}]\s*\)?"
)
_TOKEN = re.compile(
    r"\s*(?:"
    r"u?(?P<ascii>'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\")"
    r"|(?P<quoted>“[^“”]*”|„[^„“”]*[“”]|‘[^‘’]*’|«[^«»]*»|‹[^‹›]*›)"
    r"|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))"
    r"|(?P<call>(?:np\.|numpy\.)?(?:array|str_|float16|float32|float64|u?int8|u?int16|u?int32|u?int64|bool_)\()"
    r"|(?P<word>None|null|nan|NaN|NaT|<NA>|True|False|true|false)(?!\w)"
    r"|(?P<option>dtype=(?:'[^']*'|[\w.<>]+))"
    r"|(?P<mark>[\[\](){},:])"
    r")",
    re.DOTALL,
)
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_EMPTY = ("None", "null", "nan", "NaN", "NaT", "<NA>")


class CellError(ValueError):
    """A cell looks like a list and cannot be read as one; the message says what to do."""


def as_listed(cell: object) -> object:
    """A cell with a list as that list.

    Args:
        cell: Any value of a table.

    Returns:
        The list, or the object as a dictionary, if the cell is a text that holds one; numbers in it are texts as they
        were written. Otherwise the cell.

    Raises:
        CellError: The text looks like a list, and is none.
    """
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    quoted = _LOOKS_QUOTED.match(text) or _LOOKS_KEYED.match(text)
    quoted = quoted or _LOOKS_NUMERIC.fullmatch(text)
    if not quoted and text[:1] not in "[{":
        return cell
    try:
        value = json.loads(text, parse_int=str, parse_float=str, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        pass
    else:
        return value if isinstance(value, list | dict) else cell
    if not quoted and not _LOOKS_PLAIN.fullmatch(text):
        return cell
    try:
        return _Reader(text).read()
    except CellError:
        if text[0] == "(":  # as sentences in parentheses begin with a quotation
            return cell
        raise


def texts_in(value: object) -> Iterator[str]:
    """The texts and numbers in a value, in their order: its own, those of a list, or the ``text`` of an object.

    Args:
        value: A value of a record, after ``as_listed``.

    Raises:
        CellError: An object has no ``text``.
    """
    match value:
        case str():
            yield value
        case bool():
            return
        case int() | float():
            yield str(value)
        case Mapping():
            named = next((value[name] for name in ("text", "answer", "answers") if name in value), None)
            if named is None:
                raise CellError(
                    f"an object with {', '.join(map(str, value)) or 'nothing'}, and without 'text'; {WHAT_TO_DO}"
                )
            yield from texts_in(named)
        case Sequence() if not isinstance(value, bytes):
            for item in value:
                yield from texts_in(item)


class _Reader:
    """Reads the notation of a list from its first character to its last."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read(self) -> object:
        """The list or dictionary.

        Raises:
            CellError: The text is something else.
        """
        value = self._value(*self._next(), 0)
        if self._text[self._at :].strip():
            raise self._error()
        return value

    def _next(self) -> tuple[str, str]:
        match = _TOKEN.match(self._text, self._at)
        if match is None or match.lastgroup is None:
            raise self._error()
        self._at = match.end()
        return match.lastgroup, match[match.lastgroup]

    def _value(self, kind: str, token: str, depth: int) -> object:
        if depth > MOST_DEPTH:
            raise self._error()
        match kind, token:
            case "mark", "[" | "(" | "{":
                return self._items(_CLOSING[token], depth)
            case "call", _:
                value = self._value(*self._next(), depth + 1)
                kind, token = self._next()
                while (kind, token) == ("mark", ",") or kind == "option":
                    kind, token = self._next()
                if token == ")":
                    return value
            case "ascii", _:
                return self._literal(token)
            case "quoted", _:
                return token[1:-1]
            case "number", _:
                return token
            case "word", _:
                return None if token in _EMPTY else token.lower() == "true"
        raise self._error()

    def _items(self, closing: str, depth: int) -> object:
        """The values up to the end of a list, all separated by commas or, as NumPy does, all by spaces."""
        values, keys = list[object](), list[object]()
        separators = set[str]()
        while True:
            kind, token = self._next()
            if token == closing and kind == "mark":
                break
            values.append(self._value(kind, token, depth + 1))
            start = self._at
            kind, token = self._next()
            if (kind, token) == ("mark", ":") and closing == "}":
                keys.append(values.pop())
                values.append(self._value(*self._next(), depth + 1))
                start = self._at
                kind, token = self._next()
            if (kind, token) != ("mark", ",") and token != closing and not self._text[start : start + 1].isspace():
                raise self._error()
            if (kind, token) != ("mark", ","):
                self._at = start
            if token != closing:
                separators.add("," if token == "," else " ")
        if len(separators) > 1 or (keys and len(keys) != len(values)):
            raise self._error()
        return dict(zip(map(str, keys), values, strict=True)) if keys else values

    def _literal(self, token: str) -> str:
        if "\\" not in token:
            return token[1:-1]
        try:
            return str(ast.literal_eval(token.replace("\n", "\\n").replace("\r", "\\r")))
        except (ValueError, SyntaxError):
            raise self._error() from None

    def _error(self) -> CellError:
        shortened = "; it is shortened" if "..." in self._text[self._at : self._at + 4] else ""
        return CellError(
            f"it looks like a list, but cannot be read as one at character {self._at + 1:,}{shortened}; {WHAT_TO_DO}"
        )
