"""The scorers of LongBench v1 and MiniLongBench as in their released code, including its faults.

On four data sets LongBench uses only the first line of replies; MiniLongBench always uses the whole reply. Both use the
best gold answer. Only texts are scored; anything else raises an exception, as here, or scores 0 because ROUGE catches
every error. Here a single gold answer may be given without a list.
"""

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import TypeAlias

from fathom.score.chinese import cut_words
from fathom.score.registry import Scorer, ScoringRow, crash
from fathom.score.rouge import OFFICIAL_STEPS, rouge_l
from fathom.score.text import bag_f1, official_words, similarity
from fathom.types import Score

# Their prompts contain solved examples, and replies continue with further ones.
FIRST_LINE = frozenset({"trec", "triviaqa", "samsum", "lsht"})

Compare: TypeAlias = Callable[[object, object, ScoringRow], float | Score]

_DIGITS = re.compile(r"\d+")
_NO_CODE = re.compile("`|#|//")
# Removed from Chinese words: ASCII and East Asian punctuation; 《, 〈 and · are not included.
MARKS_ZH = re.compile(r"[!-/:-@\[-`{-~\s！？｡。＂-－／：；＜-＠［-｀｛-｠｢｣､、〃》「-【】〔-〟〰〾〿–—‘’‛“”„‟…‧﹏]")


def released(compare: Compare, first_line: bool) -> Scorer:
    """The scorer that compares a reply with each gold answer by ``compare``.

    Args:
        compare: Gives a value, or the score where the released code raises.
        first_line: Whether only the first line counts on the data sets of ``FIRST_LINE``.
    """

    def score(row: ScoringRow) -> Score:
        reply = row.prediction
        if first_line and row.dataset in FIRST_LINE:
            if not isinstance(reply, str):
                return crash("AttributeError", "the released code looks for a first line in a non-string")
            reply = reply.lstrip("\n").split("\n")[0]
        best = 0.0
        if not isinstance(row.answers, list | str | dict):
            return crash("TypeError", "the released code goes through the gold answers one by one")
        # Known fault: of a single text, each letter is a gold answer.
        for answer in row.answers:
            value = compare(reply, answer, row)
            if isinstance(value, Score):
                return value
            best = max(best, value)
        text = reply if isinstance(reply, str) else ""
        return Score(best, valid=bool(text), answer=text or None, grader="official")

    return score


def qa_f1(reply: object, answer: object, row: ScoringRow) -> float | Score:
    """Overlap of English words."""
    if not isinstance(reply, str) or not isinstance(answer, str):
        return crash("AttributeError", "the released code cannot split a non-string into words")
    return bag_f1(official_words(reply), official_words(answer))


def qa_f1_zh(reply: object, answer: object, row: ScoringRow) -> float | Score:
    """Overlap of Chinese words."""
    if not isinstance(reply, str) or not isinstance(answer, str):
        return crash("AttributeError", "the released code cannot split a non-string into words")
    return bag_f1(_words_zh(reply), _words_zh(answer))


def rouge(most_steps: int | None = OFFICIAL_STEPS) -> Compare:
    """The comparison by ROUGE-L, which is 0 for everything that its package cannot process.

    Args:
        most_steps: Steps within Python's recursion limit; None for the package without that limit.
    """

    def compare(reply: object, answer: object, row: ScoringRow) -> float:
        if not isinstance(reply, str) or not isinstance(answer, str):
            return 0.0
        return rouge_l(reply, answer, most_steps) or 0.0

    return compare


def rouge_lcs(reply: object, answer: object, row: ScoringRow) -> float:
    """F1 of the longest common subsequence of all words, as in most of MiniLongBench's published scores."""
    if not isinstance(reply, str) or not isinstance(answer, str):
        return 0.0
    mine, theirs = reply.split(), answer.split()
    return similarity(mine, theirs) if mine and theirs else 0.0


def in_chinese(compare: Compare) -> Compare:
    """The same comparison of Chinese words; only errors after these are split are caught."""

    def cut(reply: object, answer: object, row: ScoringRow) -> float | Score:
        if not isinstance(reply, str) or not isinstance(answer, str):
            return crash("AttributeError", "the released code cannot split a non-string into words")
        return compare(spaced(reply), spaced(answer), row)

    return cut


