"""ROUGE-L of summaries ("ROUGE-Lsum"): for each sentence of the reference, what it shares with all of a summary.

Source: Lin 2004, section 3.2, as Google's ``rouge_score`` 0.1.2 computes it without stemming. Each sentence of the
reference is compared with every sentence of the summary; its words that are in any of the longest common subsequences
count, a word at most as often as the summary has it. The result depends on which subsequence is taken of several that
are equally long: the package's choice is that of ``rouge`` 1.0.1 with the texts exchanged, so that both share a search.

The package itself is not used: it fills a table of all pairs of words in Python, which takes more than thirty times as
long, and it needs NLTK.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from fathom.score.judge_texts import sentences
from fathom.score.rouge import trace
from fathom.score.text import all_words, ascii_words


def official_sentences(text: str) -> list[list[str]]:
    """The lines of a text as runs of ASCII letters and digits: what the package takes for sentences and words."""
    return [ascii_words(line) for line in text.split("\n")]


def strict_sentences(text: str) -> list[list[str]]:
    """The sentences of a text, wherever its lines end, without bullets, as words of any script."""
    return [all_words(sentence) for sentence in sentences(text)]


def rouge_l_sum(summary: Sequence[Sequence[str]], reference: Sequence[Sequence[str]]) -> float:
    """F1 of the words that a summary shares with the sentences of a reference.

    Args:
        summary: Sentences of the summary, each as its words.
        reference: Sentences of the reference.

    Returns:
        F1 in [0, 1]; 0.0 where either has no words.
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
    """The places of a sentence that are in the longest common subsequence with any sentence of a summary."""
    places: dict[str, int] = {}
    for place, word in enumerate(sentence):
        places[word] = places.get(word, 0) | 1 << place
    met: set[int] = set()
    for other in summary:
        if not places.keys().isdisjoint(other):
            met.update(trace(other, places, len(sentence))[1])
    return met
