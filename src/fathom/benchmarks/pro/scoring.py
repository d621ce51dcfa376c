"""Metrics of LongBench Pro.

``official`` equals the released functions (the module ``official``). ``strict`` mends their known faults: thoughts,
blank lines and fences are left aside, lines may have list markers, the marker may stand in another case or in other
brackets, a line that is repeated counts at its first place, the right pairs of an order are
a share of all pairs of the gold answer, and of a summary only the answer is compared. Words are compared as exactly as
there: nothing but case and spaces is forgiven, and an answer has a line of its own, because gold answers hold commas
too.

Both call a reply valid that has a marker with something after it. A reply without one is scored as a whole, as the
released code does, but is not valid.

Half of the score of a summary is its similarity to the nearest reference, for which the paper takes an embedding model
(Qwen3-Embedding-8B). ``Summary`` takes characters instead, and its grader says so; a judge of embeddings gives
the real one (``rubric``). How alike two texts are by their characters is the cosine of the counts of
two and three characters in a row, each count as one plus its logarithm. It needs no model, gives the same everywhere,
and serves English and Chinese alike. It is not comparable with the similarity of any embedding model: it sees letters,
not meaning.
"""

import math
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

from fathom.benchmarks.longbench.official import spaced
from fathom.benchmarks.pro import official as released
from fathom.benchmarks.pro.official import MARKERS, Compare, fold, is_chinese, max_rouge_l, summary_texts
from fathom.score.registry import Metric, Scorer, ScoringRow
from fathom.score.rouge import rouge_l
from fathom.score.text import without_reasoning
from fathom.types import Verdict

_EXACT = re.compile("|".join(map(re.escape, MARKERS)))
# "[ANSWER]", "[final answer]", "【答案】", "［答案］".
_BRACKETED = re.compile(r"[\[［【]\s*(?:final\s+|最终)?(?:answer|答案)\s*[\]］】]", re.IGNORECASE)
# "Answer:", "**Final answer:**", "答案：" at the beginning of a line.
_LABEL = re.compile(r"^[ \t>#*_]*(?:final[ \t]+|最终)?(?:answer|答案)[*_ \t]*[:：]", re.IGNORECASE | re.MULTILINE)
# What may stand between a marker and the answer on the line of the marker: "**[Answer]**: B".
_AFTER_MARKER = " \t*_:："
# "- ", "• ", "1. ", "1.x", "1) ", "1、", "(1)", "（1）"; what follows must say something. "1.5" is a number.
_LIST_MARKER = re.compile(
    r"(?:[-*+‣◦·–—]\s+|•\s*|[0-9]{1,3}(?:[.)．]\s+|[.)．](?=[^\s0-9])|、\s*)|[(（][0-9]{1,3}[)）]\s*)(?=\S)"
)
_FENCE = re.compile(r"`{3,}\w*")
SIZES = (2, 3)
SIMILARITY_SHARE = 0.5
"""Share of similarity in the score of a summary; the rest is ROUGE-L."""
BY_CHARACTERS = "similarity by characters, not comparable"
_NOT_THE_PAPERS = (
    "the similarity is one of characters, not of the paper's embedding model: have the summaries judged with "
    "`fathom judge --judge embed/NAME` or embed-local/NAME"
)


@dataclass(frozen=True, slots=True)
class Answered:
    """Where a reply answers.

    Attributes:
        areas: Texts that may be its answer, the likeliest first.
        valid: Whether it has the asked form: a marker in square or other full brackets, and something after it.
    """

    areas: tuple[str, ...]
    valid: bool


def answered(reply: str) -> Answered:
    """Find where a reply answers, thoughts in tags aside.

    The last ``[Answer]`` or ``[答案]`` counts. Where there is neither, the last marker in another case or in other
    brackets does, or a label such as ``Answer:``; the whole reply is then another area, as it is the only one for the
    released code: so that a gold answer that looks like a marker is not lost. Without any of them there is only the
    whole reply.

    Args:
        reply: The whole reply.
    """
    text = without_reasoning(reply)
    if exact := list(_EXACT.finditer(text)):
        areas = _after(text[exact[-1].end() :])
        return Answered(areas, bool(areas[0].strip()))
    if bracketed := list(_BRACKETED.finditer(text)):
        areas = _after(text[bracketed[-1].end() :])
        return Answered((*areas, text), bool(areas[0].strip()))
    if labels := list(_LABEL.finditer(text)):
        return Answered((*_after(text[labels[-1].end() :]), text), False)
    return Answered((text,), False)


def _after(rest: str) -> tuple[str, ...]:
    """What follows a marker, without what belongs to the marker, and as it stands where that is something else."""
    bare = rest.lstrip(_AFTER_MARKER)
    return (bare,) if bare == rest.lstrip(" \t") else (bare, rest)


def lines(area: str, gold: Container[str]) -> list[str]:
    """The lines of an answer, folded; blank ones and fences are left out, and of equal ones the first is kept.

    Args:
        area: The answer.
        gold: Folded gold lines. A line that is one of them is taken as it is, list marker and all; any other is taken
            without its list marker.
    """
    folded = (_meant(fold(line), gold) for line in area.lower().split("\n"))
    return list(dict.fromkeys(filter(None, folded)))


def _meant(line: str, gold: Container[str]) -> str:
    if line in gold:
        return line
    if _FENCE.fullmatch(line):
        return ""
    marker = _LIST_MARKER.match(line)
    return line[marker.end() :] if marker else line


def character_similarity(first: str, second: str) -> float:
    """The cosine of two texts by their characters, whatever their case and spaces.

    Returns:
        A number in [0, 1]: 1.0 for equal texts, 0.0 where they share no two characters in a row or one says nothing.
    """
    return nearest(first, [second])


def nearest(text: str, others: Sequence[str]) -> float:
    """The best ``character_similarity`` of a text, which may be long, with any of some others; at least one."""
    mine = _weights(text)
    size = _squares(mine)
    return max(_cosine(mine, size, _weights(other)) for other in others)


def _cosine(mine: Mapping[str, float], size: float, theirs: Mapping[str, float]) -> float:
    if not mine or not theirs:
        return 0.0
    shared = math.fsum(weight * theirs[run] for run, weight in mine.items() if run in theirs)
    return min(1.0, shared / math.sqrt(size * _squares(theirs)))


def _weights(text: str) -> Mapping[str, float]:
    # The spaces at both ends mark where a text begins and ends, so that one letter is a run of two as well.
    folded = " ".join(text.lower().split())
    padded = f" {folded} " if folded else ""
    runs = Counter(padded[start : start + size] for size in SIZES for start in range(len(padded) - size + 1))
    return {run: 1.0 + math.log(count) for run, count in runs.items()}


def _squares(weights: Mapping[str, float]) -> float:
    return math.fsum(weight * weight for weight in weights.values())


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
