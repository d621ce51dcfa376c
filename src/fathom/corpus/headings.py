"""Headings of chapters: which blocks of a text may be one, and which of those are the chapters.

Lines that look like numbered headings are candidates; the candidates that count upwards in one form of heading are the
chapters. Nothing here knows a particular book.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

CONTENTS_GAP = 150  # headings with less text than this between them are a list of contents
CONTENTS_ENTRIES = 4
FULL_CHAPTER = 500  # a link of two headings counts in full from this many characters of text between them
HEADING_LENGTH = 400
LOOK_BACK = 500

_DIVISIONS = "chapter|book|part|volume|phase|letter|stave|canto|adventure|story|tale|episode|section|act|scene|lecture"
_UNITS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
_UNITS += " eighteen nineteen"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
_ORDINALS += " fifteenth sixteenth seventeenth eighteenth nineteenth"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = (
    {word: number for number, word in enumerate(_UNITS.split(), 1)}
    | {word: number for number, word in enumerate(_ORDINALS.split(), 1)}
    | {word: number * 10 for number, word in enumerate(_TENS.split(), 2)}
    | {word[:-1] + "ieth": number * 10 for number, word in enumerate(_TENS.split(), 2)}
)
# A lone D, as a lone M, is an initial or "Monsieur" far more often than a chapter.
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500}
_ROMAN = r"(?=[IVXLCD])(?!D\b)(?:CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_WORD = "(?:" + "|".join(sorted(_WORDS, key=len, reverse=True)) + ")"
_NUMBER = rf"{_ROMAN}|\d{{1,4}}|(?i:{_WORD}(?:[- ]{_WORD})?)"
_NAMED = re.compile(
    rf"(?P<form>(?i:{_DIVISIONS}))\s+(?:(?i:the)\s+)?(?P<number>{_NUMBER}|(?i:last))(?![\w'’])(?P<title>.*)", re.S
)
_BARE = re.compile(rf"(?P<number>{_ROMAN}|\d{{1,3}})\.?(?P<title>)")
_TITLED = re.compile(
    rf"(?P<number>{_ROMAN}|\d{{1,3}})(?:[.:)]\s*|\s*[-—–]+\s*|\s+(?=[^a-z]*$))(?P<title>[A-Z\"'“‘].*)", re.S
)
_CHINESE = re.compile(
    r"第(?P<number>[\d０-９零〇○一二三四五六七八九十百千廿卅两]+)(?P<form>[回章节節卷部集篇])"
    r"(?P<parted>[\s:：、.．·—-]+|$)?(?P<title>[^。，．！？：；]*)"
)
_CHINESE_DIGITS = dict(zip("零〇○一二三四五六七八九两", (0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2), strict=True))
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000}


@dataclass(frozen=True, slots=True)
class Heading:
    """A block that may be a chapter's heading; number None is a heading that calls itself the last."""

    block: int
    start: int
    end: int
    form: str
    number: int | None
    title: str


def heading_of(text: str, index: int, span: tuple[int, int], language: str) -> Heading | None:
    """The heading that a block of a text may be, None if it looks like none; ``index`` is the block's number."""
    start, end = span
    if end - start > HEADING_LENGTH or start == end:
        return None
    block = text[start:end]
    if language == "zh":
        match = _CHINESE.fullmatch(block)
        if match is None:
            return None
        # A number that runs on into words is a weaker form of its own: it may be a sentence that cites a chapter.
        form = match["form"] + ("" if match["parted"] is not None else "…")
        return Heading(index, start, end, form, _chinese_number(match["number"]), match["title"].strip())
    match = _NAMED.fullmatch(block)
    if match is not None and match["form"][0].isupper() and not re.match(r",|\s+[a-z]", match["title"]):
        number = None if _plain(match["number"]) == "last" else _english_number(match["number"])
        return Heading(index, start, end, match["form"].lower(), number, _title(match["title"]))
    match = _BARE.fullmatch(block)
    form = "number"
    if match is None:
        match, form = _TITLED.fullmatch(block), "title"
    if match is None or block.count("\n") > 3:
        return None
    return Heading(index, start, end, form, _english_number(match["number"]), _title(match["title"]))


def _title(text: str) -> str:
    return " ".join(text.split()).lstrip(".:-—– ").strip()


