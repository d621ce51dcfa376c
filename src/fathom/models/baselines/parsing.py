"""Parses a prompt into its context, its question and the candidates to choose from.

The kind of answer is known from the task (``Task.answer``), and what is around the texts from the sample
(``fathom.models.form``); a window may have removed any of it. Without a sample, the last paragraph is the question, and
everything before it the context.

Some texts have numbered headings: parts to be ordered, answers to choose from. Such a heading is after an empty line.
The texts may contain such lines too, and a window may have removed some headings: the longest ascending sequence of
headings is used.

Labels are learned from the examples of a prompt. Such a prompt ends with numbered pairs whose relations are asked for,
or with a sentence whose entities are, after examples in the same format (``fathom.benchmarks.leader.icl_tasks``).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal, TypeAlias

from fathom.models.form import GAP, Heading, PromptForm
from fathom.types import AnswerKind

Kind: TypeAlias = Literal["order", "label"]
KINDS: tuple[Kind, ...] = ("order", "label")
_REPLY = re.compile(r"(?:Reply with|You should answer with|请?只回[答复])[^\n]*")
_DIGITS = re.compile(r"([0-9]{1,5}) digits|([0-9]{1,5})位数字")
_MOST_WORDS = re.compile(r"at most ([0-9]{1,6}) words|不超过([0-9]{1,6})字")
_OPTION = re.compile(r"^[^\n0-9]*([0-9]{1,4})[^\n0-9]+([0-9]+(?:, ?[0-9]+)+)[^\n0-9]*$", re.MULTILINE)
_CHOICE = re.compile(r"^\(([A-D])\) (.*)$", re.MULTILINE)
_LETTERED = re.compile(r"^A\. (.*)\nB\. (.*)\nC\. (.*)\nD\. (.*)$", re.MULTILINE)
_QUESTION = re.compile(r"^Question: ", re.MULTILINE)
_ANY_HEADING = re.compile(r"^[^\W\d_]{1,12} ?[0-9]{1,6}[:：][ \t]*$", re.MULTILINE)
_LABELS: Mapping[AnswerKind, re.Pattern[str]] = {
    "relations": re.compile(r"\nRelations:\s*\Z"),
    "entities": re.compile(r"\nEntities:\s*\Z"),
}
_NUMBER = re.compile(r"[0-9]+")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_ENDING = 50_000  # characters at the end of a prompt in which its question begins
_SURE = 24  # characters at the end of a question by which it is recognized
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
        context: The text before the question.
        question: The question without its instructions; the summary if the passage of a summary is asked for.
        language: ``en`` or ``zh``.
        digits: Number of digits asked for, where the kind is ``digits``.
        options: The options by number; A is 1.
        passages: Numbers of the passages that the question is about; empty if it names none.
        closed: Whether the question comes without a context, so that "unanswerable" is a valid answer.
        words: The most words that notes may have; 0 if the prompt does not say.
        pieces: The parts to be ordered, or the candidate answers; None for other kinds.
        heading: How headings of numbered passages are written; None if there are none.
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
    heading: Heading | None = None


@dataclass(frozen=True, slots=True)
class Numbered:
    """A numbered passage of a context."""

    number: int
    text: str


def parse_prompt(prompt: str, kind: AnswerKind, form: PromptForm | None = None) -> ParsedPrompt:
    """Parse a prompt.

    Args:
        prompt: The whole prompt, or what a window or a system left of it.
        kind: The kind of answer that it asks for. If the number of digits was truncated away, words are given instead.
        form: The form of the sample's prompt; None for a prompt without a sample.
    """
    if form is None:
        start = _last_paragraph(prompt)
        form = PromptForm("zh" if _CHINESE.search(prompt, start) else "en")
    if kind == "words" and form.closed:
        return ParsedPrompt("words", "", form.asked, form.language, closed=True)
    start, shown = _question_start(prompt, form)
    replies = list(_REPLY.finditer(prompt, start))
    end = replies[-1].start() if replies else len(prompt)
    reply = replies[-1].group() if replies else ""
    context, question = prompt[:start], prompt[start:end].strip()
    parsed = ParsedPrompt(kind, context, question, form.language, heading=form.heading)
    if kind in _LABELS:
        ending = _LABELS[kind].search(prompt, start)
        asked = prompt[start : ending.start() if ending else end].removeprefix("Sentence: ")
        return replace(parsed, question=asked)
    if kind == "order" or kind == "label":
        pieces = find_pieces(prompt, form, kind) if form.heading else None
        return replace(parsed, question=pieces.before if pieces and kind == "label" else question, pieces=pieces)
    if kind == "digits":
        if wanted := _DIGITS.search(reply):
            return replace(parsed, digits=int(wanted.group(1) or wanted.group(2)))
        return replace(parsed, kind="words")
    if kind == "choice" and (choice := _choice(prompt, start)):
        return choice
    if kind == "letter" and (choices := _last(_LETTERED, prompt, len(prompt))):
        begin = min(prompt.rfind(GAP, 0, choices.start()) + 2, start)
        options = dict(enumerate(choices.groups(), start=1))
        return replace(
            parsed, context=prompt[:begin], question=prompt[begin : choices.start()].strip(), options=options
        )
    if kind == "option":
        return _with_options(parsed, prompt, start, end)
    if kind == "passage":
        # The summary is between the first and the last paragraph of the question.
        summary = GAP.join(prompt[start:].strip().split(GAP)[1:-1]).strip()
        return replace(parsed, question=summary or question)
    if kind in ("words", "summary", "notes"):
        numbers, after = _passage_numbers(prompt, start, end, form)
        if kind == "notes":
            most = _MOST_WORDS.search(reply)
            return replace(parsed, passages=numbers, words=int(most.group(1) or most.group(2)) if most else 0)
        if numbers and shown:
            asked = form.asked if form.asked in prompt[start:] else prompt[after:end].strip()
            return replace(parsed, passages=numbers, question=asked)
        if form.reworded:
            return replace(parsed, question=form.asked if form.asked in prompt else question)
    return parsed


def _last_paragraph(prompt: str) -> int:
    return prompt.rfind(GAP) + len(GAP) if GAP in prompt else 0


def _question_start(prompt: str, form: PromptForm) -> tuple[int, bool]:
    """Where the question begins, and whether it is the sample's; it is the last paragraph if that cannot be found."""
    if form.reworded or form.heading:
        if shown := _visible_ending(prompt, form):
            return len(prompt) - len(shown.lstrip("\n")), True
        if form.reworded:
            return len(prompt), False
    return _last_paragraph(prompt), False


