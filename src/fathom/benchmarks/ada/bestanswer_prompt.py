"""The prompt of BestAnswer: instructions, a question and its labelled candidate answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

from fathom.documents.sources.wording import GAP, fields_of
from fathom.storage.toml import packaged_toml
from fathom.types import Arranged, Counter, Document, Ending, Facet, Part, Span, Wording

PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["bestanswer"]

BETWEEN = "between"
WORDING = Wording(PROMPTS, optional=frozenset({"answers", "example"}), extra=frozenset({BETWEEN, "example"}))


@dataclass(frozen=True, slots=True)
class Frame:
    """Tokens of a prompt without its texts, slightly overestimated.

    Attributes:
        fixed: Of the instructions.
        header: Of the label of one answer, with the maximum number of digits.
    """

    fixed: int
    header: int

    @staticmethod
    def of(prompts: Mapping[str, str], length: int, counter: Counter) -> Frame:
        """The frame of prompts of a length, given the texts of the prompt."""
        most = 10 ** len(str(length // 100)) - 1
        texts = [prompts[name].format(answers=most, example=f"A{most}") for name in ("intro", "closing")]
        texts += [prompts[BETWEEN]] if BETWEEN in prompts else []
        return Frame(
            sum(counter.count(text) for text in texts) + 1, counter.count(prompts["header"].format(number=most))
        )

    def around(self, sizes: Sequence[int]) -> int:
        """Tokens with a question and answers of such sizes."""
        return self.fixed + sum(sizes) + self.header * (len(sizes) - 1)


def laid_out(
    document: Document,
    prompts: Mapping[str, str],
    question: Span,
    answers: Sequence[Span],
    *,
    gold: int,
    example: str,
    facets: Mapping[str, Facet],
) -> Arranged:
    """The prompt over a question and its candidate answers.

    Args:
        prompts: The texts of the prompt by name, as ``PROMPTS`` or the authors'. If they have ``between``, it stands
            between the question and the first label; if they have ``example``, it is the label that they show.
        answers: The candidates in their order.
        gold: Index of the gold one.
        example: The label that the instructions show where they have a placeholder for it.
    """
    count = len(answers)
    longest = max(range(count), key=lambda number: answers[number].end - answers[number].start)
    closing = prompts["closing"].format(answers=count, example=example)
    parts: list[Part] = [prompts["intro"].format(answers=count, example=example), question]
    between = prompts.get(BETWEEN, "")
    for number, answer in enumerate(answers, start=1):
        header = prompts["header"].format(number=number)
        parts += [between + header.removeprefix(GAP) if between and number == 1 else header, answer]
    shown = {"example": example} if "example" in fields_of(prompts["intro"] + prompts["closing"]) else {}
    shown = {"example": prompts["example"]} if "example" in prompts else shown
    shortcuts = {**shown, "longest": label(longest), "first": label(0)}
    ending = Ending(
        closing,
        (label(gold),),
        chance=1 / count,
        facets={"answers": count, "gold": gold + 1, **shortcuts, **facets},
        asked=document.text[question.start : question.end].strip(),
        inputs={"answers": count},
    )
    return Arranged((*parts, GAP + closing), ending, gold / (count - 1) if count > 1 else None)


def place(share: float, count: int) -> int:
    """The index among ``count`` of a share in [0, 1]: uniform shares make all indices equally likely."""
    return min(count - 1, floor(share * count))


def label(index: int) -> str:
    """The label of an answer by its index from 0."""
    return f"A{index + 1}"
