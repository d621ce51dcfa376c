"""Extracts answers from replies: a number, an option, a passage, a passkey, a UUID or a few words.

Every function takes a model's whole reply: text in thinking tags is ignored, full-width digits count as digits, and
Markdown is ignored. It returns the normalised answer, or None.

Options, passages and counts follow one procedure. Numbers in words become digits, and negated answers ("not passage 4",
"option 1 is wrong") are removed. Then the number after an answer cue is used ("the answer is"); else one that leads the
reply as a label ("2) ..."), else the first that is named ("passage 3"), else a bare number.
"""

import re
from collections.abc import Iterable, Iterator

from fathom.score.dialects import without_reasoning
from fathom.score.reading import CUE, NAME, PASSAGE_NOUN, RULED_OUT, after_cues, plain_text, read_numeral, settled

_UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
_EMPHASIS = re.compile(r"\*\*|__|`+|^[ \t]*#+[ \t]", re.MULTILINE)
# Text before a short answer on its line; the sentence may begin with another clause.
_LABEL = re.compile(
    r"^[ \t]*(?:(?:final |short )?answer[ \t]*[:：]|\[answer\][ \t]*[:：]?"
    r"|(?:[^\n,.]{0,60},[ \t]*)?(?:so |thus |therefore )?(?:the|my) (?:\w{1,9} )?answer[ \t]+(?:is|would be)\b"
    r"[ \t]*[:：]?"
    r"|(?:[^\n，。,]{0,60}[，,][ \t]*)?(?:所以|因此)?(?:最终|正确)?的?答案[ \t]*(?:应该?)?[是为:：][ \t]*[:：]?"
    r"|\[答案\][ \t]*[:：]?)",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBERS = re.compile(r"(?:(?<![\w.,)\]-])-)?[0-9]+(?:,[0-9]+)*(?:\.[0-9]+)?")
_THOUSANDS = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_NUMBER = r"([0-9]+(?:,[0-9]{3})*)"
_ALONE = r"(?!\s*,\s*[0-9]|[0-9.]*[0-9])"  # neither the start of a list nor part of a longer number
# A number directly after a cue: "the answer is [in] [the] [passage] 12".
_ANNOUNCED = re.compile(rf"[^\w\[]*(?:(?:in|the)\s+){{0,2}}{NAME}?[^\w\[]{{0,3}}([0-9]+){_ALONE}", re.IGNORECASE)
# A number that labels a line: "2", "2.", "(2) 5, 12, 33", "2: [5, 12]"; not "2, 5", "2.5", "2 men".
_MARK = re.compile(
    rf"^[ \t]*[\[(]?([0-9]+)(?:[ \t]*$|[.)\]:、。](?![0-9])|,(?![ \t]*[0-9])|[ \t]*[:=(\[]|[ \t]+-[ \t])"
    rf"(?!\W*{NAME}[0-9])",
    re.MULTILINE | re.IGNORECASE,
)
_OPTION = re.compile(
    rf"\b(?:option|choice)[\W_]{{0,3}}([0-9]+){_ALONE}|(?:选项|选择|选)\W{{0,3}}([0-9]+){_ALONE}"
    rf"|第\s*([0-9]+)\s*(?:[个项条种组]|选项)|\b([0-9]+)(?:st|nd|rd|th)\s+(?:option|choice|list|one)\b",
    re.IGNORECASE,
)
_BRACKETED = re.compile(rf"\(([0-9]+)\){_ALONE}")
_PASSAGE = re.compile(
    rf"\b{PASSAGE_NOUN}(?:[\W_]{{0,3}}|s[ \t:#]{{1,3}})(?:(?:number|no\.?)\W{{0,2}})?([0-9]+)"
    rf"|\b([0-9]+)(?:st|nd|rd|th)\s+(?:{PASSAGE_NOUN}|one)\b"
    r"|(?:段落|文章|文档|篇章)\W{0,3}([0-9]+)|第\s*([0-9]+)\s*(?:个|篇)?\s*(?:段|篇|文)|\b([0-9]+)\s*号(?:段|文|篇)",
    re.IGNORECASE,
)
# The total before repetitions are removed.
_TOTAL = re.compile(
    r"\b(?:out of|among|of (?:the|these|those|all))(?:[ \t]+(?:the|these|those|all)){0,2}[ \t]+[0-9]+(?:,[0-9]{3})*",
    re.IGNORECASE,
)
_DIFFERENT = "(?:different|distinct|unique|non-repeated)"
_COUNTED = (
    re.compile(
        rf"\b{_NUMBER}(?:[ \t]+[^\W\d_]+){{0,4}}?[ \t]+(?:{_DIFFERENT}\b|remain|without rep|after rep)"
        rf"|\b{_DIFFERENT}(?:[ \t]+[^\W\d_]+){{0,4}}?\s*[:=]?\s*{_NUMBER}"
        rf"|{_NUMBER}[ \t]*[个段种篇]?[^\W\d_]{{0,4}}?(?:不同|不重复|不相同)"
        rf"|(?:不同|不重复|不相同|去重)[^0-9。，,;；\n]{{0,12}}{_NUMBER}",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:there (?:are|were|remain)|i (?:have )?(?:count|counted|see|found|find|get|got)|leaves|total(?: of| is)?)"
        rf"[ \t]*:?[ \t]*(?:only[ \t]+|just[ \t]+)?{_NUMBER}|(?:共计?有?|总计|=)[ \t]*{_NUMBER}",
        re.IGNORECASE,
    ),
)
_DIGIT_RUN = re.compile(r"[0-9]+(?:[ \t\r\n,-]{1,4}[0-9]+)*")
_WRAPPED_DIGITS = 20
_OPENING, _CLOSING = "\"'“‘「『《([{", "\"'”’」』》)]}"
_OPEN, _CLOSED = r"[(\[{\"'“‘]", r"[)\]}\"'”’]"
# Not the article in "A good one"; "A because" is a choice.
_ARTICLE = r"[ \t]+(?!(?:and|or|as|because|since|for|is|was|based|due|given|which|with|not)\b)[a-z]"
_LETTER_ALONE = rf"(?<![A-Za-z0-9])([B-D]|A(?!{_ARTICLE}))(?![A-Za-z0-9]|['’-][A-Za-z])"
_LETTER = re.compile(_LETTER_ALONE)
# A lower-case letter may be an article: it must be in brackets or the last of its sentence.
_SMALL = re.compile(rf"{_OPEN}([a-d]){_CLOSED}|(?<![A-Za-z0-9])([b-d]|a(?=\W*$))(?=[ \t]*(?:[.。!;\n]|$))")
_LETTER_BRACKETED = re.compile(rf"{_OPEN}([A-D]){_CLOSED}")
_LAST = re.compile(rf"{_LETTER_ALONE}\W*\Z")
_NOTHING_ELSE = re.compile(r"\W*([A-Da-d])\W*")
_LEADING = re.compile(rf"\W*{_LETTER_ALONE}(?=[ \t]*(?:[.:)\],;\n]|$))")
_NAMED = re.compile(rf"\b(?:[Oo]ption|[Cc]hoice|choose|pick|select)[ \t]+{_OPEN}?{_LETTER_ALONE}")
_RULED_OUT = re.compile(
    r"(?:\b(?:not|nor|neither|cannot be|rather than|instead of|unlike)\b|n['’]t\b|不是|并非|而非|不选)"
    rf"[ \t]*(?:(?:option|choice|answer)[ \t]*)?{_OPEN}?(?<![A-Za-z0-9])[A-Da-d](?![A-Za-z0-9]){_CLOSED}?"
    rf"|{_OPEN}?{_LETTER_ALONE}{_CLOSED}?[ \t]+(?:is|was|seems)[ \t]+"
    r"(?:wrong|incorrect|false|not[ \t]+(?:right|correct))"
)
_LETTER_MARK = re.compile(r"(?<![^\s,(\[])([A-D])[.:)\]](?=\s|$)")
_SEVERAL = re.compile(rf"(?<![A-Za-z0-9])([A-D]{{2,4}}|[B-D]|A(?!{_ARTICLE}))(?![A-Za-z0-9]|['’-][A-Za-z])")
_REASONS = re.compile(r"\b(?:because|since|as)\b")
# Between two letters given together.
_TOGETHER = re.compile(
    rf"{_CLOSED}?[ \t]*(?:,?[ \t]*(?:and|or|&|和|或|及)|[,/、+])[ \t]*(?:both[ \t]+)?{_OPEN}?{_LETTER_ALONE}"
)


