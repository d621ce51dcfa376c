"""Finds out how a file that a person saved encodes its text, by its byte order mark or the pattern of its NUL bytes."""

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
LONGEST_MARK = 4
"""Bytes of the longest byte order mark."""
PROBED = 4096
"""Bytes at the start of a file that show UTF-16 without a byte order mark."""
_NULS = 0.4  # share of the characters of such a text, at least, whose high byte is NUL
_STRAY = 0.02  # share of them, at most, whose low byte is NUL
_FEWEST = 4  # characters from which the pattern counts
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")


def encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding of a text by its first bytes.

    Args:
        head: The first ``PROBED`` bytes, or all if there are fewer.

    Returns:
        ``utf-8``, or the form of UTF-16 or UTF-32; and the bytes of its byte order mark, 0 without one. Text in an
        older encoding counts as UTF-8, and cannot be decoded as such.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, len(mark)
    characters = len(head[:PROBED]) // 2
    if characters < _FEWEST:
        return "utf-8", 0
    first, second = (head[start : 2 * characters : 2].count(0) / characters for start in (0, 1))
    if second >= _NULS and first <= _STRAY:
        return "utf-16-le", 0
    if first >= _NULS and second <= _STRAY:
        return "utf-16-be", 0
    return "utf-8", 0


def decode(content: bytes) -> str:
    """The text of a file, without its byte order mark.

    Raises:
        UnicodeDecodeError: It is in none of the forms of Unicode.
    """
    encoding, mark = encoding_of(content[:PROBED])
    return content[mark:].decode(encoding)


def older_encoding(content: bytes) -> str:
    """What to do about a text that is not UTF-8, naming the encoding that it may have.

    Args:
        content: Some of its bytes, with those that are not UTF-8.
    """
    name = "GB18030" if _is_chinese(content) else "CP1252"
    usual = {
        "GB18030": "it may be GB18030, as Chinese Windows writes it",
        "CP1252": "it may be Windows-1252 (CP1252), as Excel and older editors write it",
    }
    return f"{usual[name]}: save it as UTF-8 (in Excel, as CSV UTF-8), or convert it: iconv -f {name} -t UTF-8"


def _is_chinese(content: bytes) -> bool:
    """Whether the bytes beyond ASCII are mostly pairs that are common Chinese characters in GB18030.

    A letter with an accent stands alone among ASCII letters; both bytes of usual Chinese characters are beyond ASCII.
    """
    runs = _BEYOND_ASCII.findall(content)
    beyond = sum(map(len, runs))
    text = b" ".join(runs).decode("gb18030", errors="replace")
    return beyond > 1 and 2 * sum("\u4e00" <= letter <= "\u9fff" for letter in text) >= 0.8 * beyond
