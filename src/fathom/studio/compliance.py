"""What a compliance reviewer looks for in a text: personal data, licences and copyright lines. Hints, no decision."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

SHOWN = 6
"""Different examples that are shown of each kind."""
_LONGEST = 120
# The time of each is in proportion to the text: what repeats is bounded, and none starts in the middle of a word.
_MAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![A-Za-z0-9-])"
)
_PHONE = re.compile(
    r"(?<![A-Za-z0-9.,/+-])(?:"
    r"\+\d[\d ()./-]{6,20}\d"  # +44 20 7946 0000
    r"|\(\d{2,5}\)[ -]?\d[\d -]{4,12}\d"  # (0171) 123456
    r"|\d{3}[ .-]\d{3}[ .-]\d{4}"  # 555-010-9999
    r"|0\d{1,4}[ /-]\d[\d -]{4,10}\d"  # 030/901820
    r"|1[3-9]\d{9}"  # a Chinese mobile number
    r")(?![A-Za-z0-9-])"
)
_LICENCE = re.compile(
    r"\bCC(?:0|[ -]BY(?:[ -](?:SA|NC|ND)){0,2})(?:[ -]\d\.\d)?\b|Creative Commons|\bMIT License\b|\bApache License\b"
    r"|\b(?:Mozilla|GNU(?: (?:Lesser|Affero))? General|GNU Free Documentation|Eclipse|BSD(?: \d-Clause)?)"
    r"(?: Public)? License\b|\bpublic domain\b|\bProject Gutenberg\b|知识共享|公有领域",
    re.IGNORECASE,
)
_RIGHTS = re.compile(
    r"©|\(c\) (?:19|20)\d\d|\bcopyright\b|\ball rights reserved\b|\bconfidential\b|\bproprietary\b"
    r"|\bdo not distribute\b|版权|著作权|保密|机密|内部资料",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a reviewer looks for.

    Attributes:
        count: How often the text has it.
        examples: The most frequent ones, each with how often.
    """

    kind: str
    count: int
    examples: tuple[tuple[str, int], ...]


def findings(text: str) -> tuple[Finding, ...]:
    """What a text has of each kind, also those of which it has none."""
    all_findings = []
    for kind, search in _KINDS.items():
        counts = Counter(search(text))
        all_findings.append(Finding(kind, counts.total(), tuple(counts.most_common(SHOWN))))
    return tuple(all_findings)


def _matches(pattern: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    return lambda text: (" ".join(match[0].split()) for match in pattern.finditer(text))


def _lines(pattern: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    def search(text: str) -> Iterator[str]:
        at = 0
        while match := pattern.search(text, at):
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.end())
            end = len(text) if end < 0 else end
            first = max(start, match.start() - _LONGEST // 2)
            yield _whole_words(text, first, min(end, first + _LONGEST), start, end)
            at = end  # a line counts once

    return search


def _whole_words(text: str, first: int, last: int, start: int, end: int) -> str:
    """A part of a line, without the words of which it has only a piece, as far as it has spaces."""
    part = text[first:last]
    if first > start:
        part = part.partition(" ")[2] or part
    if last < end:
        part = part.rpartition(" ")[0] or part
    return part.strip()


_KINDS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "e-mail addresses": _matches(_MAIL),
    "phone numbers": _matches(_PHONE),
    "names of licences": _matches(_LICENCE),
    "lines on copyright or secrecy": _lines(_RIGHTS),
}
