"""LongBench: its 21 tasks on their published records, each prompt at its own length.

Bai et al. (2024), table 1 and appendix; for output caps, prompts to be continued and truncation, the released code. Our
own prompts are in ``prompts``; with ``--prompts official`` the templates come from the user's copy of LongBench
(``Resources.templates``), and a sample of MiniLongBench is a finished prompt in either case.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fathom.benchmarks.longbench.prompts import PROMPTS
from fathom.benchmarks.longbench.records import ANCHORS, EVEN, LANGUAGES
from fathom.documents.sources.templates import PROMPTS as TEMPLATES
from fathom.documents.sources.templates import filled
from fathom.score.registry import get_scorer, row_of
from fathom.suites.tasks.natural import natural, stands_at
from fathom.types import (
    AnswerKind,
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
    Sample,
    Score,
    Span,
    Task,
)

SIZE = 200
BUCKETS = ((4000, "0-4k"), (8000, "4-8k"))
LAST_BUCKET = "8k+"
IN_TEXT = frozenset({"single_doc_qa", "multi_doc_qa", "summarization"})
"""Categories whose gold answers are in the context; in the others they are labels, or continue it."""
_PARAGRAPH = re.compile(r"^(?:Paragraph |段落)\d+[:：]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the 21: its category, the metric of ``longbench_v1``, output cap, number of records, and so on."""

    category: str
    metric: str
    cap: int
    about: str
    size: int = SIZE
    continued: bool = False
    stop: tuple[str, ...] = ()
    answer: AnswerKind = "words"


KINDS = {
    "narrativeqa": _Kind("single_doc_qa", "qa_f1", 128, "questions about a book or film script"),
    "qasper": _Kind("single_doc_qa", "qa_f1", 128, "questions about a paper"),
    "multifieldqa_en": _Kind("single_doc_qa", "qa_f1", 64, "questions about a document", size=150),
    "multifieldqa_zh": _Kind("single_doc_qa", "qa_f1_zh", 64, "questions about a Chinese document"),
    "hotpotqa": _Kind("multi_doc_qa", "qa_f1", 32, "questions over two of several Wikipedia passages"),
    "2wikimqa": _Kind("multi_doc_qa", "qa_f1", 32, "questions over two or more of several Wikipedia passages"),
    "musique": _Kind("multi_doc_qa", "qa_f1", 32, "questions over two to four of several Wikipedia passages"),
    "dureader": _Kind("multi_doc_qa", "rouge_zh", 128, "questions over several Chinese web pages"),
    "gov_report": _Kind("summarization", "rouge", 512, "a summary of a government report", answer="summary"),
    "qmsum": _Kind("summarization", "rouge", 512, "requests about a meeting"),
    "multi_news": _Kind("summarization", "rouge", 512, "one summary of several news articles", answer="summary"),
    "vcsum": _Kind("summarization", "rouge_zh", 512, "a summary of a Chinese meeting", answer="summary"),
    "trec": _Kind("few_shot", "classification", 64, "the type of a question, after examples", continued=True),
    "triviaqa": _Kind("few_shot", "qa_f1", 32, "a question about a passage, after examples", continued=True),
    "samsum": _Kind("few_shot", "rouge", 128, "a summary of a chat, after examples", continued=True, stop=("\n",)),
    "lsht": _Kind("few_shot", "classification", 64, "the class of Chinese news, after examples", continued=True),
    "passage_count": _Kind("synthetic", "count", 32, "how many of the paragraphs differ", answer="count"),
    "passage_retrieval_en": _Kind("synthetic", "retrieval", 32, "which paragraph a summary belongs to"),
    "passage_retrieval_zh": _Kind("synthetic", "retrieval_zh", 32, "which Chinese paragraph a summary belongs to"),
    "lcc": _Kind("code", "code_sim_difflib", 64, "the next line of a file of code", size=500, continued=True),
    "repobench-p": _Kind(
        "code", "code_sim_difflib", 64, "the next line of code, with other files", size=500, continued=True
    ),
}
"""By LongBench's name. Lines of code are compared as in LongBench's published scores."""

_WRITTEN = (
    *("NarrativeQA", "Qasper", "MultiFieldQA-en", "MultiFieldQA-zh", "HotpotQA", "2WikiMQA", "MuSiQue", "DuReader"),
    *("GovReport", "QMSum", "MultiNews", "VCSUM", "TREC", "TriviaQA", "SAMSum", "LSHT"),
    *("PassageCount", "PassageRetrieval-en", "PassageRetrieval-zh", "LCC", "RepoBench-P"),
)
TITLES: Mapping[str, str] = dict(zip(KINDS, _WRITTEN, strict=True))
"""The data sets as spelled by their publishers."""


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
    cap, ours = resources.caps.get(dataset), KINDS[dataset].cap
    if candidates and cap is not None and cap != ours:
        notes.append(f"replies may have {ours} tokens; dataset2maxlen.json says {cap}")
    published = EVEN.get(dataset) if even else KINDS[dataset].size
    return CandidatePool((), candidates, tuple(notes), shuffled=False, published=published)


def _rows(records: Sequence[Document], dataset: str) -> tuple[Mapping[str, int], list[str]]:
    """The row of each record in the original file, by id; and notes on records without one.

    As many as MiniLongBench has are assumed to be its items, which it publishes in the order of their rows.
    """
    rows = {record.id: int(str(record.meta["index"])) for record in records}
    unnumbered = [record for record in records if not record.meta["numbered"]]
    even = any(record.meta["even"] for record in unnumbered)
    anchors = ANCHORS[dataset]
    if len(unnumbered) in (0, EVEN[dataset] if even else KINDS[dataset].size):
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
        "category": KINDS[dataset].category,
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


def score(reply: str, sample: Sample, metric: str) -> Score:
    """The ``strict`` rule of ``longbench_v1``; see ``fathom.benchmarks.longbench.scoring``."""
    return get_scorer(f"longbench_v1/{metric}", "strict")(row_of(reply, sample))


def _task(dataset: str, kind: _Kind) -> Task:
    return Task(
        name=f"longbench_{dataset}",
        title=TITLES[dataset],
        plan=partial(plan, dataset=dataset),
        score=partial(score, metric=kind.metric),
        metric=kind.metric,
        max_output_tokens=kind.cap,
        description=kind.about,
        answer=kind.answer,
        source="LongBench, table 1",
        languages=(LANGUAGES[dataset],),
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


TASKS = tuple(_task(dataset, kind) for dataset, kind in KINDS.items())
