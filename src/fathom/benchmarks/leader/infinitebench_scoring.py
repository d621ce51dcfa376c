"""Metrics of InfiniteBench (Zhang et al. 2024).

``official`` equals the released functions (see ``infinitebench_official``). ``strict`` never raises, ignores thoughts,
accepts gold answers as text, number or list, and extracts the answer that a reply finally gives:

* Passkeys and numbers: the number with as many digits as the gold one, joined if the reply splits it.
* ``kv_retrieval``: the value may have any punctuation and case; of a key and its value the value counts, and of two
  other UUIDs none.
* ``code_run``: the last separate number after the last "answer is" or the like, so that brackets, asterisks, ``-5.0``
  and ``= -5`` are accepted, and arguments of calls are not answers.
* ``code_debug``, ``longbook_choice_eng``: the letter that the reply chooses ("Answer: B" chooses B, ``Apple`` none, a
  list of the options none); if none, the text of the correct choice if the answer consists of it.
* ``longdialogue_qa_eng``: any of the gold names, also of several words, in the first line of the answer, unless it is
  rejected there; of several names, as a list or joined by "or" or a slash, all must be correct.
* ``longbook_qa_eng``, ``longbook_qa_chn``: punctuation of any script is ignored; a single gold text is one answer, not
  one per letter.
* ``math_find``: of several quantities that of the question (``asked``); numbers are compared with sign and fraction, so
  that 5.5 is wrong and 5.0 right if the answer is 5.
* ``math_calc``: signs count, and the name of the model does not: the sequence may begin with the first or the second
  number, because a prompt may ask for the first operand before the results.
* ``longbook_sum_eng``: sentences instead of lines; words of any script count.
"""

import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from fathom.benchmarks.leader import infinitebench_official as released
from fathom.score.answers import (
    choice_letter,
    concluded_letters,
    digits,
    free_answer,
    given_uuid,
    offered_names,
    short_answer,
    stated_number,
    text_of_letters,
)
from fathom.score.dialects import without_reasoning
from fathom.score.reading import CUE, after_cues, contains_answer, gives_name, plain_text
from fathom.score.registry import Metric, Scorer, ScoringRow, unscored
from fathom.score.rouge import rouge_l_sum, strict_sentences
from fathom.score.text import bag_f1, fold, has_chinese, simplified, stands_in, token_f1
from fathom.score.unwrapping import readable
from fathom.types import CONTAINED, Score

Grade: TypeAlias = tuple[float, str | None]
"""A score, and the extracted answer, or None."""
Read: TypeAlias = Callable[[str, list[str], str], Grade]
"""A score from a reply, its non-empty gold answers and the question; raises ``ValueError`` if they are unusable."""

_LETTERS = frozenset("ABCD")
_UUID = re.compile(r"(?<![0-9a-f-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f-])")
_CALL = re.compile(r"(?<!\w)[A-Za-z_]\w*\([^()\n]*(?:\)|$)", re.MULTILINE)
_ALONE = re.compile(r"(?<![\w.])(?<![0-9],)[-+]?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?!\w|[.,][0-9])")
_SIGNED = re.compile(r"(?:(?<![0-9A-Za-z])-)?[0-9]+")
_LINE_MARK = re.compile(r"^[ \t]*(?:[-•][ \t]*)?[(\[\"']?([A-D])[.):\]]", re.MULTILINE)
# "the function with the error is:\nB. parse", "the answer to your question is C."
_IS = re.compile(r"\bis:?\s+[(\[\"']?([A-D])(?:[.):,\]\"']|[ \t]*$)", re.MULTILINE)


def strict(read: Read) -> Scorer:
    """The scorer of an extraction. A reply is valid if an answer was extracted."""

    def score(row: ScoringRow) -> Score:
        if not isinstance(row.prediction, str):
            return unscored("strict")
        gold = _texts(row.answers)
        if not gold:
            return unscored("strict", "no gold answer to compare with")
        try:
            value, answer = read(without_reasoning(row.prediction), gold, row.asked)
        except ValueError as error:
            return unscored("strict", str(error))
        contained = (
            read in (words, characters) and 0 < value < 1 and contains_answer(str(row.prediction), gold, _tongue(gold))
        )
        return Score(value, bool(answer), answer or None, "strict", CONTAINED if contained else "")

    return score


def _tongue(gold: list[str]) -> str:
    return "zh" if any(map(has_chinese, gold)) else "en"


def _texts(answers: object) -> list[str]:
    """Gold answers as texts: a single one, a list, or a nested list."""
    given = answers if isinstance(answers, list) else [answers]
    if len(given) == 1 and isinstance(given[0], list):
        given = given[0]
    kept = (answer for answer in given if isinstance(answer, str | int | float) and not isinstance(answer, bool))
    return [text for answer in kept if (text := str(answer).strip())]


# ------------------------------------------------------------------------------------------------ retrieval


def number_kept(reply: str, gold: list[str], asked: str) -> Grade:
    """A number repeated digit by digit."""
    number = digits(reply, len(gold[0]))
    return float(number == gold[0]), number


def key_value(reply: str, gold: list[str], asked: str) -> Grade:
    """The value of a key: the UUID that the reply gives; or any other text that occurs as a whole."""
    wanted = gold[0].lower()
    if not _UUID.fullmatch(wanted):
        answer = short_answer(reply)
        return float(answer is not None and stands_in(answer, gold[0])), answer
    value = given_uuid(reply, asked)
    return float(value == wanted), value


