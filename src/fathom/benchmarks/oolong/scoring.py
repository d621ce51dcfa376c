"""Metrics of Oolong: labels, counts, dates and comparisons over a stream of records (synth), and of transcripts (real).

``oolong_synth`` is the released rule. The answer is what follows the last colon of the whole reply, without asterisks
and brackets; a reply without a colon is its own answer if it has fewer than 20 characters, else its last word is. So a
time or a note after the answer replaces it, and case and a final stop count. A number that is off by d scores 0.75^d, a
date counts in any form, and an answer of 20 characters or more that says "more common" is that comparison.
``oolong_real`` takes what is in the first ``\\boxed{}``; a list scores its share of the gold items, so that a list of
everything scores 1.

``strict`` ignores thoughts and case, takes the last line with a label (``Answer:``, ``Label:``, ``Date:``, ``User:``)
or else the last line, without final stops, reads numbers with separators, and scores lists by F1.
"""

import ast
import re
from datetime import datetime
from typing import Any

from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, RowError, metric, one_gold
from fathom.score.text import caseless

NUMERIC, DATE = "ANSWER_TYPE.NUMERIC", "ANSWER_TYPE.DATE"
COMPARISONS = ("more common", "less common", "same frequency")
SHORT = 20
DECAY = 0.75
"""What a number keeps of its score for each unit that it is off."""
_BOXED = (re.compile(r"\\boxed\{\\text\{([^}]*)\}\}"), re.compile(r"\\boxed[\{]+([^}]*)[\}]+"))
_LABELLED = re.compile(r"(?:answer|label|date|user)s?(?: is)?[\s*]*[:：](.+)", re.IGNORECASE)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_FORMS = ("%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%m-%d-%Y", "%Y%m%d", "%m/%d/%y", "%Y-%m-%d %H:%M:%S")
_WORDED = re.compile(
    r"(?:(\d{1,2})(?:st|nd|rd|th)?(?: of)?,? +)?([a-z]{3,9})\.?(?: +(\d{1,2})(?:st|nd|rd|th)?)?,? +(\d{4})"
)


def date_of(text: str) -> datetime | None:
    """A date in the forms of replies: numbers with the year or the month first, or a month's name."""
    plain = " ".join(text.split()).strip(" -,.;/")
    for form in _FORMS:
        try:
            return datetime.strptime(plain, form)
        except ValueError:
            continue
    match = _WORDED.fullmatch(re.sub(r"^[a-z]+day,? ", "", plain.lower()))
    day = (match[1] or match[3]) if match else None
    if match is None or day is None or (match[1] and match[3]) or match[2][:3] not in _MONTHS:
        return None
    try:
        return datetime(int(match[4]), _MONTHS.index(match[2][:3]) + 1, int(day))
    except ValueError:
        return None


# --------------------------------------------------------------------------------------------------------------- synth


def _stated(reply: str) -> str:
    """The answer in a reply, as the released code cuts it out."""
    if ":" not in reply:
        return reply if len(reply) < SHORT else reply.split()[-1]
    answer = reply.split(":")[-1].strip().replace("*", "").replace("[", "").replace("]", "")
    if len(answer) < SHORT:
        return answer
    return next((comparison for comparison in COMPARISONS if comparison in answer), answer)


def gold_value(answer: Any) -> Any:
    """The gold answer of a record: a value of a Python list, or a date."""
    if "datetime" in answer:
        return datetime.strptime(answer, "[datetime.date(%Y, %m, %d)]")
    return ast.literal_eval(answer)[0]


def _synth(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    right, kind = gold_value(one_gold(gold)), row.extra.get("answer_type")
    answer, value = str(_stated(reply)), 0.0
    if answer == str(right):
        value = 1.0
    elif answer in COMPARISONS:
        value = float(answer in str(right))
    elif kind == NUMERIC:
        value = _near(answer, right)
    elif kind == DATE:
        value = float(date_of(answer) == right)
    return value, bool(answer), answer


def _near(answer: str, gold: Any) -> float:
    try:
        return float(DECAY ** abs(int(gold) - int(answer)))
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _strict_synth(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    try:
        right = gold_value(one_gold(gold))
    except (ValueError, SyntaxError, TypeError, LookupError, MemoryError, RecursionError):
        return None
    answer, kind = _last_answer(reply), row.extra.get("answer_type")
    if kind == NUMERIC:
        number = answer.replace(",", "").replace(" ", "")
        return _near(number, right), number.lstrip("-").isdigit(), number
    if isinstance(right, datetime):
        return date_of(answer) == right, date_of(answer) is not None, answer
    folded, target = caseless(answer), caseless(str(right))
    comparison = next((text for text in COMPARISONS if text in target), None)
    named = [text for text in COMPARISONS if text in folded]
    value = named == [comparison] if comparison else folded == target
    return value, bool(named) if comparison else bool(folded), answer


def _last_answer(reply: str) -> str:
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    labelled = next((match[1] for line in reversed(lines) if (match := _LABELLED.search(line))), None)
    return (labelled or (lines[-1] if lines else "")).strip(" \t*[]`'\".。!")


# ---------------------------------------------------------------------------------------------------------------- real


def _value(text: str) -> int | str | list[str]:
    try:
        return int(text)
    except ValueError:
        return [item.strip() for item in text.split(",") if item.strip()] if "," in text else text


def _boxed(reply: str) -> str | None:
    return next((match[1] for pattern in _BOXED if (match := pattern.search(reply))), None)


def _real(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    right, boxed = _value(one_gold(gold)), _boxed(reply)
    answer = reply if boxed is None else _value(boxed)
    if isinstance(right, int) and isinstance(answer, int):
        value = DECAY ** abs(right - answer)
    elif isinstance(right, str) and isinstance(answer, str):
        value = float(right.strip().lower() == answer.strip().lower())
    elif isinstance(right, list) and isinstance(answer, list):
        value = len(set(right) & set(answer)) / len(right) if right else 0.0
    else:
        value = 0.0
    return value, boxed is not None, str(answer)


def _strict_real(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    target = one_gold(gold)
    if not isinstance(target, str) or not target.strip():
        return None
    boxes = [match[1] for pattern in _BOXED for match in pattern.finditer(reply)]
    answer = boxes[-1] if boxes else _last_answer(reply)
    right = _value(target)
    if isinstance(right, int):
        number = answer.replace(",", "").strip()
        return _near(number, right), number.lstrip("-").isdigit(), number
    golds, named = ({caseless(item) for item in text.split(",") if item.strip()} for text in (target, answer))
    if not golds:
        raise RowError("the gold answer has no item")
    shared = len(golds & named)
    return 2 * shared / (len(golds) + len(named)), bool(named), answer


METRICS = (
    metric(
        "oolong", "oolong_synth", _synth, _strict_synth, "the label, comparison, date or near number of Oolong-synth"
    ),
    metric("oolong", "oolong_real", _real, _strict_real, "the number, name or list of Oolong-real"),
)
