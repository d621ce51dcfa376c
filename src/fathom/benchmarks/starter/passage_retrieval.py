"""Passage retrieval: which of the numbered passages does this summary belong to?

100-LongBench, appendix A.2.
"""

from functools import partial

from fathom.score.answers import passage_number
from fathom.tasks import passages, passages_of
from fathom.tasks.evidence import content_words, requests_of
from fathom.types import (
    Card,
    Counter,
    Document,
    Draw,
    Ending,
    Layout,
    Passages,
    Plan,
    Sample,
    Scene,
    Span,
    Stock,
    Task,
    Verdict,
)

SHARE = 1 / 8  # of the shortest length that one passage, and the summary, may take
KEPT = 0.3  # share of the summary's content words that the gold passage must hold of those in the whole document

PROMPTS = {
    "en": {
        "intro": "Below are numbered passages, and after them a summary of one of the passages.",
        "header": "Passage {number}:\n",
        "question": "Here is the summary:\n\n{summary}\n\nWhich passage does the summary belong to? "
        "Reply with the number of the passage only.\nPassage:",
    },
    "zh": {
        "intro": "下面是若干编了号的文章，之后是其中一篇文章的摘要。",
        "header": "文章{number}：\n",
        "question": "摘要如下：\n\n{summary}\n\n这段摘要属于哪一篇文章？请只回答文章的编号。\n文章：",
    },
}


def stock(scene: Scene) -> Stock:
    """An item of every document that has a summary; pieces of all documents as distractors.

    The gold passage is a piece of its document like all others, so that nothing but what it says gives it away: the one
    that holds most of the summary. Documents of which no piece holds enough of it are left out.
    """
    limit = _limit(scene)
    summarised = [document for document in scene.documents if _summary_of(document)]
    found = [(document, _piece(document, limit, scene)) for document in summarised]
    cards = [Card(document, (span,)) for document, span in found if span]
    lost = len(summarised) - len(cards)
    notes = (
        (f"{lost} of {len(summarised)} documents left out: no piece holds enough of what the summary says",)
        if lost
        else ()
    )
    return Stock(passages(scene, limit), cards, notes)


def _limit(scene: Scene) -> int:
    return max(32, int(scene.shortest * SHARE))


def _summary_of(document: Document) -> str:
    """The summary, or the first one that answers a request."""
    requests = requests_of(document)
    return requests[0].answers[0] if requests else ""


def _piece(document: Document, limit: int, scene: Scene) -> Span | None:
    pieces = passages_of(document, limit, scene.counter)
    if len(pieces) == 1:
        return pieces[0]
    wanted = content_words(_shortened(document, limit, scene.counter)) & content_words(document.text)
    held = [len(wanted & content_words(document.text[piece.start : piece.end])) for piece in pieces]
    best = max(range(len(pieces)), key=lambda n: held[n])
    return pieces[best] if wanted and held[best] >= KEPT * len(wanted) else None


def plan(draw: Draw) -> Plan:
    """One summarised passage, and pieces of the other documents as distractors."""
    prompts, gold = PROMPTS[draw.scene.language], draw.card
    assert gold is not None
    summary = _shortened(gold.document, _limit(draw.scene), draw.scene.counter)
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=((gold.spans[0], draw.depth),),
        finish=partial(finish, question=prompts["question"].format(summary=summary)),
    )


def _shortened(gold: Document, limit: int, counter: Counter) -> str:
    """The summary, or its first sentences where it is longer than ``limit`` tokens."""
    text = _summary_of(gold)
    span = counter.head(Document(f"{gold.id}/summary", text, gold.source, gold.language), limit)
    return text[span.start : span.end]


def finish(layout: Layout, question: str) -> tuple[Ending, ...]:
    """The number of the summarised passage."""
    number = layout.gold[0] + 1
    return (Ending(question, (str(number),), 1 / len(layout.spans), {"passages": len(layout.spans), "gold": number}),)


def score(reply: str, sample: Sample) -> Verdict:
    """1 if the passage that the reply names is the right one; valid if it names one."""
    found = passage_number(reply)
    return Verdict(float(found in sample.targets), found is not None, found, "passage number")


TASKS = (
    Task(
        name="passage_retrieval",
        plan=plan,
        score=score,
        metric="accuracy",
        max_output_tokens=128,
        description="the number of the passage that a summary belongs to",
        answer="passage",
        source="100-LongBench, A.2",
        positioned=True,
        stock=stock,
        needs="a summary of each document",
        gold=("summary", "news"),
        noise=("summary", "news", "noise"),
        official="100longbench/first_number",
        version=2,
    ),
)
