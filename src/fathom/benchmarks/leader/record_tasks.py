"""LongLeader's tasks on records of LongBench and InfiniteBench, each prompt at its own length.

LongLeader, section 2 and table 3. Six are LongBench's, 200 records each, as the averages of table 3 show; records
beyond 32k are truncated in the middle, as in LongBench. Five are InfiniteBench's, whose records are used whole or not
at all: of its 351, 229, 103, 394 and 350 records the paper counts 92, 63, 37, 155 and 350, those that fit 128k. Output
caps are those of the two benchmarks. Our own prompts of LongBench's records are from ``longbench.prompts``.

Without records of LongBench, MuSiQue, HotpotQA and QMSum are made from their authors' files. Such samples have the
facet ``form`` and shorter contexts: they are not LongLeader's, and builds, reports and boards say so.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from fathom.benchmarks.leader.infinitebench_records import LETTERS
from fathom.benchmarks.leader.prompts import LONG, QUESTION, SHORT, UNSEEN, Long, Short
from fathom.benchmarks.leader.sets import LANGUAGES, SOURCE, facets
from fathom.benchmarks.longbench import tasks as longbench
from fathom.benchmarks.longbench.prompts import PROMPTS
from fathom.benchmarks.longbench.records import DATA_SETS
from fathom.documents.sources.templates import PROMPTS as TEMPLATES
from fathom.documents.sources.templates import filled
from fathom.score.registry import strict_score
from fathom.suites.tasks import whole_text
from fathom.suites.tasks.natural import most_tokens, natural, stands_at
from fathom.types import (
    Arranged,
    Candidate,
    CandidatePool,
    Document,
    Draw,
    Ending,
    FathomError,
    Grid,
    Measure,
    Part,
    Plan,
    Resources,
    Span,
    Task,
    Whole,
    Wording,
)

AUTHORS: Mapping[str, str] = {
    "musique": "about 2,900 tokens instead of 18,600",
    "hotpotqa": "about 1,700 tokens instead of 15,300",
    "qmsum": "about 14,800 tokens instead of 16,000",
}
"""LongBench's data sets that can also be made from their authors' files, with the average length (table 3)."""
FORM = "authors"
"""The facet ``form`` of their samples."""
IN_TEXT = ("longbook_qa_eng", "longbook_sum_eng")
"""InfiniteBench's data sets whose gold answers are in the text; those of the others are letters or numbers."""
DATASETS = {"longbook_choice_eng": "choice"}
"""The names by which metrics know data sets with other names."""
_TARGET = re.compile(r"(The .+) of")
WORDS = frozenset({"question", "target", "asked", *LETTERS})
"""Placeholders of the authors' texts around a context."""
_UP_TO_32K = tuple(range(4000, 32_001, 4000))
_UP_TO_128K = tuple(range(16_000, 128_001, 16_000))

GRIDS: Mapping[str, Grid] = {
    **{f"leader_{dataset}": Grid(longbench.SIZE, _UP_TO_32K) for dataset in SHORT},
    **{kind.name: Grid(kind.size, _UP_TO_128K) for kind in LONG.values()},
}
"""Each record has the smallest of these lengths that holds it; the steps suit a curve."""


def pool_short(resources: Resources, dataset: str) -> CandidatePool:
    """LongBench's records of a data set; without any, the questions in its authors' files.

    Raises:
        FathomError: See ``fathom.benchmarks.longbench.tasks.pool``.
    """
    pool = longbench.pool(_with_own(resources, dataset), dataset)
    if resources.templates is not None and dataset not in resources.templates:
        why = f"no official prompt of LongBench ({TEMPLATES}) was found: fathom's own is used"
        pool = replace(pool, notes=(*pool.notes, why))
    if pool.candidates or dataset not in AUTHORS:
        return pool
    candidates = []
    known = (
        record for record in resources.documents if record.meta.get("dataset") == dataset and "even" not in record.meta
    )
    for number, document in enumerate(known):
        for asked, question in enumerate(document.questions):
            place = stands_at(_authors_prompt(document, question.text, dataset), document, resources)
            candidates.append(
                Candidate(document, (whole_text(document),), (question,), (place,), f"a{number:04d}-{asked:02d}")
            )
    note = (
        f"{_instead(dataset)}: not the paper's set, and reports and boards mark it; add LongBench's records with --data"
    )
    return CandidatePool((), candidates, (note,) if candidates else (), shuffled=False)


