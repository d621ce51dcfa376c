"""Replies made ready to be read: plain marks, numbers as digits, without what they rule out, cut at answer cues."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fathom.score.numerals import in_digits
from fathom.score.text import fold, without_reasoning

_MARKDOWN = re.compile(r"[*`~$]+|\\boxed|^[ \t]*#+[ \t]", re.MULTILINE)
# "answer is", "Answer:", "[Answer]", "答案是", "答案：": what follows is the answer.
CUE = re.compile(
    r"\b(?:answer|choice|option|pass ?key|result)\s+(?:is|would be|should be)\b\s*:?|\banswer\s*[:=]|\[answer\]"
    r"|(?:答案|选项|结果|密码|密钥)\s*(?:是|为|:)\s*:?|\[答案\]",
    re.IGNORECASE,
)
# What is numbered, and how its name leads to its number.
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


def plain(reply: str) -> str:
    """What a reply says after its thoughts, in plain letters and without Markdown."""
    return _MARKDOWN.sub("", fold(without_reasoning(reply)))


def settled(reply: str, words: bool = True) -> str:
    """A reply as it is read: plain, numbers in words as digits (unless not ``words``), without what it rules out."""
    text = plain(reply).translate(_ENCLOSED)
    return RULED_OUT.sub(" ", in_digits(text) if words else text)


def after_cues(text: str) -> Iterator[str]:
    """What follows each answer cue, up to the next; the last first."""
    cues = list(CUE.finditer(text))
    ends = [*(cue.start() for cue in cues), len(text)][1:]
    for cue, end in reversed(list(zip(cues, ends, strict=True))):
        yield text[cue.end() : end]
