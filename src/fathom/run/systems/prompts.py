"""Splits prompts into instructions, text and question, and the text into passages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fathom.run.baselines.retrieval import sentences
from fathom.tokens import Tokenizer
from fathom.types import Sample, Span

BREAK = "\n\n"
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
    """

    before: str
    units: tuple[Unit, ...]
    after: str

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
        heading: Heading of the unit.
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
    def shown(self) -> str:
        """The text below its heading, for ranking."""
        return f"{self.heading}{self.text}".strip()


def split_prompt(sample: Sample, texts: Mapping[str, str]) -> SplitPrompt:
    """The prompt of a sample in three parts.

    What is written before the first and after the last document is no text; a heading is what stands in lines of its
    own before a document. A prompt without documents is split at its last empty line, and has no text without one.

    Args:
        sample: The recipe, with its parts.
        texts: Text of each document by id.
    """
    spans = [place for place, part in enumerate(sample.parts) if isinstance(part, Span)]
    if not spans:
        whole = "".join(part for part in sample.parts if isinstance(part, str))
        text, empty_line, after = whole.rpartition(BREAK)
        if not sample.length or not text:
            return SplitPrompt("", (), whole)
        return SplitPrompt("", (Unit("", text),), empty_line + after)
    first, last = spans[0], spans[-1]
    opening = "".join(part for part in sample.parts[:first] if isinstance(part, str))
    before, empty_line, heading = opening.rpartition(BREAK)
    if not empty_line or (heading and not heading.endswith("\n")):
        before, empty_line, heading = opening, "", ""
    units = [Unit(heading, "")]
    for part in sample.parts[first : last + 1]:
        if isinstance(part, Span):
            units[-1] = replace(units[-1], text=units[-1].text + texts[part.doc][part.start : part.end])
        elif part.startswith(BREAK) and part.endswith("\n"):
            units.append(Unit(part, ""))
        else:
            units[-1] = replace(units[-1], text=units[-1].text + part)
    after = "".join(part for part in sample.parts[last + 1 :] if isinstance(part, str))
    return SplitPrompt(before + empty_line, tuple(units), after)


def passages_of(units: Sequence[Unit], tokens: int, tokenizer: Tokenizer) -> list[Passage]:
    """The text in passages of whole sentences.

    Args:
        units: The text.
        tokens: Tokens of a passage, at most; a sentence that is longer is a passage by itself.
        tokenizer: Counts tokens; those of a passage are the sum over its sentences.
    """
    found = []
    for number, unit in enumerate(units):
        start = end = held = 0
        for sentence in sentences(unit.text):
            begin = unit.text.index(sentence, end)
            count = tokenizer.count(unit.text[end : begin + len(sentence)])
            if held and held + count > tokens:
                found.append(Passage(number, unit.heading, unit.text[start:end], start, held))
                start, held = end, 0
            end, held = begin + len(sentence), held + count
        found.append(Passage(number, unit.heading, unit.text[start:], start, held))
    return found


def joined(passages: Sequence[Passage]) -> str:
    """Some passages as text, in its order: neighbours as they were, a mark between others, and every heading once."""
    found: list[str] = []
    last: Passage | None = None
    for one in sorted(passages, key=lambda one: (one.unit, one.place)):
        if last is None or last.unit != one.unit:
            found.append(one.heading if found else one.heading.lstrip("\n"))
            last = None
        end = 0 if last is None else last.place + len(last.text)
        left_out = one.place > end
        found += [GAP, one.text.lstrip()] if left_out else [one.text]
        last = one
    return "".join(found)
