"""Single-document summary: a summary of one named passage among many.

100-LongBench, appendix A.2. A document too long for the shortest length is truncated to the stretch with most of its
summary, and left out if that lacks more than a quarter of the summary's words (``fathom.suites.tasks.support``).
Without a judge, the score is ROUGE-L against the nearest gold summary (the "original metric" of the paper's code).
Summaries of the same passage share one context.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from fathom.benchmarks.starter.single_doc_qa import QUESTIONS
from fathom.score.answers import reply_text
from fathom.score.chinese import cut_words
from fathom.score.rouge import rouge_l
from fathom.score.text import simplified
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import scattered, whole_documents, whole_text
from fathom.suites.tasks.evidence import (
    LONGEST,
    Sentences,
    best_stretch,
    content_words,
    held_share,
    requests_of,
    sentences_of,
)
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
    Sample,
    Score,
    Span,
    Task,
    Wording,
)

SHARE = 1 / 2  # of the shortest length that the gold passage may take

PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["single_doc_summary"]


def pool(resources: Resources) -> CandidatePool:
    """Candidates with up to four summaries of one passage; whole documents as distractors."""
    limit = max(48, int(resources.shortest * SHARE))
    candidates = [
        candidate
        for document in resources.documents
        for candidate in _candidates_of(document, limit, resources.counter)
    ]
    summaries = sum(len(requests_of(document)) for document in resources.documents)
    return CandidatePool(whole_documents(resources), candidates, cut_notes(summaries, candidates))


def cut_notes(summaries: int, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """Notes on summaries of truncated documents, and summaries without a candidate."""
    cut = sum(len(candidate.questions) for candidate in candidates if share_kept(candidate) < 1)
    lost = summaries - sum(len(candidate.questions) for candidate in candidates)
    notes = (
        [f"{cut} of {summaries} summaries are of a document that is truncated to the part with most of them"]
        if cut
        else []
    )
    if lost:
        notes.append(f"{lost} of {summaries} summaries left out: too little of them fits the shortest length")
    return tuple(notes)


def words_asked(summary: str, language: str) -> int:
    """The requested length of a summary: that of the gold one, in words or Chinese characters, rounded up to 50."""
    size = len(re.findall(r"\w", summary)) if language == "zh" else len(summary.split())
    return max(50, round(size / 50) * 50)


def share_kept(candidate: Candidate) -> float:
    """Kept share of the texts of a document, in characters, to two decimals."""
    whole = sum(end - start for start, end in candidate.document.passages) or len(candidate.document.text)
    return round(sum(span.end - span.start for span in candidate.spans) / whole, 2)


def _candidates_of(document: Document, limit: int, counter: Counter) -> Iterator[Candidate]:
    """Summaries of a document grouped by the passage with their content: the whole text, or a stretch."""
    longest = int(limit * LONGEST / SHARE)
    rest = [request for request in requests_of(document) if counter.count(request.text) <= longest]
    if not rest:
        return
    if counter.size(document) <= limit:
        whole = whole_text(document)
        for start in range(0, len(rest), QUESTIONS):
            yield Candidate(document, (whole,), tuple(rest[start : start + QUESTIONS]))
        return
    sentences = sentences_of(document)
    wanted = [content_words(" ".join(request.answers)) for request in rest]
    left = list(range(len(rest)))
    while left:
        first = left.pop(0)
        span = _stretch(document, sentences, rest[first], wanted[first], limit, counter)
        if span is not None:
            same = [n for n in left if _holds(document, span, sentences, rest[n], wanted[n])][: QUESTIONS - 1]
            yield Candidate(document, (span,), tuple(rest[n] for n in (first, *same)))
            left = [n for n in left if n not in same]


def _stretch(
    document: Document, sentences: Sentences, request: Question, wanted: frozenset[str], limit: int, counter: Counter
) -> Span | None:
    """The sentences around the evidence if they fit, else those with most of the summary; None if neither has enough.

    Evidence of a source does not always hold what the summary says.
    """
    span = counter.around(document, request.evidence, limit) if request.evidence else None
    if span and held_share(document, sentences, wanted, [span]) >= KEPT:
        return span
    stretch = best_stretch(document, sentences, wanted, limit, counter)
    return stretch[0] if stretch and stretch[1] >= KEPT else None


def _holds(document: Document, span: Span, sentences: Sentences, request: Question, wanted: frozenset[str]) -> bool:
    if not all(span.start <= start and end <= span.end for start, end in request.evidence):
        return False
    return held_share(document, sentences, wanted, [span]) >= KEPT


def plan(draw: Draw) -> Plan:
    """One passage with its summaries, and the other documents as distractors."""
    prompts, candidate = draw.resources.texts_of(PROMPTS), draw.candidate
    assert candidate is not None
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=((candidate.spans[0], draw.depth),),
        finish=partial(finish, prompts=prompts, language=draw.resources.language, candidate=candidate),
        shuffle=scattered(draw),
    )


def finish(layout: Layout, prompts: Mapping[str, str], language: str, candidate: Candidate) -> tuple[Ending, ...]:
    """The requests, which name the passage by number."""
    number = layout.gold[0] + 1
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
                "kept": share_kept(candidate),
            },
            asked=request.text,
        )
        for request in candidate.questions
    )


def score(reply: str, sample: Sample) -> Score:
    """ROUGE-L F with the nearest gold summary; valid if there is a summary."""
    summary = reply_text(reply)
    if summary is None:
        return Score(0.0, False, None, "ROUGE-L")
    words = _spaced(summary, sample.language)
    best = max(rouge_l(words, _spaced(target, sample.language)) or 0.0 for target in sample.targets)
    # The F of ROUGE-L has a small constant in the denominator, so that equal texts do not quite reach 1.
    return Score(round(best, 6), True, summary, "ROUGE-L")


def _spaced(text: str, language: str) -> str:
    """Text prepared for ROUGE-L: words separated, sentences with full stops; Chinese words by jieba."""
    return " ".join(cut_words(simplified(text))).replace("。", ".") if language == "zh" else text


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
        pool=pool,
        needs="a summary of each document",
        gold=("summary",),
        noise=("summary", "noise"),
        gold_alone=True,
        gold_in_text=True,
        rubric="summary",
        official="hundred/rouge",
        version=2,
        wording=Wording(PROMPTS, optional=frozenset({"words"})),
    ),
)