def _english_number(word: str) -> int:
    if word.isdigit():
        return int(word)
    # Old prints have the long s, which a pattern that ignores case takes for an s.
    parts = re.split("[- ]", _plain(word))
    if all(part in _WORDS for part in parts):
        return sum(_WORDS[part] for part in parts)
    values = [_ROMAN_DIGITS[letter] for letter in word]
    return sum(-value if value < after else value for value, after in pairwise([*values, 0]))


def _plain(word: str) -> str:
    return word.casefold().replace("ı", "i")


def _chinese_number(word: str) -> int:
    word = word.replace("廿", "二十").replace("卅", "三十")
    if word.isdecimal():
        return int(word)
    if not re.search("[十百千]", word):
        return int("".join(str(_CHINESE_DIGITS[sign]) if sign in _CHINESE_DIGITS else sign for sign in word))
    total, digit = 0, 0
    for sign in word:
        if sign in _CHINESE_UNITS:
            total += (digit or 1) * _CHINESE_UNITS[sign]
            digit = 0
        else:
            digit = _CHINESE_DIGITS[sign] if sign in _CHINESE_DIGITS else int(sign)
    return total + digit


def chapters_of(headings: Sequence[Heading]) -> list[Heading]:
    """The headings of chapters among all that look like headings."""
    return _longest_count(_outside_contents(headings))


def _outside_contents(headings: Sequence[Heading]) -> list[Heading]:
    """The headings that are not entries of a table of contents: many close together, counting upwards."""
    runs: list[list[Heading]] = []
    for heading in headings:
        if runs and heading.start - runs[-1][-1].end < CONTENTS_GAP:
            runs[-1].append(heading)
        else:
            runs.append([heading])
    return [heading for run in runs for heading in (_after_contents(run) if len(run) >= CONTENTS_ENTRIES else run)]


def _after_contents(run: Sequence[Heading]) -> Sequence[Heading]:
    """The last headings of a run: the first chapter may follow its table of contents at once, and starts anew."""
    first = len(run)
    while first > 1 and (run[first - 1].number == 1 or not _follows(run[first - 2], run[first - 1])):
        first -= 1
    return run[first:]


def _follows(heading: Heading, following: Heading) -> bool:
    if heading.number is None or following.number is None:
        return following.number is None
    return following.number == heading.number + 1


def _longest_count(headings: Sequence[Heading]) -> list[Heading]:
    """The headings that count upwards one by one in one form, as many as can be, with text between them.

    A change of form, a number left out and a count that starts anew (in another part of the book) weigh less.
    """
    scores = [0.0] * len(headings)
    before: list[int | None] = [None] * len(headings)
    for index, heading in enumerate(headings):
        for earlier in range(max(0, index - LOOK_BACK), index):
            gap = heading.start - headings[earlier].end
            link = _link(headings[earlier], heading)
            # Only what has been counted for a while can start anew: entries of contents cannot.
            if link == 0 or gap < CONTENTS_GAP or (heading.number == 1 and scores[earlier] < 1):
                continue
            score = scores[earlier] + link * min(1.0, gap / FULL_CHAPTER)
            if score >= scores[index]:
                scores[index], before[index] = score, earlier
    chain: list[int] = []
    at = max(range(len(headings)), key=scores.__getitem__, default=None)
    while at is not None:
        chain.append(at)
        at = before[at]
    return _with_misprints(chain[::-1], headings)


def _with_misprints(chain: Sequence[int], headings: Sequence[Heading]) -> list[Heading]:
    """The chain with headings that stand where numbers are missing: as many as are missing, in the same form."""
    full = [headings[index] for index in chain[:1]]
    for index, after in pairwise(chain):
        heading, following = headings[index], headings[after]
        between = [one for one in headings[index + 1 : after] if one.form == heading.form]
        if heading.number and following.number and len(between) == following.number - heading.number - 1:
            full.extend(between)
        full.append(following)
    return full


def _link(heading: Heading, following: Heading) -> float:
    same = heading.form == following.form
    if following.number is None:
        return 1.0 if same else 0.0
    if following.number == 1 or heading.number is None:
        return 0.5 if same and following.number == 1 else 0.0
    step = following.number - heading.number
    weight = {1: 1.0, 2: 0.3, 3: 0.2}.get(step, 0.0)
    return weight if same else weight / 2
