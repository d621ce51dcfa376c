"""Metrics of LongBench Pro.

``official`` equals the released functions (module ``official``). ``strict`` corrects their known faults: thoughts,
blank lines and fences are ignored, lines may have list markers, the marker may have other case or brackets, a duplicate
line counts at its first position, the correct pairs of an order are a share of all pairs of the gold answer, only the
answer of a summary is compared, and the letter of an option may stand in a sentence or before its text ("A. bench").
Comparison is otherwise as exact: only case and spaces are ignored, and an answer must be on its own line, because gold
answers contain commas.

Under both rules a reply is valid if it has a marker followed by text. A reply without one is scored as a whole, as in
the released code, but is invalid.

Half of the score of a summary is its similarity to the nearest reference, for which the paper uses an embedding model
(Qwen3-Embedding-8B). ``Summary`` uses characters instead, and its grader says so; an embedding model as judge gives the
paper's score (``rubric``). The similarity by characters is the cosine of the counts of 2-grams and 3-grams, each count
as one plus its logarithm. It needs no model, is reproducible, and works for English and Chinese. It is not comparable
with the similarity of any embedding model: it measures spelling, not meaning.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fathom.benchmarks.longbench.official import spaced
from fathom.benchmarks.pro import official as released
from fathom.benchmarks.pro.official import MARKERS, Compare, fold, is_chinese, max_rouge_l, summary_texts
from fathom.score.answers.letters import choice_letter
from fathom.score.dialects import without_reasoning
from fathom.score.registry import Metric, Scorer, ScoringRow, unscored
from fathom.score.rouge import rouge_l
from fathom.score.text import fold as width_folded
from fathom.score.text import simplified
from fathom.types import Score

_EXACT = re.compile("|".join(map(re.escape, MARKERS)))
# "[ANSWER]", "[final answer]", "【答案】", "［答案］".
_BRACKETED = re.compile(r"[\[［【]\s*(?:final\s+|最终)?(?:answer|答案)\s*[\]］】]", re.IGNORECASE)
# "Answer:", "**Final answer:**", "答案：" at the start of a line.
_LABEL = re.compile(r"^[ \t>#*_]*(?:final[ \t]+|最终)?(?:answer|答案)[*_ \t]*[:：]", re.IGNORECASE | re.MULTILINE)
# Characters between a marker and the answer on the marker's line: "**[Answer]**: B".
_AFTER_MARKER = " \t*_:："
# "- ", "• ", "1. ", "1.x", "1) ", "1、", "(1)", "（1）", followed by text. "1.5" is a number.
_LIST_MARKER = re.compile(
    r"(?:[-*+‣◦·–—]\s+|•\s*|[0-9]{1,3}(?:[.)．]\s+|[.)．](?=[^\s0-9])|、\s*)|[(（][0-9]{1,3}[)）]\s*)(?=\S)"
)
_FENCE = re.compile(r"`{3,}\w*")
# "E", "(E) none", "B、船" at the start of a line.
_OPTION = re.compile(r"^[ \t>*_(（\[-]*([A-Z])[*_]*(?:[.:：、．)）\]]|[ \t]*$)", re.MULTILINE)
# "The answer is the letter E", of letters beyond those of `choice_letter`.
_LATER = re.compile(
    r"(?:answer is|答案是|答案为|选)[ \t:：*_(（]*(?:the letter |option |字母)?[*_(（]*([E-Z])(?![A-Za-z])"
)
SIZES = (2, 3)
SIMILARITY_SHARE = 0.5
"""Share of similarity in the score of a summary; the rest is ROUGE-L."""
BY_CHARACTERS = "similarity by characters, not comparable"
_NOT_THE_PAPERS = (
    "the similarity is by characters, not by the paper's embedding model: judge the summaries with "
    "`fathom judge --judge embed/NAME` or embed-local/NAME"
)


@dataclass(frozen=True, slots=True)
class Answered:
    """The location of a reply's answer.

    Attributes:
        areas: Texts that may be its answer, the most likely first.
        valid: Whether it has the requested form: a marker in square or other full brackets, followed by text.
    """

    areas: tuple[str, ...]
    valid: bool


def answered(reply: str) -> Answered:
    """Locate the answer of a reply, ignoring text in thinking tags.

    The last ``[Answer]`` or ``[答案]`` is used. Without either, the last marker in another case or in other brackets,
    or a label such as ``Answer:``; the whole reply is then a second area, as it is the only one for the released
    code, so that a gold answer that looks like a marker is not lost. Without any of them there is only the whole
    reply.
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
    """The text after a marker, without punctuation of the marker, and unchanged if that differs."""
    bare = rest.lstrip(_AFTER_MARKER)
    return (bare,) if bare == rest.lstrip(" \t") else (bare, rest)


