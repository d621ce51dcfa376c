"""The scorers of InfiniteBench as in ``compute_scores.py`` of its repository, including its faults.

Each rule takes one reply and the gold answer as in the benchmark's files, sometimes a list and sometimes a bare text or
number; other forms raise the same exception as the released code. Its peculiarities:

* Passkeys and numbers: the first run of digits is compared as a text, so that an integer gold answer never matches.
* ``kv_retrieval``, ``longdialogue_qa_eng``: some punctuation becomes spaces, and any of the words may be the gold one;
  a name of two words never matches.
* ``code_run``: the last word must be the number; adjacent brackets and asterisks prevent a match.
* ``code_debug``: a choice counts if ``X.`` or ``X:`` begins the reply; else the text after one of four cues must begin
  with the letter or the function's name. "is:" is one of them, and the first cue found decides.
* ``longbook_choice_eng``: a reply that begins with a letter from A to D chooses it, even within a word ("Answer: B").
* ``math_find``: the first number, without its sign; ``5.5`` raises an exception if the gold number is whole.
* ``math_calc``: signs are ignored, and if the model is called ``gpt4`` so is the first number.
* ``longbook_qa_chn``: the F1 of characters.
* ``longbook_sum_eng``: ROUGE-Lsum, with lines as sentences (``rouge_sum``).
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from fathom.benchmarks.longbench.official import MARKS_ZH
from fathom.score.registry import Scorer, ScoringRow, crash
from fathom.score.rouge import official_sentences, rouge_l_sum
from fathom.score.text import bag_f1, official_words
from fathom.types import Score

Grade: TypeAlias = tuple[float, str]
"""A score, and the extracted answer, or ""."""
Rule: TypeAlias = Callable[[Any, Any, str], Grade]
"""A score from a reply, a gold answer and the name of the model; raises the released code's exceptions."""

_STOPS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
_NUMBER = re.compile(r"\d+\.\d+|\d+")
_LETTERS = "ABCD"
_SPACES = re.compile(" {2,}")


def _blanks(marks: str) -> dict[int, str]:
    return dict.fromkeys(map(ord, marks), " ")


_WORD_MARKS = _blanks("\n:\"'.,?!{}")
_RUN_MARKS = _blanks("\n.`'\":")
_DEBUG_MARKS = _blanks("\n`'\"-*")
_CHOICE_MARKS = _blanks("\n\"'.,?!{}")
_DEBUG_CUES = ("answer is:", "is:", "answer:", "correct option is:")
_CHOICE_CUES = ("answer is:", "answer:", "answer is", "option is")


def official(rule: Rule) -> Scorer:
    """The scorer of a rule. A reply is valid if an answer was extracted."""

    def score(row: ScoringRow) -> Score:
        try:
            value, answer = rule(row.prediction, row.answers, str(row.extra.get("model_name", "")))
        except _STOPS as error:
            return crash(type(error).__name__, f"the released code fails on this reply or gold answer: {error}")
        return Score(float(value), bool(answer), answer or None, "official")

    return score


# ------------------------------------------------------------------------------------------------ retrieval


def first_digits(reply: Any, gold: Any, _: str) -> Grade:
    """Passkeys and repeated numbers: the first run of digits."""
    right = gold[0] if isinstance(gold, list) else gold
    match = re.search("[0-9]+", reply)
    digits = match[0] if match else ""
    return right == digits, digits


def value_of_key(reply: Any, gold: Any, _: str) -> Grade:
    """The value of a key: any word of the reply."""
    words = reply.translate(_WORD_MARKS).split()
    return gold in words, " ".join(words)


def name(reply: Any, gold: Any, _: str) -> Grade:
    """The masked name in a dialogue: any word of the reply, in capitals."""
    right = gold[0]
    words = [word.upper() for word in reply.translate(_WORD_MARKS).split()]
    return right in words, " ".join(words)


# ------------------------------------------------------------------------------------------ code and numbers


def last_whole_number(reply: Any, gold: Any, _: str) -> Grade:
    """The output of a program: the last word of the reply as a whole number."""
    right = gold[0] if isinstance(gold, list) else gold
    words = reply.translate(_RUN_MARKS).split()
    try:
        number = int(words[-1])
    except (IndexError, ValueError):
        return 0.0, ""
    return right == number, words[-1]


