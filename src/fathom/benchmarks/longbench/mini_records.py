"""MiniLongBench: its rows of LongBench, and its samples as finished prompts.

The numbers are published by MiniLongBench (github.com/MilkThink-Lab/MiniLongBench at commit 504c247,
``data/anchor.pkl``) as positions among all 4,750 items, data sets in alphabetical order; here they are rows of each
data set's file.
"""

from collections.abc import Mapping

from fathom.benchmarks.longbench.records import LANGUAGES, document_of, text_of
from fathom.documents.corpus.records import BadRowError
from fathom.documents.sources.source import Shape, Source
from fathom.types import Document, Json

ANCHORS: Mapping[str, tuple[int, ...]] = {
    "2wikimqa": (18, 23, 31, 34, 36, 37, 51, 57, 64, 69, 77, 88, 129),
    "dureader": (66, 156, 170, 173, 190, 199),
    "gov_report": (6, 7, 27, 31, 43, 45, 64, 77, 81, 123, 144, 180),
    "hotpotqa": (19, 22, 46, 58, 80, 83, 87, 89, 106, 110, 140, 174, 183),
    "lcc": (
        3,
        8,
        29,
        95,
        102,
        113,
        121,
        122,
        126,
        129,
        134,
        161,
        184,
        235,
        249,
        254,
        272,
        282,
        285,
        295,
        299,
        384,
        391,
        441,
        476,
        499,
    ),
    "lsht": (4, 33, 50, 86, 120, 162, 180, 199),
    "multifieldqa_en": (1, 6, 42, 60, 73, 83, 88),
    "multifieldqa_zh": (8, 15, 30, 36, 40, 58, 69, 87, 100, 105, 121, 127, 157, 184, 194),
    "multi_news": (6, 9, 16, 23, 34, 35, 64, 87, 142, 158, 190),
    "musique": (20, 82, 108, 133, 141, 155, 171),
    "narrativeqa": (28, 46, 72, 80, 109, 156),
    "passage_count": (111, 114, 136, 188),
    "passage_retrieval_en": (13, 32, 33, 36, 44, 47, 50, 85, 119, 122, 140, 147, 165, 178, 187),
    "passage_retrieval_zh": (5, 9, 22, 35, 37, 42, 62, 69, 97, 116, 154, 171, 177, 178, 194),
    "qasper": (34, 45, 83, 93, 95, 110, 121, 143, 172),
    "qmsum": (42, 70, 124, 152, 177, 188),
    "repobench-p": (
        15,
        74,
        165,
        185,
        189,
        220,
        222,
        229,
        243,
        316,
        321,
        329,
        338,
        340,
        362,
        390,
        416,
        422,
        431,
        444,
        458,
        485,
        486,
    ),
    "samsum": (0, 22, 24, 60, 67, 87, 89, 111, 117, 127, 163, 165, 184, 186, 194),
    "trec": (1, 9, 25, 59, 74, 105, 130, 147),
    "triviaqa": (2, 12, 26, 55, 76, 89, 103, 112, 120, 123, 177, 180),
    "vcsum": (71, 73, 88, 110, 111, 136),
}
"""Rows of MiniLongBench's items by LongBench's name of the data set, ascending."""

PROMPTS = frozenset({"prompt", "answers", "dataset", "dataset_index"})


def read_prompt(record: Mapping[str, object], where: str) -> Document:
    """A sample of MiniLongBench: the whole published prompt.

    Raises:
        BadRowError: It has no prompt or no answer, or does not name a data set of LongBench.
    """
    dataset = record["dataset"]
    if not isinstance(dataset, str) or dataset not in LANGUAGES:
        raise BadRowError(f"the field 'dataset' is {str(dataset)[:40]!r}; expected one of {', '.join(LANGUAGES)}")
    text = text_of(record, "prompt")
    if not text:
        raise BadRowError("the field 'prompt' is empty")
    facts: dict[str, Json] = {"even": False, "whole": True, "numbered": True}
    return document_of(record, where, dataset, "dataset_index", text, ((0, len(text)),), facts)


SOURCES = (
    Source(
        name="minilongbench",
        dataset="",
        revision="",
        files=(),
        shapes=(Shape("MiniLongBench", PROMPTS, read_prompt, frozenset({"all_classes"})),),
        licence="not stated (MiniLongBench); MIT (LongBench)",
        citation="Huang et al. (2025), MiniLongBench: The Low-cost Long Context Understanding Benchmark for Large "
        "Language Models, arXiv:2505.19959",
        description="samples of MiniLongBench: finished prompts over LongBench's data",
    ),
)