def lines(area: str, gold: Collection[str]) -> list[str]:
    """The lines of an answer, folded, without blank lines, fences and duplicates.

    Args:
        gold: Folded gold lines. A line equal to one of them is kept with its list marker; it is removed from any other.
    """
    by_form = {form: line for line in gold if (form := _form(line))}
    listed = dict.fromkeys(filter(str.strip, _listed(area, gold).lower().split("\n")))
    folded = (_meant(fold(line), gold, by_form) for line in listed)
    return list(dict.fromkeys(filter(None, folded)))


def _listed(area: str, gold: Collection[str]) -> str:
    """The lines of an answer, given as lines or as a JSON list."""
    text = _FENCE.sub("", area).strip()
    if not (text.startswith("[") and text.endswith("]")) or any(fold(line) in gold for line in text.split("\n")):
        return area
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return area
    texts = all(isinstance(member, str | int | float) and not isinstance(member, bool) for member in members)
    return "\n".join(map(str, members)) if texts else area


def _meant(line: str, gold: Collection[str], by_form: Mapping[str, str]) -> str:
    """A folded line without list marker; the gold line if only layout makes a difference."""
    if line in gold:
        return line
    if _FENCE.fullmatch(line):
        return ""
    marker = _LIST_MARKER.match(line)
    bare = line[marker.end() :] if marker else line
    return bare if bare in gold else by_form.get(_form(bare), bare)


def _form(line: str) -> str:
    """A line without emphasis, quotes and final full stop, in half-width letters and simplified characters."""
    return fold(width_folded(simplified(line))).strip("*_`>\"'“”‘’ ").rstrip(".。*_` ")


def character_similarity(first: str, second: str) -> float:
    """The cosine similarity of two texts by their characters, ignoring case and spaces.

    Returns:
        A number in [0, 1]: 1.0 for equal texts, 0.0 if they share no 2-gram or one is empty.
    """
    return nearest(first, [second])


def nearest(text: str, others: Sequence[str]) -> float:
    """The best ``character_similarity`` of a text, which may be long, with some others; at least one."""
    mine = _weights(text)
    size = _squares(mine)
    return max(_cosine(mine, size, _weights(other)) for other in others)


def _cosine(mine: Mapping[str, float], size: float, theirs: Mapping[str, float]) -> float:
    if not mine or not theirs:
        return 0.0
    shared = math.fsum(weight * theirs[run] for run, weight in mine.items() if run in theirs)
    return min(1.0, shared / math.sqrt(size * _squares(theirs)))


def _weights(text: str) -> Mapping[str, float]:
    # The spaces mark the start and end of a text, so that a single letter is a 2-gram as well.
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
    """The scorer that passes the lines of a reply to ``compare``; of several areas the best counts."""

    def score(row: ScoringRow) -> Score:
        gold = _gold(row)
        if isinstance(gold, Score):
            return gold
        answer = answered(str(row.prediction))
        value = max(compare(gold, listed) if (listed := lines(area, gold)) else 0.0 for area in answer.areas)
        return Score(value, answer.valid, answer.areas[0].strip() or None, "strict")

    return score


def _gold(row: ScoringRow) -> list[str] | Score:
    """The gold lines, folded, without blank and duplicate ones; or the score if there is nothing to score."""
    if not isinstance(row.prediction, str):
        return unscored("strict")
    given = row.answers if isinstance(row.answers, list) else [row.answers]
    gold = list(dict.fromkeys(filter(None, (fold(entry) for entry in given if isinstance(entry, str)))))
    return gold or unscored("strict", "no gold answer to compare with")


