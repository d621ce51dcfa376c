"""Reads labels: scores of replies by people or a trusted judge, from any table."""

from pathlib import Path

import polars as pl

from fathom.rows.schema import SCHEMA, read_table
from fathom.suites.registry import task_name
from fathom.types import FathomError

SCORES = ("score", "label")
KEYS = ("sample", "item", "model", "variant", "epoch", "length", "task", "suite")
WORDS = {
    **dict.fromkeys(("right", "correct", "true", "yes", "pass"), 1.0),
    **dict.fromkeys(("wrong", "incorrect", "false", "no", "fail"), 0.0),
}


def read_labels(path: Path) -> pl.DataFrame:
    """Read the labels of replies.

    Args:
        path: A table (see ``read_table``) with the column ``score`` or ``label``: a number in [0, 1], or a word for
            right or wrong; with ``sample`` or ``item``; and with ``model``, ``variant``, ``epoch``, ``length``,
            ``task`` and ``suite`` as needed to identify replies. Rows without a score and other columns are ignored.

    Returns:
        A frame with those of these columns that exist, with the score as ``score``.

    Raises:
        FathomError: The file cannot be read, lacks a column, or has an invalid score or number.
    """
    table = read_table(path)
    names = table.columns
    score = next((name for name in SCORES if name in names), None)
    if score is None or not {"sample", "item"} & set(names):
        raise FathomError(
            f"{path}: no labels: expected a column 'score' (or 'label') and a column 'sample' (or 'item'), "
            f"found {', '.join(map(repr, names)) or 'none'}"
        )
    keys = [name for name in KEYS if name in names]
    columns: dict[str, list[object]] = {name: [] for name in (*keys, "score")}
    for number, line in enumerate(table.iter_rows(named=True), start=1):
        if line.get(score) in (None, ""):
            continue
        for key in keys:
            columns[key].append(_key(path, number, key, line.get(key)))
        columns["score"].append(_score(path, number, line[score]))
    if not columns["score"]:
        raise FathomError(f"{path}: no label in column {score!r}; fill in a score from 0 to 1 for each reply")
    return pl.DataFrame(columns, schema={name: SCHEMA[name] for name in keys} | {"score": pl.Float64})


def _key(path: Path, number: int, name: str, value: object) -> object:
    text = "" if value is None else str(value)
    if SCHEMA[name] == pl.String:
        return task_name(text) if name in ("task", "suite") else text
    try:
        return int(text)
    except ValueError:
        raise FathomError(f"{path}: label {number}: {name} is {text!r}, expected a whole number") from None


def _score(path: Path, number: int, value: object) -> float:
    text = str(value).strip().lower()
    try:
        score = WORDS[text] if text in WORDS else float(text)
    except ValueError:
        score = -1.0
    if not 0 <= score <= 1:
        raise FathomError(
            f"{path}: label {number}: the score is {text!r}, expected a number from 0 to 1 (marks divided by their "
            f"maximum) or one of {', '.join(WORDS)}"
        )
    return score
