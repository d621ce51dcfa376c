"""Parses a prompt into its context, its question and the candidates to choose from.

The kind of answer is known from the task (``Task.answer``). The rest is found in the text: the last paragraph is the
question, everything before it the context.

Some texts have numbered headings: parts to be ordered, answers to choose from. A heading is a line of its own after an
empty line. The texts may contain such lines too, and a window may have removed some headings: the longest ascending
sequence of headings is used.

Labels are learned from the examples of a prompt. Such a prompt ends with numbered pairs whose relations are asked for,
or with a sentence whose entities are, after examples in the same format (``fathom.benchmarks.leader.icl_tasks``).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, TypeAlias

from fathom.types import AnswerKind

Kind: TypeAlias = Literal["order", "label"]
KINDS: tuple[Kind, ...] = ("order", "label")
_REPLY = re.compile(r"(?:Reply with|You should answer with|请?只回[答复])[^\n]*")
_DIGITS = re.compile(r"([0-9]{1,5}) digits|([0-9]{1,5})位数字")
_CLOSING: Mapping[Kind, re.Pattern[str]] = {
    "order": re.compile(r"Answer: \["),
    "label": re.compile(r"\blabel\b|标号"),
}
_MOST_WORDS = re.compile(r"at most ([0-9]{1,6}) words|不超过([0-9]{1,6})字")
_OPTION = re.compile(r"^\(([0-9]{1,4})\) (.+)$", re.MULTILINE)
_CHOICE = re.compile(r"^\(([A-D])\) (.*)$", re.MULTILINE)
_LETTERED = re.compile(r"^A\. (.*)\nB\. (.*)\nC\. (.*)\nD\. (.*)$", re.MULTILINE)
_QUESTION = re.compile(r"^Question: ", re.MULTILINE)
_HEADER = re.compile(r"^(?:Passage|Paragraph) ([0-9]{1,7}):[ \t]*$|^(?:文章|段落)([0-9]{1,7})：[ \t]*$", re.MULTILINE)
_ANY_HEADING = re.compile(r"^[^\W\d_]{1,12} ?[0-9]{1,6}[:：][ \t]*$", re.MULTILINE)
_SENTENCE = r"^[^\n]{0,200}?(?:Passages? |文章)([0-9]{1,7}(?:(?:, |、)[0-9]{1,7})*)[^\n]{0,200}\n"
_NAMED = re.compile(_SENTENCE, re.MULTILINE)
_NAMED_AND_ASKED = re.compile(_SENTENCE + "(?:Question: |Request: |问题：|要求：)", re.MULTILINE)
_LABELS: Mapping[AnswerKind, re.Pattern[str]] = {
    "relations": re.compile(r"\nRelations:\s*\Z"),
    "entities": re.compile(r"\nEntities:\s*\Z"),
}
_CLOSED = re.compile(r"\A[^\n]*[\"“](?:unanswerable|无法回答)[\"”][^\n]*\n(?:Question: |问题：)")
_CUE = re.compile(r"\n(?:Answer:|答案：)\s*\Z")
_SUMMARY = re.compile(r"^.{0,200}(?:summary|摘要).{0,200}[:：]\n\n", re.MULTILINE)
_CHINESE = re.compile("[\u4e00-\u9fff]")
_ENDING = 50_000  # characters at the end of a prompt in which its question and its summary begin
_INSTRUCTIONS = 4_000  # characters at the start of a prompt in which its texts begin
_STATED: Mapping[Kind, re.Pattern[str]] = {
    "order": re.compile(r"(?:[Pp]arts?|片段)[ \t]?([1-9][0-9]?)(?![0-9])|([1-9][0-9]?)(?:[ \t][Pp]arts|个片段)"),
    "label": re.compile(r"(?<![A-Za-z0-9])A([1-9][0-9]{0,5})(?![0-9])"),
}
_EXAMPLE: Mapping[Kind, re.Pattern[str]] = {
    "order": re.compile(r"(\[[1-9][0-9]?(?:, ?[1-9][0-9]?)+\])"),
    "label": re.compile(r"(?:Answer:|答案：)[ \t]*(A[1-9][0-9]{0,5})(?![0-9])"),
}
_PAIR = re.compile(r"^[0-9]+\. (.+ \| .+)$", re.MULTILINE)
_RELATION = re.compile(r"^[0-9]+\. ([a-z]+:[a-z_/]+)$", re.MULTILINE)
_LABELLED = re.compile(r"^Pairs:\n((?:[0-9]+\. .+\n)+)Relations:\n((?:[0-9]+\. .+\n?)+)", re.MULTILINE)
_ENTITY = re.compile(r"^(\S.*): ([a-z]+-[A-Za-z/]+)$", re.MULTILINE)
NO_RELATION = "unanswerable"
NO_TYPE = "other"


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """A parsed prompt.

    Attributes:
        kind: The kind of the answer.
        context: The text before the question.
        question: The question without its instructions; the summary if the passage of a summary is asked for.
        language: ``en`` or ``zh``.
        digits: Number of digits asked for, where the kind is ``digits``.
        options: The options by number; A is 1.
        passages: Numbers of the passages that the question is about; empty if it names none.
        closed: Whether the question comes without a context, so that "unanswerable" is a valid answer.
        words: The most words that notes may have; 0 if the prompt does not say.
        pieces: The parts to be ordered, or the candidate answers; None for other kinds.
    """

    kind: AnswerKind
    context: str
    question: str
    language: str
    digits: int = 0
    options: Mapping[int, str] = field(default_factory=dict)
    passages: tuple[int, ...] = ()
    closed: bool = False
    words: int = 0
    pieces: Pieces | None = None


@dataclass(frozen=True, slots=True)
class Numbered:
    """A numbered passage of a context."""

    number: int
    text: str


def parse_prompt(prompt: str, kind: AnswerKind) -> ParsedPrompt:
    """Parse a prompt.

    Args:
        prompt: The whole prompt, or what a window left of it.
        kind: The kind of answer that it asks for. If the number of digits was truncated away, words are given instead.
    """
    if kind == "words" and (closed := _CLOSED.match(prompt)):
        question = _CUE.sub("", prompt[closed.end() :]).strip()
        return ParsedPrompt("words", "", question, "zh" if "请" in closed.group() else "en", closed=True)
    start = prompt.rfind("\n\n") + 2 if "\n\n" in prompt else 0
    replies = list(_REPLY.finditer(prompt, start))
    end = replies[-1].start() if replies else len(prompt)
    reply = replies[-1].group() if replies else ""
    language = "zh" if _CHINESE.search(prompt, start) else "en"
    if kind in _LABELS:
        ending = _LABELS[kind].search(prompt, start)
        asked = prompt[start : ending.start() if ending else end].removeprefix("Sentence: ")
        return ParsedPrompt(kind, prompt[:start], asked, language)
    if kind in KINDS:
        if not _CLOSING[kind].search(reply):
            return _instructed(prompt, kind)
        pieces = find_pieces(prompt, start, kind)
        question = pieces.before if kind == "label" else prompt[start:end].strip()
        return ParsedPrompt(kind, prompt[:start], question, language, pieces=pieces)
    if kind == "digits":
        if wanted := _DIGITS.search(reply):
            digits = int(wanted.group(1) or wanted.group(2))
            return ParsedPrompt(kind, prompt[:start], prompt[start:end].strip(), language, digits=digits)
        kind = "words"
    if kind == "choice" and (choice := _choice(prompt, start)):
        return choice
    if kind == "letter" and (choices := _last(_LETTERED, prompt, start)):
        begin = prompt.rfind("\n\n", 0, choices.start()) + 2
        options = dict(enumerate(choices.groups(), start=1))
        return ParsedPrompt(kind, prompt[:begin], prompt[begin : choices.start()].strip(), language, options=options)
    if kind == "option":
        options = {int(number): text for number, text in _OPTION.findall(prompt, start)}
        first = _OPTION.search(prompt, start)
        end = first.start() if first else end
        return ParsedPrompt(kind, prompt[:start], prompt[start:end].strip(), language, options=options)
    if kind == "passage" and (summary := _last(_SUMMARY, prompt, start)):
        return ParsedPrompt(kind, prompt[: summary.start()], prompt[summary.end() : start].strip(), language)
    named = _NAMED.match(prompt, start, end) if kind == "summary" else None
    if kind == "words" or (kind == "summary" and not (named and named.end() == end)):
        named = _last(_NAMED_AND_ASKED, prompt, end)
    if named:
        numbers = tuple(map(int, re.findall("[0-9]+", named.group(1))))
        return ParsedPrompt(
            kind, prompt[: named.start()], prompt[named.end() : end].strip(), language, passages=numbers
        )
    if kind == "notes":
        named, most = _NAMED.search(prompt, start, end), _MOST_WORDS.search(reply)
        return ParsedPrompt(
            kind,
            prompt[:start],
            prompt[start:end].strip(),
            language,
            passages=tuple(map(int, re.findall("[0-9]+", named.group(1)))) if named else (),
            words=int(most.group(1) or most.group(2)) if most else 0,
        )
    return ParsedPrompt(kind, prompt[:start], prompt[start:end].strip(), language)


def _choice(prompt: str, start: int) -> ParsedPrompt | None:
    """A question with choices A to D, anywhere in the prompt; None if they were truncated away."""
    question = _last(_QUESTION, prompt, start)
    if question is None:
        return None
    found: dict[int, re.Match[str]] = {}
    for choice in _CHOICE.finditer(prompt, question.end(), start):
        # A choice can have many lines, and text can follow all of them: the first four are used.
        if ord(choice[1]) - ord("A") == len(found):
            found[len(found) + 1] = choice
    if not found:
        return None
    first, last = found[1], found[len(found)]
    options = {number: choice[2] for number, choice in found.items()}
    context = prompt[: question.start()] + prompt[last.end() : start]
    return ParsedPrompt("choice", context, prompt[question.end() : first.start()].strip(), "en", options=options)


def _instructed(prompt: str, kind: Kind) -> ParsedPrompt:
    """A prompt whose end was truncated away: the instructions also come before the texts."""
    pieces = find_pieces(prompt, len(prompt), kind)
    language = "zh" if _CHINESE.search(pieces.instructions) else "en"
    return ParsedPrompt(
        kind, prompt, pieces.before if kind == "label" else pieces.instructions, language, pieces=pieces
    )


def numbered(context: str) -> list[Numbered]:
    """The numbered passages of a context in the order of the text."""
    headers = list(_HEADER.finditer(context))
    ends = [header.start() for header in headers[1:]] + [len(context)]
    if not headers:
        return []
    return [
        Numbered(int(header.group(1) or header.group(2)), context[header.end() : end].strip())
        for header, end in zip(headers, ends, strict=True)
    ]


def headed(context: str) -> list[tuple[str, str]]:
    """The texts of a context, each with the numbered heading above it; that before the first heading has none."""
    headers = list(_ANY_HEADING.finditer(context))
    ends = [header.start() for header in headers] + [len(context)]
    found = [("", context[: ends[0]])]
    found += [
        (header.group().strip(), context[header.end() : end]) for header, end in zip(headers, ends[1:], strict=True)
    ]
    return found


def number_of(heading: str) -> int:
    """The number in a heading; 0 in none."""
    return int("".join(filter(str.isdigit, heading)) or 0)


def _last(pattern: re.Pattern[str], prompt: str, end: int) -> re.Match[str] | None:
    """The last match at the end of a prompt, before ``end``."""
    return max(pattern.finditer(prompt, max(0, end - _ENDING), end), key=re.Match.start, default=None)


@dataclass(frozen=True, slots=True)
class Pieces:
    """Numbered texts and the text around them.

    Attributes:
        number: Number of pieces, visible or not; 0 if unknown.
        texts: The visible pieces by number, in the order of the prompt.
        instructions: The prompt's text before its pieces; empty if their first heading is not visible.
        before: The text before the first piece: the beginning of a book, or the question.
        after: The text after the last piece; may be empty.
        example: The example answer in the instructions, verbatim; may be empty.
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


