"""Extracts the letters of options, from A to D, from replies."""

import re
from collections.abc import Iterator, Sequence

from fathom.score.answers.selection import CALLED_RIGHT, alone_on_line, disagree, only, two_lines
from fathom.score.reading import after_cues, decided, without_rejected
from fathom.score.unwrapping import readable

_OPEN, _CLOSED = r"[(\[{\"'“‘]", r"[)\]}\"'”’]"
# Not the article in "A good one"; "A because" is a choice.
_ARTICLE = r"[ \t]+(?!(?:and|or|as|because|since|for|is|was|based|due|given|which|with|not|to|through)\b)[a-z]"
_LETTER_ALONE = rf"(?<![A-Za-z0-9])([B-D]|A(?!{_ARTICLE}))(?![A-Za-z0-9]|['’-][A-Za-z])"
_LETTER = re.compile(_LETTER_ALONE)
# A lower-case letter may be an article: it must be in brackets or the last of its sentence.
_SMALL = re.compile(rf"{_OPEN}([a-d]){_CLOSED}|(?<![A-Za-z0-9])([b-d]|a(?=\W*$))(?=[ \t]*(?:[.。!;\n]|$))")
_LETTER_BRACKETED = re.compile(r"[(\[{]([A-D])[)\]}]")
_LAST = re.compile(rf"{_LETTER_ALONE}\W*\Z")
_NOTHING_ELSE = re.compile(r"\W*([A-Da-d])\W*")
_LEADING = re.compile(rf"\W*{_LETTER_ALONE}(?=[\"'”’]?[ \t]*(?:[.:()\],;\n]|$)|[ \t][-–—][ \t])")
_NAMED = re.compile(
    r"\b(?:[Oo]ption|[Cc]hoice|choose|pick|select|(?:go|going|went) with|settled on|makes)[ \t]+"
    rf"{_OPEN}?{_LETTER_ALONE}"
    # "it is B", "the function with the error is:\nB. parse"; not "it is A4", "it is a".
    rf"|\b(?:[Ii]t|[Tt]hat|[Tt]his)(?:[ \t]+(?:is|must be|should be|would be)|['’]s)[ \t]+{_OPEN}?"
    r"(?<![A-Za-z0-9])([A-D])"
    rf"(?={_CLOSED}|[.,;:]|[ \t]*$)"
    rf"|[是选项择][ \t]?{_OPEN}?{_LETTER_ALONE}"
    rf"|{_LETTER_ALONE}[ \t]+"
    r"(?:is|was|it is|seems|looks|appears|remains|fits|matches|must|would|says|mentions|has|gives|explains)\b",
    re.MULTILINE,
)
_LETTER_LINE = re.compile(r"^[^\w\n]*(?:[Oo]ption[ \t]+|[Cc]hoice[ \t]+)?([A-D])[^\w\n]*$", re.MULTILINE)
_ANY_LETTER = rf"(?:[Oo]ption[ \t]|[Cc]hoice[ \t])?{_OPEN}?{_LETTER_ALONE.replace('([', '(?:[')}{_CLOSED}?"
_RIGHT_LETTER = re.compile(rf"{_LETTER_ALONE}{CALLED_RIGHT}")
# "A. noon: wrong", "B. 9 May: correct"
_VERDICT_LINE = re.compile(
    r"^[^\w\n]*([A-D])[.):](?![^\n]*\b[A-D][.):])[^\n]*"
    r"(?:[:(=–—-][ \t]{0,2}(?:(wrong|incorrect|false|no)|correct|right|true|yes)|[ \t](?:([✗✘❌])|[✓✔✅]))\W*$",
    re.MULTILINE | re.IGNORECASE,
)
# Letters of names, and ranges: "Vitamin C", "Arthur C. Clarke", "A-D".
_LETTER_OF_NAME = re.compile(
    r"\b((?i:vitamins?|hepatitis|influenza|plan|group|team|type|class|grade|level|section|part|chapter|appendix|annex"
    r"|exhibit|figure|table|schedule|article|block|wing|hall|building|room|zone|region|site|gate|platform|point|person"
    r"|player|patient|party|company|model|version|phase|stage|series|sample|case|study|category|strain|protein"
    r"|programming language|language|blood type))[ \t-][A-D](?![\w'’])"
    r"|\b(?!(?:Option|Choice|Answer|Letter|Select|Choose|Pick|Correct|Final|So|Thus|Hence|Therefore)\b)([A-Z][a-z]+)"
    r"[ \t][A-D]\.[ \t](?=[A-Z][a-z]+)"
    r"|(?<![A-Za-z0-9])[A-D]-[A-D](?![A-Za-z0-9])|\[ \][ \t]*[A-D](?!\w)"
)
# The line of an option, which says nothing of it, and lines with several.
_OPTION_LINE = re.compile(r"^[^\w\n]*[(\[]?([A-D])[.):\]](?=[ \t]).*$", re.MULTILINE)
_OPTIONS_IN_LINE = re.compile(r"^[^\w\n]*A[.):\]](?=[ \t])[^\n]*\bB[.):\]][^\n]*\bC[.):\]].*$", re.MULTILINE)
_EMPHASISED_OPTION = re.compile(r"^[^\w\n]*(?:\*\*|__)[(\[]?([A-D])[.):\]][^\n]*(?:\*\*|__)[^\w\n]*$", re.MULTILINE)
_LISTED_OPTIONS = 3  # of a list, at least
# "A. Incorrect - dates differ. B. Correct", "(A) no (B) yes": of one option it may be its text.
_VERDICT_FIRST = re.compile(
    r"(?<![A-Za-z0-9])([A-D])[.):][ \t]*(?:(wrong|incorrect|false|no|[✗✘❌])|correct|right|true|yes|[✓✔✅])"
    r"(?=[ \t]*(?:[-–—:;,.(\n]|$))",
    re.IGNORECASE,
)
_ONLY_LETTERS = re.compile(r"\W*(?:[A-D]\W+)+[A-D]\W*")
_CONCLUDED = re.compile(
    r"\b(?:[Ss]o|[Tt]hus|[Hh]ence|[Tt]herefore|[Cc]onclusion)\b[ \t:,]{0,3}"
    r"(?:it is |it['’]s |[Oo]ption |[Cc]hoice )?"
    rf"{_OPEN}?(?<![A-Za-z0-9])([A-D])(?={_CLOSED}|[.,;:]|[ \t]*$)",
    re.MULTILINE,
)
# Also a lower-case letter, where it is rejected.
_REJECTED_LETTER = rf"{_OPEN}?(?<![A-Za-z0-9])[A-Da-d](?![A-Za-z0-9]|['’-][A-Za-z])"
_LETTER_MARK = re.compile(r"(?<![^\s,(\[])([A-D])[.:)\]](?=\s|$)")
_SEVERAL = re.compile(rf"(?<![A-Za-z0-9])([A-D]{{2,4}}|[B-D]|A(?!{_ARTICLE}))(?![A-Za-z0-9]|['’-][A-Za-z])")
_REASONS = re.compile(r"\b(?:because|since|as)\b")
# Between two letters given together.
_TOGETHER = re.compile(
    rf"{_CLOSED}?[ \t]*(?:,?[ \t]*(?:and|or|&|和|或|及)|[,/、+])[ \t]*(?:both[ \t]+)?{_OPEN}?{_LETTER_ALONE}"
)


