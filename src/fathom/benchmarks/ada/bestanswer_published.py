"""BestAnswer on the cases that the authors of Ada-LEval published, with their candidates in their order.

Only the words of the prompt are our own; they show A4 as an example, as the paper's do. The published 1k cases have
up to 1,128 tokens (Table 1), more than 1k has here, so that a prompt may be longer than its length by 15%.
"""

from dataclasses import replace
from functools import partial

from fathom.benchmarks.ada.bestanswer import TASKS as BUILT
from fathom.benchmarks.ada.bestanswer_prompt import Frame, laid_out
from fathom.types import Arranged, Card, Document, Draw, Measure, Plan, Scene, Span, Stock, Whole

OVER = 0.15
EXAMPLE = "A4"


def stock(scene: Scene) -> Stock:
    """The cases in the order of their file, each at the shortest length of the build that holds it."""
    cases = [document for document in scene.documents if "case" in document.meta]
    cards = [card for case in cases if (card := _card(case, scene))]
    lost = len(cases) - len(cards)
    notes = (f"{lost} of {len(cases)} published cases left out: too long for the longest length",) if lost else ()
    return Stock((), cards, notes, shuffled=False)


def _card(case: Document, scene: Scene) -> Card | None:
    spans = tuple(Span(case.id, start, end) for start, end in case.passages)
    sizes = [scene.counter.between(case, span.start, span.end) for span in spans]
    for length in scene.lengths:
        if Frame.of(scene.language, length, scene.counter).around(sizes) <= length * (1 + OVER):
            return Card(case, spans, lengths=(length,))
    return None


def plan(draw: Draw) -> Plan:
    """The case as published."""
    assert draw.card is not None
    return Whole(partial(arrange, draw.card, draw.scene.language), over=OVER)


def arrange(card: Card, language: str, length: int, measure: Measure) -> Arranged:
    """The prompt of a case, whatever the length."""
    question, *answers = card.spans
    gold, case = card.document.meta["accepted"], card.document.meta["case"]
    assert isinstance(gold, int)
    made = laid_out(card.document, language, question, answers, gold=gold, example=EXAMPLE, facets={"case": str(case)})
    return replace(made, depth=None)


TASKS = (
    replace(
        BUILT[0],
        name="bestanswer_published",
        title="BestAnswer, published cases",
        plan=plan,
        description="the published cases of BestAnswer as they are",
        positioned=False,
        stock=stock,
        needs="published cases of BestAnswer",
        gold=("case",),
    ),
)
