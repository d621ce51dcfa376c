"""Texts that a prompt numbers under headings of their own: the parts to be put in order, the answers to choose among.

A heading stands on a line of its own after an empty line. The texts may hold such lines too, and a window may have
taken some of the headings away: the longest row of headings whose numbers ascend is taken for theirs.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["order", "label"]
_INSTRUCTIONS = 4_000  # characters at the start of a prompt among which its texts begin
KINDS: tuple[Kind, ...] = ("order", "label")


@dataclass(frozen=True, slots=True)
class Pieces:
    """Numbered texts and what stands around them.

    Attributes:
        number: How many there are, seen or not; 0 where nothing says so.
        texts: Those that can be seen, by their numbers, in the order of the prompt.
        instructions: What the prompt says before its texts; empty where their first heading cannot be seen.
        before: The text before the first of them: what a book tells before its parts, the question of answers.
        after: The text after the last of them; empty where there is none.
        example: The answer that the instructions show as an example, as it stands there; empty if there is none.
    """

    number: int
    texts: Mapping[int, str]
    instructions: str
    before: str
    after: str
    example: str


def _line(heading: str) -> re.Pattern[str]:
    return re.compile(rf"(?:\A|(?<=\n\n))(?:{heading})[ \t]*(?:\n|\Z)")


_OPENING: Mapping[Kind, re.Pattern[str]] = {
    "order": _line("Before:|前文："),
    "label": _line("Question:|问题："),
}
_HEADING: Mapping[Kind, re.Pattern[str]] = {
    "order": _line("Part ([1-9][0-9]?):|片段([1-9][0-9]?)："),
    "label": _line("A([1-9][0-9]{0,5})[:：]"),
}
_AFTER = _line("After:|后文：")
_STATED: Mapping[Kind, re.Pattern[str]] = {
    "order": re.compile(r"(?:[Pp]arts?|片段)[ \t]?([1-9][0-9]?)(?![0-9])|([1-9][0-9]?)(?:[ \t][Pp]arts|个片段)"),
    "label": re.compile(r"(?<![A-Za-z0-9])A([1-9][0-9]{0,5})(?![0-9])"),
}
_EXAMPLE: Mapping[Kind, re.Pattern[str]] = {
    "order": re.compile(r"(\[[1-9][0-9]?(?:, ?[1-9][0-9]?)+\])"),
    "label": re.compile(r"(?:Answer:|答案：)[ \t]*(A[1-9][0-9]{0,5})(?![0-9])"),
}


def find_pieces(prompt: str, end: int, kind: Kind) -> Pieces:
    """The numbered texts of a prompt.

    Args:
        prompt: The whole prompt, or what a window leaves of it.
        end: Where its texts end and what is asked begins.
        kind: ``order`` for parts, ``label`` for answers.
    """
    opening = _OPENING[kind].search(prompt, 0, min(end, _INSTRUCTIONS))
    said, start = (prompt[: opening.start()], opening.end()) if opening else ("", 0)
    stated = _stated(prompt[end:], kind) or _stated(said, kind)
    row = _ascending(_headings(prompt, start, end, kind, stated))
    after = _last(_AFTER, prompt, row[-1][1].end() if row else start, end) if kind == "order" else None
    last = after.start() if after else end
    ends = [*(match.start() for _, match in row[1:]), last]
    example = _EXAMPLE[kind].search(said)
    return Pieces(
        number=stated or (row[-1][0] if row else 0),
        texts={number: prompt[match.end() : stop].strip() for (number, match), stop in zip(row, ends, strict=False)},
        instructions=said,
        before=prompt[start : row[0][1].start() if row else last].strip(),
        after=prompt[after.end() : end].strip() if after else "",
        example=example.group(1) if example else "",
    )


def _stated(said: str, kind: Kind) -> int:
    """How many pieces there are, as the words around them say; 0 if they do not."""
    found = (int(number) for match in _STATED[kind].finditer(said) for number in match.groups() if number)
    return max(found, default=0)


def _headings(prompt: str, start: int, end: int, kind: Kind, most: int) -> Iterator[tuple[int, re.Match[str]]]:
    for match in _HEADING[kind].finditer(prompt, start, end):
        number = int(next(filter(None, match.groups())))
        if number <= most or not most:
            yield number, match


def _last(pattern: re.Pattern[str], prompt: str, start: int, end: int) -> re.Match[str] | None:
    return max(pattern.finditer(prompt, start, end), key=re.Match.start, default=None)


def _ascending(headings: Iterable[tuple[int, re.Match[str]]]) -> list[tuple[int, re.Match[str]]]:
    """The longest row of headings whose numbers ascend; of several, the one whose headings come first."""
    numbers: list[int] = []  # at i: the least number with which a row of i + 1 headings ends
    ends: list[int] = []
    seen: list[tuple[int, re.Match[str], int]] = []  # each with the place of the one before it in its row
    for number, match in headings:
        size = bisect_left(numbers, number)
        if numbers[size : size + 1] == [number]:
            continue
        seen.append((number, match, ends[size - 1] if size else -1))
        numbers[size : size + 1] = [number]
        ends[size : size + 1] = [len(seen) - 1]
    row: list[tuple[int, re.Match[str]]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        number, match, at = seen[at]
        row.append((number, match))
    return row[::-1]