def _visible_ending(prompt: str, form: PromptForm) -> str:
    """As much of the end of a sample's prompt as is at the end of this one; "" if it does not end like it."""
    ending = form.ending
    if not ending or not prompt.endswith(ending[-_SURE:]):
        return ""
    if prompt.endswith(ending) or ending.endswith(prompt):
        return min(prompt, ending, key=len)
    same = next(
        n for n, (letter, other) in enumerate(zip(reversed(prompt), reversed(ending), strict=False)) if letter != other
    )
    return ending[len(ending) - same :]


def _with_options(parsed: ParsedPrompt, prompt: str, start: int, end: int) -> ParsedPrompt:
    """The options are lines with a number and a list of numbers, in the order of the former."""
    options: dict[int, re.Match[str]] = {}
    for option in _OPTION.finditer(prompt, start):
        if int(option[1]) == max(options, default=int(option[1]) - 1) + 1:
            options[int(option[1])] = option
    first = next(iter(options.values()), None)
    asked = prompt[start : first.start() if first else end].strip()
    return replace(parsed, question=asked, options={number: option[2] for number, option in options.items()})


def _passage_numbers(prompt: str, start: int, end: int, form: PromptForm) -> tuple[tuple[int, ...], int]:
    """The numbers of the passages that a question names, and where the line that names them ends."""
    word = form.heading.before.strip() if form.heading else ""
    if not word:
        return (), start
    name = rf"{re.escape(word)}s?[ \t]?"
    named = re.compile(rf"{name}([0-9]{{1,7}}(?:(?:, ?|、)(?:{name})?[0-9]{{1,7}})*)[^\n]*\n?").search(
        prompt, start, end
    )
    return (tuple(map(int, _NUMBER.findall(named[1]))), named.end()) if named else ((), start)


