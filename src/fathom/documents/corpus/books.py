"""Splits the plain text of a book into chapters and paragraphs, as character spans.

The rules are not specific to any book. Everything before the first chapter's heading (licence, table of contents,
preface) and after the end of the story is left out.

Lines that look like numbered headings are candidates; those that count upwards in one form of heading are the
chapters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from fathom.documents.corpus.text import normalise

Span = tuple[int, int]
Parting = Literal["blank lines", "lines", "indents", "nothing"]

BLOCK_LINES = 60  # above this distance between blank lines, they do not separate paragraphs
WRAPPED_WIDTH = 100  # longer lines are whole paragraphs
LINE_END = 50  # characters that decide whether a line ends a sentence
SPEECH = 5000  # characters within which an open quotation must have started

_START = re.compile(r"^[^\w\n]*START OF (?:THE|THIS) PROJECT GUTENBERG.*$", re.I | re.M)
_STOP = re.compile(r"^[^\w\n]*(?:END OF (?:THE |THIS )?PROJECT GUTENBERG|START: FULL LICENSE)", re.I | re.M)
_THE_END = re.compile(
    r"\W*(?:the end|finis|appendix|notes|footnotes|index|glossary|afterword|transcriber'?s notes?"
    r"|全[书書文]完|完|[附后後][录錄记記])\W*",
    re.I,
)
_UNNUMBERED = re.compile(
    r"\W*(?:prologue|interlude|conclusion|epilogue|postscript|楔子|引子|尾声|尾聲)\W*"
    r"|\W*(?:prologue|interlude|epilogue)\s*[.:—–-]+\s*[^.!?]{1,60}"
    r"|(?:附[录錄]|楔子|引子|尾[声聲]|番外)[\s:：]+[^。！？；]{1,40}",
    re.I,
)

_CAPTION = re.compile(r"[\[(]?\s*(?:illustration|frontispiece|插[图圖])\b.*", re.I | re.S)
_NOTE = re.compile(
    r"(?:\[(?:footnote|note|\d+|\*)|(?-i:NOTES?)\b[.:]|\d{1,3} {2}\S|\*+ ?\w|[（(【\[]?注(?:释|釋)?[:：】\]])", re.I
)
# Notes and their marks within a paragraph. A row of stars, or one between words, may be a name left out; a bare number
# is a mark if followed by two spaces, a line's end or nothing (a lost superscript). Two spaces also end a note whose
# brackets are lost. Blanks count from the first one only, or long runs would take quadratic time.
_MARK = re.compile(
    r"(?:(?<!\s)\s+)?\[(?:\d{1,3}|\*+[^\[\]]*|(?i:footnote|note|illustration|p(?:age|g|\.))\b[^\[\]]*)\]"
    r"|(?<!\s)\s+(?i:footnote)(?: \d+)?:[^\[\]]{0,400}?(?=  \S|$)"
    r"|(?:(?<!\s)\s+)?(?:〔[\d一二三四五六七八九十]+〕|[（(【〔]注(?:释|釋)?[\d:：][^（）()【】〔〕]*[）)】〕]|[①-⑳†‡])"
    r"|(?<=[a-z.,;:!?\"'”’])\s?(?<!\*\s)\*(?=\s|$)(?!\s+\*)"
    r"|(?<=[\w.,;:!?\"'”’])(?<!No\.) \d(?=  \S)|(?<=[.!?\"”])(?<!No\.)\s\d(?=\n|$)"
)
_NAVIGATION = re.compile(r"(?:[前后後上下]一?[页頁章回]|回?目[录錄]|[回返]首?[页頁]|返回.{0,4})")
# "CHAPTER ll", "Chapter lV. The Ford": numerals misread in scanning, which count nowhere.
_MISREAD = re.compile(
    r"\W*(?:C(?:HAPTER|hapter|HAP\.|hap\.)|B(?:OOK|ook)|P(?:ART|art)|V(?:OLUME|olume)|L(?:ETTER|etter))"
    r"[ \t]+[IVXLCDivxlcd1l|!\d]{1,8}"
    r"(?:\W{0,3}|[.:—–-]+\s[^.!?\n]{1,80}\W{0,3})"
)
# How a chapter of an old Chinese novel ends: 不知后事如何，且听下回分解。
_NEXT_CHAPTER = re.compile(
    r"[^。．！？”』」\n]{0,60}下[回文][^。．！？”』」\n]{0,4}分[解晓曉][^\w\n]{0,4}(?:正是[：:]?)?\Z"
)
_MONTH = "(?=[A-Z])(?i:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"(?<![^\W_])(?:{_DAY}(?: of|,)? {_MONTH}|{_MONTH}\.? (?:the )?{_DAY})(?![^\W_])"
    r"|[正一二三四五六七八九十冬腊\d]{1,3}月[初廿一二三四五六七八九十\d]{1,3}(?:日|\b)"
)
_DATELINE = 60  # characters of a paragraph that is the place and date of a letter or of a day in a diary
_CLOSING = 100  # characters at the end of a paragraph where the next chapter is announced
_LEAST_DATED = 6
_LETTER = re.compile(r"\W*(?i:letter)\b")
_CLOSED = re.compile(r"[.!?:;。．！？：；…—\-*_][\"'”’」』）)\]_*]*$|[\"”」』]$")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Messrs|Dr|St|Rev|Capt|Col|[A-HJ-Z])\.$")
_QUOTES = "\"'“‘"
# An apostrophe within a word is neither, nor one that replaces its first letters.
_QUOTE = re.compile(
    r"(?P<open>(?<!\S)[\"'“‘](?!(?:em|un|ere|tis|twas|cause|bout|way)\b)(?=\S))|(?P<close>(?<=\S)[\"'”’](?!\w))"
)
_OPEN_CHINESE = re.compile(r"[\w，、,]$")
CONTENTS_GAP = 150  # headings with less text than this between them are a table of contents
CONTENTS_ENTRIES = 4
FULL_CHAPTER = 500  # two headings with at least so many characters between them count in full
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
# A lone D or M is usually an initial or "Monsieur" and not a chapter.
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
class Chapter:
    """One chapter: its title, its span from heading to next heading, and the spans of its paragraphs."""

    title: str
    start: int
    end: int
    paragraphs: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Book:
    """A book's normalised text and its chapters in order, if any were found.

    ``guessed`` means that paragraphs are not marked, and were guessed from short lines.
    """

    text: str
    chapters: tuple[Chapter, ...]
    guessed: bool = False


def read_book(text: str, language: str) -> Book:
    """Find the chapters of a book and their paragraphs.

    Args:
        text: The book as published, with any line ends, with or without Project Gutenberg's header and licence.
        language: ``en`` or ``zh``.

    Returns:
        The normalised text with its chapters. All spans are (start, end) in characters of ``Book.text``, in order and
        disjoint. Headings, notes, captions and text outside the chapters are in no paragraph. A book without at least
        two numbered headings has no chapters.
    """
    text = normalise(text)
    lines = _lines(text, *_body(text))
    parting = _parting(text, lines)
    blocks = list(_blocks(text, lines, parting, language))
    headings = [heading for index, span in enumerate(blocks) if (heading := heading_of(text, index, span, language))]
    chain = chapters_of(headings)
    if len(chain) < 2:
        return Book(text, ())
    marked = {heading.block for heading in headings}
    stop = _story_end(text, blocks, chain[-1].block)
    bounds = [*(heading.block for heading in chain), stop]
    titled = _has_title_blocks(text, blocks, chain)
    chapters = tuple(
        _chapter(text, heading, blocks[first:after], {block - first for block in marked}, titled, language)
        for heading, (first, after) in zip(chain, pairwise(bounds), strict=True)
    )
    ends = (*(chapter.start for chapter in chapters[1:]), blocks[stop - 1][1])
    chapters = tuple(replace(chapter, end=end) for chapter, end in zip(chapters, ends, strict=True))
    return Book(text, chapters, parting == "nothing")


def _body(text: str) -> Span:
    """The text between Project Gutenberg's header and licence, or the whole text."""
    opening = _START.search(text)
    start = opening.end() if opening else 0
    closing = _STOP.search(text, start)
    return start, closing.start() if closing else len(text)