def spaced(text: str) -> str:
    """A Chinese text with spaces between its words."""
    return " ".join(cut_words(text))


def classification(reply: object, answer: object, row: ScoringRow) -> float | Score:
    """One divided by the number of classes in the reply, if the gold class is among them."""
    classes = row.all_classes
    if not isinstance(reply, str) or not isinstance(classes, list | str):
        return crash("TypeError", "the released code needs a text and a list of classes")
    named = [name for name in classes if isinstance(name, str) and name in reply]
    if not isinstance(answer, str):
        crashes = named and not isinstance(answer, list | dict)  # a name can be looked for in these, and is not a class
        return crash("TypeError", "the released code looks for classes in a non-string") if crashes else 0.0
    at = 0
    while at < len(named):
        # Known fault: the entry after a removed name is skipped.
        if named[at] in answer and named[at] != answer:
            named.remove(named[at])
        at += 1
    return 1.0 / len(named) if answer in named else 0.0


def count(reply: object, answer: object, row: ScoringRow) -> float | Score:
    """Share of the gold number in all numbers of the reply."""
    if not isinstance(reply, str):
        return crash("TypeError", "the released code looks for numbers in a non-string")
    # Digits of any script match, and then differ from the gold number.
    numbers = _DIGITS.findall(reply)
    return numbers.count(str(answer)) / len(numbers) if numbers else 0.0


def retrieval(name: str) -> Compare:
    """The comparison for gold answers of ``name`` and a number: its share of all numbers in the reply."""
    pattern = re.compile(rf"{name}(\d+)")

    def compare(reply: object, answer: object, row: ScoringRow) -> float | Score:
        if not isinstance(answer, str):
            return crash("TypeError", "the released code looks for a number in a non-string")
        gold = pattern.search(answer)
        if gold is None:
            return crash("IndexError", f"the released code finds no {name!r} with a number in the gold answer")
        return count(reply, gold.group(1), row)

    return compare


def code_sim(ratio: Callable[[str, str], float]) -> Compare:
    """The comparison of lines of code in whole percent, as fuzzywuzzy gives them.

    Args:
        ratio: Similarity of two lines: ``similarity`` as in python-Levenshtein, which fuzzywuzzy uses if it is
            installed, or ``difflib_ratio``, which it uses otherwise.
    """

    def compare(reply: object, answer: object, row: ScoringRow) -> float | Score:
        if not isinstance(reply, str):
            return crash("AttributeError", "the released code looks for a line of code in a non-string")
        lines = reply.lstrip("\n").split("\n")
        line = next((line for line in lines if not _NO_CODE.search(line)), "")
        if answer is None or answer in ([], {}):
            return 0.0
        if not isinstance(answer, str):
            return crash("TypeError", "fuzzywuzzy cannot compare code with a non-string")
        if not line or not answer:
            return float(line == answer)
        return round(100 * ratio(line, answer)) / 100

    return compare


def difflib_ratio(first: str, second: str) -> float:
    """Similarity of two texts according to Python's ``difflib``."""
    return SequenceMatcher(None, first, second).ratio()


def _words_zh(text: str) -> list[str]:
    words = (MARKS_ZH.sub("", word.lower()) for word in cut_words(text))
    return [word for word in words if word]


# By name of the metric; the same in both benchmarks.
COMPARE: dict[str, Compare] = {
    "qa_f1": qa_f1,
    "qa_f1_zh": qa_f1_zh,
    "rouge": rouge(),
    "rouge_zh": in_chinese(rouge()),
    "rouge_unlimited": rouge(None),
    "rouge_zh_unlimited": in_chinese(rouge(None)),
    "rouge_lcs": rouge_lcs,
    "rouge_zh_lcs": in_chinese(rouge_lcs),
    "classification": classification,
    "count": count,
    "retrieval": retrieval("Paragraph "),
    "retrieval_zh": retrieval("段落"),
    "code_sim": code_sim(similarity),
    "code_sim_difflib": code_sim(difflib_ratio),
}
