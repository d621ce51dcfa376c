"""Prepares replies for extraction: plain text, numbers as digits, negated answers removed, split at answer cues."""

import re
from collections.abc import Iterator

from fathom.score.dialects import without_reasoning
from fathom.score.text import fold

_MARKDOWN = re.compile(r"[*`~$]+|\\boxed|^[ \t]*#+[ \t]", re.MULTILINE)
# "answer is", "Answer:", "[Answer]", "答案是", "答案：": what follows is the answer.
CUE = re.compile(
    r"\b(?:answer|choice|option|pass ?key|result)\s+(?:is|would be|should be)\b\s*:?|\banswer\s*[:=]|\[answer\]"
    r"|(?:答案|选项|结果|密码|密钥)\s*(?:是|为|:)\s*:?|\[答案\]",
    re.IGNORECASE,
)
# Nouns for numbered things, and how they precede the number.
PASSAGE_NOUN = "(?:passage|paragraph|document|article|text)"
_NOUN = rf"(?:{PASSAGE_NOUN}|option|choice|number|no\.)"
_NOUN_ZH = "(?:段落|文章|文档|篇章|选项|选择|选|第)"
NAME = rf"(?:{_NOUN}[\W_]{{0,3}}|{_NOUN_ZH}\W{{0,3}})"
# "not passage 4", "rather than 4", "option 1 is wrong".
RULED_OUT = re.compile(
    r"(?:\b(?:not|nor|neither|cannot|rather than|instead of|unlike)\b|n['’]t\b)"
    r"(?:[ \t]+(?:in|the|be|to|it|all|from|belong|match|fit)){0,3}"
    rf"[ \t(]*{NAME}?[0-9]+(?:[.,][0-9]+)*(?:th|st|nd|rd)?"
    rf"|(?:不是|并非|而非|不属于|不在|不选|不为)[ \t]*{NAME}?[0-9]+"
    rf"|{NAME}[0-9]+[\])]?"
    r"(?:[ \t]+(?:is|was|seems|looks)[ \t]+(?:wrong|incorrect|false|not[ \t]+(?:right|correct|it\b|the\b))"
    r"|[ \t]+isn['’]t[ \t]+(?:right|correct|it\b|the\b)|[ \t]+does(?:[ \t]+not|n['’]t)[ \t]+(?:match|fit|belong)"
    r"|[个项段篇]?(?:不对|不正确|是错|错误|不符))",
    re.IGNORECASE,
)
# Numbers in circles, in brackets and with a full stop as one letter each.
_ENCLOSED = {
    first + n: frame.format(n + 1)
    for first, size, frame in (
        *((0x2460, 20, "({})"), (0x2474, 20, "({})"), (0x2488, 20, "{}.")),
        *((0x2776, 10, "({})"), (0x2780, 10, "({})"), (0x278A, 10, "({})")),
    )
    for n in range(size)
}
_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ENGLISH = (
    {"zero": 0, "a": 1}
    | {word: value for value, word in enumerate((*_UNITS, *_TEENS), start=1)}
    | {word: 10 * tens for tens, word in enumerate(_TENS, start=2)}
)
_ODD_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth"}
_ODD_ORDINALS |= {"nine": "ninth", "twelve": "twelfth"}
_CHINESE = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000}
_CHINESE_RUN = "[零〇一二两三四五六七八九十百千]+"
_FRAME = re.compile(rf"(?:第|段落|选项)?({_CHINESE_RUN})(?:个|篇|段|段落|项)?")
_UNIT, _TEEN, _TEN = ("|".join(words) for words in (_UNITS, _TEENS, _TENS))
_SMALL = f"(?:(?:{_TEN})(?:[- ](?:{_UNIT}))?|{_TEEN}|{_UNIT})"
_CARDINAL = re.compile(
    rf"\b(?:(?:a|{_UNIT})[- ]hundred(?:(?:[- ]and)?[- ]{_SMALL})?|{_SMALL}|zero)\b", re.IGNORECASE | re.ASCII
)
# "one" is a pronoun and 一 part of many words, unless the preceding word indicates a number.
_BEFORE_ONE = re.compile(
    r"\b(?:passage|paragraph|document|article|text|option|choice|number|answer(?: is)?)\W{0,3}$", re.IGNORECASE
)
_BEFORE_CHINESE = re.compile(r"(?:第|段落|文章|文档|篇章|选项|答案\s?(?:是|为|[:：]))\s?$")
_IN_CHINESE = re.compile(_CHINESE_RUN)
_AFTER_CHINESE = re.compile(r"\s?[个篇段项条种号份]|(?![\u3400-\u9fff])")