def find_pieces(prompt: str, end: int, kind: Kind) -> Pieces:
    """The numbered texts of a prompt.

    Args:
        prompt: The whole prompt, or what a window left of it.
        end: Where the texts end and the question begins.
        kind: ``order`` for parts, ``label`` for answers.
    """
    opening = _OPENING[kind].search(prompt, 0, min(end, _INSTRUCTIONS))
    said, start = (prompt[: opening.start()], opening.end()) if opening else ("", 0)
    stated = _stated(prompt[end:], kind) or _stated(said, kind)
    row = _ascending(_headings(prompt, start, end, kind, stated))
    after = _last_of(_AFTER, prompt, row[-1][1].end() if row else start, end) if kind == "order" else None
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
    """The number of pieces as stated in the text around them; 0 if it is not."""
    found = (int(number) for match in _STATED[kind].finditer(said) for number in match.groups() if number)
    return max(found, default=0)


def _headings(prompt: str, start: int, end: int, kind: Kind, most: int) -> Iterator[tuple[int, re.Match[str]]]:
    for match in _HEADING[kind].finditer(prompt, start, end):
        number = int(next(filter(None, match.groups())))
        if number <= most or not most:
            yield number, match


def _last_of(pattern: re.Pattern[str], prompt: str, start: int, end: int) -> re.Match[str] | None:
    return max(pattern.finditer(prompt, start, end), key=re.Match.start, default=None)


