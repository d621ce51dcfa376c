"""The prompt of BestAnswer: instructions, a question and its labelled candidate answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

from fathom.documents.sources.wording import GAP, fields_of
from fathom.types import Arranged, Counter, Document, Ending, Facet, Part, Span, Wording

PROMPTS = {
    "en": {
        "intro": "Below are a question that somebody asked on a website and {answers} answers, with the labels A1 to "
        "A{answers}. Find the answer that helps the asker most. Reply with its label and nothing else, in the form "
        "of this line, whose label is only an example:\nAnswer: {example}\n\nQuestion:\n",
        "header": "\n\nA{number}:\n",
        "closing": "These were all answers. Which one of A1 to A{answers} is the most helpful answer to the question? "
        "Reply with its label only.\nAnswer:",
    },
    "zh": {
        "intro": "下面是某网站上的一个提问和{answers}个回答，回答的标号为A1到A{answers}。请找出对提问者最有帮助的回答。"
        "只回复它的标号，不要回复其他内容，格式如下行所示，其中的标号仅为示例：\n答案：{example}\n\n问题：\n",
        "header": "\n\nA{number}：\n",
        "closing": "以上是全部回答。A1到A{answers}中哪一个是对问题最有帮助的回答？请只回复它的标号。\n答案：",
    },
}

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