def _with_own(resources: Resources, dataset: str) -> Resources:
    """The resources without LongBench's templates if they lack this data set's."""
    lacks = resources.templates is not None and dataset not in resources.templates
    return replace(resources, templates=None) if lacks else resources


def plan_short(draw: Draw, dataset: str) -> Plan:
    """The prompt of one record; truncated in the middle beyond the longest length."""
    assert draw.candidate is not None
    own = replace(draw, resources=_with_own(draw.resources, dataset))
    whole = _authors_plan(draw.candidate, dataset) if draw.candidate.questions else longbench.plan(own, dataset)
    assert isinstance(whole, Whole)
    arrange = whole.arrange

    def arranged(length: int, measure: Measure) -> Arranged | None:
        made = arrange(length, measure)
        return made and replace(made, ending=_of_leader(made.ending, dataset))

    return replace(whole, arrange=arranged)


def _instead(dataset: str) -> str:
    """What is different about questions from the authors' files."""
    return f"made from the authors' files, without LongBench's records: {AUTHORS[dataset]}"


def _of_leader(ending: Ending, dataset: str) -> Ending:
    """An ending with LongLeader's category instead of LongBench's, and a closed-book question if it makes sense."""
    alone = UNSEEN + _with(QUESTION, ending.asked) if SHORT[dataset].alone and ending.asked else ""
    return replace(ending, facets={**ending.facets, **facets("32k", SHORT[dataset].category)}, closed=alone)


def _authors_plan(candidate: Candidate, dataset: str) -> Plan:
    (question,) = candidate.questions
    parts = _authors_prompt(candidate.document, question.text, dataset)
    return natural(parts, Ending(_end(parts), question.answers, 0.0, {"form": FORM}, question.text))


def _authors_prompt(document: Document, question: str, dataset: str) -> list[Part]:
    """The prompt over the whole text, or over its passages with headings like LongBench's."""
    before, after = PROMPTS[dataset]
    parts: list[Part] = [before]
    for number, (start, end) in enumerate(document.passages, start=1):
        parts += ["\n\n" * (number > 1) + f"Passage {number}:\n", Span(document.id, start, end)]
    return [*parts, *([] if document.passages else [whole_text(document)]), _with(after, question, gap="{input}")]


def pool_long(resources: Resources, dataset: str) -> CandidatePool:
    """The records of one data set of InfiniteBench that fit the longest length, each at the smallest that holds it.

    Raises:
        FathomError: Two records have the same row.
    """
    kind = LONG[dataset]
    records = _by_row(
        [document for document in resources.documents if document.meta.get("dataset") == dataset], kind.name
    )
    candidates = []
    for row, record in sorted(records.items()):
        tokens = most_tokens(_prompt(record, kind, resources), record, resources)
        if place := next((length for length in resources.lengths if tokens <= length), None):
            candidates.append(Candidate(record, (whole_text(record),), lengths=(place,), name=f"{row:04d}"))
    lost = len(records) - len(candidates)
    note = (
        f"{lost} of {len(records)} records left out, because they have more than {resources.lengths[-1]:,} tokens; of "
        f"InfiniteBench's {kind.size}, LongLeader counts {kind.fit} at 128k (table 3)"
    )
    return CandidatePool((), candidates, (note,) if lost else (), shuffled=False, published=kind.size - lost)


def _by_row(records: Sequence[Document], name: str) -> Mapping[int, Document]:
    by_row: dict[int, Document] = {}
    for record in records:
        row = record.meta["row"]
        assert isinstance(row, int)
        if (first := by_row.setdefault(row, record)) is not record:
            raise FathomError(
                f"{name}: {first.source} and {record.source}: different records of row {row}; `data` should name one "
                "copy of InfiniteBench"
            )
    return by_row