def is_dated(book: Book) -> bool:
    """Whether a book consists of letters or of days of a diary, whose dates tell the order of its parts.

    Most of its chapters are letters, or one paragraph in a hundred, and at least six, begins with a date: a line with a
    place and a date, or a paragraph that goes on after the date.
    """
    paragraphs = [book.text[slice(*span)] for chapter in book.chapters for span in chapter.paragraphs]
    letters = sum(_LETTER.match(book.text, chapter.start) is not None for chapter in book.chapters)
    dated = sum(
        (date := _DATE.search(text[:_DATELINE])) is not None
        and (len(text) < _DATELINE or not any(map(str.isalnum, text[: date.start()])))
        for text in paragraphs
    )
    return 2 * letters > len(book.chapters) or dated >= max(_LEAST_DATED, len(paragraphs) / 100)


def without_notes(text: str, paragraph: Span) -> tuple[Span, ...]:
    """The pieces of a paragraph between notes and marks of notes, without a closing that announces the next chapter."""
    start, end = paragraph
    pieces = []
    if closing := _NEXT_CHAPTER.search(text, max(start, end - _CLOSING), end):
        end = closing.start()
    for mark in _MARK.finditer(text, start, end):
        pieces.append((start, mark.start()))
        start = mark.end()
    return tuple(piece for piece in [*pieces, (start, end)] if piece[0] < piece[1])


