"""Word-based retrieval: terms, sentences, and BM25 over sentences or passages."""

import logging
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from fathom.options.terminal import no_widgets

# Each Chinese character is a term; UUIDs, dates and numbers with separators are one term.
_TERM = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:[-'’.,][^\W_\u3400-\u9fff]+)*")
_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*\s+|[。！？…．]+[\"”’」』）)]*\s*|\n+")
_ABBREVIATED = re.compile(r"(?:^|\s)(?:[A-Z]|Mr|Mrs|Ms|Dr|St|No|vs|etc|[a-z]\.[a-z])\.$")
_OTHER = "·"  # replaces every word that is not in the query, so that text lengths stay right
_EXCERPTS, _EXCERPT = 20, 1_000  # number of excerpts, characters of each


def terms(text: str) -> list[str]:
    """Words in lower case; Chinese by characters."""
    return _TERM.findall(text.lower())


def sentences(text: str) -> list[str]:
    """The sentences of a text; a line end ends a sentence too."""
    result: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.group()[0] == "." and _ABBREVIATED.search(text, max(start, match.start() - 5), match.start() + 1):
            continue
        if piece := text[start : match.end()].strip():
            result.append(piece)
        start = match.end()
    if piece := text[start:].strip():
        result.append(piece)
    return result


def finished(texts: Sequence[str]) -> list[str]:
    """Sentences without those at the end that announce what does not follow, as a heading does."""
    return list(texts) if not texts or not texts[-1].endswith((":", "\uff1a")) else finished(texts[:-1])


def excerpt(text: str) -> list[str]:
    """Sentences sampled from the whole text, enough to estimate word frequencies."""
    if len(text) <= _EXCERPTS * _EXCERPT:
        return sentences(text)
    step = len(text) // _EXCERPTS
    return [s for start in range(0, step * _EXCERPTS, step) for s in sentences(text[start : start + _EXCERPT])]


def rank(query: str, texts: Sequence[str], background: Sequence[str] = ()) -> list[float]:
    """Relevance of each text to a query: BM25 over words and pairs of adjacent words.

    Pairs distinguish "the key A" from "A is the value", and act as words in Chinese.

    Args:
        background: Other texts of the same kind that only contribute word frequencies.

    Returns:
        One score per text, at least 0.
    """
    words = terms(query)
    wanted = set(words)
    pairs = {pair: " ".join(pair) for pair in pairwise(words)}
    if not wanted or not texts:
        return [0.0] * len(texts)
    index = _bm25()

    indexed: list[list[str]] = []
    for text in (*texts, *background):
        own_terms = terms(text)
        kept = [word if word in wanted else _OTHER for word in own_terms]
        kept += [pairs[pair] for pair in pairwise(own_terms) if pair in pairs]
        indexed.append(kept)
    if not any(indexed):
        return [0.0] * len(texts)
    index.index(indexed, show_progress=False)
    scores = index.get_scores([*dict.fromkeys(words), *pairs.values()])
    return [float(score) for score in scores[: len(texts)]]


def _bm25() -> Any:
    if "bm25s" not in sys.modules:
        with no_widgets():
            import bm25s  # noqa: F401
        logging.getLogger("bm25s").setLevel(logging.WARNING)  # importing it enables debug logging
    from bm25s import BM25

    return BM25()
