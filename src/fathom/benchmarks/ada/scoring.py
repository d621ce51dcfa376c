"""Metrics of Ada-LEval: the answer that a reply chooses (BestAnswer), and the order that it gives (TSort).

``official`` equals ``evaluate`` of the paper's repository, including its faults. BestAnswer: the highest label A1..An
anywhere in the reply, even as the start of a longer one, else the highest bare number, else ``???``. TSort: the text
after the first ``Answer:`` as JSON, else the only order of 1 to 4 whose digits occur in that sequence, else
``[0, 0, 0, 0]``; it is compared item by item up to the end of the shorter list, so that an empty list is correct, and a
JSON scalar raises an exception.

``strict`` corrects both. BestAnswer: the label that the reply gives, thoughts ignored; as the prompt asks for one label
only, a reply that names several is invalid, whatever its score. TSort: the order must contain every whole
number from 1 to N once; a scalar is not an order and scores 0.
"""

import json
import re
from collections.abc import Iterator
from itertools import permutations

from fathom.score.dialects import without_reasoning
from fathom.score.reading import CUE, after_cues, decided
from fathom.score.registry import Metric, ScoringRow, crash, unscored
from fathom.score.unwrapping import readable
from fathom.types import Score

_UNREAD = "???"  # the released code's label if it finds none, which may equal a gold label
_SEGMENTS = 4

# ------------------------------------------------------------------------------------------------ readers

_DESIGNATION = re.compile(r"A([1-9][0-9]*)(?![0-9])")
_LABEL = r"(?<![A-Za-z0-9])A[0-9]+(?![0-9])"
_PASSED_OVER = re.compile(
    r"(?:\b(?:than|over|e\.g\.|for example|such as)|例如)[ \t,:(]{0,4}A[0-9]+|(?<=[0-9])[ \t]?>+[ \t]?A[0-9]+"
    r"|A[0-9]+[ \t]{0,3}(?:[-~～]|to|through|至|到)[ \t]{0,3}A[0-9]+",  # a range is not an answer
)
# The first label leads a sentence or a line; it does not begin a list of labels.
_LEADING = re.compile(
    r"\W*(?:[Aa]nswer[ \t]+)?A([1-9][0-9]*)(?![0-9])[\"'”’)\]]*"
    r"(?:\W*$|[.;:]?\s*\n|[.;:](?=\s)(?!\s*\.)|,[ \t](?=[a-z])|[ \t]++(?![.…,]|[A-Z][0-9]))"
)
_CHOSEN = re.compile(
    r"\b(?:pick|choose|select|vote for|recommend|vote goes to)[ \t]+(?:answer[ \t]+)?A([1-9][0-9]*)(?![0-9])"
    # "A1 is outdated, so A3", "A1 was tempting, though it's A3"
    r"|(?:我?选择?|最[^\s，。]{0,6}[是为])[ \t]?A([1-9][0-9]*)(?![0-9])|A([1-9][0-9]*)(?:比A[0-9]+更?[好强优]|[更最])"
    r"|\b[Ss]o[ \t,]{1,3}A([1-9][0-9]*)(?=[ \t]*[.!]?[ \t]*$)"
    r"|\b(?:so|thus|hence|therefore|it['’]s|it is)\b[ \t,]{1,3}(?:it is |it['’]s )?A([1-9][0-9]*)(?=\W*$)"
    r"|A([1-9][0-9]*)[ \t]+is[ \t]+(?:clearly[ \t]+)?(?:the[ \t]+(?:best|most|correct|right)|better(?![ \t]+than))\b"
    r"|\b(?:[Bb]est|[Ff]avou?rite)(?:[ \t]+\w+){0,3}[ \t]+is[ \t]*:?[ \t]*A([1-9][0-9]*)(?![0-9])"
    r"|A([1-9][0-9]*)(?:,|[ \t]+is|[ \t]+(?:comes|ranks))?[ \t]+first\b",
    re.MULTILINE,
)
# Words with which a reply comes to a conclusion.
_CONCLUDES = re.compile(
    r"\b(?:so|thus|therefore|hence|overall|conclu\w+|finally|go with|i(?:['’]d| would| will))\b|\.\.\.|…", re.IGNORECASE
)
# "Ranking: A3, A1, A7": the first is the best.
_RANKING = re.compile(
    r"((?:\b(?i:rank(?:ing|ed)?|best to worst|best first|in order of \w{1,20})\b|排名|排序)[^\nA]{0,40}"
    r"(?:\n[^\nA]{0,9})?A[0-9]+)"
    r"(?:(?:[\s,>;.)、]|\bthen\b|[0-9]+[.)])+(?:and )?A[0-9]+)+"
)
# A number alone, where the prompt asks for a label: "Answer: 3", "The best answer is 3".
_BARE = re.compile(
    r"(?:\A|\b[Aa]nswer|答案)[^\w\n]*(?:(?:is|number|no\.|the|是|为|第)[^\w\n]*){0,3}(?<!-)([1-9][0-9]*)"
    r"(?=\W*$|[.,;)]|[ \t]+is\b)",
    re.MULTILINE,
)
_LABEL_LINE = re.compile(rf"^[^\w\n]*({_LABEL})[^\w\n]*$", re.MULTILINE)
_LIST = re.compile(r"\[([^\[\]]*)\]")
_ORDER = r"\[[^\[\]]{2,200}\]"
# The place of a segment in a numbered list: "1. Segment 4".
_ITEM = re.compile(r"^[ \t]*[(\[]?([0-9]{1,3})[.)\]][ \t]+(?=[^\d\n]{0,20}[0-9])", re.MULTILINE)
_ONLY_A_LIST = re.compile(r"\W*\[[^\[\]]*\]\W*")
_NUMBER = re.compile(r"(?:(?<![\w\])])-)?[0-9]+(?:\.[0-9]+)?")


