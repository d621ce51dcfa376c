"""Passage retrieval: which of the numbered passages does this summary belong to?

100-LongBench, appendix A.2.
"""

from collections.abc import Mapping
from functools import partial

from fathom.score.answers import passage_number
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import passages, passages_of
from fathom.suites.tasks.evidence import content_words, requests_of
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
    Resources,
    Sample,
    Score,
    Span,
    Task,
    Wording,
)

SHARE = 1 / 8  # share of the shortest length for one passage, and for the summary
KEPT = 0.3  # minimum share of the summary's content words in the document that the gold passage must contain

PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["passage_retrieval"]


def pool(resources: Resources) -> CandidatePool:
    """A candidate for every document with a summary; pieces of all documents as distractors.

    The gold passage is a piece of its document like all others, so that only its content identifies it: the piece with
    most of the summary. Documents without a piece that has enough of it are left out.
    """
    limit = _limit(resources)
    summarised = [document for document in resources.documents if _summary_of(document)]
    pieces = [(document, _piece(document, limit, resources)) for document in summarised]
    candidates = [Candidate(document, (span,)) for document, span in pieces if span]
    lost = len(summarised) - len(candidates)
    notes = (
        (f"{lost} of {len(summarised)} documents left out: no piece contains enough of the summary",) if lost else ()
    )
    return CandidatePool(passages(resources, limit), candidates, notes)


def _limit(resources: Resources) -> int:
    return max(32, int(resources.shortest * SHARE))


def _summary_of(document: Document) -> str:
    """The summary, or the first one that answers a request."""
    requests = requests_of(document)
    return requests[0].answers[0] if requests else ""


def _piece(document: Document, limit: int, resources: Resources) -> Span | None:
    pieces = passages_of(document, limit, resources.counter)
    if len(pieces) == 1:
        return pieces[0]
    wanted = content_words(_shortened(document, limit, resources.counter)) & content_words(document.text)
    common = [len(wanted & content_words(document.text[piece.start : piece.end])) for piece in pieces]
    best = max(range(len(pieces)), key=lambda n: common[n])
    return pieces[best] if wanted and common[best] >= KEPT * len(wanted) else None


def plan(draw: Draw) -> Plan:
    """One summarised passage, and pieces of the other documents as distractors."""
    prompts, gold = draw.resources.texts_of(PROMPTS), draw.candidate
    assert gold is not None
    summary = _shortened(gold.document, _limit(draw.resources), draw.resources.counter)
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=((gold.spans[0], draw.depth),),
        finish=partial(finish, question=prompts["question"].format(summary=summary)),
    )


def _shortened(gold: Document, limit: int, counter: Counter) -> str:
    """The summary, or its first sentences if it is longer than ``limit`` tokens."""
    text = _summary_of(gold)
    span = counter.head(Document(f"{gold.id}/summary", text, gold.source, gold.language), limit)
    return text[span.start : span.end]


def finish(layout: Layout, question: str) -> tuple[Ending, ...]:
    """The number of the summarised passage."""
    number = layout.gold[0] + 1
    return (Ending(question, (str(number),), 1 / len(layout.spans), {"passages": len(layout.spans), "gold": number}),)


def score(reply: str, sample: Sample) -> Score:
    """1 if the reply names the correct passage; valid if it names one."""
    number = passage_number(reply)
    return Score(float(number in sample.targets), number is not None, number, "passage number")


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
        pool=pool,
        needs="a summary of each document",
        gold=("summary", "news"),
        noise=("summary", "news", "noise"),
        official="hundred/first_number",
        wording=Wording(PROMPTS),
        shortcut="92% (8k): the longest run of words in common with the summary",
        version=3,
    ),
)
