"""What a reply to LongBench Pro answers: the part after the marker, and its lines without list markers."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

from fathom.benchmarks.pro.official import MARKERS, fold
from fathom.score.text import without_reasoning

_EXACT = re.compile("|".join(map(re.escape, MARKERS)))
# "[ANSWER]", "[final answer]", "【答案】", "［答案］".
_BRACKETED = re.compile(r"[\[［【]\s*(?:final\s+|最终)?(?:answer|答案)\s*[\]］】]", re.IGNORECASE)
# "Answer:", "**Final answer:**", "答案：" at the beginning of a line.
_LABEL = re.compile(r"^[ \t>#*_]*(?:final[ \t]+|最终)?(?:answer|答案)[*_ \t]*[:：]", re.IGNORECASE | re.MULTILINE)
# What may stand between a marker and the answer on the line of the marker: "**[Answer]**: B".
_AFTER_MARKER = " \t*_:："
# "- ", "• ", "1. ", "1.x", "1) ", "1、", "(1)", "（1）"; what follows must say something. "1.5" is a number.
_LIST_MARKER = re.compile(
    r"(?:[-*+‣◦·–—]\s+|•\s*|[0-9]{1,3}(?:[.)．]\s+|[.)．](?=[^\s0-9])|、\s*)|[(（][0-9]{1,3}[)）]\s*)(?=\S)"
)
_FENCE = re.compile(r"`{3,}\w*")


@dataclass(frozen=True, slots=True)
class Answered:
    """Where a reply answers.

    Attributes:
        areas: Texts that may be its answer, the likeliest first.
        valid: Whether it has the asked form: a marker in square or other full brackets, and something after it.
    """

    areas: tuple[str, ...]
    valid: bool


def answered(reply: str) -> Answered:
    """Find where a reply answers, thoughts in tags aside.

    The last ``[Answer]`` or ``[答案]`` counts. Where there is neither, the last marker in another case or in other
    brackets does, or a label such as ``Answer:``; the whole reply is then another area, as it is the only one for the
    released code: so that a gold answer that looks like a marker is not lost. Without any of them there is only the
    whole reply.

    Args:
        reply: The whole reply.
    """
    text = without_reasoning(reply)
    if exact := list(_EXACT.finditer(text)):
        areas = _after(text[exact[-1].end() :])
        return Answered(areas, bool(areas[0].strip()))
    if bracketed := list(_BRACKETED.finditer(text)):
        areas = _after(text[bracketed[-1].end() :])
        return Answered((*areas, text), bool(areas[0].strip()))
    if labels := list(_LABEL.finditer(text)):
        return Answered((*_after(text[labels[-1].end() :]), text), False)
    return Answered((text,), False)


def _after(rest: str) -> tuple[str, ...]:
    """What follows a marker, without what belongs to the marker, and as it stands where that is something else."""
    bare = rest.lstrip(_AFTER_MARKER)
    return (bare,) if bare == rest.lstrip(" \t") else (bare, rest)


def lines(area: str, gold: Container[str]) -> list[str]:
    """The lines of an answer, folded; blank ones and fences are left out, and of equal ones the first is kept.

    Args:
        area: The answer.
        gold: Folded gold lines. A line that is one of them is taken as it is, list marker and all; any other is taken
            without its list marker.
    """
    folded = (_meant(fold(line), gold) for line in area.lower().split("\n"))
    return list(dict.fromkeys(filter(None, folded)))


def _meant(line: str, gold: Container[str]) -> str:
    if line in gold:
        return line
    if _FENCE.fullmatch(line):
        return ""
    marker = _LIST_MARKER.match(line)
    return line[marker.end() :] if marker else line
