"""Biomedicine and healthcare: BioASQ, and the medical additions of 100-LongBench, appendix A.6."""

import re
from collections.abc import Mapping
from dataclasses import replace

from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import detect_language, normalise
from fathom.documents.sources.forms import (
    TEXTS,
    LookupShape,
    PassedOverError,
    fields_form,
    from_parts,
    joined,
    list_in,
    text_in,
    word,
)
from fathom.documents.sources.source import HubFile, Shape, Source
from fathom.types import Document, Question

_CONCEPT = re.compile(r"C\d{7}(\|[^|]*\|C\d{7})?")


def read_bioasq(record: Mapping[str, object], where: str) -> Document:
    """A question over the abstracts that answer it, all of which are evidence.

    Raises:
        BadRowError: There is no question or no answer.
        PassedOverError: It has only one abstract; the paper's code skips it too.
    """
    texts = [normalise(text) for text in list_in(record, TEXTS) if isinstance(text, str)]
    text, passages = joined(texts)
    spans = tuple(span for span in passages if span[0] < span[1])
    if len(spans) < 2:
        raise PassedOverError("a question over one text")
    answer = text_in(record, "answer")
    if not answer:
        raise BadRowError("question without answer")
    question = Question(text_in(record, "question"), (answer,), spans)
    return from_parts(where, text, [question], identity=record.get("id"), passages=spans)


def read_medodyssey(record: Mapping[str, object], where: str) -> Document:
    """A question over a list of terms, triples, tables or case histories, one per line.

    The entries equal to the answer are its evidence. As in the released code, a question about a table or a case names
    it (``ground_truth_coarse`` without its first three characters), and a term to be standardised, which has no
    question of its own, has one answer, the first.

    Raises:
        BadRowError: A field has another form, the context consists of concept numbers whose names are in another file,
            or there is no answer.
        PassedOverError: It is a counting task: its input is a whole prompt, its answer a list in JSON.
    """
    gold = record.get("ground_truth")
    if isinstance(gold, str) and gold.lstrip().startswith("["):
        raise PassedOverError("a counting task, whose input is a whole prompt")
    entries = [normalise(entry) for entry in list_in(record, "context") if isinstance(entry, str)]
    if entries and all(_CONCEPT.fullmatch(entry) for entry in entries):
        raise BadRowError("its context is numbers of UMLS concepts; replace them by their names first")
    answers = [normalise(str(one)) for one in (gold if isinstance(gold, list | tuple) else [gold]) if one is not None]
    if not any(answers):
        raise BadRowError("question without answer")
    asked, named = text_in(record, "input"), text_in(record, "ground_truth_coarse")[3:]
    if named:
        chinese = detect_language(asked) == "zh"
        asked = f"关于“{named}”：{asked}" if chinese else f"About “{named}”: {asked}"
    elif asked and answers[0] in entries and "|" not in answers[0]:
        chinese = detect_language(asked + answers[0]) == "zh"
        asked = f"“{asked}”的标准术语是什么？" if chinese else f"Which standard term stands for “{asked}”?"
        answers = answers[:1]
    text, spans, at = "\n".join(filter(None, entries)), [], 0
    for entry in filter(None, entries):
        if entry in answers:
            spans.append((at, at + len(entry)))
        at += len(entry) + 1
    kind = {"kind": kind} if (kind := word(record.get("type"))) else {}
    question = Question(asked, ("; ".join(answers),), tuple(spans), kind)
    document = from_parts(where, text, [question], identity=record.get("id"))
    return replace(document, language=detect_language(document.text))


SOURCES = (
    Source(
        name="rag_mini_bioasq",
        dataset="enelpol/rag-mini-bioasq",
        revision="8a845907dc1cff31d42fa6f7bb9c6eef5f3ae6f6",
        files=(
            HubFile("question-answer-passages/test-00000-of-00001.parquet"),
            HubFile("text-corpus/test-00000-of-00001.parquet"),
        ),
        shapes=(
            LookupShape(
                "rag-mini-bioasq",
                frozenset({"question", "answer", "relevant_passage_ids"}),
                read_bioasq,
                references="relevant_passage_ids",
                text="passage",
            ),
        ),
        licence="CC-BY-2.5",
        citation="Krithara et al. (2023), BioASQ-QA: A manually curated corpus for Biomedical Question Answering, "
        "doi:10.1038/s41597-023-02068-4",
        description="biomedical questions over several abstracts",
        names=("mini_bioasq",),
    ),
    Source(
        name="medodyssey",
        dataset="",
        revision="",
        files=(),
        shapes=(Shape("MedOdyssey", frozenset({"input", "context", "ground_truth"}), read_medodyssey),),
        licence="Apache-2.0",
        citation="Fan et al. (2025), MedOdyssey: A Medical Domain Benchmark for Long Context Evaluation Up to 200K "
        "Tokens, arXiv:2406.15019",
        description="questions over medical terms, triples, tables and cases (github.com/JOHNNY-fans/MedOdyssey only)",
    ),
    Source(
        name="medical_summary",
        dataset="Bilal-Mamji/Medical-summary",
        revision="0d11c0697c4d4d767f1a1e85e308d5d20207e681",
        files=(
            HubFile(
                "data/test-00000-of-00001.parquet", "8c6f6c8241c254d9db5860775eb53e0d1d437c27427eaddd70444b99af3e9ae3"
            ),
        ),
        shapes=(
            Shape("Medical-Summary", frozenset({"input", "output"}), fields_form("input", summary="output")),
            Shape("text and summary", frozenset({"text", "summary"}), fields_form("text")),
        ),
        licence="not stated",
        citation="Mamji (2024), Medical-summary, huggingface.co/datasets/Bilal-Mamji/Medical-summary",
        description="consultations of doctors with their summaries",
    ),
)
