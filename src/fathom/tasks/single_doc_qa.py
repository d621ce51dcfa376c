"""Single-document QA: a question about one named passage among many.

100-LongBench, appendix A.2. Scored by token F1 against the nearest gold answer (its "original metric").
"""

from __future__ import annotations

from functools import partial

from fathom.score.answers import short_answer
from fathom.score.text import token_f1
from fathom.types import (
    Card,
    Document,
    Draw,
    Ending,
    Layout,
    Passages,
    Plan,
    Question,
    Sample,
    Scene,
    Span,
    Stock,
    Task,
    Verdict,
)

SHARE = 2 / 5  # of the shortest length that the gold passage may take

PROMPTS = {
    "en": {
        "intro": "Below are numbered passages on many subjects. Read them, then answer a question about one of them.",
        "header": "Passage {number}:\n",
        "question": "Answer the following question about Passage {number} from what the passage says.\n"
        "Question: {question}\nReply with the answer only, in as few words as possible.\nAnswer:",
    },
    "zh": {
        "intro": "下面是若干编了号的文章，内容各不相同。请阅读后回答关于其中一篇文章的问题。",
        "header": "文章{number}：\n",
        "question": "请根据文章{number}的内容回答下面的问题。\n问题：{question}\n请只回答答案，用词尽量少。\n答案：",
    },
}


def stock(scene: Scene) -> Stock:
    """An item of every question with its passage; whole documents as distractors.

    A passage that would not fit the shortest length is cut to whole sentences around the evidence; questions whose
    evidence is unknown or too wide for that are left out.
    """
    limit = max(48, int(scene.shortest * SHARE))
    cards = [
        Card(document, span, question)
        for document in scene.documents
        for question in document.questions
        if question.answers and (span := scene.counter.around(document, _evidence(document, question), limit))
    ]
    return Stock([Span(document.id, 0, len(document.text)) for document in scene.documents], cards)


def plan(draw: Draw) -> Plan:
    """One question with its passage, and the other documents as distractors."""
    prompts, card = PROMPTS[draw.scene.language], draw.card
    assert card is not None
    assert card.question is not None
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=((card.span, draw.depth),),
        finish=partial(finish, prompt=prompts["question"], question=card.question),
    )


def _evidence(document: Document, question: Question) -> tuple[tuple[int, int], ...]:
    """Where the answer stands: as the source says, else the first place where an answer stands word for word."""
    if question.evidence:
        return question.evidence
    for answer in question.answers:
        start = document.text.find(answer) if len(answer) > 2 else -1
        if start >= 0:
            return ((start, start + len(answer)),)
    return ()


def finish(layout: Layout, prompt: str, question: Question) -> Ending:
    """The question names the passage by its number."""
    number = layout.gold[0] + 1
    facets = {"passages": len(layout.spans)}
    kind = question.meta.get("kind")
    return Ending(
        prompt.format(number=number, question=question.text),
        question.answers,
        chance=0.0,
        facets={**facets, "kind": kind} if isinstance(kind, str) else facets,
    )


def score(reply: str, sample: Sample) -> Verdict:
    """Token F1 with the nearest gold answer; valid if there is an answer."""
    found = short_answer(reply)
    if found is None:
        return Verdict(0.0, False, None, "token F1")
    return Verdict(max(token_f1(found, target, sample.language) for target in sample.targets), True, found, "token F1")


TASKS = (
    Task(
        name="single_doc_qa",
        plan=plan,
        score=score,
        metric="token_f1",
        max_output_tokens=256,
        description="a question about one named passage",
        source="100-LongBench, A.2",
        positioned=True,
        stock=stock,
        needs="questions with answers",
    ),
)
