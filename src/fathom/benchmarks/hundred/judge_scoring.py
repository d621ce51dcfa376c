"""Judge metrics of 100-LongBench, from recorded outputs of a judge: ``extra.judge_outputs``, in the order of the calls.

``official`` equals ``eval_trec.py`` of the paper's repository, including its faults. The last ``{...}`` of an output is
parsed, whatever it is part of; marks outside their range count (scores above 1), an unparsable output counts as 0, as
does a null mark of an answer; a missing or non-numeric mark raises an exception. An answer is judged against each gold
answer in one call, a summary in two steps of two tries each; the best gold answer counts. If ``extra.null_pred`` (the
closed-book reply) is given, it is judged first, and an item answered closed-book is excluded, which in a file of one
row is a division by zero.

``strict`` uses the same calls and parses them as ``fathom.score.judge`` does: outputs that cannot be parsed, or marks
out of range, give no score. The filter does not affect the score.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, repeat
from typing import TypeAlias

from fathom.score.dialects import without_reasoning
from fathom.score.judge_texts import read_marks
from fathom.score.registry import Metric, Scorer, ScoringRow, crash, unscored
from fathom.types import Score

THRESHOLD = 0.5
"""Score of the closed-book reply from which an item is excluded."""

_NO_CALL = "__none__"  # a call without result; null stands for a call without text
_TRIES = 2  # per step of a summary
_BLOCK = re.compile(r"```json(.+)```", re.DOTALL)
_MOST = 10**6  # maximum number of sentences of a summary

Outputs: TypeAlias = Iterator[object]


class _FailedError(Exception):
    """An unusable judgement; the message says why."""


# ------------------------------------------------------------------------------------------------ official


def _official(best: Callable[[ScoringRow, Outputs], float]) -> Scorer:
    def score(row: ScoringRow) -> Score:
        outputs = _outputs(row)
        if outputs is None:
            return _unrecorded("official")
        try:
            value, line = best(row, outputs), _first_line(row.prediction)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            return crash(type(error).__name__, f"the released code stops: {error}")
        if not math.isfinite(value):
            return unscored("official", "the judge gave an infinite mark")
        return Score(value, valid=bool(line), answer=line or None, grader="official")

    return score


def _best_answer(row: ScoringRow, outputs: Outputs) -> float:
    gold = _gold(row)
    tried = _tries_an_answer(row.extra.get("null_pred", "unanswerable"))
    if tried and _best(_answer_score(next(outputs)) for _ in gold) >= THRESHOLD:
        raise ZeroDivisionError("the filter excludes the item, and there is no other to average")
    return _best(_answer_score(next(outputs)) for _ in (gold if _first_line(row.prediction) else ()))


def _answer_score(output: object) -> float:
    if output == _NO_CALL:
        return 0.0
    if not isinstance(output, str):
        raise TypeError("the judge gave no text")
    braces = _last_braces(output)
    try:
        marks = json.loads(braces) if braces else None
    except (ValueError, RecursionError):
        marks = None
    if marks is None:
        return 0.0
    # Both are looked up before either is checked: this determines which exception the released code raises.
    return _product(*(0 if mark is None else mark for mark in (marks["fluency"], marks["correctness"]))) / 6


def _best_summary(row: ScoringRow, outputs: Outputs) -> float:
    return _best(_summary_score(outputs) for _ in (_gold(row) if _first_line(row.prediction) else ()))


def _summary_score(outputs: Outputs) -> float:
    fluency = _first_readable(outputs)
    counted = None if fluency is None else _first_readable(outputs)
    if fluency is None or counted is None:
        return 0.0
    # In the order in which the released code looks them up, which determines its exception.
    counts = _marks_of(counted)
    count = _mark(counts["sentence_count"])
    share = _mark(counts["precision"]) / count if count > 0 else 0
    return _mark(_marks_of(fluency)["fluency"]) * share


def _first_readable(outputs: Outputs) -> object:
    for _ in range(_TRIES):
        output = next(outputs)
        if output is None or output == _NO_CALL:
            continue
        if not isinstance(output, str):
            raise TypeError("the judge gave no text")
        marks = _braces_or_block(output)
        if marks is not None:
            return marks
    return None


def _marks_of(marks: object) -> dict[str, object]:
    if not isinstance(marks, dict):
        raise TypeError("the judge's JSON is not an object")
    return marks


def _braces_or_block(output: str) -> object:
    """The last run from a brace to the next closing one; if it is not JSON, the content of a JSON code block."""
    braces = _last_braces(output)
    with suppress(ValueError, RecursionError):
        return json.loads(braces) if braces else None
    blocks = _BLOCK.findall(output)
    return json.loads(blocks[-1]) if blocks else None


def _last_braces(output: str) -> str:
    r"""The last match of ``\{.*?\}``, which takes the square of the time where no brace closes; "" if there is none."""
    last, start = "", output.find("{")
    while start >= 0 and (end := output.find("}", start) + 1):
        last = output[start:end]
        start = output.find("{", end)
    return last


def _mark(value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"a mark is {value!r}")
    return value


def _product(first: object, second: object) -> float:
    for factor, other in ((first, second), (second, first)):
        # Texts and lists are repeated before they fail as non-numbers.
        if isinstance(factor, str | list) and isinstance(other, int) and not -(2**63) <= other < 2**63:
            raise OverflowError("a mark is too large")
    return _mark(first) * _mark(second)


def _best(scores: Iterator[float]) -> float:
    best = 0.0
    for score in scores:
        best = max(best, score)
    return best


# -------------------------------------------------------------------------------------------------- strict


def _strict(judged: Callable[[Outputs], float], filtered: bool) -> Scorer:
    def score(row: ScoringRow) -> Score:
        outputs, gold = _outputs(row), _gold(row)
        if outputs is None:
            return _unrecorded("strict")
        if not isinstance(row.prediction, str):
            return unscored("strict")
        if not gold:
            return unscored("strict", "no gold answer to judge against")
        answer = without_reasoning(row.prediction).strip()
        if not answer:
            return Score(0.0, False, None, "strict", "the reply is empty")
        if filtered:
            _pass_over_filter(row.extra.get("null_pred"), gold, outputs)
        try:
            return Score(max([judged(outputs) for _ in gold]), True, answer, "strict")
        except _FailedError as error:
            return Score(None, False, answer, "strict", f"the judgement failed: {error}")

    return score


def _pass_over_filter(reply: object, gold: list[object], outputs: Outputs) -> None:
    """Skip the calls that judged the closed-book reply."""
    if isinstance(reply, str) and _tries_an_answer(reply):
        for _ in gold:
            next(outputs)


def _judged_answer(outputs: Outputs) -> float:
    marks = _marks(outputs, {"fluency": 2, "correctness": 3}, tries=1)
    return marks["fluency"] * marks["correctness"] / 6


def _judged_summary(outputs: Outputs) -> float:
    fluency = _marks(outputs, {"fluency": 1}, tries=_TRIES)["fluency"]
    counted = _marks(outputs, {"precision": _MOST, "sentence_count": _MOST}, tries=_TRIES)
    supported, count = counted["precision"], counted["sentence_count"]
    if not 0 <= supported <= count or count == 0:
        raise _FailedError(f"{supported} of {count} sentences are supported, which is impossible")
    return fluency * supported / count


def _marks(outputs: Outputs, highest: dict[str, int], tries: int) -> dict[str, int]:
    for _ in range(tries):
        output = next(outputs)
        marks = read_marks(output, highest) if isinstance(output, str) else None
        if marks is not None:
            return marks
    raise _FailedError(f"no output of {tries} ends with a JSON object with {' and '.join(highest)} in their range")


# -------------------------------------------------------------------------------------------------- common


def _outputs(row: ScoringRow) -> Outputs | None:
    """The judge's outputs, infinitely many: calls after the last one gave no text."""
    recorded = row.extra.get("judge_outputs")
    return chain(recorded, repeat(None)) if isinstance(recorded, list) else None


def _gold(row: ScoringRow) -> list[object]:
    return row.answers if isinstance(row.answers, list) else [row.answers]


def _tries_an_answer(reply: object) -> bool:
    """Whether a closed-book reply is judged at all."""
    return "unanswerable" not in _first_line(reply).lower()


def _first_line(reply: object) -> str:
    if not isinstance(reply, str):
        raise AttributeError("the reply is not a string")
    return reply.lstrip("\n").split("\n")[0]


def _unrecorded(rule: str) -> Score:
    return unscored(rule, "the row has no outputs of a judge: extra.judge_outputs, a list")


METRICS = (
    Metric.of(
        "hundred",
        "qa_judge",
        _official(_best_answer),
        _strict(_judged_answer, filtered=True),
        "fluency times correctness, from recorded outputs of a judge (question answering)",
        alias="100longbench",
    ),
    Metric.of(
        "hundred",
        "sum_judge",
        _official(_best_summary),
        _strict(_judged_summary, filtered=False),
        "fluency times precision, from recorded outputs of a judge (summaries)",
        alias="100longbench",
    ),
)
