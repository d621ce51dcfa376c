"""Metrics of L-Eval's closed tasks ("exam"): choices, sums, outputs of code, topics, and two truths of a story.

``official`` equals ``auto_eval.py`` of the paper's repository with the processing that each task has before; it was
worked out from what that code gives, and agrees on the 2,450 replies whose released scores the tests know. Faults: a
reply that names no choice takes A, capitals of its words are choices, a sum loses what follows its point, a part of a
number or of a name is an output, and a reply without ``[fact:`` stops the code.

``strict`` reads the answer that a reply finally gives, thoughts left aside, and compares it whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from types import MappingProxyType

from fathom.score.leval_code import output_official, output_strict
from fathom.score.longbench_v2 import choice_letter, choice_letters
from fathom.score.reading import after_cues, plain
from fathom.score.registry import Metric, Scorer, ScoringRow, crash
from fathom.score.ruler import stands_in
from fathom.score.text import fold, without_reasoning
from fathom.types import Verdict

_LETTERS = "ABCD"
_PARTLY = 0.25  # for some of several right choices, and no wrong one
_SEVERAL_CHOICES = "coursera"  # the data set whose questions may have more than one right choice
_ERROR = "<error>"
_ANNOUNCED = re.compile(r"the answer is (\S+)", re.IGNORECASE)
_SUM = re.compile(r"(?<![\w.,])-?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)?(?:\.[0-9]+|(?<=[0-9]))(?![0-9])")
_TRUTH = re.compile(r"true|false")
_WHOLE_TRUTH = re.compile(r"(\bnot[ \t]+|n['’]t[ \t]+)?\b(true|false)\b")
_FACT = re.compile(r"[\[【][ \t]*fact\b[ \t]*:?(.*?)(?:[\]】]|$)", re.IGNORECASE | re.DOTALL)


def _scorer(rule: str, judge: Callable[[str, str, str], Verdict], on_none: str = "TypeError") -> Scorer:
    """The scorer that gives a reply, the gold answer and the name of the data set to ``judge``."""

    def score(row: ScoringRow) -> Verdict:
        gold = row.answers[0] if isinstance(row.answers, list) and len(row.answers) == 1 else row.answers
        if not isinstance(gold, str):
            return Verdict(None, False, grader=rule, detail="the gold answer is no text")
        if isinstance(row.prediction, str):
            return judge(row.prediction, gold, row.dataset)
        if rule == "official":
            return crash(on_none, "the released code cannot process what is no text")
        return Verdict(None, False, grader=rule, detail="no reply: the prediction is no text")

    return score


# ------------------------------------------------------------------------------------------------- choices


def _choice_official(reply: str, gold: str, dataset: str) -> Verdict:
    found, right = _released_choice(reply, dataset), _gold_choice(gold, dataset)
    return Verdict(_credit(found, right), bool(re.search("[A-D]", reply)), found, "official")


def _choice_strict(reply: str, gold: str, dataset: str) -> Verdict:
    right = _gold_choice(gold, dataset)
    found = choice_letters(reply) if dataset == _SEVERAL_CHOICES else choice_letter(reply) or ""
    return Verdict(_credit(found, right) if found else 0.0, bool(found), found or None, "strict")


def _credit(found: str, right: str) -> float:
    if found == right:
        return 1.0
    return _PARTLY if len(found) < len(right) and set(found) <= set(right) else 0.0


def _gold_choice(gold: str, dataset: str) -> str:
    first = next(iter(gold.split()), "")
    return first if first and first in _LETTERS else _released_choice(gold, dataset)


def _released_choice(text: str, dataset: str) -> str:
    """The letters that the released code takes for the choice."""
    if not text.strip():
        return "None"
    if text in _LETTERS:
        return text
    several = dataset == _SEVERAL_CHOICES
    if several and set(text) <= set(_LETTERS):
        return "".join(sorted(set(text)))
    first = re.search("[A-D]", text)
    letters = {first[0] if first else "A"}
    return "".join(sorted(letters | set(re.findall("([A-D])[. )]", text) if several else letters)))


# ---------------------------------------------------------------------------------------------------- sums


def _math_official(reply: str, gold: str, _: str) -> Verdict:
    found = _released_sum(reply)
    return Verdict(_same(found, _released_sum(gold)), bool(found), found or None, "official")


def _math_strict(reply: str, gold: str, _: str) -> Verdict:
    right = _sum(gold)
    if right is None:
        return Verdict(None, False, grader="strict", detail="the gold answer holds no number")
    found = _sum(reply)
    return Verdict(float(found == right), found is not None, None if found is None else str(found), "strict")


def _released_sum(text: str) -> str:
    if announced := _ANNOUNCED.search(text):
        word = announced[1]
    else:
        words = reversed(text.split("\n\n")[0].split())
        word = next((one for one in words if any(letter.isdigit() for letter in one)), "")
    return "".join(letter for letter in word.split(".")[0] if letter.isdigit())


def _sum(text: str) -> Decimal | None:
    """The first number after the last cue that has one, else the last number."""
    text = plain(text)
    for part in after_cues(text):
        if found := _SUM.search(part):
            return Decimal(found[0].replace(",", ""))
    numbers = [match[0] for match in _SUM.finditer(text)]
    return Decimal(numbers[-1].replace(",", "")) if numbers else None


def _same(found: str, right: str) -> float:
    """1.0 for equal numbers, or a gold text within the other when spaces are gone."""
    try:
        return float(float(found) == float(right))
    except ValueError:
        found, right = (text.lower().replace(" ", "") for text in (found, right))
        return float(bool(right) and right in found)


# ---------------------------------------------------------------------------------------- outputs and topics


def _code_official(reply: str, gold: str, _: str) -> Verdict:
    found, right = output_official(reply, gold)
    return Verdict(_same(found, right), bool(found.strip()), found.strip() or None, "official")


def _code_strict(reply: str, gold: str, _: str) -> Verdict:
    found, equal = output_strict(reply, gold)
    return Verdict(float(equal), found is not None, found, "strict")


def _topic_official(reply: str, gold: str, _: str) -> Verdict:
    return Verdict(_same(reply, gold), bool(reply.strip()), reply.strip() or None, "official")


def _topic_strict(reply: str, gold: str, _: str) -> Verdict:
    text = without_reasoning(reply).strip()
    return Verdict(float(stands_in(text, gold)), bool(text), text or None, "strict")


# -------------------------------------------------------------------------------------------------- truths


def _truths_official(reply: str, gold: str, _: str) -> Verdict:
    found, right = _released_truths(reply), _released_truths(gold)
    if found is None or right is None:
        return crash("IndexError", "the text has no part [fact: ...]")
    return Verdict(_agreement(found, right), _ERROR not in found, " ".join(found), "official")


def _truths_strict(reply: str, gold: str, _: str) -> Verdict:
    found, right = _truths(reply), _truths(gold)
    if _ERROR in right:
        return Verdict(None, False, grader="strict", detail="the gold answer is not like: True [fact: False]")
    return Verdict(_agreement(found, right), _ERROR not in found, " ".join(found), "strict")


def _agreement(found: tuple[str, ...], right: tuple[str, ...]) -> float:
    pairs = list(zip(found, right, strict=True))
    return sum(mine == theirs != _ERROR for mine, theirs in pairs) / len(pairs)


def _released_truths(text: str) -> tuple[str, ...] | None:
    """What the story says and what is so, as the released code reads them; None where it stops."""
    parts = text.lower().split("[fact:")
    if len(parts) == 1:
        return None
    # Known fault: without a closing bracket the last letter is cut off.
    matches = map(_TRUTH.search, (parts[0], parts[1][: parts[1].find("]")]))
    return tuple(match[0] if match else _ERROR for match in matches)


def _truths(text: str) -> tuple[str, ...]:
    text = fold(without_reasoning(text)).lower()
    fact = _FACT.search(text)
    said = text if fact is None else text[: fact.start()] + text[fact.end() :]
    return (_truth(said), _truth(fact[1] if fact else ""))


def _truth(text: str) -> str:
    found = _WHOLE_TRUTH.search(text)
    if found is None:
        return _ERROR
    return {"true": "false", "false": "true"}[found[2]] if found[1] else found[2]


def _metric(name: str, official: Scorer, strict: Scorer, description: str) -> Metric:
    return Metric("leval", name, MappingProxyType({"official": official, "strict": strict}), description)


METRICS = (
    _metric(
        "em_choice",
        _scorer("official", _choice_official, "AttributeError"),
        _scorer("strict", _choice_strict),
        "are the choices from A to D the gold ones; a quarter for some of them (coursera, quality, tpo)",
    ),
    _metric(
        "em_math",
        _scorer("official", _math_official),
        _scorer("strict", _math_strict),
        "is the number the gold one (gsm100)",
    ),
    _metric(
        "em_code",
        _scorer("official", _code_official),
        _scorer("strict", _code_strict),
        "is the output of the program the gold one (codeU)",
    ),
    _metric(
        "em_substring",
        _scorer("official", _topic_official),
        _scorer("strict", _topic_strict),
        "does the gold topic stand in the reply (topic_retrieval_longchat)",
    ),
    _metric(
        "em_judge",
        _scorer("official", _truths_official, "AttributeError"),
        _scorer("strict", _truths_strict),
        "is it right what a story says, and what is so (sci_fi)",
    ),
)
