"""Metrics of LongBench Pro.

``official`` equals the released functions (the module ``official``). ``strict`` mends their known faults: thoughts,
blank lines and fences are left aside, lines may have list markers, the marker may stand in another case or in other
brackets (``answers``), a line that is repeated counts at its first place, the right pairs of an order are
a share of all pairs of the gold answer, and of a summary only the answer is compared. Words are compared as exactly as
there: nothing but case and spaces is forgiven, and an answer has a line of its own, because gold answers hold commas
too.

Both call a reply valid that has a marker with something after it. A reply without one is scored as a whole, as the
released code does, but is not valid.

Half of the score of a summary is its similarity to the nearest reference, for which the paper takes an embedding model
(Qwen3-Embedding-8B). ``Summary`` takes characters instead (``similarity``), and its grader says so; a judge of
embeddings gives the real one (``rubric``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from types import MappingProxyType

from fathom.benchmarks.longbench.official import spaced
from fathom.benchmarks.pro import official as released
from fathom.benchmarks.pro.answers import answered, lines
from fathom.benchmarks.pro.official import Compare, fold, is_chinese, max_rouge_l, summary_texts
from fathom.benchmarks.pro.similarity import nearest
from fathom.score.registry import Metric, Scorer, ScoringRow
from fathom.score.rouge import rouge_l
from fathom.types import Verdict

SIMILARITY_SHARE = 0.5
"""Share of similarity in the score of a summary; the rest is ROUGE-L."""

BY_CHARACTERS = "similarity by characters, not comparable"
_NOT_THE_PAPERS = (
    "the similarity is one of characters, not of the paper's embedding model: have the summaries judged with "
    "`fathom judge --judge embed/NAME` or embed-local/NAME"
)


def summary_score(similarity: float, rouge: float) -> float:
    """Half similarity, half ROUGE-L."""
    return SIMILARITY_SHARE * similarity + (1 - SIMILARITY_SHARE) * rouge


# ---------------------------------------------------------------------------------------------------- lists


def strict_lines(compare: Compare) -> Scorer:
    """The scorer that puts the lines of a reply to ``compare``; of several areas the best counts."""

    def score(row: ScoringRow) -> Verdict:
        gold = _gold(row)
        if isinstance(gold, Verdict):
            return gold
        found = answered(str(row.prediction))
        value = max(compare(gold, said) if (said := lines(area, gold)) else 0.0 for area in found.areas)
        return Verdict(value, found.valid, found.areas[0].strip() or None, "strict")

    return score


def _gold(row: ScoringRow) -> list[str] | Verdict:
    """The gold lines, folded, without blank and repeated ones; or the verdict where there is nothing to score."""
    if not isinstance(row.prediction, str):
        return Verdict(None, False, grader="strict", detail="no reply: the prediction is no text")
    given = row.answers if isinstance(row.answers, list) else [row.answers]
    gold = list(dict.fromkeys(filter(None, (fold(one) for one in given if isinstance(one, str)))))
    return gold or Verdict(None, False, grader="strict", detail="no gold answer to compare with")


def strict_pairwise(gold: Sequence[str], said: Sequence[str]) -> float:
    """Pairs of gold lines that stand in the right order, as a share of all pairs of gold lines.

    A single gold line has no pairs: there it counts whether it is named.
    """
    if len(gold) < 2:
        return float(gold[0] in said)
    places = {one: place for place, one in enumerate(said)}
    ordered = sum(
        first in places and second in places and places[first] < places[second]
        for first, second in combinations(gold, 2)
    )
    return ordered / math.comb(len(gold), 2)


# ------------------------------------------------------------------------------------------------ summaries


def strict_summary_texts(row: ScoringRow) -> tuple[str, list[str]] | Verdict:
    """The folded summary after the marker, "" where there is none, and its folded references."""
    gold = _gold(row)
    if isinstance(gold, Verdict):
        return gold
    return fold(answered(str(row.prediction)).areas[0]), gold


def strict_rouge_l(reply: str, references: Sequence[str], chinese: bool) -> float:
    """The best ROUGE-L of a folded reply, without the limit of recursion; references without a sentence are left out.

    Args:
        reply: The reply, folded.
        references: The references, folded.
        chinese: Whether words are cut as in Chinese.
    """
    cut = spaced if chinese else str
    words = cut(reply)
    return max((rouge_l(words, cut(one)) or 0.0 for one in references), default=0.0)


def _strict_rouge_half(row: ScoringRow) -> Verdict:
    found = strict_summary_texts(row)
    if isinstance(found, Verdict):
        return found
    reply, references = found
    value = strict_rouge_l(reply, references, is_chinese(row.language))
    return Verdict(value, answered(str(row.prediction)).valid, reply or None, "strict")


def _official_summary(row: ScoringRow) -> Verdict:
    found = summary_texts(row)
    if isinstance(found, Verdict):
        return found
    reply, references = found
    if not reply or not references:
        return Verdict(0.0, False, grader="official")
    rouge = max_rouge_l(reply, references, is_chinese(row.language))
    return _by_characters("official", released.has_answer(str(row.prediction)), reply, references, rouge)


def _strict_summary(row: ScoringRow) -> Verdict:
    found = strict_summary_texts(row)
    if isinstance(found, Verdict):
        return found
    reply, references = found
    rouge = strict_rouge_l(reply, references, is_chinese(row.language))
    return _by_characters("strict", answered(str(row.prediction)).valid, reply, references, rouge)


def _by_characters(rule: str, valid: bool, reply: str, references: Sequence[str], rouge: float) -> Verdict:
    similarity = nearest(reply, references)
    return Verdict(summary_score(similarity, rouge), valid, reply or None, f"{rule} ({BY_CHARACTERS})", _NOT_THE_PAPERS)


def _metric(name: str, official: Scorer, strict: Scorer, description: str) -> Metric:
    return Metric("longbench_pro", name, MappingProxyType({"official": official, "strict": strict}), description)


def _of_lines(name: str, official: Compare, strict: Compare, description: str) -> Metric:
    return _metric(name, released.official_lines(official), strict_lines(strict), description)


METRICS = (
    _of_lines("NDCG", released.ndcg, released.ndcg, "NDCG at the number of gold lines, linear gains"),
    _of_lines("Pairwise_Accuracy", released.pairwise, strict_pairwise, "pairs of gold lines in the right order"),
    _of_lines("Accuracy", released.accuracy, released.accuracy, "is the first line the gold one"),
    _of_lines("F1_Score", released.f1, released.f1, "F1 of the set of lines"),
    _of_lines("SubEM", released.sub_em, released.sub_em, "share of gold lines that are named"),
    _metric("Summary_Max_Rouge_L", released.rouge_half, _strict_rouge_half, "ROUGE-L to the nearest reference"),
    _metric(
        "Summary",
        _official_summary,
        _strict_summary,
        "half ROUGE-L, half similarity to the nearest reference, here by characters: not comparable with the paper's",
    ),
)
