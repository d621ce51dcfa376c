"""Metrics of RULERv2, as its publisher's NeMo Gym computes them.

A gold text that the reply does not contain still scores 1 minus the word error rate of the whole reply against it, so
that a near text gets a part. ``ruler2_all`` is the mean over gold texts, ``ruler2_part`` the largest after blocks that
begin with ``Document N:`` are removed, ``ruler2_2steps`` the mean over the last paragraph alone, ``ruler2_mcq_letter``
the letter after "The final answer is", in ``\\boxed{}`` or after "Answer:".

``strict`` gives no parts: gold texts count as whole words, and a letter must be chosen as in all other tasks.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from fathom.score.answers import choice_letter
from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, Corrected, Released, metric, texts
from fathom.score.text import stands_in

_BLOCK = re.compile(r"Document \d+:(?:.*\n)+?\n")
_FINAL = re.compile(r"The final answer is (.+)$", re.MULTILINE)
_LAST_LETTER = re.compile(r"\b[A-Z]\b(?!.*\b[A-Z]\b)", re.DOTALL)
_LABELLED = re.compile(r"(?i)[\*\_]{0,2}Answer[\*\_]{0,2}\s*:[\s\*\_]{0,2}\s*([A-Z])(?![a-zA-Z0-9])")
_BOXED = "\\boxed{"
_OTHER_SCRIPTS = str.maketrans({letter: f" {'ABCD'[at % 4]}" for at, letter in enumerate("أبجدঅবডঢＡＢＣＤ")})


def edits(first: Sequence[str], second: Sequence[str]) -> int:
    """Fewest words to insert, delete or replace between two sequences."""
    row = list(range(len(second) + 1))
    for number, word in enumerate(first, 1):
        before, row[0] = row[0], number
        for at, other in enumerate(second, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (word != other))
    return row[-1]


def _soft(reply: str, gold: str) -> float:
    reply, gold = reply.lower(), gold.lower()
    if gold in reply:
        return 1.0
    words = gold.split()
    return max(0.0, 1.0 - edits(reply.split(), words) / len(words)) if words else 0.0


def _golds(gold: Any) -> list[str]:
    return [str(text) for text in gold] if isinstance(gold, list) else [str(gold)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _official(clean: Callable[[str], str], join: Callable[[Sequence[float]], float]) -> Released:
    def compute(reply: Any, gold: Any, row: ScoringRow) -> Answer:
        text, golds = clean(reply), _golds(gold)
        return join([_soft(text, text_of) for text_of in golds]) if golds else 0.0, bool(text.strip()), None

    return compute


def _strict(join: Callable[[Sequence[float]], float]) -> Corrected:
    def compute(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
        golds = texts(gold)
        if not golds:
            return None
        contained = [text for text in golds if stands_in(reply, text)]
        return join([float(text in contained) for text in golds]), bool(reply.strip()), ", ".join(contained) or None

    return compute


def _boxed(reply: str) -> str | None:
    """What the last ``\\boxed{}`` holds, with braces in pairs."""
    start, depth = reply.rfind("\\boxed"), 0
    for at in range(start, len(reply)) if start >= 0 else ():
        depth += {"{": 1, "}": -1}.get(reply[at], 0)
        if reply[at] == "}" and depth == 0:
            return reply[start + len(_BOXED) : at] if reply.startswith(_BOXED, start) else None
    return None


def _letter(reply: str) -> str | None:
    stated = _FINAL.findall(reply)
    answer = stated[-1] if stated else _boxed(reply)
    if answer is not None:
        answer = answer.translate(_OTHER_SCRIPTS).strip()
        if len(answer) == 1:
            return answer.upper()
        if letters := _LAST_LETTER.findall(answer):
            return str(letters[-1])
    labelled = _LABELLED.findall(reply)
    return labelled[-1].upper() if labelled else None


def _official_letter(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    letter, golds = _letter(reply), _golds(gold)
    return letter is not None and letter in [text.strip().upper() for text in golds[:1]], letter is not None, letter


def _strict_letter(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    golds = [text.upper() for text in texts(gold)]
    letter = choice_letter(reply)
    return (letter in golds, letter is not None, letter) if golds else None


METRICS = (
    *(
        metric("ruler2", f"ruler2_{name}", _official(clean, join), _strict(join), description)
        for name, clean, join, description in (
            ("all", str, _mean, "mean over gold texts of containment or 1 - word error rate"),
            ("part", lambda reply: _BLOCK.sub("", reply), max, "the largest of these, without repeated documents"),
            ("2steps", lambda reply: reply.split("\n\n")[-1], _mean, "the mean over the last paragraph of the reply"),
        )
    ),
    metric("ruler2", "ruler2_mcq_letter", _official_letter, _strict_letter, "is the letter the gold one"),
)