def _strict_accuracy(row: ScoringRow) -> Score:
    """Whether the first line is the gold one; of an option its letter may stand in a sentence or before its text."""
    score, gold = _FIRST_LINE(row), _gold(row)
    if score.value != 0 or isinstance(gold, Score) or not re.fullmatch("[a-z]", gold[0]):
        return score
    named = map(_named_option, answered(str(row.prediction)).areas)
    return replace(score, value=float(gold[0].upper() in named))


def _named_option(text: str) -> str | None:
    """The letter of the one option that a text chooses; None if it chooses none or several."""
    options = set(_OPTION.findall(text))
    if concluded := set(_LATER.findall(text)) or {letter for letter in options if letter > "D"}:
        return concluded.pop() if len(concluded) == 1 else None
    return choice_letter(text) or (options.pop() if len(options) == 1 else None)


def strict_pairwise(gold: Sequence[str], lines: Sequence[str]) -> float:
    """Pairs of gold lines in the correct order, as a share of all pairs of gold lines.

    A single gold line has no pairs: it counts if it is named.
    """
    if len(gold) < 2:
        return float(gold[0] in lines)
    return released.correct_pairs(gold, lines) / math.comb(len(gold), 2)


# ------------------------------------------------------------------------------------------------ summaries


def strict_summary_texts(row: ScoringRow) -> tuple[str, list[str]] | Score:
    """The folded summary after the marker, or "", and its folded references."""
    gold = _gold(row)
    if isinstance(gold, Score):
        return gold
    return fold(simplified(answered(str(row.prediction)).areas[0])), [fold(simplified(text)) for text in gold]


def strict_rouge_l(reply: str, references: Sequence[str], chinese: bool) -> float:
    """The best ROUGE-L of a folded reply, without recursion limit; references without a sentence are left out.

    Args:
        reply: The reply, folded.
        references: The references, folded.
        chinese: Whether to split into Chinese words.
    """
    cut = spaced if chinese else str
    words = cut(reply)
    return max((rouge_l(words, cut(reference)) or 0.0 for reference in references), default=0.0)


def _strict_rouge_half(row: ScoringRow) -> Score:
    texts = strict_summary_texts(row)
    if isinstance(texts, Score):
        return texts
    reply, references = texts
    value = strict_rouge_l(reply, references, is_chinese(row.language))
    return Score(value, answered(str(row.prediction)).valid, reply or None, "strict")


def _official_summary(row: ScoringRow) -> Score:
    texts = summary_texts(row)
    if isinstance(texts, Score):
        return texts
    reply, references = texts
    if not reply or not references:
        return Score(0.0, False, grader="official")
    rouge = max_rouge_l(reply, references, is_chinese(row.language))
    return _by_characters("official", released.has_answer(str(row.prediction)), reply, references, rouge)


def _strict_summary(row: ScoringRow) -> Score:
    texts = strict_summary_texts(row)
    if isinstance(texts, Score):
        return texts
    reply, references = texts
    rouge = strict_rouge_l(reply, references, is_chinese(row.language))
    return _by_characters("strict", answered(str(row.prediction)).valid, reply, references, rouge)


def _by_characters(rule: str, valid: bool, reply: str, references: Sequence[str], rouge: float) -> Score:
    similarity = nearest(reply, references)
    return Score(summary_score(similarity, rouge), valid, reply or None, f"{rule} ({BY_CHARACTERS})", _NOT_THE_PAPERS)


_metric = partial(Metric.of, "longbench_pro")


def _of_lines(name: str, official: Compare, strict: Compare, description: str) -> Metric:
    return _metric(name, released.official_lines(official), strict_lines(strict), description)


_FIRST_LINE = strict_lines(released.accuracy)

METRICS = (
    _of_lines("NDCG", released.ndcg, released.ndcg, "NDCG at the number of gold lines, linear gains"),
    _of_lines("Pairwise_Accuracy", released.pairwise, strict_pairwise, "pairs of gold lines in the right order"),
    _metric("Accuracy", released.official_lines(released.accuracy), _strict_accuracy, "is the first line the gold one"),
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