def first_number(reply: str) -> str | None:
    """The first number of the answer, without leading zeros and thousands separators.

    After the last "answer is" or the like, else anywhere. A reply that is just a number in words (``twelve``,
    ``十二``) counts too.
    """
    text = _after_cue(plain_text(reply))
    return next(_numbers(text), None) or _spelled(text)


def last_uuid(reply: str) -> str | None:
    """The last UUID, in lower case."""
    uuids = _UUID.findall(plain_text(reply).lower())
    return uuids[-1] if uuids else None


def choice_number(reply: str, n_options: int) -> str | None:
    """The option from 1 to ``n_options`` that a reply chooses; None if it chooses none or several.

    The option after the last "answer is" is used; else the first "option 3" that is not negated; else the only label of
    a line ("2) 5, 12, 33, 8"), or the only number in brackets; else the only number of the reply. A list of numbers is
    not a choice.
    """
    text = settled(reply)
    for part in after_cues(text):
        if number := _first(_ANNOUNCED.match(part) or _OPTION.search(part)):
            return _within(number, n_options)
    number = _first(_OPTION.search(text)) or _only([*_MARK.findall(text), *_BRACKETED.findall(text)])
    if not number:
        number = _only(_numbers(text)) or _spelled(text)
    return _within(number, n_options) if number else None


