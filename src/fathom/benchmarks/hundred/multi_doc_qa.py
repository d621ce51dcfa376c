"""Multi-document QA: questions over several passages scattered among others.

100-LongBench, appendix A.2. As in its code the prompt names all passages of the source's record, including unhelpful
ones. Questions over the same passages share one context.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from fathom.benchmarks.starter.single_doc_qa import PROMPTS as SINGLE
from fathom.benchmarks.starter.single_doc_qa import QUESTIONS, kind_of, left_out, score, unnamed_of
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import scattered, whole_documents
from fathom.suites.tasks.evidence import askable, candidates_of_questions, questions_left_out
from fathom.suites.tasks.several import HEADER, SHARE, apart, gold_numbers, numbers_of, pieces_of, separate_texts
from fathom.types import (
    Candidate,
    CandidatePool,
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

PROMPTS: Mapping[str, Mapping[str, str]] = {
    language: {"header": SINGLE[language]["header"], "closed": SINGLE[language]["closed"], **texts}
    for language, texts in packaged_toml(__package__, "prompts.toml")["multi_doc_qa"].items()
}

UNNAMED = {
    "en": "Answer the following question from what some of the passages say.\nQuestion: {question}\n"
    "Reply with the answer only, without explanation.\nAnswer:",
    "zh": "请根据文章回答下面的问题。\n问题：{question}\n请只回答答案，不要解释。\n答案：",
}
"""Questions that do not say which passages they are about; shorter than those that do."""


def pool(resources: Resources) -> CandidatePool:
    """Candidates with up to four questions over several passages; whole documents as distractors.

    If the passages of a record do not fit the shortest length, those with the evidence are kept, and as many others as
    fit; a question whose evidence is unknown or too long is left out. A single text is truncated around the evidence,
    as for ``single_doc_qa``, and then split.
    """
    limit = max(64, int(resources.shortest * SHARE))
    candidates: list[Candidate] = []
    for document in resources.documents:
        if texts := separate_texts(document):
            candidates += _candidates_of(document, texts, limit, resources)
        else:
            whole = candidates_of_questions([document], resources, limit, QUESTIONS)
            pieces = [(candidate, pieces_of(document, candidate.spans[0], resources.counter)) for candidate in whole]
            candidates += [Candidate(document, spans, candidate.questions) for candidate, spans in pieces if spans]
    named = questions_left_out(resources.documents, candidates, resources, limit)
    notes = left_out(resources.documents, candidates)
    return CandidatePool(whole_documents(resources), candidates, notes, left_out=named)


def _candidates_of(
    document: Document, texts: tuple[Span, ...], limit: int, resources: Resources
) -> Iterator[Candidate]:
    sizes = [resources.counter.between(document, text.start, text.end) + HEADER for text in texts]
    rest = [(question, _needed(question, texts)) for question in askable(document, resources)]
    while rest:
        kept = _fitting(sizes, rest[0][1], limit)
        if not kept:
            rest.pop(0)
            continue
        whole = len(kept) == len(texts)
        inside = [n for n, (_, needed) in enumerate(rest) if whole or (needed and needed <= kept)][:QUESTIONS]
        yield Candidate(document, tuple(texts[n] for n in sorted(kept)), tuple(rest[n][0] for n in inside))
        rest = [entry for n, entry in enumerate(rest) if n not in inside]


def _needed(question: Question, texts: tuple[Span, ...]) -> frozenset[int]:
    """Indices of the texts that contain the evidence of a question."""
    return frozenset(
        n for n, text in enumerate(texts) for start, end in question.evidence if start < text.end and text.start < end
    )


def _fitting(sizes: list[int], needed: frozenset[int], limit: int) -> frozenset[int]:
    """Indices of the texts that fit ``limit`` tokens, with all that are needed; empty if impossible."""
    if sum(sizes) <= limit:
        return frozenset(range(len(sizes)))
    left = limit - sum(sizes[n] for n in needed)
    if not needed or left < 0:
        return frozenset()
    kept = set(needed)
    for number, size in enumerate(sizes):
        if number not in kept and size <= left:
            kept.add(number)
            left -= size
    return frozenset(kept) if len(kept) > 1 else frozenset()


def plan(draw: Draw) -> Plan:
    """The gold passages, scattered, and the other documents as distractors."""
    prompts, candidate = draw.resources.texts_of(PROMPTS), draw.candidate
    assert candidate is not None
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=apart(draw, candidate.spans, in_order=not separate_texts(candidate.document)),
        finish=partial(
            finish, prompts=prompts, questions=candidate.questions, unnamed=unnamed_of(draw.resources, UNNAMED)
        ),
        shuffle=scattered(draw),
    )


def finish(
    layout: Layout, prompts: Mapping[str, str], questions: tuple[Question, ...], unnamed: str
) -> tuple[Ending, ...]:
    """The questions, which name all gold passages by number."""
    numbers = numbers_of(layout, prompts)
    return tuple(
        Ending(
            prompts["question"].format(numbers=numbers, question=question.text),
            question.answers,
            chance=0.0,
            facets={"passages": len(layout.spans), "gold": gold_numbers(layout), **kind_of(question)},
            asked=question.text,
            closed=prompts["closed"].format(question=question.text),
            unnamed=unnamed.format(question=question.text),
        )
        for question in questions
    )


TASKS = (
    Task(
        name="multi_doc_qa",
        title="Multi-doc QA",
        plan=plan,
        score=score,
        metric="token_f1",
        max_output_tokens=256,
        description="questions over several named passages",
        source="100-LongBench, A.2",
        pool=pool,
        needs="questions with answers",
        gold=("multi_qa",),
        noise=("qa", "noise"),
        gold_alone=True,
        gold_in_text=True,
        rubric="qa",
        official="hundred/qa_f1",
        version=2,
        wording=Wording(PROMPTS),
    ),
)
