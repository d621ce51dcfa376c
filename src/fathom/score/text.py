"""Normalises and compares texts: folding, words of English and Chinese, token F1, common subsequences."""

import re
import string
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from fathom.score.chinese import cut_words

if TYPE_CHECKING:
    from opencc import OpenCC

_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_LONE = re.compile("([\ud800-\udfff]+)")  # halves of surrogate pairs
_ASCII_WORD = re.compile("[a-z0-9]+")
_WORD = re.compile(r"[^\W_]+")
# Letters and digits adjacent to a word belong to it; Chinese has no spaces, so it does not count.
_WORD_LETTER = "[0-9a-z\u00df-\u024f\u0370-\u052f]"
_NO_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
# Full-width ASCII, unusual spaces and dashes are normalised; zero-width characters are removed.
_PLAIN = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys(map(ord, "\u3000\u00a0\u2002\u2003\u2009\u202f"), " ")
    | dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
    | dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"), None)
)


def fold(text: str) -> str:
    """Text with full-width characters as ASCII, spaces and dashes normalised, and nothing invisible."""
    return text.translate(_PLAIN)


def simplified(text: str) -> str:
    """Text with traditional Chinese characters as simplified ones, as OpenCC converts them."""
    if not has_chinese(text):
        return text
    # OpenCC encodes a text, which halves of surrogate pairs do not allow: JSON in replies may have them.
    return "".join(piece if at % 2 else _converter().convert(piece) for at, piece in enumerate(_LONE.split(text)))


@cache
def _converter() -> "OpenCC":
    from opencc import OpenCC  # loads its dictionaries

    return OpenCC("t2s")


def token_f1(prediction: str, answer: str | Sequence[str], language: str = "en") -> float:
    """Word overlap of a prediction and an answer, as bags: harmonic mean of precision and recall.

    Args:
        answer: The gold answer, or several, of which the nearest counts.
        language: ``zh`` splits words with jieba; anything else at white space.

    Returns:
        F1 in [0, 1]. Case, punctuation of any script and (in English) articles are ignored, unless an answer consists
        of nothing else.
    """
    if not isinstance(answer, str):
        return max((token_f1(prediction, text, language) for text in answer), default=0.0)
    cut = chinese_words if language == "zh" else english_words
    return bag_f1(cut(prediction), cut(answer))


def exact_match(prediction: str, answer: str) -> float:
    """1.0 if both texts have the same words in the same order, ignoring case, punctuation and articles."""
    return float(english_words(prediction) == english_words(answer))


def english_words(text: str) -> list[str]:
    """Lower-case words without punctuation and articles, or all words if nothing else is left."""
    plain = _folded(text)
    kept = plain if plain.isascii() else "".join(letter for letter in plain if not _is_mark(letter))
    kept = kept.translate(_NO_ASCII_PUNCTUATION)
    return _ARTICLES.sub(" ", kept).split() or kept.split() or plain.split()


def chinese_words(text: str) -> list[str]:
    """Words according to jieba, in lower case, without punctuation and space."""
    plain = _folded(text)
    words = ("".join(letter for letter in word if not _is_mark(letter)).strip() for word in cut_words(plain))
    return [word for word in words if word] or plain.split()


def bag_f1(prediction: Sequence[str], answer: Sequence[str]) -> float:
    """F1 of two bags of words; 0.0 if they share none."""
    shared = sum((Counter(prediction) & Counter(answer)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(prediction), shared / len(answer)
    return 2 * precision * recall / (precision + recall)


def official_words(text: str) -> list[str]:
    """English words as split by LongBench's scorers: only ASCII punctuation is removed, and articles always are."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_ASCII_PUNCTUATION)).split()


def ascii_words(text: str) -> list[str]:
    """Runs of ASCII letters and digits in lower case: the words of ``rouge_score``."""
    return _ASCII_WORD.findall(text.lower())


def all_words(text: str) -> list[str]:
    """Normalised words of any script in lower case; texts with Chinese are split by jieba."""
    plain = _folded(text)
    parts = cut_words(plain) if has_chinese(plain) else [plain]
    return [word for part in parts for word in _WORD.findall(part)] or plain.split()


def stands_in(text: str, gold: str) -> bool:
    """Whether a gold text occurs in a text as whole words, ignoring case, width and spaces."""
    return bool(caseless(gold)) and whole_words(gold).search(caseless(text)) is not None


def whole_words(gold: str) -> re.Pattern[str]:
    """A pattern of a text as whole words, in a text without case (``caseless``)."""
    wanted = caseless(gold)
    before = f"(?<!{_WORD_LETTER})" if re.match(_WORD_LETTER, wanted) else ""
    after = f"(?!{_WORD_LETTER})" if re.match(_WORD_LETTER, wanted[-1:]) else ""
    return re.compile(before + re.escape(wanted) + after)


def caseless(text: str) -> str:
    """A normalised text with single spaces, for comparison ignoring case and kinds of Chinese characters."""
    return " ".join(unicodedata.normalize("NFC", fold(simplified(text))).casefold().split())


def has_chinese(text: str) -> bool:
    """Whether a text contains a Chinese character."""
    return _CJK.search(text) is not None


def _folded(text: str) -> str:
    return fold(unicodedata.normalize("NFC", simplified(text))).lower()


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter)[0] in "PS"


def common_length(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence of two sequences.

    A row of the usual table is stored as the bits of one number (Hyyrö, "Bit-parallel LCS-length computation
    revisited", 2004): a bit is unset where the length increases.
    """
    places: defaultdict[Hashable, int] = defaultdict(int)
    for at, item in enumerate(second):
        places[item] |= 1 << at
    full = (1 << len(second)) - 1
    row = full
    for matches in filter(None, map(places.get, first)):
        shared = row & matches
        row = ((row + shared) | (row - shared)) & full
    return len(second) - row.bit_count()


def similarity(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Twice the longest common subsequence divided by the sum of the lengths; 1.0 for two empty sequences.

    This is ``ratio`` of python-Levenshtein, and the F1 of ROUGE-L if the items are the words of two texts.
    """
    both = len(first) + len(second)
    # As one minus the distance: the same rounding as python-Levenshtein.
    return 1.0 - (both - 2 * common_length(first, second)) / both if both else 1.0
