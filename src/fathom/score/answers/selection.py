"""Which of the answers that a text has it gives: the only one, the one that stands alone, the one called right."""

import re
from collections.abc import Iterable

# Two lines of one word each, which is an answer if it has a digit or is a letter of an option.
_WORD_LINE = (
    r"[ \t*_\"'“”‘’`>().。,:;#-]*+(?:(?i:option|choice|passage|paragraph)[ \t]+)?"
    r"([A-D]|(?=[a-z-]*[0-9])[a-zA-Z0-9.,-]*[0-9a-f])[ \t*_\"'“”’`).。,:;]*(?:\n|\Z)"
)
_ANSWER_LINES = re.compile(rf"\s*{_WORD_LINE}{_WORD_LINE}")
# "B is correct", "passage 3 is the right one", "A7 is the best", "B: right", "B ✓".
CALLED_RIGHT = (
    r"[\"'”’)\]]{0,3}(?i:[ \t]{1,3}(?:is|was|must be|seems(?: to be)?|appears to be|looks like)[ \t]{1,3}"
    r"(?:clearly[ \t])?(?:(?:the|my)[ \t])?"
    r"(?:final[ \t])?(?:correct|right|best|answer|choice|one)\b"
    r"|[ \t]{0,2}[:(=?–—-][ \t]{0,2}(?:fully[ \t])?(?:correct|right|true|yes)\b|[ \t:(]{0,3}[✓✔✅]"
    r"|[ \t]{1,3}(?:\(?matches|fits|wins|stands out|is (?:supported|exact|better(?![ \t]than)))\b"
    r"|:?[项个]?(?:比[^\n，。]{1,20})?(?:是?正确|是对的|最|更|符合))"
)


def disagree(text: str, form: re.Pattern[str]) -> bool:
    """Whether a text gives different answers in the same form: two labels, or two that are called right."""
    return len(set(form.findall(text))) > 1


def two_lines(text: str) -> bool:
    """Whether a text begins with two lines, one after the other, that are different answers and nothing else."""
    match = _ANSWER_LINES.match(text)
    return match is not None and match[1].casefold() != match[2].casefold()


def alone_on_line(text: str, line: re.Pattern[str]) -> str | None:
    """The answer on the first line if nothing else is there; else the only one that has a line of its own."""
    match = line.match(text, len(text) - len(text.lstrip()))
    return match[1] if match else only(line.findall(text))


def first_group(match: re.Match[str] | None) -> str | None:
    """The first group of a match that has a text."""
    return next(filter(None, match.groups()), None) if match else None


def only(numbers: Iterable[str]) -> str | None:
    """The value, if all are the same."""
    distinct = set(numbers)
    return distinct.pop() if len(distinct) == 1 else None
