"""Few-NERD: sentences with their entities, each of one of 66 fine types.

Three forms are supported: LongICLBench's, in which ``entities`` is an object of types by entity, so that a name that
occurs twice in a sentence has one type, and the authors' two, texts with a word, a tab and its label a line, and
episodes, JSON objects with the sentences of a support and a query set. LongICLBench uses 1,800 of the 37,648 sentences
of the supervised test split, which are asked about, and 560 of the training split as demonstrations. Of the authors'
files the test split is asked about, the others are demonstrations.

The authors' labels have no marks of beginnings, so that adjacent words with one label are one entity; copies with the
marks B- and I- are read too. Words are joined as LongICLBench does: without blanks around punctuation.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from fathom.benchmarks.leader.dialogre_records import DEMONSTRATION, TEST
from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import document_id, normalise
from fathom.documents.records import Fault, Record
from fathom.documents.sources.forms import PassedOverError, list_in, text_in
from fathom.documents.sources.source import SPLIT, Shape, Source
from fathom.types import Document

NAME = "fewnerd"
OUTSIDE = "O"
"""The label of words outside entities."""

_MARKS = ("B-", "I-")
_SETS = ("support", "query")
_QUOTE = "``"  # opens and closes in most sentences; '' only closes
_TIGHT_BEFORE = frozenset(
    (*",.;:!?)]}%", "...", "..", "''", "'", "’", "”", "'s", "’s", "'m", "'d", "'re", "'ve", "'ll", "n't")
)
_TIGHT_AFTER = frozenset((*"([{$£€#", "“"))


def read_sentence(record: Mapping[str, object], where: str, use: str) -> Document:
    """A sentence; ``meta["entities"]`` are pairs of an entity and its type, in the order of the record.

    Args:
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
    return _sentence(where, text, named, use)


def read_words(record: Mapping[str, object], where: str) -> Document:
    """A sentence in the authors' form: a label for each word; a test sentence if the field ``split`` is ``test``.

    Raises:
        BadRowError: A field has another form.
        PassedOverError: There is no entity.
    """
    words, labels = ([str(item) for item in list_in(record, field)] for field in ("word", "label"))
    if len(words) != len(labels):
        raise BadRowError(f"it has {len(words)} words and {len(labels)} labels, expected one for each word")
    text, spans = _joined([normalise(word) for word in words])
    entities: dict[str, str] = {}
    for first, last, kind in _entities(labels):
        entities.setdefault(text[spans[first][0] : spans[last][1]], kind)
    if not entities:
        raise PassedOverError("it has no entity")
    use = TEST if record.get(SPLIT) == TEST else DEMONSTRATION
    return _sentence(where, text, [list(entry) for entry in entities.items()], use)


def parts(record: Record) -> Iterator[Record | Fault]:
    """The sentences of a text or an episode; other records are yielded unchanged."""
    fields = record.fields
    if isinstance(text := fields.get("text"), str):
        yield from _sentences(text)
    elif all(isinstance(fields.get(name), Mapping) for name in _SETS):
        for name in _SETS:
            words, labels = (_lists(fields[name], field) for field in ("word", "label"))
            if words is None or labels is None or len(words) != len(labels):
                yield Fault(record.line, f"the field {name!r} should have lists 'word' and 'label' of one length")
            else:
                pairs = zip(words, labels, strict=True)
                yield from (Record(record.line, {"word": word, "label": label}) for word, label in pairs)
    else:
        yield record


def _lists(value: object, field: str) -> Sequence[object] | None:
    listed = value.get(field) if isinstance(value, Mapping) else None
    return listed if isinstance(listed, list) else None


def _sentences(text: str) -> Iterator[Record | Fault]:
    """The sentences of a text, at the lines of their first words; a text of another form is one fault."""
    start, words, labels = 0, list[str](), list[str]()
    for number, line in enumerate((*text.split("\n"), ""), start=1):
        if line.strip() and not line.startswith("-DOCSTART-"):
            word, tab, label = line.rstrip("\r").partition("\t")
            if not (tab and label.strip()):
                yield Fault(number, "expected a word, a tab and its label")
                if not start:
                    return
            elif word.strip():
                start = start if words else number
                words.append(word.strip())
                labels.append(label.rpartition("\t")[2].strip())
        elif words:
            yield Record(start, {"word": words, "label": labels})
            words, labels = [], []


def _entities(labels: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """First and last word of each entity, and its type."""
    first, open_kind = 0, OUTSIDE
    for number, label in enumerate((*labels, OUTSIDE)):
        kind = label[2:] if label.startswith(_MARKS) else label
        if kind == open_kind and not label.startswith(_MARKS[0]):
            continue
        if open_kind != OUTSIDE:
            yield first, number - 1, open_kind
        first, open_kind = number, kind


def _joined(words: Iterable[str]) -> tuple[str, list[tuple[int, int]]]:
    """The text of some words, and the span of each."""
    text, spans, tight, quoted = "", list[tuple[int, int]](), True, False
    for word in words:
        opens = word == _QUOTE and not quoted
        closes = word == "''" or (word == _QUOTE and quoted)
        quoted = opens or (quoted and not closes)
        text += "" if tight or closes or word in _TIGHT_BEFORE else " "
        spans.append((len(text), len(text) + len(word)))
        text += word
        tight = opens or word in _TIGHT_AFTER
    return text, spans


def _sentence(where: str, text: str, entities: Sequence[list[str]], use: str) -> Document:
    meta = {"dataset": NAME, "use": use, "entities": list(entities)}
    return Document(document_id(json.dumps([meta, text], sort_keys=True)), text, where, language="en", meta=meta)


def _source(name: str, names: tuple[str, ...], use: str, description: str, *, original: bool = False) -> Source:
    fields = frozenset({"sentence", "entities"})
    shapes = [Shape("Few-NERD (LongICLBench)", fields, partial(read_sentence, use=use))]
    if original:
        shapes.append(Shape("Few-NERD", frozenset({"word", "label"}), read_words, frozenset({SPLIT})))
    return Source(
        name=name,
        dataset="",
        revision="",
        files=(),
        shapes=tuple(shapes),
        licence="CC-BY-SA-4.0 (Few-NERD); MIT (LongICLBench)",
        citation="Ding et al. (2021), Few-NERD: A Few-Shot Named Entity Recognition Dataset, arXiv:2105.07464; Li et "
        "al. (2024), Long-context LLMs Struggle with Long In-context Learning, arXiv:2404.02060",
        description=description,
        names=names,
        parts=parts if original else None,
        texts=original,
        every_split=original,
    )


SOURCES = (
    _source(
        NAME,
        # The supervised splits before those of few-shot learning, whose test splits lack most types.
        ("fewnerd_test_1800", "supervised", "few_nerd"),
        TEST,
        "sentences whose entities are asked for, in the authors' files also those that are shown (github.com/"
        "thunlp/Few-NERD or github.com/TIGER-AI-Lab/LongICLBench only)",
        original=True,
    ),
    _source(
        "fewnerd_demos",
        ("fewnerd_train_10turns",),
        DEMONSTRATION,
        "sentences that show entities and their types (github.com/TIGER-AI-Lab/LongICLBench only)",
    ),
)
