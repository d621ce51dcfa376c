"""Single-document summary: a summary of one named passage among many.

100-LongBench, appendix A.2. A document that is too long for the shortest length is cut to the stretch that holds most
of what its summary says. Without a judge it is scored by ROUGE-L against the nearest gold summary (the "original
metric" of the paper's code). Summaries of the same passage share one context.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from fathom.benchmarks.starter.single_doc_qa import QUESTIONS
from fathom.score.chinese import cut_words
from fathom.score.rouge import rouge_l
from fathom.score.text import without_reasoning
from fathom.tasks import scattered, whole_documents
from fathom.tasks.evidence import LONGEST, Sentences, best_stretch, content_words, held_share, requests_of, sentences_of
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
    Sample,
    Scene,
    Span,
    Stock,
    Task,
    Verdict,
)

SHARE = 1 / 2  # of the shortest length that the gold passage may take
KEPT = 0.7  # share of the summary's content words that a stretch must hold of those in the whole document

PROMPTS = {
    "en": {
        "intro": "Below are numbered passages on many subjects. Read them, then summarise one of them.",
        "header": "Passage {number}:\n",
        "question": "Summarise Passage {number} from what the passage says.\n"
        "Reply with a summary of about {words} words only.\nSummary:",
        "query": "Write a summary of Passage {number} that answers the following request.\nRequest: {query}\n"
        "Reply with a summary of about {words} words only.\nSummary:",
    },
    "zh": {
        "intro": "下面是若干编了号的文章，内容各不相同。请阅读后概括其中一篇文章。",
        "header": "文章{number}：\n",
        "question": "请根据文章{number}的内容写一段摘要。\n请只回答一段约{words}字的摘要。\n摘要：",
        "query": "请针对下面的要求概括文章{number}的内容。\n要求：{query}\n请只回答一段约{words}字的摘要。\n摘要：",
    },
}


def stock(scene: Scene) -> Stock:
    """Items of up to four summaries of one passage; whole documents as distractors."""
    limit = max(48, int(scene.shortest * SHARE))
    cards = [card for document in scene.documents for card in _cards_of(document, limit, scene.counter)]
    summaries = sum(len(requests_of(document)) for document in scene.documents)
    return Stock(whole_documents(scene), cards, cut_notes(summaries, cards))


def cut_notes(summaries: int, cards: Sequence[Card]) -> tuple[str, ...]:
    """How many of so many summaries are of a document that was cut, and how many are on no card."""
    cut = sum(len(card.questions) for card in cards if share_kept(card) < 1)
    lost = summaries - sum(len(card.questions) for card in cards)
    notes = (
        [f"{cut} of {summaries} summaries are asked of a document that is cut to what holds most of them"]
        if cut
        else []
    )
    if lost:
        notes.append(f"{lost} of {summaries} summaries left out: too little of them fits the shortest length")
    return tuple(notes)


def words_asked(summary: str, language: str) -> int:
    """How long a summary is asked for: as the gold one, in words or Chinese characters, to the next 50."""
    size = len(re.findall(r"\w", summary)) if language == "zh" else len(summary.split())
    return max(50, round(size / 50) * 50)


def share_kept(card: Card) -> float:
    """Share of the texts of a document that is kept, in characters, to two decimals."""
    whole = sum(end - start for start, end in card.document.passages) or len(card.document.text)
    return round(sum(span.end - span.start for span in card.spans) / whole, 2)


def _cards_of(document: Document, limit: int, counter: Counter) -> Iterator[Card]:
    """Summaries of a document by the passage that holds what they need: all of it, or a stretch."""
    longest = int(limit * LONGEST / SHARE)
    rest = [request for request in requests_of(document) if counter.count(request.text) <= longest]
    if not rest:
        return
    if counter.size(document) <= limit:
        whole = Span(document.id, 0, len(document.text))
        for start in range(0, len(rest), QUESTIONS):
            yield Card(document, (whole,), tuple(rest[start : start + QUESTIONS]))
        return
    sentences = sentences_of(document)
    wanted = [content_words(" ".join(request.answers)) for request in rest]
    left = list(range(len(rest)))
    while left:
        first = left.pop(0)
        span = _stretch(document, sentences, rest[first], wanted[first], limit, counter)
        if span is not None:
            same = [n for n in left if _holds(document, span, sentences, rest[n], wanted[n])][: QUESTIONS - 1]
            yield Card(document, (span,), tuple(rest[n] for n in (first, *same)))
            left = [n for n in left if n not in same]


def _stretch(
    document: Document, sentences: Sentences, request: Question, wanted: frozenset[str], limit: int, counter: Counter
) -> Span | None:
    """The sentences around the evidence where they fit, else those that hold most of the summary, if that is enough."""
    if span := counter.around(document, request.evidence, limit):
        return span
    found = best_stretch(document, sentences, wanted, limit, counter)
    return found[0] if found and found[1] >= KEPT else None


def _holds(document: Document, span: Span, sentences: Sentences, request: Question, wanted: frozenset[str]) -> bool:
    if request.evidence:
        return all(span.start <= start and end <= span.end for start, end in request.evidence)
    return held_share(document, sentences, wanted, [span]) >= KEPT


def plan(draw: Draw) -> Plan:
    """One passage with its summaries, and the other documents as distractors."""
    prompts, card = PROMPTS[draw.scene.language], draw.card
    assert card is not None
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=((card.spans[0], draw.depth),),
        finish=partial(finish, language=draw.scene.language, card=card),
        shuffle=scattered(draw),
    )


def finish(layout: Layout, language: str, card: Card) -> tuple[Ending, ...]:
    """The requests name the passage by its number."""
    number, prompts = layout.gold[0] + 1, PROMPTS[language]
    return tuple(
        Ending(
            prompts["query" if request.text else "question"].format(
                number=number, query=request.text, words=words_asked(request.answers[0], language)
            ),
            request.answers,
            chance=0.0,
            facets={
                "passages": len(layout.spans),
                "gold": number,
                "kind": "query" if request.text else "whole",
                "kept": share_kept(card),
            },
            asked=request.text,
        )
        for request in card.questions
    )


def score(reply: str, sample: Sample) -> Verdict:
    """ROUGE-L F with the nearest gold summary; valid if there is a summary."""
    found = without_reasoning(reply).strip()
    if not any(map(str.isalnum, found)):
        return Verdict(0.0, False, None, "ROUGE-L")
    words = _spaced(found, sample.language)
    best = max(rouge_l(words, _spaced(target, sample.language)) or 0.0 for target in sample.targets)
    # The F of ROUGE-L has a small number below the line, so that equal texts do not quite reach 1.
    return Verdict(round(best, 6), True, found, "ROUGE-L")


def _spaced(text: str, language: str) -> str:
    """Text as ROUGE-L reads it: words apart, sentences with full stops; Chinese as jieba cuts it."""
    return " ".join(cut_words(text)).replace("。", ".") if language == "zh" else text


TASKS = (
    Task(
        name="single_doc_summary",
        title="Single-doc summary",
        plan=plan,
        score=score,
        metric="rouge_l",
        max_output_tokens=512,
        description="a summary of one named passage",
        answer="summary",
        source="100-LongBench, A.2",
        positioned=True,
        stock=stock,
        needs="a summary of each document",
        gold=("summary",),
        noise=("summary", "noise"),
        gold_alone=True,
        rubric="summary",
        official="100longbench/rouge",
    ),
)
