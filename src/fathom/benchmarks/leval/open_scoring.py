"""Metrics of L-Eval's open tasks ("f1" and "rouge"): words of a reply and of the gold answer.

``official`` equals ``auto_eval.py`` of the paper's repository: token F1 of English words, and ROUGE by Google's
``rouge_score`` without stemming, with runs of ASCII letters and digits as words. So a correct Chinese reply has a ROUGE
of 0, an accent splits a word, and thoughts count as words.

``strict`` ignores thoughts and uses words of any script and width, Chinese ones by jieba.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from fathom.score.answers import words_score
from fathom.score.dialects import without_reasoning
from fathom.score.registry import Metric, Scorer, ScoringRow, crash, unscored
from fathom.score.text import all_words, ascii_words, bag_f1, common_length, has_chinese, official_words
from fathom.types import Score

Compare: TypeAlias = Callable[[Sequence[str], Sequence[str]], float]
Alike: TypeAlias = Callable[[str, str], float]  # of a reply and the gold answer


def rouge_1(first: Sequence[str], second: Sequence[str]) -> float:
    """F1 of the words that two texts share, as bags."""
    return bag_f1(first, second)


def rouge_2(first: Sequence[str], second: Sequence[str]) -> float:
    """F1 of the pairs of adjacent words that two texts share, as bags."""
    return bag_f1([f"{word} {other}" for word, other in pairwise(first)], [f"{a} {b}" for a, b in pairwise(second)])


def rouge_l(first: Sequence[str], second: Sequence[str]) -> float:
    """F1 of the longest common subsequence of two whole texts, without full stops."""
    common = common_length(first, second)
    return 2 * common / (len(first) + len(second)) if common else 0.0


def _rouge(words: Callable[[str], Sequence[str]], compare: Compare) -> Alike:
    return lambda reply, gold: compare(words(reply), words(gold))


def _f1_official(reply: str, gold: str) -> float:
    return bag_f1(official_words(reply), official_words(gold))


def _official(alike: Alike) -> Scorer:
    def score(row: ScoringRow) -> Score:
        gold = _gold(row)
        if not isinstance(gold, str) or not isinstance(row.prediction, str):
            return crash("AttributeError", "the released code cannot split a non-string into words")
        text = row.prediction.strip()
        return Score(alike(text, gold), bool(text), text or None, "official")

    return score


def _strict(alike: Alike | None) -> Scorer:
    """The strict scorer; of answers in words (None) the token F1."""

    def score(row: ScoringRow) -> Score:
        gold = _gold(row)
        if not isinstance(gold, str):
            return unscored("strict", "the gold answer is not a string")
        if not isinstance(row.prediction, str):
            return unscored("strict")
        if alike is None:
            return words_score(row.prediction, [gold], "zh" if has_chinese(gold) else "en")
        text = without_reasoning(row.prediction).strip()
        return Score(alike(text, gold) if text else 0.0, bool(text), text or None, "strict")

    return score


def _gold(row: ScoringRow) -> object:
    return row.answers[0] if isinstance(row.answers, list) and len(row.answers) == 1 else row.answers


def _metric(name: str, official: Alike, strict: Alike | None, description: str) -> Metric:
    return Metric.of("leval", name, _official(official), _strict(strict), description)


def _rouge_metric(name: str, compare: Compare, description: str) -> Metric:
    return _metric(name, _rouge(ascii_words, compare), _rouge(all_words, compare), description)


METRICS = (
    _metric("f1", _f1_official, None, "overlap of words with the gold answer (open questions)"),
    _rouge_metric("rouge1", rouge_1, "words shared with the gold summary (ROUGE-1)"),
    _rouge_metric("rouge2", rouge_2, "pairs of words shared with the gold summary (ROUGE-2)"),
    _rouge_metric("rouge", rouge_l, "words in the order of the gold summary (ROUGE-L)"),
)
