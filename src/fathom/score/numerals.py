"""Numbers in words, English and Chinese, below ten thousand."""

from __future__ import annotations

import re

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ENGLISH = {word: value for value, word in enumerate(_UNITS)} | {word: 10 * n for n, word in enumerate(_TENS, start=2)}
_CHINESE = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000}
_FRAME = re.compile(r"(?:第|段落|选项)?([零〇一二两三四五六七八九十百千]+)(?:个|篇|段|段落|项)?")


def read_numeral(text: str) -> int | None:
    """The number that a text spells, if it spells one and nothing else; ``Passage twelve`` and ``第十二段`` do."""
    text = text.strip().strip(".。!！,，'\"“”()[]").strip().lower()
    if found := _FRAME.fullmatch(text):
        return _read_chinese(found.group(1))
    words = re.sub(r"^(?:passage|paragraph|option)\s+", "", text).replace("-", " ").split()
    if len(words) == 1 or (len(words) == 2 and words[0] in _TENS and _ENGLISH.get(words[1], 99) in range(1, 10)):
        values = [_ENGLISH.get(word) for word in words]
        return None if None in values else sum(filter(None, values))
    return None


def _read_chinese(text: str) -> int | None:
    if not set(text) & set(_POWERS):
        return int("".join(str(_CHINESE[digit]) for digit in text)) if len(text) <= 4 else None
    total, digit = 0, 0
    for letter in text:
        if letter in _POWERS:
            total += (digit or 1) * _POWERS[letter]
            digit = 0
        else:
            digit = _CHINESE[letter]
    return total + digit
