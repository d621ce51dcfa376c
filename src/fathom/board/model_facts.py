"""Facts about models that results do not contain: open or closed weights, and size.

A file is a TOML with a table for each model, named as in the results; each field is optional::

    ["org/model-70b"]
    weights = "open"          # or "closed"
    parameters = "70.6B"      # all parameters: a number, or a text with K, M, B or T
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from fathom.board.model import ModelFacts
from fathom.storage.toml import read_toml
from fathom.types import FathomError

WEIGHTS = ("open", "closed")
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMBT]?)")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
MOST_PARAMETERS = 10**15
SIZE_EXPECTED = "a number of parameters from 1 to 1,000T, for instance 8.2B"


def read_model_facts(path: Path) -> dict[str, ModelFacts]:
    """The facts of a file, by name of the model.

    Raises:
        FathomError: The file cannot be read, or a field is wrong; the message names file, model and field.
    """
    return {model: _facts(facts, f"{path}, {model!r}") for model, facts in read_toml(path).items()}


def _facts(facts: object, where: str) -> ModelFacts:
    if not isinstance(facts, Mapping):
        raise FathomError(f'{where}: expected a table, ["NAME OF THE MODEL"] and its fields below')
    for field in facts:
        if field not in _READ:
            raise FathomError(f"{where}: unknown field {field!r}; expected {' or '.join(_READ)}")
    return ModelFacts(**{field: _value(field, value, where) for field, value in facts.items()})


def _value(field: str, value: object, where: str) -> Any:
    read, expected = _READ[field]
    fact = read(value)
    if fact is None:
        raise FathomError(f"{where}: {field} = {value!r}, expected {expected}")
    return fact


def weights_of(value: object) -> str | None:
    """``open`` or ``closed``; None for anything else."""
    return value if isinstance(value, str) and value in WEIGHTS else None


def parameters_of(value: object) -> int | None:
    """A number of parameters from a number or a text such as ``8.2B``; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = f"{value:.0f}" if isinstance(value, float) else str(value)
    if not (match := _SIZE.fullmatch(text)):
        return None
    count = int(Decimal(match[1]) * _UNITS[match[2]])
    return count if 1 <= count <= MOST_PARAMETERS else None


_READ: Mapping[str, tuple[Callable[[object], Any], str]] = {
    "weights": (weights_of, " or ".join(WEIGHTS)),
    "parameters": (parameters_of, SIZE_EXPECTED),
}