def _lines(text: str, start: int, end: int) -> list[Span]:
    """Non-empty lines."""
    return [(start + match.start(), start + match.end()) for match in re.finditer("[^\n]+", text[start:end])]


def _parting(text: str, lines: Sequence[Span]) -> Parting:
    """How paragraphs are separated."""
    start, end = (lines[0][0], lines[-1][1]) if lines else (0, 0)
    if text.count("\n\n", start, end) * BLOCK_LINES >= len(lines):
        return "blank lines"
    widths = sorted(last - first for first, last in lines)
    if widths[int(0.95 * (len(widths) - 1))] > WRAPPED_WIDTH:
        return "lines"
    return "indents" if _by_indent([text[first].isspace() for first, _ in lines]) else "nothing"


def _blocks(text: str, lines: Sequence[Span], parting: Parting, language: str) -> Iterator[Span]:
    """Spans of paragraphs and headings, without surrounding white space."""
    if not lines:
        return
    widths = sorted(last - first for first, last in lines)
    width = widths[len(widths) // 2]
    first, end = lines[0][0], lines[-1][1]
    for line, following in pairwise([*lines, (end, end)]):
        if parting == "blank lines":
            breaks = text.count("\n", line[1], following[0]) > 1
            # Chinese texts often indent each paragraph and use blank lines only between chapters.
            breaks = breaks or (language == "zh" and text.startswith("　　", following[0]))
        elif parting == "lines":
            breaks = True
        else:
            breaks = _heading_line(text, line, language) or _heading_line(text, following, language)
            breaks = breaks or _title_edge(text, first, line, following)
            if parting == "indents":
                breaks = breaks or text[following[0] : following[0] + 1].isspace()
            else:
                breaks = breaks or _short(text, first, line, following, width)
        if breaks or following[0] == end:
            yield _stripped(text, first, line[1])
            first = following[0]


def _by_indent(indented: Sequence[bool]) -> bool:
    """Whether indented lines begin paragraphs: there are many, and not several in a row as in verse."""
    many = 0.05 < sum(indented) / len(indented) < 0.6
    return many and sum(map(all, pairwise(indented))) < 0.4 * sum(indented)


def _stripped(text: str, start: int, end: int) -> Span:
    block = text[start:end]
    return start + len(block) - len(block.lstrip()), start + len(block.rstrip())


def _heading_line(text: str, line: Span, language: str) -> bool:
    return heading_of(text, 0, _stripped(text, *line), language) is not None


def _short(text: str, first: int, line: Span, following: Span, width: int) -> bool:
    """Whether a wrapped line ends the paragraph that began at ``first``.

    It does if it ends a sentence, the next line's first word would have fit on it, and no quotation is open: one that
    continues in the next paragraph is opened again there. ``width`` is the median width, not the maximum: joining two
    paragraphs does less harm than splitting one.
    """
    words = text[slice(*following)].split(maxsplit=1)
    last = _tail(text, *line, LINE_END)
    ends = _CLOSED.search(last) and not _ABBREVIATION.search(last)
    if not ends or not words or line[1] - line[0] + 1 + len(words[0]) > width:
        return False
    marks = list(_QUOTE.finditer(text, max(first, line[1] - SPEECH), line[1]))
    return not marks or marks[-1].lastgroup == "close" or words[0][0] in _QUOTES


def _title_edge(text: str, first: int, line: Span, following: Span) -> bool:
    """Whether a title in capitals ends with a line, or begins after it; sentences may contain capitals too."""
    before, after = _capitals(_tail(text, first, line[1], HEADING_LENGTH)), _capitals(text[slice(*following)])
    return before != after and (before or _CLOSED.search(_tail(text, *line, LINE_END)) is not None)


def _tail(text: str, start: int, end: int, most: int) -> str:
    """The last characters of a span; searching all of it for each line would take quadratic time."""
    return text[max(start, end - most) : end]


def _capitals(block: str) -> bool:
    return block.isupper() and sum(map(str.isalpha, block)) > 1


def _story_end(text: str, blocks: Sequence[Span], last: int) -> int:
    """Index of the block after the story: its end mark or an appendix."""
    for index in range(last + 1, len(blocks)):
        start, end = blocks[index]
        if end - start < 40 and _THE_END.fullmatch(text[start:end]):
            return index
    return len(blocks)


def _has_title_blocks(text: str, blocks: Sequence[Span], chain: Sequence[Heading]) -> bool:
    """Whether most chapters have a title after their number; a single one is part of the text."""
    under = [text[slice(*blocks[heading.block + 1])] for heading in chain if heading.block + 1 < len(blocks)]
    return 2 * sum(map(_is_title, under)) > len(chain)


def _chapter(
    text: str, heading: Heading, blocks: Sequence[Span], marked: set[int], titled: bool, language: str
) -> Chapter:
    """The chapter consisting of some blocks, the first of which is its heading."""
    first, title = 1, heading.title
    if titled and len(blocks) > 1 and _is_title(text[slice(*blocks[1])]):
        title = " ".join([*title.split(), *text[slice(*blocks[1])].split()])
        first = 2
    last = len(blocks)
    while last > first and _is_title(text[slice(*blocks[last - 1])]):
        last -= 1
    paragraphs: list[Span] = []
    interrupted = False
    for index in range(first, last):
        start, end = blocks[index]
        block = text[start:end]
        if index in marked or _aside(block):
            interrupted = True
            continue
        if paragraphs and _continues(text[slice(*paragraphs[-1])], block, language):
            previous = paragraphs.pop()
            # Text interrupted by a note or caption is not one piece.
            if not interrupted:
                paragraphs.append((previous[0], end))
        else:
            paragraphs.append((start, end))
            interrupted = False
    return Chapter(title, heading.start, heading.end, tuple(paragraphs))


def _is_title(block: str) -> bool:
    """Whether a block at a chapter's edge is a title (of the chapter or the next part) and not a paragraph."""
    if _capitals(block):
        return len(block) < HEADING_LENGTH
    return len(block) < 80 and "\n" not in block and not re.search(r"[.!?,:;。．，！？：；…\"'”’」—\-]$", block)


def _aside(block: str) -> bool:
    """Whether a block is not part of the story: ornament, caption, note, bare heading, link of a web edition."""
    whole = (_NAVIGATION, _UNNUMBERED, _CAPTION, _MISREAD)
    return (
        not any(map(str.isalpha, block))
        or any(pattern.fullmatch(block) for pattern in whole)
        or _NOTE.match(block) is not None
    )


def _continues(previous: str, block: str, language: str) -> bool:
    """Whether a block continues the sentence of the previous one, as after verse or a page break."""
    if language == "zh":
        return block.startswith("——") or _OPEN_CHINESE.search(previous) is not None
    return block[0].islower() or previous[-1].islower() or previous.endswith((",", ";"))


@dataclass(frozen=True, slots=True)
class Heading:
    """A possible heading of a chapter; number None for one that says it is the last."""

    block: int
    start: int
    end: int
    form: str
    number: int | None
    title: str


def heading_of(text: str, index: int, span: tuple[int, int], language: str) -> Heading | None:
    """The possible heading in a block, or None; ``index`` is the block's number."""
    start, end = span
    if end - start > HEADING_LENGTH or start == end:
        return None
    block = text[start:end]
    if language == "zh":
        match = _CHINESE.fullmatch(block)
        if match is None:
            return None
        # A number followed by words is a weaker form: it may be a sentence that cites a chapter.
        form = match["form"] + ("" if match["parted"] is not None else "…")
        return Heading(index, start, end, form, _chinese_number(match["number"]), match["title"].strip())
    match = _NAMED.fullmatch(block)
    if match is not None and match["form"][0].isupper() and not re.match(r",|\s+[a-z]", match["title"]):
        number = None if _folded(match["number"]) == "last" else _english_number(match["number"])
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
    # Old prints use the long s, which case-insensitive patterns treat as an s.
    parts = re.split("[- ]", _folded(word))
    if all(part in _WORDS for part in parts):
        return sum(_WORDS[part] for part in parts)
    values = [_ROMAN_DIGITS[letter] for letter in word]
    return sum(-value if value < after else value for value, after in pairwise([*values, 0]))


def _folded(word: str) -> str:
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
    """The headings of chapters among all candidates."""
    return _longest_count(_outside_contents(headings))


def _outside_contents(headings: Sequence[Heading]) -> list[Heading]:
    """The headings outside tables of contents: many close together, counting upwards."""
    runs: list[list[Heading]] = []
    for heading in headings:
        if runs and heading.start - runs[-1][-1].end < CONTENTS_GAP:
            runs[-1].append(heading)
        else:
            runs.append([heading])
    return [heading for run in runs for heading in (_after_contents(run) if len(run) >= CONTENTS_ENTRIES else run)]


def _after_contents(run: Sequence[Heading]) -> Sequence[Heading]:
    """The last headings of a run: the first chapter may directly follow the contents, and restarts the count."""
    first = len(run)
    while first > 1 and (run[first - 1].number == 1 or not _follows(run[first - 2], run[first - 1])):
        first -= 1
    return run[first:]


def _follows(heading: Heading, following: Heading) -> bool:
    if heading.number is None or following.number is None:
        return following.number is None
    return following.number == heading.number + 1


def _longest_count(headings: Sequence[Heading]) -> list[Heading]:
    """The longest sequence of headings that count upwards one by one in one form, with text between them.

    A change of form, a missing number and a restarted count (in another part of the book) reduce its weight.
    """
    scores = [0.0] * len(headings)
    before: list[int | None] = [None] * len(headings)
    for index, heading in enumerate(headings):
        for earlier in range(max(0, index - LOOK_BACK), index):
            gap = heading.start - headings[earlier].end
            link = _link(headings[earlier], heading)
            # Only an established count can restart, which entries of contents do not have.
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
    """The chain with headings that fill its gaps: exactly as many as are missing, in the same form."""
    full = [headings[index] for index in chain[:1]]
    for index, after in pairwise(chain):
        heading, following = headings[index], headings[after]
        between = [other for other in headings[index + 1 : after] if other.form == heading.form]
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
