"""Metrics of L-Eval's closed tasks ("exam"): choices, sums, outputs of code, topics, and two truths of a story.

``official`` equals the released code, including its faults (module ``official``).

``strict`` extracts the answer that a reply finally gives, thoughts ignored, and compares it as a whole.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial

from fathom.benchmarks.leval import official as released
from fathom.benchmarks.leval.official import CHOICES, ERROR, SEVERAL_CHOICES
from fathom.score.answers import choice_letter, choice_letters
from fathom.score.dialects import without_reasoning
from fathom.score.reading import after_cues, decided
from fathom.score.registry import Metric, Scorer, ScoringRow, unscored
from fathom.score.text import fold, stands_in
from fathom.score.unwrapping import readable
from fathom.types import Score

_PARTLY = 0.25  # for some of several correct choices, without a wrong one
_SUM = re.compile(r"(?<![\w.,])-?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)?(?:\.[0-9]+|(?<=[0-9]))(?![0-9])")
_WHOLE_TRUTH = re.compile(r"(\bnot[ \t]+|n['’]t[ \t]+)?\b(true|false)\b")
_FACT = re.compile(
    r"[\[【][ \t]*fact\b[ \t]*:?(.*?)(?:[\]】]|$)"
    r"|\bfact(?:s|ually|ual)?\b[^\w\n]{0,4}((?:is )?(?:not |n['’]t )?(?:true|false)\b)",
    re.IGNORECASE | re.DOTALL,
)
_OUTPUT = re.compile(r"\b(?:output|answer|result|prints?|printed|returns?|returned)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[\[\]]|(?<![\w.])-?[0-9]+(?:\.[0-9]*)?(?!\w)|\b(?:true|false|none)\b", re.IGNORECASE)
_CONSTANT_OR_LIST = re.compile(_TOKEN.pattern.replace(r"[\[\]]", r"\[", 1), re.IGNORECASE)
_STEP = re.compile(r"^[ \t]*[0-9]+[.)][ \t]+", re.MULTILINE)  # the number of a step in a reply
_BETWEEN = re.compile(r"[\s,]*")


def _strict(judge: Callable[[str, str, str], Score]) -> Scorer:
    """The scorer that passes a reply, the gold answer and the name of the data set to ``judge``."""

    def score(row: ScoringRow) -> Score:
        gold = row.answers[0] if isinstance(row.answers, list) and len(row.answers) == 1 else row.answers
        if not isinstance(gold, str):
            return unscored("strict", "the gold answer is not a string")
        if isinstance(row.prediction, str):
            return judge(row.prediction, gold, row.dataset)
        return unscored("strict")

    return score


# ------------------------------------------------------------------------------------------------- choices


def _choice_strict(reply: str, gold: str, dataset: str) -> Score:
    right = "".join(sorted(CHOICES & set(next(iter(gold.split()), ""))))
    if not right:
        return unscored("strict", "the gold answer names no choice")
    letters = choice_letters(reply) if dataset == SEVERAL_CHOICES else choice_letter(reply) or ""
    return Score(_credit(letters, right) if letters else 0.0, bool(letters), letters or None, "strict")


def _credit(letters: str, right: str) -> float:
    if letters == right:
        return 1.0
    return _PARTLY if len(letters) < len(right) and set(letters) <= set(right) else 0.0


# ---------------------------------------------------------------------------------------------------- sums


def _math_strict(reply: str, gold: str, _: str) -> Score:
    right = _sum(readable(gold))
    if right is None:
        return unscored("strict", "the gold answer holds no number")
    number = _sum(decided(readable(reply), _SUM.pattern))
    return Score(float(number == right), number is not None, None if number is None else str(number), "strict")


def _sum(text: str) -> Decimal | None:
    """The first number after the last cue that is followed by one, else the last number."""
    for part in after_cues(text):
        if total := _SUM.search(part):
            return Decimal(total[0].replace(",", ""))
    numbers = [match[0] for match in _SUM.finditer(text)]
    return Decimal(numbers[-1].replace(",", "")) if numbers else None


# ---------------------------------------------------------------------------------------- outputs and topics


def _code_strict(reply: str, gold: str, _: str) -> Score:
    output, equal = output_strict(reply, gold)
    return Score(float(equal), output is not None, output, "strict")


def _topic_strict(reply: str, gold: str, _: str) -> Score:
    text = without_reasoning(reply).strip()
    return Score(float(stands_in(text, gold)), bool(text), text or None, "strict")


# -------------------------------------------------------------------------------------------------- truths


def _truths_strict(reply: str, gold: str, _: str) -> Score:
    truths, right = _truths(reply), _truths(gold)
    if ERROR in right:
        return unscored("strict", "the gold answer is not like: True [fact: False]")
    return Score(_agreement(truths, right), ERROR not in truths, " ".join(truths), "strict")


def _agreement(truths: tuple[str, ...], right: tuple[str, ...]) -> float:
    pairs = list(zip(truths, right, strict=True))
    return sum(mine == theirs != ERROR for mine, theirs in pairs) / len(pairs)


def _truths(text: str) -> tuple[str, ...]:
    text = fold(without_reasoning(text)).lower()
    fact = _FACT.search(text)
    rest = text if fact is None else text[: fact.start()] + text[fact.end() :]
    return (_truth(rest), _truth(next(filter(None, fact.groups()), "") if fact else ""))


def _truth(text: str) -> str:
    match = _WHOLE_TRUTH.search(text)
    if match is None:
        return ERROR
    return {"true": "false", "false": "true"}[match[2]] if match[1] else match[2]


_metric = partial(Metric.of, "leval")


METRICS = (
    _metric(
        "em_choice",
        released.scorer(released.choice),
        _strict(_choice_strict),
        "are the choices from A to D the gold ones; a quarter for some of them (coursera, quality, tpo)",
    ),
    _metric(
        "em_math",
        released.scorer(released.math),
        _strict(_math_strict),
        "is the number the gold one (gsm100)",
    ),
    _metric(
        "em_code",
        released.scorer(released.code),
        _strict(_code_strict),
        "is the output of the program the gold one (codeU)",
    ),
    _metric(
        "em_substring",
        released.scorer(released.topic),
        _strict(_topic_strict),
        "whether the gold topic occurs in the reply (topic_retrieval_longchat)",
    ),
    _metric(
        "em_judge",
        released.scorer(released.truths),
        _strict(_truths_strict),
        "is it right what a story says, and what is so (sci_fi)",
    ),
)


def output_strict(reply: str, gold: str) -> tuple[str | None, bool]:
    """The output that a reply finally gives, or None, and whether it is the whole gold one.

    It is the first value after the last "output", "answer", "result" or the like that is followed by one before the
    next, else that of the last line with one: a list in brackets if the gold output is one, else numbers or truth
    values.
    """
    text = _STEP.sub("", readable(reply, None, longest=len(gold)))
    right = _value(gold, "[" in gold)
    parts = [*reversed(_OUTPUT.split(text)[1:]), *reversed(text.splitlines()), text]
    if right is None:
        part = next(filter(str.strip, parts), "").strip()
        return part or None, bool(part) and stands_in(part, gold)
    value = next(filter(None, (_value(part, right[0] == "[") for part in parts)), None)
    if value is None:
        return None, False
    bare = value[1:-1] if value[0] == "[" and right[0] != "[" else value
    return " ".join(value), right in (value, bare)


def _value(text: str, listed: bool) -> tuple[str, ...] | None:
    """The first value of a text as normalised brackets and constants; None if it has none or never ends."""
    start = re.search(r"\[", text) if listed else _CONSTANT_OR_LIST.search(text)
    value: list[str] = []
    depth, end = 0, start.start() if start else len(text)
    for token in _TOKEN.finditer(text, end):
        outside = depth == 0 and bool(value)
        if outside and (token[0] in "[]" or not _BETWEEN.fullmatch(text, end, token.start())):
            break
        depth += {"[": 1, "]": -1}.get(token[0], 0)
        value.append(_one_form(token[0]))
        end = token.end()
        if depth == 0 and value[0] == "[":
            break
    return tuple(value) if value and depth == 0 else None


def _one_form(token: str) -> str:
    return str(float(token)) if token[-1] in "0123456789." else token.lower()
