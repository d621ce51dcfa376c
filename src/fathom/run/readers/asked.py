"""What a prompt asks: its context, its question, and what it gives to choose among.

Which kind of answer is asked for is known from the task (``Task.answer``). For the rest a prompt is read as a person
reads it: the last paragraph asks, what stands before it is the context.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fathom.run.readers.pieces import KINDS, Kind, Pieces, find_pieces
from fathom.types import AnswerKind

_REPLY = re.compile(r"(?:Reply with|You should answer with|请?只回[答复])[^\n]*")
_DIGITS = re.compile(r"([0-9]{1,5}) digits|([0-9]{1,5})位数字")
_CLOSING: Mapping[Kind, re.Pattern[str]] = {
    "order": re.compile(r"Answer: \["),
    "label": re.compile(r"\blabel\b|标号"),
}
_OPTION = re.compile(r"^\(([0-9]{1,4})\) (.+)$", re.MULTILINE)
_CHOICE = re.compile(r"^\(([A-D])\) (.*)$", re.MULTILINE)
_LETTERED = re.compile(r"^A\. (.*)\nB\. (.*)\nC\. (.*)\nD\. (.*)$", re.MULTILINE)
_QUESTION = re.compile(r"^Question: ", re.MULTILINE)
_HEADER = re.compile(r"^(?:Passage|Paragraph) ([0-9]{1,7}):[ \t]*$|^(?:文章|段落)([0-9]{1,7})：[ \t]*$", re.MULTILINE)
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
_ENDING = 50_000  # characters at the end of a prompt among which its question and its summary begin


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a reader.

    Attributes:
        kind: The kind of the answer.
        context: All that stands before the question.
        question: What is asked, without how to reply; the summary where a summarised passage is asked for.
        language: ``en`` or ``zh``.
        digits: Number of digits asked for, where the kind is ``digits``.
        options: The options to choose from by their number; A is 1.
        passages: Numbers of the passages that the question is about; empty if it names none.
        closed: Whether the question is asked without a context, so that what cannot be known is to be said so.
        pieces: The parts to be put in order, or the answers to choose among; None for other kinds.
    """

    kind: AnswerKind
    context: str
    question: str
    language: str
    digits: int = 0
    options: Mapping[int, str] = field(default_factory=dict)
    passages: tuple[int, ...] = ()
    closed: bool = False
    pieces: Pieces | None = None


@dataclass(frozen=True, slots=True)
class Numbered:
    """A numbered passage of a context."""

    number: int
    text: str


def understand(prompt: str, kind: AnswerKind) -> Asked:
    """What a prompt asks.

    Args:
        prompt: The whole prompt, or what a window leaves of it.
        kind: The kind of answer that it asks for. Where a window took away how many digits are wanted, a few words are
            given instead.
    """
    if kind == "words" and (closed := _CLOSED.match(prompt)):
        question = _CUE.sub("", prompt[closed.end() :]).strip()
        return Asked("words", "", question, "zh" if "请" in closed.group() else "en", closed=True)
    start = prompt.rfind("\n\n") + 2 if "\n\n" in prompt else 0
    replies = list(_REPLY.finditer(prompt, start))
    end = replies[-1].start() if replies else len(prompt)
    reply = replies[-1].group() if replies else ""
    language = "zh" if _CHINESE.search(prompt, start) else "en"
    if kind in _LABELS:
        ending = _LABELS[kind].search(prompt, start)
        asked = prompt[start : ending.start() if ending else end].removeprefix("Sentence: ")
        return Asked(kind, prompt[:start], asked, language)
    if kind in KINDS:
        if not _CLOSING[kind].search(reply):
            return _instructed(prompt, kind)
        pieces = find_pieces(prompt, start, kind)
        question = pieces.before if kind == "label" else prompt[start:end].strip()
        return Asked(kind, prompt[:start], question, language, pieces=pieces)
    if kind == "digits":
        if wanted := _DIGITS.search(reply):
            digits = int(wanted.group(1) or wanted.group(2))
            return Asked(kind, prompt[:start], prompt[start:end].strip(), language, digits=digits)
        kind = "words"
    if kind == "choice" and (choice := _choice(prompt, start)):
        return choice
    if kind == "letter" and (choices := _last(_LETTERED, prompt, start)):
        begin = prompt.rfind("\n\n", 0, choices.start()) + 2
        options = dict(enumerate(choices.groups(), start=1))
        return Asked(kind, prompt[:begin], prompt[begin : choices.start()].strip(), language, options=options)
    if kind == "option":
        options = {int(number): text for number, text in _OPTION.findall(prompt, start)}
        first = _OPTION.search(prompt, start)
        end = first.start() if first else end
        return Asked(kind, prompt[:start], prompt[start:end].strip(), language, options=options)
    if kind == "passage" and (summary := _last(_SUMMARY, prompt, start)):
        return Asked(kind, prompt[: summary.start()], prompt[summary.end() : start].strip(), language)
    named = _NAMED.match(prompt, start, end) if kind == "summary" else None
    if kind == "words" or (kind == "summary" and not (named and named.end() == end)):
        named = _last(_NAMED_AND_ASKED, prompt, end)
    if named:
        numbers = tuple(map(int, re.findall("[0-9]+", named.group(1))))
        return Asked(kind, prompt[: named.start()], prompt[named.end() : end].strip(), language, passages=numbers)
    return Asked(kind, prompt[:start], prompt[start:end].strip(), language)


def _choice(prompt: str, start: int) -> Asked | None:
    """A question with choices from A to D, wherever it stands; None where a window took it away."""
    question = _last(_QUESTION, prompt, start)
    if question is None:
        return None
    found: dict[int, re.Match[str]] = {}
    for choice in _CHOICE.finditer(prompt, question.end(), start):
        # A choice can have many lines, and thoughts can stand after all of them: the first four are meant.
        if ord(choice[1]) - ord("A") == len(found):
            found[len(found) + 1] = choice
    if not found:
        return None
    first, last = found[1], found[len(found)]
    options = {number: choice[2] for number, choice in found.items()}
    context = prompt[: question.start()] + prompt[last.end() : start]
    return Asked("choice", context, prompt[question.end() : first.start()].strip(), "en", options=options)


def _instructed(prompt: str, kind: Kind) -> Asked:
    """What is asked of pieces where a window took away the end of the prompt: instructions come before them too."""
    pieces = find_pieces(prompt, len(prompt), kind)
    language = "zh" if _CHINESE.search(pieces.instructions) else "en"
    return Asked(kind, prompt, pieces.before if kind == "label" else pieces.instructions, language, pieces=pieces)


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


def _last(pattern: re.Pattern[str], prompt: str, end: int) -> re.Match[str] | None:
    """The last match in the ending of a prompt before ``end``."""
    return max(pattern.finditer(prompt, max(0, end - _ENDING), end), key=re.Match.start, default=None)
