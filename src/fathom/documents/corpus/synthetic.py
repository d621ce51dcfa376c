"""Synthetic documents: pairs of random keys and values, one repeated sentence, and sentences that say nothing.

Keys and values are UUIDs, for retrieval tasks that need nothing else. All pairs of a build are one document, indexed by
number, so that a prompt of thousands of pairs is a short recipe.

A repeated sentence is the simplest filler. In LongLeader (section 4), the context of passkeys repeats a single sentence
unrelated to the key. The sentences are our own.
"""

from collections.abc import Iterator
from random import Random
from uuid import UUID

from fathom.documents.corpus.text import document_id
from fathom.types import Document

WIDTH = 80
"""Characters of a pair as a line of JSON, ``"KEY": "VALUE",`` with its line end."""
SENTENCES = {
    "en": "The road runs along the river, and the river runs down to the sea.",
    "zh": "路沿着河走，河向着海流。",
}
NEUTRAL = {
    "en": (
        "This part of the text is only here to fill the page.",
        "It could be left out, and nothing would be missed.",
        "What matters is said elsewhere, if it is said at all.",
        "Here one sentence follows another, as they tend to do.",
        "Whoever reads on will come to the end of it in time.",
        "No more is meant by these words than that they stand here.",
        "Some texts are long, some are short, and this one goes on.",
        "There is little to add to that, and so little is added.",
        "The next sentence says no more than the one before it.",
        "It is an ordinary paragraph, and it makes no claim.",
        "A reader may pass over these lines without any loss.",
        "They were put down in no particular order.",
        "Nothing depends on them, and they depend on nothing.",
        "So it goes on for a while, quietly and without haste.",
        "Then, as might be expected, there is a little more of it.",
        "That is all that there is to say at this point.",
        "Words like these can be found in many places.",
        "They take up room, which is what they are for.",
    ),
    "zh": (
        "这一段文字只是用来填满篇幅的。",
        "把它略去也不会少了什么。",
        "要紧的话若是有，也写在别处。",
        "这里不过是一句接着一句写下去。",
        "读的人慢慢读，总会读到末尾。",
        "这些话摆在这里，并没有别的意思。",
        "文章有长有短，这一篇还要继续。",
        "关于这一点没有多少可以补充，也就不多补充了。",
        "下一句说的并不比上一句更多。",
        "这是很平常的一段，没有提出什么主张。",
        "略过这几行，对读者没有损失。",
        "这些句子没有按什么特别的次序排列。",
        "没有什么要靠它们，它们也不靠什么。",
        "就这样平平静静地再写上一会儿。",
        "接下来，不出所料，还有一点类似的话。",
        "说到这里，也就是这些了。",
        "这样的话在许多地方都可以看到。",
        "它们占着地方，用处也就在这里。",
    ),
}
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
        language: Its language.
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
