"""LongBench: its 21 tasks on their published records, each prompt at its own length.

Bai et al. (2024), table 1 and appendix; for output caps, prompts to be continued and truncation, the released code. Our
own prompts are in ``prompts``; with ``--prompts official`` the templates come from the user's copy of LongBench
(``Resources.templates``), and a sample of MiniLongBench is a finished prompt in either case.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial

from fathom.benchmarks.longbench.prompts import PROMPTS
from fathom.benchmarks.longbench.records import DATA_SETS, DataSet
from fathom.documents.sources.templates import PROMPTS as TEMPLATES
from fathom.documents.sources.templates import filled
from fathom.score.registry import strict_score
from fathom.suites.tasks.natural import natural, stands_at
from fathom.types import (
    Candidate,
    CandidatePool,
    Document,
    Draw,
    Ending,
    Facet,
    FathomError,
    Part,
    Plan,
    Resources,
    Span,
    Task,
)

SIZE = 200
BUCKETS = ((4000, "0-4k"), (8000, "4-8k"))
LAST_BUCKET = "8k+"
IN_TEXT = frozenset({"single_doc_qa", "multi_doc_qa", "summarization"})
"""Categories whose gold answers are in the context; in the others they are labels, or continue it."""
_PARAGRAPH = re.compile(r"^(?:Paragraph |段落)\d+[:：]", re.MULTILINE)


def pool(resources: Resources, dataset: str) -> CandidatePool:
    """The records of one data set in the order of their rows, each at the smallest length that holds its prompt.

    Raises:
        FathomError: Official prompts are requested without a template of this data set, or two records have the same
            row.
    """
    mine = (document for document in resources.documents if document.meta.get("dataset") == dataset)
    records = [record for record in mine if "even" in record.meta]  # not the texts of a source with that name
    rows, notes = _rows(records, dataset)
    able = resources.templates is None or dataset in resources.templates
    chosen = _one_a_row(records, rows, able)
    even = any(record.meta["even"] for record in chosen)
    candidates = []
    for record in chosen:
        parts, _ = _prompt(record, dataset, resources)
        spans = tuple(part for part in parts if isinstance(part, Span))
        name = ("e" if record.meta["even"] else "") + f"{rows[record.id]:04d}"
        candidates.append(Candidate(record, spans, lengths=(stands_at(parts, record, resources),), name=name))
    if any(record.meta["whole"] for record in chosen):
        notes.append("samples of MiniLongBench are finished prompts by its publishers, regardless of --prompts")
    cap, ours = resources.caps.get(dataset), DATA_SETS[dataset].cap
    if candidates and cap is not None and cap != ours:
        notes.append(f"replies may have {ours} tokens; dataset2maxlen.json says {cap}")
    published = _published(dataset, even)
    return CandidatePool((), candidates, tuple(notes), shuffled=False, published=published)


def _published(dataset: str, even: bool) -> int:
    return DATA_SETS[dataset].even if even else DATA_SETS[dataset].size


def _rows(records: Sequence[Document], dataset: str) -> tuple[Mapping[str, int], list[str]]:
    """The row of each record in the original file, by id; and notes on records without one.

    As many as MiniLongBench has are assumed to be its items, which it publishes in the order of their rows.
    """
    rows = {record.id: int(str(record.meta["index"])) for record in records}
    unnumbered = [record for record in records if not record.meta["numbered"]]
    even = any(record.meta["even"] for record in unnumbered)
    anchors = DATA_SETS[dataset].mini_rows
    if len(unnumbered) in (0, _published(dataset, even)):
        return rows, []
    if even or sorted(rows[record.id] for record in unnumbered) != list(range(len(anchors))):
        return rows, ["records without a number are assumed to be the first rows of the original file"]
    rows |= {record.id: anchors[rows[record.id]] for record in unnumbered}
    return rows, ["records without a number, as many as MiniLongBench has, are assumed to be its items"]


def _one_a_row(records: Sequence[Document], rows: Mapping[str, int], able: bool) -> list[Document]:
    """One record for each row, in the order of the rows.

    If a row exists as a record and as a finished prompt, the record is used if a prompt can be made of it (``able``).
    """
    by_row: dict[int, Document] = {}
    for record in sorted(records, key=lambda document: bool(document.meta["whole"]) == able):
        first = by_row.setdefault(rows[record.id], record)
        if first is not record and first.meta["whole"] == record.meta["whole"]:
            raise FathomError(
                f"{first.source} and {record.source}: different records of row {rows[record.id]}; `data` should name "
                "one copy of LongBench"
            )
    return [by_row[row] for row in sorted(by_row)]


def plan(draw: Draw, dataset: str) -> Plan:
    """The prompt of one record; truncated in the middle beyond the longest length.

    Our own prompts keep the instruction and the question, and lose whole sentences of the context. Publishers' prompts
    lose the middle of all their tokens, as in the released code, and so do ours whose instruction and question take
    more than half of the longest length.
    """
    assert draw.candidate is not None
    record = draw.candidate.document
    parts, ours = _prompt(record, dataset, draw.resources)
    answers = record.meta["answers"]
    assert isinstance(answers, list)
    question = parts[-1] if ours and isinstance(parts[-1], str) else ""
    ending = Ending(
        question,
        tuple(answers),
        _chance(record, dataset),
        _facets(record, dataset, ours),
        _asked(record),
        inputs=_inputs(record, dataset),
    )
    return natural(parts, ending, even=not ours or len(draw.candidate.spans) > 1)


def _prompt(record: Document, dataset: str, resources: Resources) -> tuple[list[Part], bool]:
    """The whole prompt of a record, and whether it is our own."""
    spans = [Span(record.id, start, end) for start, end in record.passages]
    if record.meta["whole"]:
        return [spans[0]], False
    context, asked = spans
    if resources.templates is None:
        before, after = PROMPTS[dataset]
        question = after.replace("{input}", record.text[asked.start : asked.end], 1)
        count = resources.counter.count
        if asked.start == asked.end or 2 * (count(before) + count(question)) <= resources.lengths[-1]:
            return [before, context, question], True
        return [before, context, *_with_spans(after, {"{input}": asked})], True  # so long that it may be truncated too
    if dataset not in resources.templates:
        raise FathomError(
            f"`prompts` official: no template of {dataset}: no {TEMPLATES} under `data` has it; LongBench has it in "
            "its repository (github.com/THUDM/LongBench): put it in the data folder, or leave `prompts` out"
        )
    return _with_spans(resources.templates[dataset], {"{context}": context, "{input}": asked}), False


def _with_spans(template: str, places: Mapping[str, Span]) -> list[Part]:
    pieces = filled(template, {name: name for name in places})
    return [places[text] if value else text for text, value in pieces]


def _facets(record: Document, dataset: str, ours: bool) -> dict[str, Facet]:
    facets: dict[str, Facet] = {
        "category": DATA_SETS[dataset].category,
        "prompt": "own" if ours else "official",
    }
    words = record.meta.get("words")
    if isinstance(words, int):
        facets["words"] = words
        if record.meta["even"]:
            facets["bucket"] = next((name for below, name in BUCKETS if words < below), LAST_BUCKET)
    return facets


def _inputs(record: Document, dataset: str) -> Mapping[str, Facet]:
    classes = record.meta["classes"]
    return {"dataset": dataset} | ({"classes": json.dumps(classes, ensure_ascii=False)} if classes else {})


def _chance(record: Document, dataset: str) -> float:
    """The expected score of guessing among the choices that the record names."""
    classes = record.meta["classes"]
    choices = len(classes) if isinstance(classes, list) else 0
    if dataset.startswith("passage_retrieval"):
        start, end = record.passages[0]
        choices = len(_PARAGRAPH.findall(record.text, start, end))
    return 1 / choices if choices > 1 else 0.0


def _asked(record: Document) -> str:
    start, end = record.passages[-1]
    return "" if record.meta["whole"] else record.text[start:end]


def _task(dataset: str, kind: DataSet) -> Task:
    return Task(
        name=f"longbench_{dataset}",
        title=kind.title,
        plan=partial(plan, dataset=dataset),
        score=partial(strict_score, metric=f"longbench_v1/{kind.metric}"),
        metric=kind.metric,
        max_output_tokens=kind.cap,
        description=kind.about,
        answer=kind.answer,
        source="LongBench, table 1",
        languages=(kind.language,),
        pool=partial(pool, dataset=dataset),
        data=(f"longbench_{dataset.replace('-', '_')}",),
        needs=f"records of LongBench's {dataset}",
        gold=("record",),
        noise=(),
        gold_in_text=kind.category in IN_TEXT,
        official=f"longbench_v1/{kind.metric}",
        stop=kind.stop,
        capped=True,
        continued=kind.continued,
    )


TASKS = tuple(_task(dataset, kind) for dataset, kind in DATA_SETS.items())
