"""What offline baselines know of a prompt besides its text: which of its texts are instructions, headings, question.

It is read off the recipe of the sample, so that baselines understand any wording, and has no gold answer. Only
baselines get it; models get the prompt alone.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fathom.tokens.length import question_part
from fathom.types import AnswerKind, Sample

GAP = "\n\n"
_NUMBER = re.compile(r"([0-9]+)")
NUMBERED: frozenset[AnswerKind] = frozenset({"words", "summary", "count", "passage", "label", "order"})
"""The kinds of answers to prompts whose texts may be numbered; others may have sentences with numbers between texts."""
_UNANSWERABLE = ("unanswerable", "无法回答")


@dataclass(frozen=True, slots=True)
class Heading:
    """How the headings of numbered texts are written.

    Attributes:
        before: What is before the number, as ``Passage``, with its spaces.
        after: What is after it.
        inline: Whether the text begins in the same line.
        lead: Lines above the first heading alone; "" for none.
    """

    before: str
    after: str
    inline: bool = False
    lead: str = ""

    @property
    def pattern(self) -> str:
        """A regular expression for the heading, whose first group is the number."""
        return f"{re.escape(self.before)}([1-9][0-9]{{0,6}}){re.escape(self.after)}[ \\t]*"


@dataclass(frozen=True, slots=True)
class PromptForm:
    """The texts around the texts of a prompt.

    Attributes:
        language: ISO 639-1 code of the prompt.
        reworded: Whether it has the authors' wording instead of fathom's.
        intro: All before the first text.
        ending: The question with its instructions, after the last text; "" if it is not there.
        asked: The bare question; "" if unknown.
        heading: How the headings of numbered texts are written; None if there are none.
        closing: The heading of an unnumbered text after the numbered ones; "" if there is none.
        number: Number of parts to be ordered, or of answers to choose from; 0 for other prompts.
        example: The example of an answer in ``intro``; "" if there is none.
        closed: Whether the question comes without a context, and "unanswerable" is a valid answer.
    """

    language: str
    reworded: bool = False
    intro: str = ""
    ending: str = ""
    asked: str = ""
    heading: Heading | None = None
    closing: str = ""
    number: int = 0
    example: str = ""
    closed: bool = False


def form_of(sample: Sample, answer: AnswerKind) -> PromptForm:
    """The form of a sample's prompt.

    Args:
        sample: A sample with its recipe.
        answer: The kind of answer that it asks for.
    """
    parts = sample.parts
    first = parts[0] if parts and isinstance(parts[0], str) else ""
    between = [part for part in parts[1:-1] if isinstance(part, str) and part.strip()]
    heading = _heading(first.rpartition(GAP)[2], between) if answer in NUMBERED else None
    last = between[-1].strip() if heading and between else ""
    end = parts[-1] if heading and len(parts) > 1 else question_part(sample)
    counts = (sample.inputs.get(name) for name in ("answers", "segments"))
    return PromptForm(
        language=sample.language,
        reworded=sample.facets.get("prompt") == "official",
        intro=first,
        ending=end if isinstance(end, str) else "",
        asked=sample.asked.strip(),
        heading=heading,
        closing="" if heading and re.search(rf"{heading.pattern}\Z", last) else last,
        number=next((count for count in counts if isinstance(count, int)), 0),
        example=str(sample.facets.get("example", "")),
        closed=sample.facets.get("context") == "none" and any(word in first for word in _UNANSWERABLE),
    )


def _heading(opening: str, between: Sequence[str]) -> Heading | None:
    """How the headings of numbered texts are written.

    Args:
        opening: What is before the first text: its heading, if it is numbered 1.
        between: The literal texts between texts; of those that differ in one number only, most are headings.
    """
    shapes: Counter[tuple[str, str]] = Counter()
    written: dict[tuple[str, str], str] = {}
    for literal in (opening, *between):
        pieces = _NUMBER.split(literal.strip())
        for place in range(1, len(pieces), 2):
            if literal is opening and pieces[place] != "1":
                continue
            shape = "".join(pieces[:place]), "".join(pieces[place + 1 :])
            shapes[shape] += 1
            written[shape] = literal
    if not shapes:
        return None
    before, after = max(shapes, key=lambda shape: (shapes[shape], -len(shape[0]) - len(shape[1])))
    first = f"{before}1{after}"
    lead = next((line.strip().removesuffix(first) for line in between if line.strip().endswith(first)), "")
    return Heading(before, after, not written[before, after].endswith("\n"), lead)