def designation(reply: str, n_answers: int) -> str | None:
    """The label from ``A1`` to ``An`` that a reply gives.

    The first after the last "answer is" or ``Answer:`` is used; else the last one called chosen or the best; else the
    one that the reply begins with, as the prompt ends where the answer begins; else the only one, or the last after
    words that conclude ("overall", "so"). Comparisons and examples ("better than A3", "e.g. A4", "A1-A12") are ignored,
    and so are rejected labels ("not A3") and those given together ("A3 or A4") or one after the other. Of a ranking the
    first counts. A label is a capital A and a number, as in the prompt; without any, a number alone or after "answer"
    stands for one ("Answer: 7").

    Args:
        reply: The whole reply; text in thinking tags is ignored.
        n_answers: Number of answers; larger numbers are not labels.
    """
    text = _RANKING.sub(r"\1", readable(reply))
    text = text if _DESIGNATION.search(text) else _BARE.sub(r"The answer is A\1", text)
    kept = decided(_PASSED_OVER.sub(" ", text), _LABEL)
    for part in after_cues(kept):
        if named := _labels_in(part, n_answers):
            return named[0]
    chosen = [number for match in _CHOSEN.finditer(kept) for number in match.groups() if number]
    if not chosen and len({match[1] for match in _LABEL_LINE.finditer(kept)}) > 1:
        return None
    leads = [match[1]] if not chosen and (match := _LEADING.match(kept)) else []
    if named := [f"A{number}" for number in chosen or leads if _fits(number, n_answers)]:
        return named[-1]
    named = _labels_in(kept, n_answers)
    if len(set(named)) > 1:
        concludes = max((match.end() for match in _CONCLUDES.finditer(kept)), default=len(kept))
        named = _labels_in(kept[concludes:], n_answers)
    return named[-1] if named else None


def names_one(reply: str, n_answers: int) -> bool:
    """Whether a reply, thoughts ignored, names one label and no other, as the prompt asks."""
    return len(set(_labels_in(without_reasoning(reply), n_answers))) == 1


def segment_order(reply: str, n_segments: int) -> tuple[int, ...] | None:
    """The order of the segments 1 to ``n_segments`` that a reply finally gives, or None.

    The text after the last "answer is" or ``Answer:`` with a digit is used, else the whole reply. In it, the last list
    in square brackets is used; else all numbers, or those of the first line with any, or up to nine joined digits
    ("4132"). An order contains every number once and no other.

    Args:
        reply: The whole reply; text in thinking tags is ignored.
    """
    text = decided(readable(reply, None, longest=4 * n_segments), _ORDER)
    first = text.strip().partition("\n")[0]
    with_digits = (part for part in [*after_cues(text), CUE.sub(" ", text)] if _NUMBER.search(part))
    part = first if _ONLY_A_LIST.fullmatch(first) else next(with_digits, "")
    if [*map(int, _ITEM.findall(part))] == [*range(1, n_segments + 1)]:
        part = _ITEM.sub("", part)
    for piece in _LIST.findall(part)[-1:] or [part, *filter(_NUMBER.search, part.splitlines())][:2]:
        numbers = _NUMBER.findall(piece)
        together = len(numbers) == 1 and len(numbers[0]) == n_segments and numbers[0].isdecimal()
        order = as_order([float(number) for number in (numbers[0] if together else numbers)])
        if order and len(order) == n_segments:
            return order
    return None


def as_order(value: object) -> tuple[int, ...] | None:
    """A list of all whole numbers from 1 to its length (4.0 is whole), else None."""
    if not isinstance(value, list) or not value:
        return None
    numbers = [entry for entry in value if isinstance(entry, int | float) and not isinstance(entry, bool)]
    every = set(range(1, len(value) + 1))
    return tuple(map(int, numbers)) if len(numbers) == len(value) and set(numbers) == every else None


def _labels_in(text: str, n_answers: int) -> list[str]:
    return [f"A{number}" for number in _DESIGNATION.findall(text) if _fits(number, n_answers)]


