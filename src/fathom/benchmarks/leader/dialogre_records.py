"""DialogRE: dialogues of a television series with pairs of people or things in them and how these are related.

Three forms are supported: the authors' (a list of turns and a list of pairs, as their JSON files have it, or the same
with field names), and the two of LongICLBench, one for its test dialogues and one, a row per pair, for its
demonstrations. As in LongICLBench a pair with several relations keeps the first, and pairs whose relation is
``unanswerable`` are left out.

The authors' repository has two versions, of which the second corrects the labels of most dialogues, in English and
Chinese; the second in English is used. Its test split is asked about, the others are demonstrations.
"""

import json
from collections.abc import Mapping, Sequence

from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import detect_language, document_id, normalise
from fathom.documents.sources.forms import PassedOverError, list_in, objects_in, text_in
from fathom.documents.sources.source import SPLIT, Shape, Source
from fathom.types import Document

NAME = "dialogre"
NO_RELATION = "unanswerable"
TEST, DEMONSTRATION = "test", "demonstration"
"""The use of a record, ``meta["use"]``: as a question, or as a demonstration."""


def read_dialogre(record: Mapping[str, object], where: str) -> Document:
    """A dialogue in the authors' form; a test dialogue if the field ``split`` is ``test``.

    Raises:
        BadRowError: A field has another form.
        PassedOverError: No pair has a relation, or the dialogue is not in English.
    """
    turns = [normalise(turn) for turn in list_in(record, "dialogue") if isinstance(turn, str)]
    if detect_language("\n".join(turns)) != "en":
        raise PassedOverError("it is not of the English edition")
    pairs = []
    for entry in objects_in(record, "relations"):
        relations = [
            relation for relation in list_in(entry, "r") if isinstance(relation, str) and relation != NO_RELATION
        ]
        if relations:
            pairs.append(_pair(entry, "x", "y", relations[0]))
    use = TEST if record.get(SPLIT) == TEST else DEMONSTRATION
    return _dialogue(where, "\n".join(filter(None, turns)), pairs, use)


def read_test(record: Mapping[str, object], where: str) -> Document:
    """A test dialogue in LongICLBench's form.

    Raises:
        BadRowError: A field has another form.
        PassedOverError: There is no pair.
    """
    entries = objects_in(record, "relations")
    pairs = [_pair(entry, "subject_entity", "object_entity", entry.get("relation")) for entry in entries]
    return _dialogue(where, text_in(record, "dialogue"), pairs, TEST)


def read_demonstration(record: Mapping[str, object], where: str) -> Document:
    """One pair of a dialogue in the form of LongICLBench's demonstrations.

    Raises:
        BadRowError: A field has another form.
    """
    pair = _pair(record, "subject_entity", "object_entity", record.get("relation"))
    return _dialogue(where, text_in(record, "dialogue"), [pair], DEMONSTRATION)


def _pair(entry: Mapping[str, object], first: str, second: str, relation: object) -> list[str]:
    names = []
    for name, value in ((first, entry.get(first)), (second, entry.get(second)), ("relation", relation)):
        if not isinstance(value, str) or not (text := " ".join(normalise(value).split())):
            raise BadRowError(f"the field {name!r} of a relation is not text")
        names.append(text)
    return names


def _dialogue(where: str, text: str, pairs: Sequence[Sequence[str]], use: str) -> Document:
    if not text:
        raise BadRowError("the field 'dialogue' is empty")
    if not pairs:
        raise PassedOverError("none of its pairs has a relation")
    meta = {"dataset": NAME, "use": use, "pairs": [list(pair) for pair in pairs]}
    # The same dialogue may be both a question and a demonstration; the task separates them.
    return Document(document_id(json.dumps([meta, text], sort_keys=True)), text, where, language="en", meta=meta)


def _source(
    name: str, names: tuple[str, ...], shapes: tuple[Shape, ...], description: str, *, original: bool = False
) -> Source:
    return Source(
        name=name,
        dataset="",
        revision="",
        files=(),
        shapes=shapes,
        licence="non-commercial research only (DialogRE)",
        citation="Yu et al. (2020), Dialogue-Based Relation Extraction, arXiv:2004.08056; Li et al. (2024), "
        "Long-context LLMs Struggle with Long In-context Learning, arXiv:2404.02060",
        description=description,
        names=names,
        listed=("dialogue", "relations") if original else (),
        every_split=original,
        folder="data_v2/en" if original else "",
    )


_PAIRS = frozenset({"dialogue", "relation", "subject_entity", "object_entity"})

SOURCES = (
    _source(
        NAME,
        ("dialogre_en", "train_dialoguere_processed"),
        (
            Shape("DialogRE, one pair a row (LongICLBench)", _PAIRS, read_demonstration),
            Shape("DialogRE", frozenset({"dialogue", "relations"}), read_dialogre, frozenset({SPLIT})),
        ),
        "dialogues with pairs that are asked for or shown (github.com/nlpdata/dialogre only)",
        original=True,
    ),
    _source(
        "longicl_dialogre",
        ("test_dialoguere",),
        (Shape("DialogRE (LongICLBench)", frozenset({"dialogue", "relations"}), read_test),),
        "dialogues with pairs whose relations are asked for (github.com/TIGER-AI-Lab/LongICLBench only)",
    ),
)
