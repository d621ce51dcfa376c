"""Splits prompts into instructions, text and question, and the text into passages and parts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fathom.models.baselines.retrieval import sentences
from fathom.suites.registry import task_name, tasks
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import Part, Sample, Span

BREAK = "\n\n"
_CUE = re.compile(r"[^\n:：]{1,40}[:：]\s*")
"""A paragraph such as ``Answer:``, which asks nothing by itself."""
_SUMMARY = re.compile(r"\b(?:abstract|summary) is from\b|摘要所属")
LONGEST_QUESTION = 8_000
"""Characters of a finished prompt's question; one whose last paragraph is longer has no question that can be found."""
LONGEST_INSTRUCTION = 1_000
SMALL = 256
"""Tokens of the passages that parts are put together from."""
GAP = "\n[...]\n"
"""Stands for text that is left out."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of text below one heading, such as a numbered passage of a prompt.

    Attributes:
        heading: With the line ends around it; "" for none.
        text: All that follows, up to the next heading.
    """

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class SplitPrompt:
    """A prompt in three parts, which joined are the prompt.

    Attributes:
        before: What comes before the text.
        units: The text; empty for a question without one.
        after: What comes after the text: the question, and how to answer it.
        asked: The question, where it is not in ``after``.
    """

    before: str
    units: tuple[Unit, ...]
    after: str
    asked: str = ""

    @property
    def query(self) -> str:
        """What passages are compared with: the question, with how to answer it where the two are not apart."""
        return f"{self.asked}\n{self.after}".strip()

    @property
    def whole(self) -> str:
        """The prompt."""
        return self.with_text("".join(unit.heading + unit.text for unit in self.units))

    def with_text(self, text: str) -> str:
        """The prompt with another text."""
        return f"{self.before}{text}{self.after}"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a unit.

    Attributes:
        unit: Number of its unit, from 0.
        text: A stretch of the unit's text.
        place: Where it begins in the text of the unit, in characters.
        tokens: About how many tokens it has, without the heading.
    """

    unit: int
    heading: str
    text: str
    place: int
    tokens: int

    @property
    def body(self) -> str:
        """The text below its heading, for ranking."""
        return f"{self.heading}{self.text}".strip()


def split_prompt(sample: Sample, texts: Mapping[str, str]) -> SplitPrompt:
    """The prompt of a sample in three parts.

    What is written before the first and after the last document is no text, but for sentences that a task hides there;
    a heading is what stands in lines of its own before a document. If the first document is what is asked, it counts as
    instructions; the document to which a prompt with examples applies them counts as part of the question. A prompt of
    one document alone, or of none, is split at its paragraphs.

    Args:
        sample: The recipe, with its parts.
        texts: Text of each document by id.

    Returns:
        The parts; a prompt for no length, or whose question cannot be found, has no text, and is all ``after``.
    """
    parts = tuple(part if isinstance(part, str) else texts[part.doc][part.start : part.end] for part in sample.parts)
    spans = [place for place, part in enumerate(sample.parts) if isinstance(part, Span)]
    if not sample.length or len(sample.parts) == 1 or not spans:
        whole = "".join(parts)
        return _finished(whole) if sample.length else SplitPrompt("", (), whole)
    first, last = spans[0], spans[-1]
    before, heading = _opening("".join(parts[:first]))
    inner = "".join(part for part in sample.parts[first + 1 : last] if isinstance(part, str))
    after = "".join(parts[last + 1 :])
    if not after.startswith(BREAK) and BREAK in inner and isinstance(sample.parts[last - 1], str):
        # The last document is no example: what to do with it is said before it.
        ending = parts[last - 1]
        at = ending.find(BREAK)
        return SplitPrompt(
            before,
            _units(heading, sample.parts[first : last - 1], parts[first : last - 1], ending[:at]),
            ending[at:] + parts[last] + after,
        )
    units = _units(heading, sample.parts[first : last + 1], parts[first : last + 1])
    if _hides(sample.task) and not any(unit.heading for unit in units):
        before, hidden, after, closing = *_paragraph(before, first=True), *_paragraph(after, first=False)
        inner_units = [Unit("", hidden + units[0].text), *units[1:]]
        units = (*inner_units[:-1], replace(inner_units[-1], text=inner_units[-1].text + after))
        return SplitPrompt(before, units, closing)
    if sample.asked and units[0].text.strip() == sample.asked.strip() and len(units) > 1:
        return SplitPrompt(before + units[0].heading + units[0].text, units[1:], after, sample.asked)
    return SplitPrompt(before, units, after)


def _finished(whole: str) -> SplitPrompt:
    """A prompt of which no more is known than its text: the question is its last paragraph that is more than a cue."""
    start = cue = len(whole)
    while start > 0:
        start = max(0, whole.rfind(BREAK, 0, start))
        last = whole[start:].strip()
        if last and not _CUE.fullmatch(last):
            break
        cue = start
    if _SUMMARY.search(whole, start):  # which stands before it
        start = max(0, whole.rfind(BREAK, 0, start))
    if not start or len(whole) - start > LONGEST_QUESTION:
        start = cue if whole[cue:].strip() else 0
    if not start:
        return SplitPrompt("", (), whole)
    opening = whole.find(BREAK) + len(BREAK)
    if not 0 < opening <= min(LONGEST_INSTRUCTION, start):
        opening = whole.find("\n") + 1
    before = opening if 0 < opening <= min(LONGEST_INSTRUCTION, start) else 0
    return SplitPrompt(whole[:before], (Unit("", whole[before:start]),), whole[start:])


def _opening(text: str) -> tuple[str, str]:
    """What is said before the first document, without and with its heading."""
    before, empty_line, heading = text.rpartition(BREAK)
    if not empty_line or (heading and not heading.endswith("\n")):
        return text, ""
    return before + empty_line, heading


def _units(heading: str, recipe: Sequence[Part], parts: Sequence[str], rest: str = "") -> tuple[Unit, ...]:
    """The text between the first and the last document, and the rest of it."""
    units = [Unit(heading, "")]
    for part, text in zip(recipe, parts, strict=True):
        # Hidden sentences are paragraphs of their own too, but no line of theirs ends where a document begins.
        if isinstance(part, str) and text.startswith(BREAK) and text.endswith("\n") and not text.endswith(BREAK):
            units.append(Unit(text, ""))
        else:
            units[-1] = replace(units[-1], text=units[-1].text + text)
    return (*units[:-1], replace(units[-1], text=units[-1].text + rest))


def _hides(task: str) -> bool:
    """Whether a task hides sentences in running text."""
    known = tasks().get(task_name(task))
    return known is not None and (known.positioned or not known.gold)


def _paragraph(text: str, *, first: bool) -> tuple[str, str]:
    """The first paragraph and the rest, or the rest and the last paragraph; joined, they are the text."""
    at = text.find(BREAK) + len(BREAK) if first else text.rfind(BREAK)
    return (text, "") if first and at < len(BREAK) else (text[: max(0, at)], text[max(0, at) :])


def passages_of(units: Sequence[Unit], tokens: int, tokenizer: Tokenizer) -> list[Passage]:
    """The text in passages of whole sentences.

    Args:
        tokens: Tokens of a passage, at most; a sentence that is longer is cut.
        tokenizer: Counts tokens; those of a passage are the sum over its sentences.
    """
    passages = []
    for number, unit in enumerate(units):
        start = end = tokens_so_far = 0
        for stop in _stops(unit.text):
            for cut in _cuts(unit.text, end, stop, tokens, tokenizer):
                count = tokenizer.count(unit.text[end:cut])
                if tokens_so_far and tokens_so_far + count > tokens:
                    passages.append(Passage(number, unit.heading, unit.text[start:end], start, tokens_so_far))
                    start, tokens_so_far = end, 0
                end, tokens_so_far = cut, tokens_so_far + count
        passages.append(Passage(number, unit.heading, unit.text[start:], start, tokens_so_far))
    return passages


def _stops(text: str) -> Iterator[int]:
    """Where the sentences of a text end."""
    end = 0
    for sentence in sentences(text):
        end = text.index(sentence, end) + len(sentence)
        yield end


def _cuts(text: str, start: int, end: int, tokens: int, tokenizer: Tokenizer) -> list[int]:
    """Where a sentence is cut so that no piece is too long, with its end; at spaces if there are any."""
    if end - start < 2 or tokenizer.count(text[start:end]) <= tokens:
        return [end]
    middle = (start + end) // 2
    space = text.rfind(" ", start + (end - start) // 4, middle)
    cut = space if space > start else middle
    return [*_cuts(text, start, cut, tokens, tokenizer), *_cuts(text, cut, end, tokens, tokenizer)]


def parts_of(units: Sequence[Unit], tokens: int, tokenizer: Tokenizer) -> list[str]:
    """The text in parts, each with the headings of what is in it.

    Args:
        tokens: Tokens of a part, at most, counted as those of its sentences.
        tokenizer: Counts tokens.
    """
    groups: list[list[Passage]] = [[]]
    tokens_so_far = 0
    for passage in passages_of(units, max(1, min(SMALL, tokens // 8)), tokenizer):
        new = not groups[-1] or groups[-1][-1].unit != passage.unit
        heading = tokenizer.count(passage.heading) if new else 0
        if groups[-1] and tokens_so_far + heading + passage.tokens > tokens:
            groups.append([])
            tokens_so_far, heading = 0, tokenizer.count(passage.heading + GAP)
        groups[-1].append(passage)
        tokens_so_far += heading + passage.tokens
    return [joined(group).strip("\n") for group in groups]


def joined(passages: Sequence[Passage]) -> str:
    """Some passages as text, in its order: neighbours as they were, a mark between others, and every heading once."""
    texts: list[str] = []
    last: Passage | None = None
    for passage in sorted(passages, key=lambda passage: (passage.unit, passage.place)):
        if last is None or last.unit != passage.unit:
            texts.append(passage.heading if texts else passage.heading.lstrip("\n"))
            last = None
        end = 0 if last is None else last.place + len(last.text)
        left_out = passage.place > end
        texts += [GAP, passage.text.lstrip()] if left_out else [passage.text]
        last = passage
    return "".join(texts)
