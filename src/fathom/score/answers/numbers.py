"""Extracts numbers from replies: of any kind, of an option, of a passage, of a count."""

import re
from collections.abc import Iterator

from fathom.score.answers.selection import CALLED_RIGHT, alone_on_line, disagree, first_group, only, two_lines
from fathom.score.reading import (
    CUE,
    NAME,
    PASSAGE_NOUN,
    after_cues,
    decided,
    in_digits,
    ordinal,
    read_numeral,
    without_enclosed,
)
from fathom.score.unwrapping import readable

_NUMBERED = (
    rf"(?i:{NAME})?(?<![0-9.])(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+(?:\.[0-9]+)?)(?:st|nd|rd|th)?(?![0-9])"
    "[个项段篇条号]?"
)
_NUMBERS = re.compile(r"(?:(?<![\w.,)\]-])-)?[0-9]+(?:,[0-9]+)*(?:\.[0-9]+)?")
_THOUSANDS = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_NUMBER = r"(?<![0-9])([0-9]++(?:,[0-9]{3})*)"
_ALONE = r"(?!\s*,\s*[0-9]|[0-9.]*[0-9])"  # neither the start of a list nor part of a longer number
# A number directly after a cue: "the answer is [in] [the] [passage] 12".
_ANNOUNCED = re.compile(rf"[^\w\[]*(?:(?:in|the)\s+){{0,2}}{NAME}?[^\w\[]{{0,3}}([0-9]+){_ALONE}", re.IGNORECASE)
# A number that labels a line: "2", "2.", "(2) 5, 12, 33", "2: [5, 12]"; not "2, 5", "2.5", "2 men".
_MARK = re.compile(
    rf"^[ \t]*[\[(]?([0-9]+)(?:[ \t]*$|[.)\]:、。](?![0-9])|,(?![ \t]*[0-9])|[ \t]*[:=(\[]|[ \t]+-[ \t])"
    # "1. Passage 3" is the first item of a list; "3. Passage 1 is about ..." gives a reason for passage 3.
    rf"(?!\W*{NAME}[0-9]+\W*$)",
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
# "There are 30 passages."
_QUANTITY = re.compile(
    r"\b(?:there (?:are|were)|of|all|among|from|the|these|those)[ \t]+[0-9]+(?:,[0-9]{3})*[ \t]+"
    r"(?:passages|paragraphs|documents|articles|texts|segments|abstracts)\b",
    re.IGNORECASE,
)
# "so it is option 2."
_CONCLUDED_NUMBER = re.compile(
    rf"(?:\b(?:so|thus|hence|therefore)\b[ \t:,]{{1,3}}(?:it is |it['’]s )?"
    r"|\b(?:summary|description)\b[^\n.]{0,40}?"
    r"\b(?:describes|belongs to|(?:is|comes) (?:of|from)|matches|corresponds to"
    rf"|refers to)[ \t]{{1,3}}(?:the )?|(?:属于|出自|来自|对应)(?:的是)?){NAME}?([0-9]+)(?=段?[.!。]?[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
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
    _CONCLUDED_NUMBER,
    re.compile(
        r"\b(?:there (?:are|were|remain)|i (?:have )?(?:count|counted|see|found|find|get|got)|leav(?:es|ing)"
        r"|total(?: of| is)?)"
        rf"[ \t]*:?[ \t]*(?:only[ \t]+|just[ \t]+)?{_NUMBER}"
        rf"|\b(?:minus|less)\b[^\n.]{{0,40}}?\b(?:is|are|leaves|equals|makes|gives)[ \t]+{_NUMBER}"
        rf"|(?:剩下?|剩余|余下)[ \t]*{_NUMBER}"
        rf"|(?:共计?有?|总计|=|等于|所以有?|因此有?)[ \t]*{_NUMBER}",
        re.IGNORECASE,
    ),
)
_SIGNED = r"(?<![A-Za-z0-9_.])-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]++)(?:\.[0-9]++)?(?![A-Za-z0-9_])"
# The list of the prompt, repeated and perhaps cut off.
_NUMBER_LIST = re.compile(r"\[[^\[\]]*(?:,[^\[\]]*\]|\Z)")
_ORDINAL = re.compile(r"(?<![\w.])[0-9]+(?:st|nd|rd|th)\b", re.IGNORECASE)
# Values of an option, which are no options: "(2) 5, 12, 33, 8", "2: [5, 12]".
_OPTION_VALUES = re.compile(r"[0-9]+(?:,[ \t]*[0-9]+){2,}|\[[0-9, ]*\]|(?<=[.):\]][ \t])[0-9]+(?:,[ \t]*[0-9]+)+")
_DECIMAL = r"-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"
_EQUALS = re.compile(rf"(?:=|等于|得到?)[ \t]*({_DECIMAL})")
_QUANTITIES = {
    **dict.fromkeys(("larg", "big", "high", "max", "great", "最大", "最高", "大"), "largest"),
    **dict.fromkeys(("small", "low", "min", "least", "最小", "最低", "小"), "smallest"),
    **dict.fromkeys(("median", "middle", "中位"), "median"),
    **dict.fromkeys(("mean", "average", "平均"), "mean"),
    **dict.fromkeys(("mode", "众数"), "mode"),
    **dict.fromkeys(("sum", "total", "总和", "之和", "和"), "sum"),
}
"""Quantities of a list by the beginnings of their names."""
_QUANTITY_WORD = "(" + "|".join(stem for stem in _QUANTITIES if stem.isascii()) + "|number|value)"
_QUANTITY_ZH = "(" + "|".join(stem for stem in _QUANTITIES if not stem.isascii()) + ")"
_NOUN = rf"{_QUANTITY_WORD}\w{{0,9}}"
_RANK = (
    r"(?:\b(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|[0-9]{1,4}(?:st|nd|rd|th))[ \t-]{1,3})?"
)
_RANK_ZH = "(?:第([一二三四五六七八九十]|[0-9]{1,4}))?"
_VALUE = rf"({_DECIMAL})(?!\w)"
_ASKED = re.compile(rf"{_RANK}\b{_NOUN}|{_RANK_ZH}{_QUANTITY_ZH}", re.IGNORECASE)
# "so the 2nd largest number is 42", "Largest: 42", "the median is the 3rd: 42".
_STATED = re.compile(
    rf"(?:\b(so|thus|therefore|hence)\b[ \t,]{{1,3}})?(?:\bthe[ \t]{{1,3}})?{_RANK}\b{_NOUN}"
    r"(?:(?:[ \t](?:number|value|one))?[\"”]?(?:[ \t]?[:=→][ \t]?|,[ \t](?=[0-9]+[.]?$)|(?<=max|min)[ \t])"
    r"|[^\n.;]{0,60}?(?:\b(?:is|equals)|=)[ \t:]*(?:the[ \t]\w{3,9}(?:[ \t]\w{3,9})?[ \t]?[:,][ \t])?)"
    rf"{_VALUE}(?!,[ \t]?[0-9])",
    re.IGNORECASE | re.MULTILINE,
)
# "42 is the second largest".
_STATED_AFTER = re.compile(
    rf"(?<![\w.,-]){_VALUE}[ \t]{{1,3}}(?:is[ \t](?:the[ \t])?|the[ \t]){_RANK}\b{_NOUN}", re.IGNORECASE
)
_STATED_ZH = re.compile(
    rf"{_RANK_ZH}{_QUANTITY_ZH}[^\n，。；;0-9]{{0,10}}?(?:[是为:]|等于|[数值和])[ \t]*(?:第[0-9]+个?[:,，])?{_VALUE}"
)
# A line that is nothing but a number, or a numbered noun.
_SIGNED_LINE = re.compile(rf"^[^\w\n-]*({_DECIMAL})[^\w\n]*$", re.MULTILINE)
_NUMBER_LINE = re.compile(rf"^[^\w\n]*(?:the[ \t]+)?{NAME}?(?<![-.])([0-9]+)[^\w\n]*$", re.MULTILINE | re.IGNORECASE)
# A number that the reply begins with: "42 (the largest is 50)", "42, because".
_LEADING_NUMBER = re.compile(rf"\W*?({_DECIMAL})(?:[ \t]*\(|,?[ \t](?:because|since|as)\b)")
_RIGHT_NUMBER = re.compile(rf"(?<![0-9.])([0-9]+){CALLED_RIGHT}", re.IGNORECASE)


def first_number(reply: str) -> str | None:
    """The first number of the answer, without leading zeros and thousands separators.

    After the last "answer is" or the like, else anywhere. Ordinals ("the 2nd largest") are no answers. A reply that is
    just a number in words (``twelve``, ``十二``) counts too. Lines of different numbers and nothing else are no answer.
    """
    text = readable(reply)
    for part in after_cues(text):
        if number := next(_numbers(_ORDINAL.sub(" ", part)), None):
            return number
    if two_lines(text):
        return None
    return next(_numbers(_ORDINAL.sub(" ", text)), None) or _spelled(text)


def stated_number(reply: str, asked: str = "") -> str | None:
    """A number that follows from others: the first after the last cue, alone on its line, or after "=" or "is".

    Of several after "is" that of the quantity in question is used ("the median is 42"); else the concluded one ("so the
    median is 42"), else that of the highest ordinal ("the 2nd largest is 42"), else the first. Rejected numbers, and
    those given together, are ignored; if none is stated, the first number is used.

    Args:
        asked: The question; "" if unknown.
    """
    text = readable(reply)
    without_lists = _NUMBER_LIST.sub(" ", text)
    text = decided(without_lists if _NUMBERS.search(without_lists) else text, _SIGNED)
    of_asked, stated = _stated(text, asked)
    equal = _EQUALS.findall(text)[-1:] or [stated]
    text = _ORDINAL.sub(" ", text)
    leads = _LEADING_NUMBER.match(text)
    first = leads[1] if leads else alone_on_line(text, _SIGNED_LINE)
    parts = (*after_cues(text), of_asked, *([] if two_lines(text) else [first, *equal, CUE.sub(" ", text)]))
    return next((number for part in parts for number in _numbers(part or "")), None) or _spelled(text)


def _stated(text: str, asked: str) -> tuple[str, str]:
    """The number that is stated of the quantity in question, and of any: the concluded one, that of the highest
    ordinal, or the first; "" if there is none.
    """
    ranked = [
        (match.start() + 1 if match[1] else 0, _quantity(match[2], match[3]), match[4])
        for match in _STATED.finditer(text)
    ]
    ranked += [(0, _quantity(match[2], match[3]), match[1]) for match in _STATED_AFTER.finditer(text)]
    ranked += [(0, _quantity(match[1], match[2]), match[3]) for match in _STATED_ZH.finditer(text)]
    wanted = _ASKED.findall(asked)
    quantities = {_quantity(rank or rank_zh, word or word_zh) for rank, word, rank_zh, word_zh in wanted}
    of_asked = [number for _, quantity, number in ranked if quantity in quantities and quantity[1]]
    if any(name for _, name in quantities):
        ranked = [entry for entry in ranked if not entry[1][1]]
    best = max(ranked, key=lambda stated: (stated[0], stated[1][0]), default=(0, (0, ""), ""))
    return of_asked[-1] if of_asked else "", best[2]


def _quantity(rank: str | None, word: str) -> tuple[int, str]:
    """A quantity of a list, as ``(2, "largest")``; without a name if it has none."""
    return _rank(rank or ""), _QUANTITIES.get(word.lower(), "")


def _rank(word: str) -> int:
    number = read_numeral(word) if word and not word.isascii() else None
    return max(1, number or ordinal(word) or int(word if word.isdecimal() else 0))


def choice_number(reply: str, n_options: int) -> str | None:
    """The option from 1 to ``n_options`` that a reply chooses; None if it chooses none or several.

    The option after the last "answer is" is used; else the one that is called right, or leads the reply; else the first
    "option 3" that is not negated; else the only label of a line ("2) 5, 12, 33, 8"), or the only number in brackets;
    else the only number of the reply. A list of numbers is not a choice.
    """
    text = decided(_OPTION_VALUES.sub(" ", in_digits(without_enclosed(readable(reply)))), _NUMBERED)
    for part in after_cues(text):
        if number := first_group(_ANNOUNCED.match(part) or _OPTION.search(part)):
            return _within(number, n_options)
    if two_lines(text) or disagree(text, _RIGHT_NUMBER):
        return None
    marks = {*_MARK.findall(text), *_BRACKETED.findall(text)}
    number = _concluded(text) or alone_on_line(text, _NUMBER_LINE) or _first_named(text, _OPTION) or only(marks)
    number = number or only(_numbers(text)) or _spelled(text)
    return _within(number, n_options) if number else None


def passage_number(reply: str) -> str | None:
    """The passage number that a reply gives: ``Passage 12``, ``段落12``, ``第12段`` or a number alone.

    The number after the last "answer is" is used; else the one that is called right, or is alone on the first line;
    else the label at the start ("12. Because"); else the first named passage that is not negated ("passage 3, not
    passage 4"); else the first number.
    """
    text = _settled(reply)
    for part in after_cues(text):
        if number := first_group(_ANNOUNCED.match(part) or _PASSAGE.search(part)) or next(_numbers(part), None):
            return _canonical(number)
    if two_lines(text) or disagree(text, _RIGHT_NUMBER):
        return None
    number = _concluded(text) or alone_on_line(text, _NUMBER_LINE)
    if number := number or _leading(text) or _first_named(text, _PASSAGE):
        return _canonical(number)
    return None if disagree(text, _MARK) else _bare(reply, text, _QUANTITY)


def count_number(reply: str) -> str | None:
    """The number of different things that a reply counts.

    The number after the last "answer is" is used; else the last number of different things ("12 are different"), or of
    counted things ("there are 12", "I count twelve"); else the label at the start; else the first number that is not a
    total ("out of 15").
    """
    text = _TOTAL.sub(" ", _settled(reply))
    for part in after_cues(text):
        if number := _counted(part) or next(_numbers(part), None):
            return _canonical(number)
    if not (number := _counted(text)) and two_lines(text):
        return None
    if number := number or alone_on_line(text, _NUMBER_LINE) or _leading(text):
        return _canonical(number)
    return _bare(reply, text, _TOTAL)


def _settled(reply: str, words: bool = True) -> str:
    """A reply with numbers in words as digits (unless not ``words``), without those that it does not give."""
    text = without_enclosed(readable(reply))
    return decided(in_digits(text) if words else text, _NUMBERED)


def _concluded(text: str) -> str | None:
    """The number that is called right, else the last that is concluded ("so it is 2")."""
    return first_group(_RIGHT_NUMBER.search(text)) or next(reversed(_CONCLUDED_NUMBER.findall(text)), None)


def _first_named(text: str, form: re.Pattern[str]) -> str | None:
    """The first answer that is named; of a numbered list the only one."""
    if len(set(_MARK.findall(text))) > 1:
        return only(filter(None, map(first_group, form.finditer(text))))
    return first_group(form.search(text))


def _leading(text: str) -> str | None:
    """The label of the first line, unless other lines have labels, as in a list."""
    text = text.strip()
    return only(_MARK.findall(text)) if _MARK.match(text) else None


def _counted(text: str) -> str | None:
    for form in _COUNTED:
        if matches := list(form.finditer(text)):
            return first_group(matches[-1])
    return None


def _bare(reply: str, text: str, besides: re.Pattern[str] | None = None) -> str | None:
    """The first number in digits, else the first in words, with digits in ``text``; ``besides`` is removed."""
    in_figures = _settled(reply, words=False)
    for part in (in_figures, text):
        if number := next(_numbers(part if besides is None else besides.sub(" ", part)), None):
            return number
    return _spelled(readable(reply))


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
