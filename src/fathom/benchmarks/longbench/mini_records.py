"""MiniLongBench: its rows of LongBench, and its samples as finished prompts.

The numbers are published by MiniLongBench (github.com/MilkThink-Lab/MiniLongBench at commit 504c247,
``data/anchor.pkl``) as positions among all 4,750 items, data sets in alphabetical order; here they are rows of each
data set's file.
"""

import csv
from collections.abc import Mapping
from importlib import resources
from typing import Annotated

from annotated_types import Predicate

from fathom.benchmarks.longbench.records import LANGUAGES, Gold, Row, document_of
from fathom.documents.corpus.records import typed
from fathom.documents.corpus.text import storable
from fathom.documents.sources.source import Shape, Source
from fathom.storage.schema import among
from fathom.types import Document, Json

ANCHORS: Mapping[str, tuple[int, ...]] = {
    line["dataset"]: tuple(map(int, line["rows"].split()))
    for line in csv.DictReader((resources.files(__package__) / "mini_rows.csv").read_text("utf-8").splitlines())
}
"""Rows of MiniLongBench's items by LongBench's name of the data set, ascending."""


class Record(Gold):
    """A sample: a whole prompt over a row of a data set of LongBench."""

    prompt: Annotated[str, Predicate(bool)]
    dataset: Annotated[str, Predicate(LANGUAGES.__contains__), among(LANGUAGES)]
    dataset_index: Row


def read_prompt(record: Mapping[str, object], where: str) -> Document:
    """A sample of MiniLongBench: the whole published prompt.

    Raises:
        BadRowError: It has no prompt or no answer, or does not name a data set of LongBench.
    """
    fields = typed(Record, record)
    text = storable(fields["prompt"])
    facts: dict[str, Json] = {"even": False, "whole": True, "numbered": True}
    return document_of(fields, where, fields["dataset"], fields["dataset_index"], text, ((0, len(text)),), facts)


SOURCES = (
    Source(
        name="minilongbench",
        dataset="",
        revision="",
        files=(),
        shapes=(Shape.of("MiniLongBench", Record, read_prompt),),
        licence="not stated (MiniLongBench); MIT (LongBench)",
        citation="Huang et al. (2025), MiniLongBench: The Low-cost Long Context Understanding Benchmark for Large "
        "Language Models, arXiv:2505.19959",
        description="samples of MiniLongBench: finished prompts over LongBench's data",
    ),
)
