"""Questions about transcripts: a frozen context of an agent or assistant, whole, and one of the user's questions.

The documents are texts that ``fathom data transcripts`` writes, or any others; the questions come from a table. Where
its column ``evidence`` quotes the context, the facets have the age of the fact; values in its column ``wrong`` make a
reply wrong. A context is used as it is, at the smallest length that holds it.
"""

import json

from fathom.benchmarks.memory.tasks import FACT, OTHERS, score
from fathom.documents.corpus.questions import SPENT
from fathom.suites.tasks import whole_text
from fathom.suites.tasks.natural import natural, stands_at
from fathom.types import Candidate, CandidatePool, Document, Draw, Ending, Facet, Part, Plan, Question, Resources, Task

PROMPTS = {
    "en": {
        "intro": "Below is a conversation.\n\n",
        "question": "\n\nNow the user asks: {question} What was said last counts. Reply with the answer only.",
    },
    "zh": {"intro": "下面是一段对话。\n\n", "question": "\n\n现在用户问：{question}以最后一次说的为准。请只回答答案。"},
}


def prompt(document: Document, question: Question) -> tuple[Part, ...]:
    """The parts of the prompt of one question."""
    texts = PROMPTS[document.language]
    return texts["intro"], whole_text(document), texts["question"].format(question=question.text)


def pool(resources: Resources) -> CandidatePool:
    """One candidate for each question, in the order of the documents."""
    return CandidatePool(
        (),
        [
            Candidate(
                document,
                (whole_text(document),),
                (question,),
                (stands_at(prompt(document, question), document, resources),),
            )
            for document in resources.documents
            for question in document.questions
        ],
        shuffled=False,
    )


def plan(draw: Draw) -> Plan:
    """The whole context with its question."""
    assert draw.candidate is not None
    document, (question,) = draw.candidate.document, draw.candidate.questions
    facets: dict[str, Facet] = {"kind": str(question.meta.get("kind") or "other"), "quoted": bool(question.evidence)}
    facets |= {name: amount for name in SPENT if isinstance(amount := question.meta.get(name), float)}
    inputs: dict[str, Facet] = {}
    if question.evidence:
        start, end = question.evidence[-1]
        facets["age"] = draw.resources.counter.between(document, end, len(document.text))
        facets["place"] = round(start / len(document.text), 3)
        inputs[FACT] = document.text[start:end]
    values = question.meta.get("wrong")
    chance = 0.0
    if isinstance(values, list) and values:
        inputs[OTHERS] = json.dumps(values, ensure_ascii=False)
        ways = max(1, len(question.answers))  # a value is there in as many ways of writing
        chance = 1 / (1 + max(1, len(values) // ways))
    parts = prompt(document, question)
    ending = Ending(str(parts[-1]), question.answers, chance, facets, asked=question.text, inputs=inputs)
    return natural(parts, ending)


TASKS = (
    Task(
        name="memory_transcript",
        title="Questions about transcripts",
        plan=plan,
        score=score,
        metric="accuracy",
        max_output_tokens=256,
        description="questions of the user about frozen contexts of agents and assistants",
        source="the user's transcripts",
        pool=pool,
        needs="questions with answers",
        gold=("qa",),
        noise=(),
    ),
)
