"""Oolong's published records. Their contexts and questions have all instructions; both are sent as one message here."""

import json
from datetime import datetime
from functools import partial

from fathom.benchmarks.oolong.records import REAL, SYNTH
from fathom.benchmarks.oolong.scoring import COMPARISONS, gold_value
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.suites.tasks.published import Published, asking
from fathom.types import Document, Ending, Task

FORM = "one message"


def _reply(record: Document, dataset: str) -> str:
    """The gold reply in the form that the released rule reads."""
    answer = str(record.meta["answer"])
    if dataset == REAL:
        return f"\\boxed{{{answer}}}"
    value = gold_value(answer)
    return f"Answer: {value.date() if isinstance(value, datetime) else value}"


def _chance(record: Document, dataset: str) -> float:
    """The share of one answer of those that are possible; 0 where their number is not known."""
    kind = str(record.meta.get("answer_type"))
    if dataset == REAL:
        return 0.0
    if any(text in str(record.meta["answer"]) for text in COMPARISONS):
        return 1 / len(COMPARISONS)
    labels = record.meta.get("num_labels")
    return 1 / int(str(labels)) if kind.endswith("LABEL") and labels else 0.0


def _ending(record: Document, dataset: str) -> Ending:
    kind = record.meta.get("answer_type")
    return Ending(
        f"\n\n{record.meta['question']}",
        (_reply(record, dataset),),
        chance=_chance(record, dataset),
        facets={"group": str(record.meta["group"]), "form": FORM},
        inputs={GOLD: json.dumps(record.meta["answer"]), **({"answer_type": kind} if isinstance(kind, str) else {})},
        asked=str(record.meta["question"]),
    )


def _task(dataset: str, what: str) -> Task:
    pool, plan = asking(Published(dataset, partial(_ending, dataset=dataset)))
    return Task(
        name=f"oolong_published_{dataset.removeprefix('oolong_')}",
        title=f"Oolong-{dataset.removeprefix('oolong_')} (published)",
        plan=plan,
        score=partial(strict_score, metric=f"oolong/{dataset}"),
        metric="nearness",
        max_output_tokens=16384,
        description=what,
        source="Oolong, section 3",
        languages=("en",),
        pool=pool,
        data=(dataset,),
        needs="records of Oolong",
        gold=("record",),
        noise=(),
        official=f"oolong/{dataset}",
        substitutes={FORM: "the context and the question are sent as one message"},
    )


TASKS = (
    _task(SYNTH, "published records: labels of a stream of texts, counted and compared"),
    _task(REAL, "published records: events of transcripts, counted and listed"),
)