def plan_long(draw: Draw, dataset: str) -> Plan:
    """The whole prompt of one record."""
    assert draw.candidate is not None
    kind, record = LONG[dataset], draw.candidate.document
    parts, asked, options = _prompt(record, kind, draw.resources), _asked(record), _texts(record, "options")
    ending = Ending(
        question=_end(parts),
        targets=tuple(_texts(record, "answers")),
        chance=1 / len(options) if options else 0.0,
        asked=asked,
        closed=_filled(draw.resources.wording, "closed", record) or _with(kind.closed, asked),
    )
    return replace(natural(parts, ending), cut="never")


def _prompt(record: Document, kind: Long, resources: Resources) -> list[Part]:
    before, after = (_filled(resources.wording, name, record) for name in ("before", "after"))
    if not resources.wording:
        before, after = kind.before, _with(kind.after, _asked(record))
    return [before, whole_text(record), after]


def _filled(wording: Mapping[str, str], name: str, record: Document) -> str:
    """One of the authors' texts with what a record fills in; "" without that text.

    In Math.Find, ``{target}`` is the number that the question asks for, such as "the second largest number".
    """
    question, options = str(record.meta["input"]), _texts(record, "options")
    target = _TARGET.search(question)
    values = dict(zip(LETTERS, options, strict=False))
    values |= {letter: "" for letter in LETTERS if letter not in values}
    values |= {"question": question, "target": target[1].lower() if target else question, "asked": _asked(record)}
    return wording[name].format(**values) if name in wording else ""


def _asked(record: Document) -> str:
    """The question, with its choices on separate lines."""
    lines = (f"{letter}. {text}" for letter, text in zip(LETTERS, _texts(record, "options"), strict=False))
    # In Code.Debug the question is the same in all records, and part of the prompt.
    question = "" if record.meta["dataset"] == "code_debug" else str(record.meta["input"])
    return "\n".join(filter(None, (question, *lines)))


def _texts(record: Document, field: str) -> list[str]:
    values = record.meta[field]
    assert isinstance(values, list)
    return [str(value) for value in values]


def _end(parts: Sequence[Part]) -> str:
    end = parts[-1]
    assert isinstance(end, str)
    return end


def _with(frame: str, asked: str, gap: str = "{asked}") -> str:
    return "".join(text for text, _ in filled(frame, {gap: asked}))


def _short(dataset: str, kind: Short) -> Task:
    known = DATA_SETS[dataset]
    return Task(
        name=f"leader_{dataset}",
        title=known.title,
        plan=partial(plan_short, dataset=dataset),
        score=partial(strict_score, metric=f"leader/{kind.metric}"),
        metric=kind.metric,
        max_output_tokens=known.cap,
        description=known.about,
        answer=known.answer,
        source=SOURCE,
        languages=LANGUAGES,
        pool=partial(pool_short, dataset=dataset),
        data=(f"longbench_{dataset}",),
        needs=f"records of LongBench's {dataset}",
        gold=("record",),
        noise=(),
        gold_in_text=known.category in longbench.IN_TEXT,
        official=f"leader/{kind.metric}",
        capped=True,
        continued=known.continued,
        facets=facets("32k", kind.category),
        inputs={"dataset": dataset},
        substitutes={FORM: _instead(dataset)} if dataset in AUTHORS else {},
    )


def _long(dataset: str, kind: Long) -> Task:
    return Task(
        name=kind.name,
        title=kind.title,
        plan=partial(plan_long, dataset=dataset),
        score=partial(strict_score, metric=f"leader/{kind.metric}"),
        metric=kind.metric,
        max_output_tokens=kind.cap,
        description=kind.about,
        answer=kind.answer,
        source=SOURCE,
        languages=LANGUAGES,
        pool=partial(pool_long, dataset=dataset),
        data=(f"infinitebench_{dataset}",),
        needs=f"records of InfiniteBench's {dataset}",
        gold=("record",),
        noise=(),
        gold_in_text=dataset in IN_TEXT,
        official=f"leader/{kind.metric}",
        capped=True,
        facets=facets("128k", kind.category),
        inputs={"dataset": DATASETS.get(dataset, dataset)},
        wording=Wording(
            {"en": {"before": kind.before, "after": kind.after, **({"closed": kind.closed} if kind.closed else {})}},
            optional=frozenset({"asked"}),
            also=WORDS,
        ),
    )


TASKS = (
    *(_short(dataset, kind) for dataset, kind in SHORT.items()),
    *(_long(dataset, kind) for dataset, kind in LONG.items()),
)
