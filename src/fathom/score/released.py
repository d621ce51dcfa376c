"""Rules made of plain computations: ``official`` raises what the released code raises, ``strict`` needs a text.

A computation of an official rule does what the released code does, step by step, so that input which stops that code
stops it with the same exception; ``released`` turns the exception into a score of none with its name.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from fathom.score.dialects import without_reasoning
from fathom.score.registry import Metric, Scorer, ScoringRow, crash, unscored
from fathom.types import Score

Answer: TypeAlias = tuple[float | None, bool, str | None]
"""A value (None where the released code has none), whether the reply has the requested form, the extracted answer."""
Released: TypeAlias = Callable[[Any, Any, ScoringRow], Answer]
"""Given prediction, gold answers and row, the official score; raises what the released code raises."""
Corrected: TypeAlias = Callable[[str, Any, ScoringRow], Answer | None]
"""Given a reply without thoughts, gold answers and row, the strict score; None if there is no gold answer."""
GOLD = "gold_json"
"""The input of a sample with the gold answers as the released code gets them, in JSON, where targets are replies."""
_RAISED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NameError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


class RowError(ValueError):
    """A row lacks a field that its metric needs, or it cannot be read, so that no reply to it can be scored.

    Any other exception of a rule ``strict`` is a fault of that rule, and is not hidden.
    """


class _Fields(dict[str, object]):
    """The fields of a row; a missing one is named."""

    def __missing__(self, name: str) -> object:
        raise RowError(f"the row lacks extra.{name}")


def metric(suite: str, name: str, official: Released, strict: Corrected, description: str) -> Metric:
    """A metric of two computations."""
    return Metric.of(suite, name, released(official), corrected(strict), description)


def released(compute: Released) -> Scorer:
    """The rule ``official`` of a computation."""

    def score(row: ScoringRow) -> Score:
        try:
            value, valid, answer = compute(row.prediction, gold_of(row), row)
        except RowError as error:
            return crash(ValueError.__name__, str(error))
        except _RAISED as error:
            return crash(type(error).__name__, str(error) or "the released code stops here")
        return Score(None if value is None else float(value), valid, answer, "official")

    return score


def corrected(compute: Corrected) -> Scorer:
    """The rule ``strict`` of a computation; thoughts are ignored.

    A row that lacks a field, or whose fields cannot be read (``RowError``, or no JSON), has no score, for the reason
    that ``detail`` gives. Other exceptions are raised.
    """

    def score(row: ScoringRow) -> Score:
        if not isinstance(row.prediction, str):
            return unscored("strict")
        try:
            named = replace(row, extra=_Fields(row.extra))
            result = compute(without_reasoning(row.prediction), gold_of(named), named)
        except (RowError, json.JSONDecodeError) as error:
            return unscored("strict", f"the row cannot be scored: {error}")
        if result is None:
            return unscored("strict", "there is no gold answer")
        value, valid, answer = result
        return Score(None if value is None else float(value), valid, answer, "strict")

    return score


def gold_of(row: ScoringRow) -> Any:
    """The gold answers as the released code gets them: the input ``gold_json`` of a sample, else those of the row."""
    stated = row.extra.get(GOLD)
    return json.loads(stated) if isinstance(stated, str) else row.answers


def one_gold(gold: object) -> Any:
    """The gold answer, of a list that has no other too."""
    return gold[0] if isinstance(gold, list) and len(gold) == 1 else gold


def texts(gold: object) -> list[str]:
    """Gold answers as a list of texts that are not empty, without repetitions."""
    given = gold if isinstance(gold, list | tuple) else [gold]
    return list(dict.fromkeys(text for item in given if item is not None and (text := str(item).strip())))
