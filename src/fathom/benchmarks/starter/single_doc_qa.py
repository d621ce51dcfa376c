"""Single-document QA: questions about one named passage among many.

100-LongBench, appendix A.2. Without a judge, the score is token F1 against the nearest gold answer (the "original
metric" of its code). Questions about the same passage share one context.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from fathom.score.answers import words_score
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import scattered, whole_documents
from fathom.suites.tasks.evidence import candidates_of_questions, distinct, questions_left_out
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
    Sample,
    Score,
    Task,
    Wording,
)

SHARE = 2 / 5  # share of the shortest length for the gold passage
QUESTIONS = 4  # maximum number over one context

PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["single_doc_qa"]

UNNAMED = {
    "en": "Answer the following question from what one passage says.\nQuestion: {question}\n"
    "Reply with the answer only, without explanation.\nAnswer:",
    "zh": "请根据文章回答下面的问题。\n问题：{question}\n请只回答答案，不要解释。\n答案：",
}
"""Questions that do not say which passage they are about; shorter than those that do."""


def pool(resources: Resources) -> CandidatePool:
    """Candidates with up to four questions about one passage; whole documents as distractors.

    A passage that does not fit the shortest length is truncated to whole sentences around the evidence; questions whose
    evidence is unknown or too far apart are left out.
    """
    limit = max(48, int(resources.shortest * SHARE))
    candidates = candidates_of_questions(resources.documents, resources, limit, QUESTIONS)
    named = questions_left_out(resources.documents, candidates, resources, limit)
    notes = left_out(resources.documents, candidates)
    return CandidatePool(whole_documents(resources), candidates, notes, left_out=named)


def left_out(documents: Sequence[Document], candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """A note on questions without a candidate."""
    total = sum(len(distinct(document.questions)) for document in documents)
    lost = total - sum(len(candidate.questions) for candidate in candidates)
    why = "the text does not fit the shortest length, and the location of the answer is unknown; or they are too long"
    return (f"{lost} of {total} questions left out: {why}",) if lost else ()


def plan(draw: Draw) -> Plan:
    """One passage with its questions, and the other documents as distractors."""
    prompts, candidate = draw.resources.texts_of(PROMPTS), draw.candidate
    assert candidate is not None
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=((candidate.spans[0], draw.depth),),
        finish=partial(
            finish, prompts=prompts, questions=candidate.questions, unnamed=unnamed_of(draw.resources, UNNAMED)
        ),
        shuffle=scattered(draw),
    )


def unnamed_of(resources: Resources, texts: Mapping[str, str]) -> str:
    """The text of an unnamed question; "" with the authors' prompts, which have none."""
    return "" if resources.wording else texts[resources.language]


def finish(
    layout: Layout, prompts: Mapping[str, str], questions: tuple[Question, ...], unnamed: str
) -> tuple[Ending, ...]:
    """The questions name the passage by its number."""
    number = layout.gold[0] + 1
    return tuple(
        Ending(
            prompts["question"].format(number=number, question=question.text),
            question.answers,
            chance=0.0,
            facets={"passages": len(layout.spans), "gold": number, **kind_of(question)},
            asked=question.text,
            closed=prompts["closed"].format(question=question.text),
            unnamed=unnamed.format(question=question.text),
        )
        for question in questions
    )


def kind_of(question: Question) -> dict[str, str]:
    """The kind of a question and the model that drafted it as facets, where its source names them."""
    return {name: value for name in ("kind", "drafted") if isinstance(value := question.meta.get(name), str)}


def score(reply: str, sample: Sample) -> Score:
    """Token F1 with the nearest gold answer; valid if there is an answer. ``detail`` says if the reply contains one."""
    return words_score(reply, sample.targets, sample.language, grader="token F1", first_line=True)


TASKS = (
    Task(
        name="single_doc_qa",
        title="Single-doc QA",
        plan=plan,
        score=score,
        metric="token_f1",
        max_output_tokens=256,
        description="questions about one named passage",
        source="100-LongBench, A.2",
        positioned=True,
        pool=pool,
        needs="questions with answers",
        gold=("qa",),
        noise=("qa", "noise"),
        gold_alone=True,
        gold_in_text=True,
        rubric="qa",
        official="hundred/qa_f1",
        version=3,
        wording=Wording(PROMPTS),
    ),
)