def passage_number(reply: str) -> str | None:
    """The passage number that a reply gives: ``Passage 12``, ``段落12``, ``第12段`` or a number alone.

    The number after the last "answer is" is used; else the label at the start ("12. Because"); else the first named
    passage that is not negated ("passage 3, not passage 4"); else the first number.
    """
    text = settled(reply)
    for part in after_cues(text):
        if number := _first(_ANNOUNCED.match(part) or _PASSAGE.search(part)) or next(_numbers(part), None):
            return _canonical(number)
    if number := _leading(text) or _first(_PASSAGE.search(text)):
        return _canonical(number)
    return _bare(reply)


def count_number(reply: str) -> str | None:
    """The number of different things that a reply counts.

    The number after the last "answer is" is used; else the last number of different things ("12 are different"), or of
    counted things ("there are 12", "I count twelve"); else the label at the start; else the first number that is not a
    total ("out of 15").
    """
    text = _TOTAL.sub(" ", settled(reply))
    for part in after_cues(text):
        if number := _counted(part) or next(_numbers(part), None):
            return _canonical(number)
    if number := _counted(text) or _leading(text):
        return _canonical(number)
    return _bare(reply, _TOTAL)


def digits(reply: str, size: int = 0) -> str | None:
    """The last number of ``size`` digits in a reply, with leading zeros; else its longest number.

    Digits in equal groups separated by spaces, commas, hyphens or line ends are joined.

    Args:
        reply: The whole reply.
        size: Number of digits; 0 if unknown.
    """
    best = ""
    for run in _DIGIT_RUN.finditer(RULED_OUT.sub(" ", plain_text(reply))):
        for candidate in _joined(run.group(), size):
            best = max(candidate, best, key=lambda number: (size > 0 and len(number) == size, len(number)))
    return best or None


def short_answer(reply: str) -> str | None:
    """The answer in words: the first line that is not an announcement, without lead-in, quotes and Markdown.

    ``Answer:`` and "the answer is" are lead-ins. A reply without any other letter or digit has no answer.
    """
    text = _after_label(_EMPHASIS.sub("", without_reasoning(reply)))
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    # "Sure, here it is:" announces the next line.
    while lines and lines[0][-1] in ":：":
        lines.pop(0)
    if not lines:
        return None
    answer = lines[0].rstrip(".。")
    while len(answer) > 1 and answer[0] in _OPENING and answer[-1] == _CLOSING[_OPENING.index(answer[0])]:
        answer = answer[1:-1].strip()
    return answer.rstrip(".。") if any(map(str.isalnum, answer)) else None


def _first(match: re.Match[str] | None) -> str | None:
    return next(filter(None, match.groups()), None) if match else None


def _only(numbers: Iterable[str]) -> str | None:
    """The value, if all are the same."""
    distinct = set(numbers)
    return distinct.pop() if len(distinct) == 1 else None


