"""Multi-document summary: one summary of several named passages that stand apart among others.

100-LongBench, appendix A.2. Texts that are too long together for the shortest length keep their heads, in equal shares,
where these hold enough of what the summary says. Scored as ``single_doc_summary``.
"""

from functools import partial

from fathom.benchmarks.hundred.single_doc_summary import KEPT, cut_notes, score, share_kept, words_asked
from fathom.tasks import scattered, whole_documents
from fathom.tasks.evidence import best_stretch, content_words, held_share, sentences_of
from fathom.tasks.several import HEADER, SHARE, apart, gold_numbers, heads, pieces_of, separate_texts
from fathom.types import (
    Card,
    Counter,
    Document,
    Draw,
    Ending,
    Layout,
    Passages,
    Plan,
    Question,
    Scene,
    Span,
    Stock,
    Task,
)

PROMPTS = {
    "en": {
        "intro": "Below are numbered passages on many subjects. Read them, then summarise some of them together.",
        "header": "Passage {number}:\n",
        "question": "Write one summary of what Passages {numbers} say together.\n"
        "Reply with a summary of about {words} words only.\nSummary:",
    },
    "zh": {
        "intro": "下面是若干编了号的文章，内容各不相同。请阅读后把其中几篇文章合在一起概括。",
        "header": "文章{number}：\n",
        "question": "请把文章{numbers}的内容合写成一段摘要。\n请只回答一段约{words}字的摘要。\n摘要：",
    },
}


def stock(scene: Scene) -> Stock:
    """An item of every document that has a summary, in passages; whole documents as distractors."""
    limit = max(64, int(scene.shortest * SHARE))
    documents = [document for document in scene.documents if document.summary]
    found = [(document, _spans(document, limit, scene.counter)) for document in documents]
    cards = [Card(document, spans, (Question("", (document.summary,)),)) for document, spans in found if spans]
    return Stock(whole_documents(scene), cards, cut_notes(len(documents), cards))


def _spans(document: Document, limit: int, counter: Counter) -> tuple[Span, ...]:
    """The passages to be summarised; none where they are too long and their heads say too little."""
    texts = separate_texts(document)
    whole = (Span(document.id, 0, len(document.text)),)
    size = sum(counter.between(document, span.start, span.end) + HEADER for span in texts or whole)
    if size <= limit:
        return texts or pieces_of(document, whole[0], counter)
    sentences, wanted = sentences_of(document), content_words(document.summary)
    if texts:
        kept = heads(texts, limit - HEADER * len(texts), document, counter)
        return kept if kept and held_share(document, sentences, wanted, kept) >= KEPT else ()
    found = best_stretch(document, sentences, wanted, limit, counter)
    return pieces_of(document, found[0], counter) if found and found[1] >= KEPT else ()


def plan(draw: Draw) -> Plan:
    """The gold passages apart from each other, and the other documents as distractors."""
    language, card = draw.scene.language, draw.card
    assert card is not None
    return Passages(
        intro=PROMPTS[language]["intro"],
        header=PROMPTS[language]["header"],
        gold=apart(draw, card.spans, in_order=not separate_texts(card.document)),
        finish=partial(finish, language=language, card=card),
        shuffle=scattered(draw),
    )


def finish(layout: Layout, language: str, card: Card) -> tuple[Ending, ...]:
    """The request names all gold passages by their numbers."""
    return (
        Ending(
            PROMPTS[language]["question"].format(
                numbers=gold_numbers(layout, language), words=words_asked(card.document.summary, language)
            ),
            card.questions[0].answers,
            chance=0.0,
            facets={
                "passages": len(layout.spans),
                "gold": gold_numbers(layout, "en"),
                "kept": share_kept(card),
            },
        ),
    )


TASKS = (
    Task(
        name="multi_doc_summary",
        title="Multi-doc summary",
        plan=plan,
        score=score,
        metric="rouge_l",
        max_output_tokens=512,
        description="one summary of several named passages",
        answer="summary",
        source="100-LongBench, A.2",
        stock=stock,
        needs="a summary of each document",
        gold=("multi_summary",),
        noise=("summary", "noise"),
        gold_alone=True,
        rubric="summary",
        official="100longbench/rouge",
    ),
)