def _ascending(headings: Iterable[tuple[int, re.Match[str]]]) -> list[tuple[int, re.Match[str]]]:
    """The longest ascending sequence of headings; of several, the one that starts first."""
    numbers: list[int] = []  # at i: the smallest number that ends a sequence of i + 1 headings
    ends: list[int] = []
    seen: list[tuple[int, re.Match[str], int]] = []  # each with the index of its predecessor
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


def relations_reply(labels: Sequence[str]) -> str:
    """Relations in the format that the prompt asks for."""
    return "\n".join(f"{number}. {label}" for number, label in enumerate(labels, start=1))


def any_relations(context: str, question: str, rng: Random) -> str:
    """For each pair, a random relation from the examples."""
    labels = sorted(set(_RELATION.findall(context))) or [NO_RELATION]
    return relations_reply([rng.choice(labels) for _ in _PAIR.findall(question) or [""]])


def common_relations(context: str, question: str) -> str | None:
    """For each pair, the relation that the examples give most often for these words, or most often overall."""
    seen: dict[str, Counter[str]] = {}
    for pairs, relations in _LABELLED.findall(context):
        for pair, label in zip(_PAIR.findall(pairs), _RELATION.findall(relations), strict=False):
            for key in (pair, ""):
                seen.setdefault(key, Counter())[label] += 1
    asked = _PAIR.findall(question)
    if not seen or not asked:
        return None
    return relations_reply([seen.get(pair, seen[""]).most_common(1)[0][0] for pair in asked])


def any_entity(words: str, context: str, rng: Random) -> str:
    """Some words with a random entity type from the examples."""
    return f"{words}: {rng.choice(sorted({kind for _, kind in _ENTITY.findall(context)}) or [NO_TYPE])}"


def known_entities(context: str, question: str) -> str | None:
    """Words of a sentence that are entities in the examples, with their types; None if there are none."""
    known = dict(_ENTITY.findall(context))
    found = [name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question)]
    return "\n".join(f"{name}: {known[name]}" for name in found) or None
