"""What a reply answers: a number, an option, a passage, a passkey, a UUID or a few words.

Every reader takes a whole reply as a model wrote it: thoughts in tags are left aside, full-width digits count as
digits, and Markdown marks do not matter. It returns the answer in a plain form, or None where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fathom.score.numerals import read_numeral
from fathom.score.text import fold, without_reasoning

_UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
_MARKDOWN = re.compile(r"[*`~$]+|\\boxed|^[ \t]*#+[ \t]", re.MULTILINE)
_EMPHASIS = re.compile(r"\*\*|__|`+|^[ \t]*#+[ \t]", re.MULTILINE)
# "answer is", "Answer:", "[Answer]", "答案是", "答案：": what follows is the answer.
_CUE = re.compile(
    r"\b(?:answer|choice|option|pass ?key|result)\s+(?:is|would be|should be)\b\s*:?|\banswer\s*[:=]|\[answer\]"
    r"|(?:答案|选项|结果|密码|密钥)\s*(?:是|为|:)\s*:?|\[答案\]",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^[ \t]*(?:(?:final |short )?answer[ \t]*[:：]|\[answer\][ \t]*[:：]?"
    r"|(?:最终)?答案[ \t]*[:：]|\[答案\][ \t]*[:：]?)",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBERS = re.compile(r"(?:(?<![\w.,)\]-])-)?[0-9]+(?:,[0-9]+)*(?:\.[0-9]+)?")
_THOUSANDS = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_OPTION = r"(?:option|choice|number|选项|选择|选|第)"
_ALONE = r"(?!\s*,\s*[0-9]|[0-9.]*[0-9])"  # neither the start of a list nor of a longer number
_CHOSEN = re.compile(rf"[^\w\[]*(?:the\s+)?{_OPTION}?[^\w\[]{{0,3}}([0-9]+){_ALONE}", re.IGNORECASE)
_CHOICES = (
    re.compile(rf"(?:{_OPTION}\s*[:#(]?\s*([0-9]+)|\(([0-9]+)\)){_ALONE}", re.IGNORECASE),
    re.compile(r"^[ \t]*[\[(]?([0-9]+)()[\])]?[ \t]*[.。:]?[ \t\r]*$", re.MULTILINE),
)
_PASSAGE = re.compile(
    r"\b(?:passage|paragraph|document|article|text)s?[\W_]{0,3}(?:(?:number|no\.?)\W{0,2})?([0-9]+)"
    r"|(?:段落|文章|文档|篇章)\W{0,3}([0-9]+)|第\s*([0-9]+)\s*(?:个|篇)?\s*(?:段|篇|文)",
    re.IGNORECASE,
)
_DIGIT_RUN = re.compile(r"[0-9]+(?:[ \t\r\n,-]{1,4}[0-9]+)*")
_WRAPPED_DIGITS = 20
_OPENING, _CLOSING = "\"'“‘「『《([{", "\"'”’」』》)]}"


def first_number(reply: str) -> str | None:
    """The first number of the answer, without leading zeros and thousands separators.

    Where a reply says "answer is" or the like, the number after the last of these counts, else the first of all. A
    reply of no more than a number in words (``twelve``, ``十二``) counts too.
    """
    text = _after_cue(_plain(reply))
    return next(_numbers(text), None) or _spelled(text)


def last_uuid(reply: str) -> str | None:
    """The last UUID, in lower case."""
    found = _UUID.findall(_plain(reply).lower())
    return found[-1] if found else None


def choice_number(reply: str, n_options: int) -> str | None:
    """The one option from 1 to ``n_options`` that a reply chooses; None if it chooses none, or several.

    The number after the last "answer is" counts; else the last "option 3", "(3)" or line of a number alone; else the
    only number of the reply that can be an option. A list of numbers is no choice.
    """
    text = _plain(reply)
    cued = _after_cue(text)
    if cued is not text and (found := _CHOSEN.match(cued)):
        return _within(found.group(1), n_options)
    for form in _CHOICES:
        if chosen := form.findall(text):
            return _within("".join(chosen[-1]), n_options)
    distinct = set(_numbers(text))
    only = distinct.pop() if len(distinct) == 1 else None if distinct else _spelled(cued)
    return _within(only, n_options) if only else None


def passage_number(reply: str) -> str | None:
    """The number of the passage that a reply names: ``Passage 12``, ``段落12``, ``第12段`` or a number alone.

    The number after the last "answer is" counts; else that of the last named passage of the first line that names
    one; else the first number of all.
    """
    text = _after_cue(_plain(reply))
    for line in text.splitlines():
        if named := _PASSAGE.findall(line):
            return _canonical(next(filter(None, named[-1])))
    return next(_numbers(text), None) or _spelled(text)


def digits(reply: str) -> str | None:
    """The longest number of a reply as its digits, leading zeros kept, the last of several as long.

    Digits that a reply breaks into equal groups by spaces, commas, hyphens or line ends are put together again.
    """
    best = ""
    for run in _DIGIT_RUN.finditer(_plain(reply)):
        for candidate in _joined(run.group()):
            best = candidate if len(candidate) >= len(best) else best
    return best or None


def short_answer(reply: str) -> str | None:
    """The answer in words: the first line that is no announcement, without ``Answer:``, quotes and Markdown."""
    text = _after_label(_EMPHASIS.sub("", without_reasoning(reply)))
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    # "Sure, here it is:" announces the next line.
    while len(lines) > 1 and lines[0][-1] in ":：":
        lines.pop(0)
    if not lines:
        return None
    answer = lines[0]
    while len(answer) > 1 and answer[0] in _OPENING and answer[-1] == _CLOSING[_OPENING.index(answer[0])]:
        answer = answer[1:-1].strip()
    return answer.rstrip(".。") or None


def _plain(reply: str) -> str:
    return _MARKDOWN.sub("", fold(without_reasoning(reply)))


def _after_cue(text: str) -> str:
    return _after_last(_CUE, text)


def _after_label(text: str) -> str:
    return _after_last(_LABEL, text)


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    """What follows the last match that anything follows; the text itself if there is none."""
    for match in reversed(list(pattern.finditer(text))):
        if rest := text[match.end() :].strip():
            return rest
    return text


def _numbers(text: str) -> Iterator[str]:
    for run in _NUMBERS.findall(text):
        yield from map(_canonical, [run] if _THOUSANDS.fullmatch(run) else run.split(","))


def _canonical(number: str) -> str:
    whole, _, fraction = number.replace(",", "").partition(".")
    sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    fraction = fraction.rstrip("0")
    return sign + (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def _within(number: str, n_options: int) -> str | None:
    number = _canonical(number)
    # The length first: a reply may hold a number of any size.
    fits = number.isdecimal() and len(number) <= len(str(n_options)) and 1 <= int(number) <= n_options
    return number if fits else None


def _spelled(text: str) -> str | None:
    number = read_numeral(text)
    return None if number is None else str(number)


def _joined(run: str) -> list[str]:
    """The numbers that a run of digits and separators may stand for."""
    groups = re.findall("[0-9]+", run)
    width = len(groups[0])
    if len(groups) == 1 or (width > 1 and len(set(groups)) == 1):
        return groups
    equal = all(len(group) == width for group in groups[:-1]) and len(groups[-1]) <= width
    thousands = width <= 3 and all(len(group) == 3 for group in groups[1:])
    # Short numbers on lines of their own are a list; only long ones are wrapped.
    wrapped = "\n" not in run or width == 1 or width >= _WRAPPED_DIGITS
    listed = re.search(r",[ \t]", run) is not None and width > 1
    return ["".join(groups)] if (equal or thousands) and wrapped and not listed else groups