def _leading(text: str) -> str | None:
    """The label of the first line, unless other lines have labels, as in a list."""
    text = text.strip()
    return _only(_MARK.findall(text)) if _MARK.match(text) else None


def _counted(text: str) -> str | None:
    for form in _COUNTED:
        if matches := list(form.finditer(text)):
            return _first(matches[-1])
    return None


def _bare(reply: str, besides: re.Pattern[str] = RULED_OUT) -> str | None:
    """The first number in digits, else the first in words; ``besides`` is removed."""
    for words in (False, True):
        if number := next(_numbers(besides.sub(" ", settled(reply, words))), None):
            return number
    return _spelled(plain_text(reply))


def _after_cue(text: str) -> str:
    return _after_last(CUE, text)


def _after_label(text: str) -> str:
    """The text after the last non-empty lead-in, else everything without lead-ins."""
    return _LABEL.sub("", _after_last(_LABEL, text))


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    """The text after the last match that is followed by any; else the text itself."""
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
    # Check the length first: a reply may contain a number of any size.
    fits = number.isdecimal() and len(number) <= len(str(n_options)) and 1 <= int(number) <= n_options
    return number if fits else None


def _spelled(text: str) -> str | None:
    number = read_numeral(text)
    return None if number is None else str(number)


def _joined(run: str, size: int) -> list[str]:
    """The numbers that a run of digits and separators may represent."""
    groups = re.findall("[0-9]+", run)
    width = len(groups[0])
    exact = [group for group in groups if len(group) == size]
    if len(groups) == 1 or exact or (width > 1 and len(set(groups)) == 1):
        return exact or groups
    equal = all(len(group) == width for group in groups[:-1]) and len(groups[-1]) <= width
    thousands = width <= 3 and all(len(group) == 3 for group in groups[1:])
    # Short numbers on separate lines are a list; only long ones are wrapped.
    wrapped = "\n" not in run or width == 1 or width >= _WRAPPED_DIGITS
    listed = re.search(r",[ \t]", run) is not None and width > 1
    return ["".join(groups)] if (equal or thousands) and wrapped and not listed else groups


def choice_letter(reply: str) -> str | None:
    """The letter from A to D that a reply chooses; None if it chooses none or several.

    A single letter after the last "answer is" or ``Answer:`` is used; else the letter at the start ("B. Because"); else
    the only one in brackets or named ("option B"), else the only one if it is the last word. Negated letters
    ("not (A)", "A is wrong") do not count.

    Args:
        reply: The whole reply; text in thinking tags is ignored.
    """
    text = _RULED_OUT.sub(" ", plain_text(reply))
    for part in after_cues(text):
        if match := _LETTER.search(part):
            other = _TOGETHER.match(part, match.end())
            return None if other and other[1] != match[1] else match[1]
        if match := _SMALL.search(part):
            return (match[1] or match[2]).upper()
    if (match := _LEADING.match(text)) and not _TOGETHER.match(text, match.end()):
        return match[1]
    if alone := _NOTHING_ELSE.fullmatch(text):
        return alone[1].upper()
    named = {*_LETTER_BRACKETED.findall(text), *_NAMED.findall(text)}
    if not named and _LAST.search(text):
        named = set(_LETTER.findall(text))
    return named.pop() if len(named) == 1 else None


def choice_letters(reply: str) -> str:
    """All letters from A to D that a reply chooses, in alphabetical order ("AC"); "" if there are none.

    The text after the last cue is used, else the whole reply: its labels if it begins with one ("A. first"), else the
    first line with letters, alone or as a word ("AC"), up to its reasons.

    Args:
        reply: The whole reply; text in thinking tags is ignored.
    """
    text = _RULED_OUT.sub(" ", plain_text(reply))
    for part in (*after_cues(text), text):
        lines = [_REASONS.split(line)[0] for line in part.splitlines()]
        named = next(filter(None, map(_SEVERAL.findall, lines)), ())
        leads = _LETTER_MARK.match(part, len(part) - len(part.lstrip(" \t\n([-•")))
        if letters := "".join(_LETTER_MARK.findall(part) if leads else named):
            return "".join(sorted(set(letters)))
    alone = _NOTHING_ELSE.fullmatch(text)
    return alone[1].upper() if alone else ""