def _choice(prompt: str, start: int) -> ParsedPrompt | None:
    """A question with choices A to D, anywhere in the prompt; None if they were truncated away."""
    question = _last(_QUESTION, prompt, start)
    if question is None:
        return None
    marks: dict[int, re.Match[str]] = {}
    for choice in _CHOICE.finditer(prompt, question.end(), start):
        # A choice can have many lines, and text can follow all of them: the first four are used.
        if ord(choice[1]) - ord("A") == len(marks):
            marks[len(marks) + 1] = choice
    if not marks:
        return None
    first, last = marks[1], marks[len(marks)]
    options = {number: choice[2] for number, choice in marks.items()}
    context = prompt[: question.start()] + prompt[last.end() : start]
    return ParsedPrompt("choice", context, prompt[question.end() : first.start()].strip(), "en", options=options)


def numbered(context: str, heading: Heading | None) -> list[Numbered]:
    """The numbered passages of a context in the order of the text.

    Args:
        context: The context, or what a window left of it.
        heading: How their headings are written; None if there are none.
    """
    if heading is None:
        return []
    ending = "" if heading.inline else "$"
    headers = list(re.compile(f"^{heading.pattern}{ending}", re.MULTILINE).finditer(context))
    ends = [header.start() for header in headers[1:]] + [len(context)]
    if not headers:
        return []
    return [
        Numbered(int(header.group(1)), context[header.end() : end].strip())
        for header, end in zip(headers, ends, strict=True)
    ]


def headed(context: str) -> list[tuple[str, str]]:
    """The texts of a context, each with the numbered heading above it; that before the first heading has none."""
    headers = list(_ANY_HEADING.finditer(context))
    ends = [header.start() for header in headers] + [len(context)]
    sections = [("", context[: ends[0]])]
    sections += [
        (header.group().strip(), context[header.end() : end]) for header, end in zip(headers, ends[1:], strict=True)
    ]
    return sections


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
        before: The text before the first piece: the beginning of a book, or the question.
        after: The text after the last piece; may be empty.
        example: The example answer in the instructions, verbatim; may be empty.
    """

    number: int
    texts: Mapping[int, str]
    before: str
    after: str
    example: str


def find_pieces(prompt: str, form: PromptForm, kind: Kind) -> Pieces:
    """The numbered texts of a prompt.

    Args:
        prompt: The whole prompt, or what a window left of it.
        form: Its form, with headings.
        kind: ``order`` for parts, ``label`` for answers.
    """
    heading = form.heading
    intro = form.intro if form.intro and prompt.startswith(form.intro) else ""
    start, end = len(intro), len(prompt) - len(_visible_ending(prompt, form).lstrip("\n"))
    row = _ascending(_headings(prompt, start, end, form))
    closing = _line(re.escape(form.closing)) if kind == "order" and form.closing else None
    after = _last_of(closing, prompt, row[-1][1].end() if row else start, end) if closing else None
    last = after.start() if after else end
    ends = [*(match.start() for _, match in row[1:]), last]
    before = prompt[start : row[0][1].start() if row else last].strip()
    return Pieces(
        number=form.number or (row[-1][0] if row else 0),
        texts={number: prompt[match.end() : stop].strip() for (number, match), stop in zip(row, ends, strict=False)},
        before=before.removesuffix(heading.lead.strip()).strip() if heading else before,
        after=prompt[after.end() : end].strip() if after else "",
        example=form.example if form.example in intro else "",
    )


def _line(heading: str, lead: str = "", *, inline: bool = False) -> re.Pattern[str]:
    """A heading after an empty line, or after the lines above the first one."""
    above = rf"|(?<={re.escape(lead)})" if lead else ""
    return re.compile(rf"(?:\A|(?<=\n\n){above})(?:{heading})[ \t]*" + ("" if inline else r"(?:\n|\Z)"))


def _headings(prompt: str, start: int, end: int, form: PromptForm) -> Iterator[tuple[int, re.Match[str]]]:
    if form.heading is None:
        return
    pattern = _line(form.heading.pattern, form.heading.lead, inline=form.heading.inline)
    for match in pattern.finditer(prompt, start, end):
        number = int(match[1])
        if number <= form.number or not form.number:
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
    asked_about = [name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question)]
    return "\n".join(f"{name}: {known[name]}" for name in asked_about) or None
