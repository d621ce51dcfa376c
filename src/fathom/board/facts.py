"""Facts about entries besides scores: usage, outcomes of replies, and how the scores were made."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TypeAlias

import polars as pl

from fathom.board.model import Usage
from fathom.stats.columns import mean_of
from fathom.stats.outcomes import OUTCOMES
from fathom.tokens.tokenizers import public_name
from fathom.types import Json

Facts: TypeAlias = dict[str, Json]
_HASH = 16  # hexadecimal digits that distinguish sets of questions


def hashed(text: str) -> str:
    """A short hash of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


def merged(settings: Iterable[Mapping[str, Json]]) -> dict[str, Json]:
    """Settings of several runs as those of one entry: different values are all listed."""
    together: dict[str, Json] = {}
    for setting in settings:
        for name, value in setting.items():
            had = together.get(name, value)
            if isinstance(had, Mapping) and isinstance(value, Mapping):
                together[name] = merged((had, value))
            elif had == value:
                together[name] = value
            else:
                values = str(had).split(", ")
                together[name] = str(had) if str(value) in values else f"{had}, {value}"
    return together


def usage(rows: pl.DataFrame) -> dict[int, Usage]:
    """Mean usage of the replies of each entry, over those for which it is known.

    Args:
        rows: Rows with the number of their entry as ``line``; the same below.
    """
    means = rows.group_by("line").agg(map(mean_of, ("cost", "tokens_in", "tokens_out", "seconds")))
    return {int(line): Usage(*values) for line, *values in means.rows()}


def outcomes(rows: pl.DataFrame) -> dict[int, dict[str, int]]:
    """Number of replies of each entry by outcome, in the order of ``fathom.stats.outcomes.OUTCOMES``, without zeros."""
    by_line: dict[int, dict[str, int]] = {}
    order = pl.col("outcome").cast(pl.Enum(OUTCOMES)).to_physical()
    for line, name, count in rows.group_by("line", "outcome").len().sort("line", order).rows():
        by_line.setdefault(int(line), {})[str(name)] = int(count)
    return by_line


def facts(rows: pl.DataFrame) -> dict[int, Facts]:
    """Facts about each entry, by task if tasks may differ.

    ``questions`` of a task is a hash of its questions with their lengths and gold answers: ``mark`` of a row is the
    hash of its answer.
    """
    names = {name: public_name(name) for name in rows["tokenizer"].unique()}
    whole = (
        rows.with_columns(pl.col("tokenizer").replace(names))
        .group_by("line")
        .agg(_several("tokenizer"), _several("language"), _several("source"), pl.col("epoch").max())
    )
    by_line: dict[int, Facts] = {}
    for line, tokenizer, language, source, epochs in whole.rows():
        about = {"tokenizer": tokenizer, "languages": language, "source": source, "epochs": epochs}
        by_line[int(line)] = {name: value for name, value in about.items() if value}
    for line, task, fact in _task_facts(rows):
        tasks = by_line[line].setdefault("tasks", {})
        assert isinstance(tasks, dict)
        tasks[task] = fact
    return by_line


def _task_facts(rows: pl.DataFrame) -> Iterator[tuple[int, str, Facts]]:
    asked = pl.concat_str("item", "length", "mark", separator="\x1f").unique().sort().str.join("\n").alias("asked")
    names = ("version", "fathom", "rule", "metric", "grader")
    table = rows.group_by("line", "task").agg(
        _several("task_version"), _several("fathom_version"), *map(_several, names[2:]), asked
    )
    for line, task, *values, questions in table.sort("line", "task").rows():
        yield int(line), str(task), dict(zip(names, values, strict=True)) | {"questions": hashed(questions)}


def _several(column: str) -> pl.Expr:
    """The different values of a column, as one text."""
    texts = pl.col(column).cast(pl.String)
    return texts.filter(texts != "").unique().sort().str.join(", ")