def faulty_function(reply: Any, gold: Any, _: str) -> Grade:
    """Which of four functions has an error: gold answers are its name and its letter."""
    text = reply.strip()
    letter, function = gold[1], gold[0]
    if text[:2] in (f"{letter}.", f"{letter}:"):
        return 1.0, text[:1]
    text = _SPACES.sub(" ", re.sub("[Oo]ption", " ", text.translate(_DEBUG_MARKS)))
    rest = _announced(text, _DEBUG_CUES)
    if rest is not None:
        return bool(rest) and any(rest[1:].startswith(right) for right in (letter, function)), rest.strip()
    return 0.0, text[:1] if text[1:2] in (".", ":") and text[0] in _LETTERS else ""


def _announced(text: str, cues: Sequence[str]) -> str | None:
    """The text after the first occurrence of the first cue in a text; None without a cue."""
    for cue in cues:
        if cue in text:
            return text.partition(cue)[2]
    return None


def first_number(reply: Any, gold: Any, _: str) -> Grade:
    """The largest, the median or another number of a list: the first number of the reply.

    Raises:
        TypeError: A gold answer is no number, at which the official code fails too.
    """
    right = gold[0] if isinstance(gold, list) else gold
    if not isinstance(right, int | float):
        raise TypeError("a gold answer must be a number")
    match = _NUMBER.search(reply)
    if match is None:
        return 0.0, ""
    return (int if isinstance(right, int) else float)(match[0]) == right, match[0]


def leading_run(reply: Any, gold: Any, model: str) -> Grade:
    """Intermediate results: how many are correct before the first error."""
    if not isinstance(gold, list):
        raise AssertionError("gold answers must be a list")
    right = gold[0] if isinstance(gold[0], list) else gold
    numbers = [int(digits) for digits in re.findall("[0-9]+", reply)]
    if model == "gpt4":  # that model was asked to begin with the first operand
        numbers = numbers[1:]
    return run_length(numbers, right) / len(right), f"{len(numbers)} numbers" if numbers else ""


def run_length(numbers: Sequence[object], gold: Sequence[object]) -> int:
    """Number of equal items at the start of two lists."""
    pairs = enumerate(zip(numbers, gold, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(numbers), len(gold)))


# ---------------------------------------------------------------------------------------------------- books


def choice(reply: Any, gold: Any, _: str) -> Grade:
    """A choice from A to D: gold answers are the letter and the text of the choice, in either order."""
    text = reply.strip()
    if not text:
        return 0.0, ""
    if text[0] in _LETTERS:
        return text[0] in gold, text[0]
    if text in gold:
        return 1.0, text
    text = _SPACES.sub(" ", text.translate(_CHOICE_MARKS))
    rest = _announced(text, _CHOICE_CUES)
    if rest is not None:
        return bool(rest) and any(rest[1:].startswith(right) for right in gold), rest.strip()
    # Known fault: "BC" and "ABCD" are letters too.
    letter = next((word for word in text.split() if word in _LETTERS), "")
    return letter in gold if letter else 0.0, letter


def words_f1(reply: Any, gold: Any, _: str) -> Grade:
    """Words of the reply and of the nearest gold answer."""
    pairs = ((official_words(reply), official_words(answer)) for answer in gold)
    return max((bag_f1(words, right) for words, right in pairs), default=0.0), _stripped(reply)


def characters_f1(reply: Any, gold: Any, _: str) -> Grade:
    """Characters of the reply and of the nearest gold answer, without punctuation and spaces."""
    pairs = ((MARKS_ZH.sub("", reply.lower()), MARKS_ZH.sub("", answer.lower())) for answer in gold)
    return max((bag_f1(letters, right) for letters, right in pairs), default=0.0), _stripped(reply)


def _stripped(reply: Any) -> str:
    return reply.strip() if isinstance(reply, str) else ""


def summary(reply: Any, gold: Any, _: str) -> Grade:
    """ROUGE-Lsum of the reply and the nearest reference.

    Raises:
        ValueError: The reply or a reference is no text, at which the official library fails too.
    """
    references = gold if isinstance(gold, list) else [gold]
    if not isinstance(reply, str) or not all(isinstance(reference, str) for reference in references) or not references:
        raise ValueError("the library only takes texts, and at least one reference")
    sentences = official_sentences(reply)
    return max(rouge_l_sum(sentences, official_sentences(reference)) for reference in references), reply.strip()