def _fits(number: str, highest: int) -> bool:
    # Check the length first: a reply may contain a number of any size.
    return len(number) <= len(str(highest)) and number[0] != "0" and int(number) <= highest


# ---------------------------------------------------------------------------------------------- BestAnswer


def _bestanswer_official(row: ScoringRow) -> Score:
    choices = _choices(row)
    if choices is None:
        return _uncounted("official")
    if not isinstance(row.prediction, str):
        return crash("TypeError", "the released code looks for labels in a non-string")
    highest = max(_labels(row.prediction, "A", choices), default=0)
    highest = highest or max(_labels(row.prediction, "", choices), default=0)
    label = f"A{highest}" if highest else _UNREAD
    return Score(_is_gold(label, row), highest > 0, label if highest else None, "official")


def _bestanswer_strict(row: ScoringRow) -> Score:
    choices = _choices(row)
    if choices is None:
        return _uncounted("strict")
    if not isinstance(row.prediction, str):
        return unscored("strict")
    label = designation(row.prediction, choices)
    valid = label is not None and names_one(row.prediction, choices)
    return Score(_is_gold(label or _UNREAD, row), valid, label, "strict")


def _labels(text: str, letter: str, choices: int) -> Iterator[int]:
    """Numbers from 1 to ``choices`` that follow ``letter``, or are any part of a number if it is empty."""
    width = len(str(choices))
    for run in re.finditer(f"{letter}([0-9]+)", text):
        digits = run.group(1)
        for start in range(1 if letter else len(digits)):
            for end in range(start + 1, min(start + width, len(digits)) + 1):
                if _fits(digits[start:end], choices):
                    yield int(digits[start:end])


def _is_gold(label: str, row: ScoringRow) -> float:
    gold = row.answers if isinstance(row.answers, list) else [row.answers]
    return float(label in gold)


def _choices(row: ScoringRow) -> int | None:
    count = row.extra.get("num_choice", row.extra.get("answers"))  # from other logs, or our samples
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def _uncounted(rule: str) -> Score:
    return unscored(rule, "the row does not give the number of answers: extra.num_choice")


# --------------------------------------------------------------------------------------------------- TSort


def _tsort_official(row: ScoringRow) -> Score:
    if not isinstance(row.prediction, str):
        return crash("TypeError", "the released code cannot read an order from a non-string")
    reading = _released_reading(row.prediction)
    try:
        gold = _gold(row)
    except (ValueError, RecursionError) as error:
        return crash("JSONDecodeError", f"the gold order is not JSON: {error}")
    if not isinstance(reading, list | dict | str) or not isinstance(gold, list | dict | str):
        return crash("TypeError", "the released code cannot compare a JSON scalar with an order")
    # Known fault: the longer one is truncated to the shorter.
    equal = all(mine == theirs for mine, theirs in zip(reading, gold, strict=False))
    order = as_order(reading)
    valid = order is not None and len(order) == _SEGMENTS
    return Score(float(equal), valid, _text(order), "official")


def _tsort_strict(row: ScoringRow) -> Score:
    try:
        gold = as_order(_gold(row))
    except (ValueError, RecursionError):
        gold = None
    if gold is None:
        return unscored("strict", "no gold order: expected every number from 1 to N once")
    reading = _released_reading(row.prediction) if isinstance(row.prediction, str) else None
    order = as_order(reading)
    valid = order is not None and len(order) == len(gold)
    return Score(float(order == gold), valid, _text(order) if valid else None, "strict")


def _gold(row: ScoringRow) -> object:
    """The gold order: a list, a JSON list, or the single target of a sample, which is JSON too."""
    answers: object = row.answers
    if isinstance(answers, list) and len(answers) == 1:
        answers = answers[0] if isinstance(answers[0], str) else answers
    return json.loads(answers) if isinstance(answers, str) else answers


def _released_reading(reply: str) -> object:
    """The order according to the released code: any JSON value."""
    text = reply.split("Answer:")[1] if "Answer:" in reply else reply
    try:
        reading: object = json.loads(text)
    except (ValueError, RecursionError):
        orders = [order for order in permutations(range(1, _SEGMENTS + 1)) if _is_within(order, text)]
        reading = list(orders[0]) if len(orders) == 1 else [0] * _SEGMENTS
    return reading


def _is_within(order: tuple[int, ...], text: str) -> bool:
    """Whether the digits of an order occur in a text in sequence, with anything in between."""
    at = 0
    for number in order:
        at = text.find(str(number), at) + 1
        if at == 0:
            return False
    return True


def _text(order: tuple[int, ...] | None) -> str | None:
    return None if order is None else json.dumps(order)


METRICS = (
    Metric.of(
        "ada",
        "bestanswer",
        _bestanswer_official,
        _bestanswer_strict,
        "whether the label is the gold one (BestAnswer)",
        alias="ada_leval",
    ),
    Metric.of(
        "ada",
        "tsort",
        _tsort_official,
        _tsort_strict,
        "whether the order of the segments is the gold one (TSort)",
        alias="ada_leval",
    ),
)
