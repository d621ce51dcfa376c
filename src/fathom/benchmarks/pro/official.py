"""The scorers of LongBench Pro as in ``modules/utils.py`` of its repository, including its faults.

The text after the last ``[Answer]`` is used, else after the last ``[答案]``, else the whole reply; split into lines, in
lower case, with single spaces. Blank lines are items like others. For summaries the whole reply is compared, including
its thoughts.

The scores are those of the functions. The program around them counts an empty reply, an exception and a score outside 0
to 1 as 0; ``fathom.rows.scoring`` does the latter.
"""

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TypeAlias

from fathom.benchmarks.longbench.official import spaced
from fathom.score.registry import Scorer, ScoringRow, crash
from fathom.score.rouge import OFFICIAL_STEPS, rouge_l
from fathom.types import Score

Compare: TypeAlias = Callable[[Sequence[str], Sequence[str]], float]
"""A score from the lines of the gold answer and those of the reply."""

MARKERS = ("[Answer]", "[答案]")


def fold(text: str) -> str:
    """A text in lower case, with single spaces and none at its ends."""
    return " ".join(text.lower().split())


def is_chinese(language: str) -> bool:
    """Whether summaries in a language are compared by Chinese words: by its code, or its name in the records."""
    return language in ("zh", "Chinese")


def official_lines(compare: Compare) -> Scorer:
    """The scorer that passes the lines of a reply to ``compare``."""

    def score(row: ScoringRow) -> Score:
        gold = gold_texts(row)
        if isinstance(gold, Score):
            return gold
        if not isinstance(row.prediction, str):
            # A list can be searched for the marker, and then fails as a non-string.
            exception = "AttributeError" if isinstance(row.prediction, list | dict) else "TypeError"
            return crash(exception, "the released code looks for the answer in a non-string")
        area = _area(row.prediction)
        lines = [fold(line) for line in area.lower().split("\n")]
        value = compare(gold, lines) if gold else 0.0
        return Score(value, valid=has_answer(row.prediction), answer=area or None, grader="official")

    return score


def gold_texts(row: ScoringRow) -> list[str] | Score:
    """The folded gold answers, or the score where the released code raises."""
    if not isinstance(row.answers, list | str | dict):
        return crash("TypeError", "the released code needs a list of gold answers")
    # A text is treated as a list of its letters.
    gold: list[object] = list(row.answers)
    texts = [fold(entry) for entry in gold if isinstance(entry, str)]
    if len(texts) < len(gold):
        return crash("AttributeError", "the released code cannot convert a non-string to lower case")
    return texts


def has_answer(reply: str) -> bool:
    """Whether a reply has a marker followed by text."""
    return any(marker in reply for marker in MARKERS) and bool(_area(reply))


def _area(reply: str) -> str:
    """The part of a reply that is used."""
    marker = next((marker for marker in MARKERS if marker in reply), "")
    return (reply.rpartition(marker)[2] if marker else reply).strip()


def accuracy(gold: Sequence[str], lines: Sequence[str]) -> float:
    """Whether the first lines are equal."""
    return float(gold[0] == lines[0])


def f1(gold: Sequence[str], lines: Sequence[str]) -> float:
    """F1 of the two sets of lines."""
    wanted, replied = set(gold), set(lines)
    common = len(wanted & replied)
    if not common:
        return 0.0
    precision, recall = common / len(replied), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def sub_em(gold: Sequence[str], lines: Sequence[str]) -> float:
    """Share of the gold lines that occur, each as often as in the gold answer."""
    replied = set(lines)
    return sum(line in replied for line in gold) / len(gold)


def ndcg(gold: Sequence[str], lines: Sequence[str]) -> float:
    """NDCG at the number of gold lines, with linear gains, as trec_eval computes it.

    Of duplicate lines the last position counts, in the gold answer and in the reply. For trec_eval, which is written in
    C, a text ends at its first NUL.
    """
    gains = {line.partition("\0")[0]: len(gold) - place for place, line in enumerate(gold)}
    places = {line.partition("\0")[0]: place for place, line in enumerate(lines)}
    ranked = sorted(places, key=places.__getitem__)[: len(gold)]
    best = sorted(gains.values(), reverse=True)
    return _discounted([gains.get(line, 0) for line in ranked]) / _discounted(best)


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def pairwise(gold: Sequence[str], lines: Sequence[str]) -> float:
    """Pairs of gold lines in the correct order, as a share of all pairs of lines of the reply.

    Known fault: a reply of two correct lines gets full marks; and with a duplicate gold line the score exceeds 1.
    """
    if len(gold) < 2 or len(lines) < 2:
        return 0.0
    return correct_pairs(gold, lines) / math.comb(len(lines), 2)


def correct_pairs(gold: Sequence[str], lines: Sequence[str]) -> int:
    """How many pairs of gold lines are in the correct order; of duplicate lines the last position counts."""
    places = {line: place for place, line in enumerate(lines)}
    return sum(
        first in places and second in places and places[first] < places[second]
        for first, second in combinations(gold, 2)
    )


def max_rouge_l(reply: str, references: Sequence[str], chinese: bool) -> float:
    """The best ROUGE-L of a folded reply; 0 if the package fails for any of the references.

    Args:
        reply: The reply, folded.
        references: The references, folded; at least one.
        chinese: Whether to split into Chinese words.
    """
    cut = spaced if chinese else str
    words = cut(reply)
    scores = [rouge_l(words, cut(reference), OFFICIAL_STEPS) for reference in references]
    return 0.0 if None in scores else max(value for value in scores if value is not None)


def rouge_half(row: ScoringRow) -> Score:
    """The half of a summary's score that needs no model."""
    texts = summary_texts(row)
    if isinstance(texts, Score):
        return texts
    reply, references = texts
    if not references:
        return crash("ValueError", "the released code takes the best of no references")
    value = max_rouge_l(reply, references, is_chinese(row.language))
    return Score(value, valid=has_answer(str(row.prediction)), answer=reply or None, grader="official")


def summary_texts(row: ScoringRow) -> tuple[str, list[str]] | Score:
    """A folded reply and its folded references, or the score where the released code raises."""
    gold = gold_texts(row)
    if isinstance(gold, Score):
        return gold
    if not isinstance(row.prediction, str):
        return crash("AttributeError", "the released code cannot convert a non-string to lower case")
    return fold(row.prediction), gold