def choice_letter(reply: str) -> str | None:
    """The letter from A to D that a reply chooses; None if it chooses none or several.

    A single letter after the last "answer is" or ``Answer:`` is used; else the one that is called right or concluded
    ("So B."); else the letter at the start ("B. Because") or alone on a line; else the only one in brackets or named
    ("option B", "it is B"), else the only one if it is the last word. Rejected letters ("not (A)", "A is wrong") and
    those given together ("A or B") do not count.

    Args:
        reply: The whole reply; text in thinking tags is ignored.
    """
    text = text_of_letters(reply)
    for part in after_cues(text):
        if match := _LETTER.search(part):
            other = _TOGETHER.match(part, match.end())
            return None if other and other[1] != match[1] else match[1]
        if match := _SMALL.search(part):
            return (match[1] or match[2]).upper()
    if right := only(_RIGHT_LETTER.findall(text)) or next(reversed(concluded_letters(text)), None):
        return right
    if two_lines(text) or disagree(text, _RIGHT_LETTER):
        return None
    if (match := _LEADING.match(text)) and not _TOGETHER.match(text, match.end()):
        return match[1]
    if alone := _NOTHING_ELSE.fullmatch(text):
        return alone[1].upper()
    if single := alone_on_line(text, _LETTER_LINE):
        return single
    named = {*_LETTER_BRACKETED.findall(text), *_named_letters(text)}
    if not named and _LAST.search(text):
        named = set(_LETTER.findall(text))
    return named.pop() if len(named) == 1 else None


