"""Few-NERD in LongICLBench's form: sentences with their entities, each of one of 66 fine types.

``entities`` is an object of types by entity, so that a name that occurs twice in a sentence has one type. The data set
on the hub has a tag per word instead (DFKI-SLT/few-nerd); of the 37,648 sentences of its test split LongICLBench uses
1,800. Only the files in LongICLBench's repository are supported.
"""

import json
from collections.abc import Mapping
from functools import partial

from fathom.benchmarks.leader.dialogre_records import DEMONSTRATION, TEST
from fathom.corpus.records import BadRowError
from fathom.corpus.text import document_id
from fathom.sources.forms import PassedOverError, text_in
from fathom.sources.source import Shape, Source
from fathom.types import Document

NAME = "fewnerd"


def read_sentence(record: Mapping[str, object], where: str, use: str) -> Document:
    """A sentence; ``meta["entities"]`` are pairs of an entity and its type, in the order of the record.

    Args:
        record: The record.
        where: The source to record.
        use: Its use, ``TEST`` or ``DEMONSTRATION``.

    Raises:
        BadRowError: A field has another form.
        PassedOverError: There is no entity, or one that does not occur in the sentence, so that it cannot be found.
    """
    text, entities = text_in(record, "sentence"), record.get("entities")
    if not text:
        raise BadRowError("the field 'sentence' is empty")
    if not isinstance(entities, Mapping):
        raise BadRowError(f"the field 'entities' holds a value of type {type(entities).__name__}, expected an object")
    named = [[str(entity).strip(), kind] for entity, kind in entities.items() if kind is not None]
    if not all(entity and isinstance(kind, str) and kind.strip() for entity, kind in named):
        raise BadRowError("the field 'entities' should have a type, a text, for each entity")
    if not named:
        raise PassedOverError("it has no entity")
    if not all(entity in text for entity, _ in named):
        raise PassedOverError("it names an entity that does not occur in the sentence")
    said = {"dataset": NAME, "use": use, "entities": named}
    return Document(document_id(json.dumps([said, text], sort_keys=True)), text, where, language="en", meta=said)


def _source(name: str, names: tuple[str, ...], use: str, description: str) -> Source:
    fields = frozenset({"sentence", "entities"})
    return Source(
        name=name,
        dataset="",
        revision="",
        files=(),
        shapes=(Shape("Few-NERD (LongICLBench)", fields, partial(read_sentence, use=use)),),
        licence="CC-BY-SA-4.0 (Few-NERD); MIT (LongICLBench)",
        citation="Ding et al. (2021), Few-NERD: A Few-Shot Named Entity Recognition Dataset, arXiv:2105.07464; Li et "
        "al. (2024), Long-context LLMs Struggle with Long In-context Learning, arXiv:2404.02060",
        description=description,
        names=names,
    )


SOURCES = (
    _source(
        NAME,
        ("fewnerd_test_1800",),
        TEST,
        "sentences whose entities are asked for (github.com/TIGER-AI-Lab/LongICLBench only)",
    ),
    _source(
        "fewnerd_demos",
        ("fewnerd_train_10turns",),
        DEMONSTRATION,
        "sentences that show entities and their types (github.com/TIGER-AI-Lab/LongICLBench only)",
    ),
)
