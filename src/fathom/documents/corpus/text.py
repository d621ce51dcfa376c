"""Normalises texts: line ends, stray characters, language, id."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from fathom.types import Document

CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
CJK_SHARE = 0.3
SAMPLE_CHARACTERS = 20_000

_LANGUAGES = {"english": "en", "eng": "en", "chinese": "zh", "cn": "zh", "zho": "zh", "chi": "zh", "mandarin": "zh"}
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\ufeff]")
_MANY_NEWLINES = re.compile("\n{3,}")


def normalise(text: str) -> str:
    """Normalise a text for storing and comparing.

    Byte order marks and control characters (all of C0 but newline and tab) are removed, line ends become ``\\n``,
    trailing spaces of lines are removed, several blank lines become one, and both ends are stripped. The function is
    idempotent.
    """
    text = _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    # Not one pattern: "spaces before a newline" takes quadratic time on a long run of spaces.
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    return _MANY_NEWLINES.sub("\n\n", text).strip()


def storable(text: str) -> str:
    """A text with a question mark for each lone surrogate, which JSON can encode and UTF-8 cannot."""
    return text.encode(errors="replace").decode()


def joined_pages(pages: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """The normalised text of pages, and the offset at which each starts; an empty one starts where the next does."""
    texts, starts, at = [normalise(page) for page in pages], list[int](), 0
    for text in texts:
        starts.append(at)
        at += len(text) + 2 if text else 0
    whole = "\n\n".join(filter(None, texts))
    return whole, tuple(min(start, len(whole)) for start in starts)


def detect_language(text: str) -> str:
    """``zh`` if more than 30% of the letters are Chinese characters, else ``en``.

    Samples some 20,000 characters evenly, so that an English preface to a Chinese novel does not matter.
    """
    sample = text[:: len(text) // SAMPLE_CHARACTERS + 1]
    chinese = 0 if sample.isascii() else len(CJK.findall(sample))
    return "zh" if chinese and chinese > CJK_SHARE * sum(map(str.isalpha, sample)) else "en"


def language_code(name: object) -> str | None:
    """ISO 639-1 code of a language as sources write it (``Chinese``, ``zh-CN``, ``EN``), or None if unknown."""
    if not isinstance(name, str):
        return None
    word = re.split("[-_ ]", name.strip().lower(), maxsplit=1)[0]
    word = _LANGUAGES.get(word, word)
    return word if re.fullmatch("[a-z]{2}", word) else None


def document_id(text: str) -> str:
    """The id of a text, from its content.

    Returns:
        The first 16 hexadecimal digits (64 bits) of the SHA-256 of the UTF-8 text.
    """
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def merged(first: Document, other: Document) -> Document:
    """The first of two documents with the same text, with the questions and the summary that only the other has."""
    new = tuple(question for question in other.questions if question not in first.questions)
    if not new and (first.summary or not other.summary):
        return first
    return replace(first, questions=first.questions + new, summary=first.summary or other.summary)
