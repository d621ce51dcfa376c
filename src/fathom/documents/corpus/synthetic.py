"""Synthetic documents: pairs of random keys and values, one repeated sentence, and sentences that say nothing.

Keys and values are UUIDs, for retrieval tasks that need nothing else. All pairs of a build are one document, indexed by
number, so that a prompt of thousands of pairs is a short recipe.

A repeated sentence is the simplest filler. In LongLeader (section 4), the context of passkeys repeats a single sentence
unrelated to the key. The sentences are our own.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from uuid import UUID

from fathom.documents.corpus.text import document_id
from fathom.storage.toml import packaged_toml
from fathom.types import Document

WIDTH = 80
"""Characters of a pair as a line of JSON, ``"KEY": "VALUE",`` with its line end."""
SENTENCES = {
    "en": "The road runs along the river, and the river runs down to the sea.",
    "zh": "路沿着河走，河向着海流。",
}
NEUTRAL: Mapping[str, Sequence[str]] = packaged_toml(__package__, "neutral.toml")
"""Sentences without names, numbers or events; our own."""


def pairs_document(seed: int, count: int, language: str = "en") -> Document:
    """A document of ``count`` pairs, one per line, that depends on the seed alone.

    Args:
        count: Number of pairs; a smaller document is a prefix of a larger one.
        language: Language of the prompts that use it.
    """
    text = "\n".join(_lines(Random(f"pairs|{seed}"), count))
    return Document(document_id(text), text, f"pairs:{seed}", language)


def key_and_value(document: Document, number: int) -> tuple[str, str]:
    """Key and value of a pair by its number, from 0."""
    line = document.text[number * WIDTH : (number + 1) * WIDTH]
    return line[1:37], line[41:77]


def size_of(document: Document) -> int:
    """Number of pairs of a document."""
    return -(-len(document.text) // WIDTH)


def neutral_document(count: int, language: str = "en") -> Document:
    """A document of ``count`` paragraphs that say nothing a question could be about; no two are alike for long.

    Args:
        count: Number of paragraphs; a smaller document is a prefix of a larger one.
    """
    rng, sentences = Random(f"neutral|{language}"), NEUTRAL[language]
    between = "" if language == "zh" else " "
    text = "\n\n".join(between.join(rng.sample(sentences, rng.randint(3, 6))) for _ in range(count))
    return Document(document_id(text), text, "neutral", language)


def _lines(rng: Random, count: int) -> Iterator[str]:
    for _ in range(count):
        key, value = (UUID(int=rng.getrandbits(128), version=4) for _ in range(2))
        yield f'"{key}": "{value}",'


def refrain_document(count: int, language: str = "en") -> Document:
    """A document that repeats its sentence ``count`` times."""
    text = ("" if language == "zh" else " ").join([SENTENCES[language]] * count)
    return Document(document_id(text), text, "refrain", language)
