"""ROUGE-L as the Python package ``rouge`` 1.0.1 computes it: the F of a union of longest common subsequences.

The package splits texts into sentences at full stops and into words at spaces, and counts distinct words only. It finds
a subsequence by recursion, one call per step, so that long sentences end in a RecursionError; LongBench and its
derivatives score that, like any other error, as 0.

ROUGE-L of summaries ("ROUGE-Lsum") counts, for each sentence of the reference, what it shares with the whole summary.
Source: Lin 2004, section 3.2, as computed by Google's ``rouge_score`` 0.1.2 without stemming. Each sentence of the
reference is compared with every sentence of the summary; its words in any of the longest common subsequences count,
each word at most as often as in the summary. The result depends on the choice among equally long subsequences: the
package's choice is that of ``rouge`` 1.0.1 with the texts exchanged, so that both share a search.

The package itself is not used: it fills a table of all word pairs in Python, which takes more than thirty times as
long, and it needs NLTK.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain

from fathom.score.judge_texts import sentences
from fathom.score.text import all_words, ascii_words

# Steps for one pair of sentences within Python's default limit of 1,000 calls, without those of the caller.
OFFICIAL_STEPS = 970


def rouge_l(prediction: str, reference: str, most_steps: int | None = None) -> float | None:
    """F of ROUGE-L.

    Args:
        most_steps: Maximum steps of the search for one subsequence; None for no limit.

    Returns:
        F in [0, 1], or None if the package would raise: a text without sentences, or too many steps.
    """
    predicted, gold = _sentences(prediction), _sentences(reference)
    if not predicted or not gold:
        return None
    shared: set[str] = set()
    for sentence in gold:
        for other in predicted:
            words = _common_words(sentence, other, shared, most_steps)
            if words is None:
                return None
            shared.update(words)
    precision = len(shared) / len(set().union(*(sentence.distinct for sentence in predicted)))
    recall = len(shared) / len(set().union(*(sentence.distinct for sentence in gold)))
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


class _Sentence:
    """Words of a sentence: in order, distinct, and the positions of each as the bits of a number."""

    def __init__(self, text: str) -> None:
        self.words = " ".join(text.split()).split(" ")
        self.distinct = frozenset(self.words)
        self._places: dict[str, list[int]] = {}

    def places(self, wanted: frozenset[str]) -> dict[str, int]:
        """The positions of those of the wanted words that it contains."""
        if not self._places:
            for place, word in enumerate(self.words):
                self._places.setdefault(word, []).append(place)
        return {word: self._bits(self._places[word]) for word in wanted & self.distinct}

    def _bits(self, places: Sequence[int]) -> int:
        # Not repeated shifts: each would copy a number as long as the sentence.
        bits = bytearray(len(self.words) // 8 + 1)
        for place in places:
            bits[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(bits, "little")


@lru_cache(maxsize=64)  # replies may be long
def _sentences(text: str) -> tuple[_Sentence, ...]:
    return tuple(_Sentence(piece) for piece in text.split(".") if piece)


def _common_words(
    first: _Sentence, second: _Sentence, known: Set[str], most_steps: int | None
) -> Collection[str] | None:
    """The words of the longest common subsequence that the package finds, or none if all of them are known.

    Returns:
        The words; None if the search takes too many steps.
    """
    mine, theirs = first.words, second.words
    short = most_steps is None or len(mine) + len(theirs) <= most_steps
    if short and (first.distinct & second.distinct) <= known:
        return ()  # whichever words the search finds
    if not short and first.distinct.isdisjoint(second.distinct):
        # Nothing in common: the search moves along the second text only.
        return () if most_steps is None or len(theirs) <= most_steps else None
    if not short and most_steps is not None and min(len(mine), len(theirs)) > most_steps:
        return None
    steps, met = trace(mine, second.places(first.distinct), len(theirs))
    return {theirs[place] for place in met} if short or most_steps is None or steps <= most_steps else None


def trace(first: Sequence[str], places: Mapping[str, int], size: int) -> tuple[int, list[int]]:
    """Steps of the package's search from the ends of two texts, and its matches.

    A row of the table of lengths is stored as the bits of one number, unset where the length increases from one word of
    the second text to the next (``fathom.score.text.common_length``). At different words, the search moves back in the
    first text if the length increases there, else in the second: from a row it moves left to the next position where
    the length increases or the words are equal, in as many steps.

    Args:
        places: The positions of its words in the second text, each as the bits of a number.

    Returns:
        The steps, and the positions in the second text, the last first.
    """
    full = (1 << size) - 1
    row = full
    rows = []
    for word in first:
        equal = places.get(word, 0)
        shared = row & equal
        if shared:
            row = ((row + shared) | (row - shared)) & full
        rows.append((equal, row))
    column, steps = size, 0
    met: list[int] = []
    while rows and column:
        equal, row = rows.pop()
        before = column
        column = ((equal | ~row) & ((1 << column) - 1)).bit_length()
        steps += before - column
        if not column:
            break
        steps += 1
        if equal >> (column - 1) & 1:
            column -= 1
            met.append(column)
    return steps, met


def official_sentences(text: str) -> list[list[str]]:
    """The lines of a text as lists of ASCII words: the package's sentences and words."""
    return [ascii_words(line) for line in text.split("\n")]


def strict_sentences(text: str) -> list[list[str]]:
    """The sentences of a text, regardless of line ends, without bullets, as words of any script."""
    return [all_words(sentence) for sentence in sentences(text)]


def rouge_l_sum(summary: Sequence[Sequence[str]], reference: Sequence[Sequence[str]]) -> float:
    """F1 of the words that a summary shares with the sentences of a reference.

    Returns:
        F1 in [0, 1]; 0.0 if either has no words.
    """
    shared: Counter[str] = Counter()
    for sentence in reference:
        shared.update(sentence[place] for place in _places_met(sentence, summary))
    hits = (shared & Counter(chain.from_iterable(summary))).total()
    if not hits:
        return 0.0
    precision, recall = hits / sum(map(len, summary)), hits / sum(map(len, reference))
    return 2 * precision * recall / (precision + recall)


def _places_met(sentence: Sequence[str], summary: Sequence[Sequence[str]]) -> set[int]:
    """The positions of a sentence in the longest common subsequence with any sentence of a summary."""
    places: dict[str, int] = {}
    for place, word in enumerate(sentence):
        places[word] = places.get(word, 0) | 1 << place
    met: set[int] = set()
    for other in summary:
        if not places.keys().isdisjoint(other):
            met.update(trace(other, places, len(sentence))[1])
    return met