def name(reply: str, gold: list[str], asked: str) -> Grade:
    """Any of the gold names, in the first line of the answer."""
    offers = offered_names(reply)
    return float(bool(offers) and all(gives_name(offer, gold) for offer in offers)), "; ".join(offers) or None


# ------------------------------------------------------------------------------------------ code and numbers


def printed_number(reply: str, gold: list[str], asked: str) -> Grade:
    """The output of a program: the last separate number."""
    text = readable(reply)
    for part in (*after_cues(text), text):
        if numbers := _ALONE.findall(_CALL.sub(" ", part)):
            return float(Decimal(numbers[-1].replace(",", "")) == _decimal(gold[0])), numbers[-1]
    return 0.0, None


def number_found(reply: str, gold: list[str], asked: str) -> Grade:
    """A number of a list or made from it: after the last "answer is", "=" or "is", else the first of all."""
    number = stated_number(reply, asked)
    return float(number is not None and Decimal(number) == _decimal(gold[0])), number


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise ValueError("the gold answer is not a number")
    return number


def results(reply: str, gold: list[str], asked: str) -> Grade:
    """Intermediate results: the share that is correct before the first error."""
    right = [_canonical(answer) for answer in gold]
    numbers = [_canonical(number) for number in _SIGNED.findall(plain_text(reply))]
    run = max(released.run_length(numbers, right), released.run_length(numbers[1:], right))
    return run / len(right), f"{len(numbers)} numbers" if numbers else None


def _canonical(number: str) -> str:
    # As texts: Python does not convert numbers of any length to integers.
    size = number.lstrip("-").lstrip("0") or "0"
    return f"-{size}" if number.startswith("-") and size != "0" else size


# ---------------------------------------------------------------------------------------------------- books


def option(reply: str, gold: list[str], asked: str) -> Grade:
    """A choice from A to D: its letter, or its text alone."""
    letters = _LETTERS.intersection(gold)
    letter = option_letter(reply)
    if letter is not None and letters:
        return float(letter in letters), letter
    answer = short_answer(reply)
    named = answer is not None and any(_even(answer) == _even(entry) for entry in gold if entry not in _LETTERS)
    return float(named), answer if named else letter


def option_letter(reply: str) -> str | None:
    """The letter from A to D that a reply chooses; None if it chooses none or several.

    As in ``choice_letter``, else after "is", else the label of the only labelled line. Several labelled lines are a
    list of the options, which chooses none. A further question is not part of the answer.
    """
    text = text_of_letters(reply)
    marks = set(_LINE_MARK.findall(text))
    letter = choice_letter(text) if len(marks) < 2 or CUE.search(text) or concluded_letters(text) else None
    named = set(_IS.findall(text)) or marks
    return letter or (named.pop() if len(named) == 1 else None)


def _even(text: str) -> str:
    return " ".join(fold(text).casefold().split()).rstrip(".")


def words(reply: str, gold: list[str], asked: str) -> Grade:
    """Words of the answer and of the nearest gold answer."""
    answer = free_answer(reply)
    return token_f1(answer or "", gold), answer


def characters(reply: str, gold: list[str], asked: str) -> Grade:
    """Characters of the reply and of the nearest gold answer, without marks and spaces."""
    text = free_answer(reply)
    letters = _bare(text or "")
    return max(bag_f1(letters, _bare(answer)) for answer in gold), text


def _bare(text: str) -> list[str]:
    letters = [
        letter for letter in fold(unicodedata.normalize("NFC", simplified(text))).lower() if not letter.isspace()
    ]
    return [letter for letter in letters if unicodedata.category(letter)[0] not in "PS"] or letters


def summary(reply: str, gold: list[str], asked: str) -> Grade:
    """The sentences of the nearest reference that share words with the reply."""
    sentences = strict_sentences(reply)
    return max(rouge_l_sum(sentences, strict_sentences(reference)) for reference in gold), reply.strip()


def _metric(name: str, rule: released.Rule, read: Read, description: str) -> Metric:
    return Metric.of("infinitebench", name, released.official(rule), strict(read), description)


METRICS = (
    _metric("passkey", released.first_digits, number_kept, "is the number the hidden one"),
    _metric("number_string", released.first_digits, number_kept, "the same, where digits are repeated"),
    _metric("kv_retrieval", released.value_of_key, key_value, "whether the value of the key occurs in the reply"),
    _metric("code_run", released.last_whole_number, printed_number, "is the last number the result of the program"),
    _metric("code_debug", released.faulty_function, option, "is the choice the function with the error"),
    _metric("math_find", released.first_number, number_found, "is the number the gold one"),
    _metric("math_calc", released.leading_run, results, "share of the results that are right before the first error"),
    _metric("longdialogue_qa_eng", released.name, name, "is the name the one that was left out"),
    _metric("longbook_choice_eng", released.choice, option, "is the choice from A to D the gold one"),
    _metric("longbook_qa_eng", released.words_f1, words, "overlap of words with the nearest gold answer"),
    _metric("longbook_qa_chn", released.characters_f1, characters, "the same of Chinese characters"),
    _metric("longbook_sum_eng", released.summary, summary, "ROUGE-Lsum to the nearest reference"),
)
