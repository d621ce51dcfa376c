"""Multi-document summary: one summary of several named passages scattered among others.

100-LongBench, appendix A.2. Texts that together exceed the shortest length are truncated to their beginnings, in equal
shares, if these contain enough of the summary. Scored as ``single_doc_summary``.
"""

from collections.abc import Mapping
from functools import partial

from fathom.benchmarks.hundred.single_doc_summary import cut_notes, score, share_kept, words_asked
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import scattered, whole_documents, whole_text
from fathom.suites.tasks.evidence import best_stretch, content_words, held_share, sentences_of
from fathom.suites.tasks.several import HEADER, SHARE, apart, gold_numbers, heads, numbers_of, pieces_of, separate_texts
from fathom.suites.tasks.support import KEPT
from fathom.types import (
    Candidate,
    CandidatePool,
    Counter,
    Document,
    Draw,
    Ending,
    Layout,
    Passages,
    Plan,
    Question,
    Resources,
    Span,
    Task,
    Wording,
)

PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["multi_doc_summary"]


def pool(resources: Resources) -> CandidatePool:
    """A candidate for every document with a summary, in passages; whole documents as distractors."""
    limit = max(64, int(resources.shortest * SHARE))
    documents = [document for document in resources.documents if document.summary]
    pieces = [(document, _spans(document, limit, resources.counter)) for document in documents]
    candidates = [
        Candidate(document, spans, (Question("", (document.summary,)),)) for document, spans in pieces if spans
    ]
    return CandidatePool(whole_documents(resources), candidates, cut_notes(len(documents), candidates))


def _spans(document: Document, limit: int, counter: Counter) -> tuple[Span, ...]:
    """The passages to be summarised; empty if they are too long and their beginnings contain too little."""
    texts = separate_texts(document)
    whole = (whole_text(document),)
    size = sum(counter.between(document, span.start, span.end) + HEADER for span in texts or whole)
    if size <= limit:
        return texts or pieces_of(document, whole[0], counter)
    sentences, wanted = sentences_of(document), content_words(document.summary)
    if texts:
        kept = heads(texts, limit - HEADER * len(texts), document, counter)
        return kept if kept and held_share(document, sentences, wanted, kept) >= KEPT else ()
    stretch = best_stretch(document, sentences, wanted, limit, counter)
    return pieces_of(document, stretch[0], counter) if stretch and stretch[1] >= KEPT else ()


def plan(draw: Draw) -> Plan:
    """The gold passages, scattered, and the other documents as distractors."""
    prompts, candidate = draw.resources.texts_of(PROMPTS), draw.candidate
    assert candidate is not None
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=apart(draw, candidate.spans, in_order=not separate_texts(candidate.document)),
        finish=partial(finish, prompts=prompts, language=draw.resources.language, candidate=candidate),
        shuffle=scattered(draw),
    )


def finish(layout: Layout, prompts: Mapping[str, str], language: str, candidate: Candidate) -> tuple[Ending, ...]:
    """The request, which names all gold passages by number."""
    return (
        Ending(
            prompts["question"].format(
                numbers=numbers_of(layout, prompts), words=words_asked(candidate.document.summary, language)
            ),
            candidate.questions[0].answers,
            chance=0.0,
            facets={
                "passages": len(layout.spans),
                "gold": gold_numbers(layout),
                "kept": share_kept(candidate),
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
        pool=pool,
        needs="a summary of each document",
        gold=("multi_summary",),
        noise=("summary", "noise"),
        gold_alone=True,
        gold_in_text=True,
        rubric="summary",
        official="hundred/rouge",
        version=2,
        wording=Wording(PROMPTS, optional=frozenset({"words"})),
    ),
)
