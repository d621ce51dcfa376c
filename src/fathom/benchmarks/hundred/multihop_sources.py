"""Questions over several passages in their authors' forms: HotpotQA, 2WikiMultihopQA and MuSiQue."""

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from fathom.documents.corpus.records import BadRowError
from fathom.documents.corpus.text import normalise
from fathom.documents.sources.forms import PassedOverError, from_parts, joined, list_in, objects_in, text_in, word
from fathom.documents.sources.source import Shape
from fathom.types import Document, Question

Spans = tuple[tuple[int, int], ...]


def read_hotpot(record: Mapping[str, object], where: str) -> Document:
    """A record of HotpotQA or 2WikiMultihopQA.

    ``context`` is a list of ``[title, [sentence, ...]]`` or, on the hub, an object with the lists ``title`` and
    ``sentences``; ``supporting_facts`` refers to sentences in the same two ways, by title and number. The evidence is
    these sentences, or the whole passage if it lacks a sentence of that number.

    Raises:
        BadRowError: A field has another form, or there is no answer.
    """
    texts, sentences, titles = [], [], []
    for title, listed in _pairs(record.get("context"), "context", "title", "sentences"):
        if not isinstance(listed, list | tuple):
            raise BadRowError("the field 'context' does not list the sentences of each title")
        text, spans = _passage(title, listed)
        texts.append(text)
        sentences.append(spans)
        titles.append(title)
    text, passages = joined(texts)
    evidence: list[tuple[int, int]] = []
    for title, number in _pairs(record.get("supporting_facts"), "supporting_facts", "title", "sent_id"):
        if title not in titles or not isinstance(number, int):
            continue
        index = titles.index(title)
        start = passages[index][0]
        spans = sentences[index]
        inside = spans[number] if 0 <= number < len(spans) else (0, len(texts[index]))
        evidence.append((start + inside[0], start + inside[1]))
    question = _question(record, [record.get("answer")], tuple(evidence), record.get("type"))
    return from_parts(where, text, [question], identity=record.get("_id", record.get("id")), passages=passages)


def read_musique(record: Mapping[str, object], where: str) -> Document:
    """A record of MuSiQue; the evidence is its supporting paragraphs, the kind the hops in its id.

    Raises:
        BadRowError: A field has another form, or there is no answer.
        PassedOverError: The passages do not contain the answer.
    """
    if record.get("answerable") is False:
        raise PassedOverError("its passages do not answer its question")
    paragraphs = objects_in(record, "paragraphs")
    texts = [
        "\n".join(filter(None, (_line(entry.get("title")), text_in(entry, "paragraph_text")))) for entry in paragraphs
    ]
    text, passages = joined(texts)
    evidence = tuple(
        span
        for span, entry in zip(passages, paragraphs, strict=True)
        if entry.get("is_supporting") and span[0] < span[1]
    )
    aliases = list_in(record, "answer_aliases") if record.get("answer_aliases") is not None else ()
    identity = str(record.get("id") or "")
    kind = identity.partition("__")[0] if "hop" in identity else None
    question = _question(record, [record.get("answer"), *aliases], evidence, kind)
    return from_parts(where, text, [question], identity=identity, passages=passages)


def _question(record: Mapping[str, object], answers: Sequence[object], evidence: Spans, kind: object) -> Question:
    texts = tuple(answer for answer in answers if isinstance(answer, str) and answer.strip())
    asked = text_in(record, "question")
    if not asked:
        raise BadRowError("the field 'question' is empty")
    if not texts:
        raise BadRowError("question without answer")
    words = {"kind": word(kind), "level": word(record.get("level"))}
    return Question(asked, texts, evidence, {name: value for name, value in words.items() if value})


def _passage(title: str, sentences: Sequence[object]) -> tuple[str, Spans]:
    """A passage with its title as the first line, and the spans of its sentences."""
    text = _line(title)
    spans: list[tuple[int, int]] = []
    for number, entry in enumerate(sentences):
        if not isinstance(entry, str):
            raise BadRowError("the field 'context' contains a sentence that is not a string")
        if sentence := normalise(entry):
            text += ("" if not text else " " if number and spans else "\n") + sentence
        spans.append((len(text) - len(sentence), len(text)))
    return text, tuple(spans)


def _pairs(value: object, field: str, first: str, second: str) -> list[tuple[str, object]]:
    """Pairs from a list of pairs, an object of two lists, or either as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise BadRowError(f"the field {field!r} contains a string that is not JSON") from error
    if isinstance(value, Mapping):
        firsts, seconds = value.get(first), value.get(second)
        if isinstance(firsts, list | tuple) and isinstance(seconds, list | tuple):
            value = list(zip_longest(firsts, seconds))
    if not isinstance(value, list | tuple):
        raise BadRowError(f"the field {field!r} does not list pairs of {first} and {second}")
    pairs = []
    for entry in value:
        if not isinstance(entry, list | tuple) or len(entry) != 2 or not isinstance(entry[0], str):
            raise BadRowError(f"the field {field!r} does not list pairs of {first} and {second}")
        pairs.append((entry[0], entry[1]))
    return pairs


def _line(value: object) -> str:
    return " ".join(normalise(value).split()) if isinstance(value, str) else ""


HOTPOT = Shape("HotpotQA", frozenset({"question", "answer", "context", "supporting_facts"}), read_hotpot)
MUSIQUE = Shape("MuSiQue", frozenset({"question", "answer", "paragraphs"}), read_musique)