def plain_text(reply: str) -> str:
    """A reply without thoughts and Markdown, in normalised letters."""
    return _MARKDOWN.sub("", fold(without_reasoning(reply)))


def settled(reply: str, words: bool = True) -> str:
    """A normalised reply with numbers in words as digits (unless not ``words``), and without negated answers."""
    text = plain_text(reply).translate(_ENCLOSED)
    return RULED_OUT.sub(" ", in_digits(text) if words else text)


def after_cues(text: str) -> Iterator[str]:
    """The text after each answer cue, up to the next; the last first."""
    cues = list(CUE.finditer(text))
    ends = [*(cue.start() for cue in cues), len(text)][1:]
    for cue, end in reversed(list(zip(cues, ends, strict=True))):
        yield text[cue.end() : end]


def _ordinal(word: str) -> str:
    return _ODD_ORDINALS.get(word) or (word[:-1] + "ieth" if word.endswith("y") else word.removesuffix("e") + "th")


_ORDINALS = {_ordinal(word): value for word, value in _ENGLISH.items() if word not in ("zero", "a")} | {
    f"{ten}-{_ordinal(unit)}": _ENGLISH[ten] + _ENGLISH[unit] for ten in _TENS for unit in _UNITS
}
_RANKED = re.compile(
    rf"\b({'|'.join(sorted(_ORDINALS, key=len, reverse=True))})"
    r"(?=\s+(?:passage|paragraph|document|article|text|option|choice|list|one)\b)",
    re.IGNORECASE | re.ASCII,
)


def read_numeral(text: str) -> int | None:
    """The number that a text spells, if it contains nothing else; ``Passage twelve`` and ``第十二段`` count."""
    text = text.strip().strip(".。!！,，'\"“”()[]").strip().lower()
    if match := _FRAME.fullmatch(text):
        return _read_chinese(match.group(1))
    text = re.sub(r"^(?:passage|paragraph|option)\s+", "", text)
    return _read_english(text) if _CARDINAL.fullmatch(text) else None


def in_digits(text: str) -> str:
    """A text with its numbers in words as digits: ``twelve`` as ``12``, ``twelfth passage`` as ``12th passage``.

    Ambiguous words are kept: ``one`` and ``一`` unless a noun or cue precedes them, ordinals that rank nothing, and
    Chinese digits within words.
    """
    text = _RANKED.sub(lambda match: f"{_ORDINALS[match.group().lower()]}th", text)
    text = _CARDINAL.sub(_english_in_digits, text)
    return _IN_CHINESE.sub(_chinese_in_digits, text)


def _english_in_digits(match: re.Match[str]) -> str:
    word = match.group().lower()
    near = max(0, match.start() - 20)
    if word == "one" and not _BEFORE_ONE.search(match.string, near, match.start()):
        return match.group()
    return str(_read_english(word))


def _chinese_in_digits(match: re.Match[str]) -> str:
    run, text = match.group(), match.string
    framed = _BEFORE_CHINESE.search(text, max(0, match.start() - 6), match.start()) is not None
    number = _read_chinese(run) if framed or (run != "一" and _AFTER_CHINESE.match(text, match.end())) else None
    return run if number is None else str(number)


def _read_english(text: str) -> int:
    """The value of words matched by ``_CARDINAL``."""
    before, hundred, rest = text.replace("-", " ").partition("hundred")
    value = 100 * _ENGLISH[before.strip()] if hundred else 0
    return value + sum(_ENGLISH[word] for word in (rest if hundred else before).split() if word != "and")


def _read_chinese(text: str) -> int | None:
    if not set(text) & set(_POWERS):
        return int("".join(str(_CHINESE[digit]) for digit in text)) if len(text) <= 4 else None
    if len(text) > len("九千九百九十九"):
        return None
    total, digit = 0, 0
    for letter in text:
        if letter in _POWERS:
            total += (digit or 1) * _POWERS[letter]
            digit = 0
        else:
            digit = _CHINESE[letter]
    return total + digit
