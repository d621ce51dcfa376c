"""BestAnswer on the cases published by the authors of Ada-LEval, with their candidates in their order.

Only the wording of the prompt is our own, unless the authors' is given, and line ends are normalised. The prompt uses
A4 as an example, as the paper does. The published 1k cases have up to 1,128 tokens (Table 1), more than 1k has here, so
that a prompt may exceed its length by 15%.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from fathom.benchmarks.ada.bestanswer import TASKS as BUILT
from fathom.benchmarks.ada.bestanswer_prompt import PROMPTS, Frame, laid_out
from fathom.types import Arranged, Candidate, CandidatePool, Document, Draw, Measure, Plan, Resources, Span, Whole

OVER = 0.15
EXAMPLE = "A4"


def pool(resources: Resources) -> CandidatePool:
    """The cases in the order of their file, each at the shortest length of the build that holds it."""
    cases = [document for document in resources.documents if "case" in document.meta]
    candidates = [candidate for case in cases if (candidate := _candidate(case, resources))]
    lost = len(cases) - len(candidates)
    notes = (f"{lost} of {len(cases)} published cases left out: too long for the longest length",) if lost else ()
    return CandidatePool((), candidates, notes, shuffled=False)


def _candidate(case: Document, resources: Resources) -> Candidate | None:
    spans = tuple(Span(case.id, start, end) for start, end in case.passages)
    sizes = [resources.counter.between(case, span.start, span.end) for span in spans]
    prompts = resources.texts_of(PROMPTS)
    for length in resources.lengths:
        if Frame.of(prompts, length, resources.counter).around(sizes) <= length * (1 + OVER):
            return Candidate(case, spans, lengths=(length,))
    return None


def plan(draw: Draw) -> Plan:
    """The case as published."""
    assert draw.candidate is not None
    return Whole(partial(arrange, draw.candidate, draw.resources.texts_of(PROMPTS)), over=OVER)


def arrange(candidate: Candidate, prompts: Mapping[str, str], length: int, measure: Measure) -> Arranged:
    """The prompt of a case, at any length."""
    question, *answers = candidate.spans
    gold, case = candidate.document.meta["accepted"], candidate.document.meta["case"]
    assert isinstance(gold, int)
    made = laid_out(
        candidate.document, prompts, question, answers, gold=gold, example=EXAMPLE, facets={"case": str(case)}
    )
    return replace(made, depth=None)


TASKS = (
    replace(
        BUILT[0],
        name="bestanswer_published",
        title="BestAnswer, published cases",
        plan=plan,
        description="the published cases of BestAnswer as they are",
        positioned=False,
        pool=pool,
        needs="published cases of BestAnswer",
        gold=("case",),
        version=2,
    ),
)
