"""AA-LCR: questions over several documents of about 100,000 tokens, whose answers a judge compares with the gold one.

The wording of the prompt and of the judge's is our own. Without a judge the score is token F1. Version 1.1 of the data
(September 2026) has other answers to sixteen questions.
"""

from collections.abc import Generator

from fathom.benchmarks.aa_lcr.records import NAME
from fathom.score.answers import words_score
from fathom.score.judge import Ask, Case, Parts, Rubric, asked, check_rule, kept_references
from fathom.score.judge_texts import prompt, read_marks
from fathom.suites.tasks.published import Published, asking
from fathom.types import Document, Ending, Sample, Score, Suite, Task

RECORDS = 100
BEFORE = "Read the documents below. After them comes a question that is answered from them.\n\nDocuments:\n\n"
AFTER = (
    "\n\n(End of the documents.)\n\nQuestion: {question}\n\nAnswer from the documents, as briefly as you can.\nAnswer:"
)
JUDGE_INTRO = (
    "Decide whether a reply to a question agrees with the official answer. It agrees if it says the same in any words "
    "or form, and nothing that contradicts it; what it says besides does not matter."
)
JUDGE_REQUEST = 'Reply with a JSON object alone: {"correct": 1} if the reply agrees, {"correct": 0} if it does not.'


def _ending(record: Document) -> Ending:
    question = str(record.meta["question"])
    return Ending(
        AFTER.format(question=question),
        (str(record.meta["answer"]),),
        chance=0.0,
        facets={"category": str(record.meta["category"])},
        asked=question,
    )


def score(reply: str, sample: Sample) -> Score:
    """Without a judge: token F1 with the gold answer."""
    return words_score(reply, sample.targets, grader="token F1", first_line=False)


def verdict_steps(case: Case) -> Generator[Ask, str, Parts]:
    """One request for the verdict, with the official answer."""
    if not case.said:
        return {"correct": 0}
    listed = [("official answer", text) for text in kept_references(case)]
    request = prompt(JUDGE_INTRO, [("question", case.asked), *listed, ("reply", case.said)], JUDGE_REQUEST)
    return (yield from asked("verdict", request, lambda reply: read_marks(reply, {"correct": 1})))


def verdict_value(parts: Parts, rule: str) -> float:
    """1 if the reply agrees, under both rules."""
    check_rule(rule)
    return float(parts["correct"] >= 1)


RUBRICS = (
    Rubric(
        name="verdict",
        version=1,
        steps=verdict_steps,
        value=verdict_value,
        description="whether the reply agrees with the official answer",
        source="AA-LCR",
    ),
)
_pool, _plan = asking(Published(NAME, _ending, before=lambda record: BEFORE, records=RECORDS))
TASKS = (
    Task(
        name=NAME,
        title="AA-LCR",
        plan=_plan,
        score=score,
        metric="token_f1",
        max_output_tokens=2048,
        description="questions over several documents, which a judge scores",
        source="AA-LCR, Artificial Analysis 2025",
        languages=("en",),
        pool=_pool,
        data=(NAME,),
        needs="records of AA-LCR",
        gold=("record",),
        noise=(),
        rubric="verdict",
    ),
)
SUITES = (
    Suite(
        name=NAME,
        tasks=(NAME,),
        lengths=(131072, 262144),
        description="AA-LCR: 100 questions over sets of documents, which a judge scores",
        source="AA-LCR, Artificial Analysis 2025",
        items=RECORDS,
        corpus="",
        sources={"record": (NAME,)},
    ),
)