def text_of_letters(reply: str) -> str:
    """The text of a reply in which letters are looked for, without those that it rejects or gives together."""
    text = _VERDICT_LINE.sub(_verdict, readable(reply))
    if len(_VERDICT_FIRST.findall(text)) > 1:
        text = _VERDICT_FIRST.sub(_verdict, text)
    emphasised = _EMPHASISED_OPTION.findall(reply) if "**" in reply or "__" in reply else ()
    text = _without_listed_options(_LETTER_OF_NAME.sub(r"\1\2 ", text), emphasised)
    return decided(without_rejected(text, _REJECTED_LETTER), _ANY_LETTER)


def _without_listed_options(text: str, emphasised: Sequence[str]) -> str:
    """A text without its list of at least three options; if one of these is emphasised, that is the choice."""
    text = _OPTIONS_IN_LINE.sub("", text)
    listed: list[re.Match[str]] = []
    for line in _OPTION_LINE.finditer(text):
        if line[1] == "ABCD"[len(listed) : len(listed) + 1]:
            listed.append(line)
    if len(listed) < _LISTED_OPTIONS:
        return text
    ends = [0, *(line.end() for line in listed)]
    starts = [*(line.start() for line in listed), len(text)]
    rest = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return f"{rest}\nAnswer: {emphasised[0]}" if len(emphasised) == 1 else rest


def concluded_letters(text: str) -> list[str]:
    """The letters that a plain text concludes: "So B." and "Therefore, it is B"."""
    return _CONCLUDED.findall(text)


def choice_letters(reply: str) -> str:
    """All letters from A to D that a reply chooses, in alphabetical order ("AC"); "" if there are none.

    The text after the last cue is used, else the whole reply: its labels if it begins with one ("A. first"), else the
    first line with letters, alone or as a word ("AC"), up to its reasons.

    Args:
        reply: The whole reply; text in thinking tags is ignored.
    """
    text = without_rejected(readable(reply), _REJECTED_LETTER)
    if _ONLY_LETTERS.fullmatch(text):
        return "".join(sorted(set(_LETTER.findall(text))))
    for part in (*after_cues(text), text):
        lines = [_REASONS.split(line)[0] for line in part.splitlines()]
        named = next(filter(None, map(_SEVERAL.findall, lines)), ())
        leads = _LETTER_MARK.match(part, len(part) - len(part.lstrip(" \t\n([-•")))
        if letters := "".join(_LETTER_MARK.findall(part) if leads else named):
            return "".join(sorted(set(letters)))
    alone = _NOTHING_ELSE.fullmatch(text)
    return alone[1].upper() if alone else ""


def _named_letters(text: str) -> Iterator[str]:
    return (letter for groups in _NAMED.findall(text) for letter in groups if letter)


def _verdict(line: re.Match[str]) -> str:
    return "" if any(line.groups()[1:]) else f"{line[1]} is correct"
