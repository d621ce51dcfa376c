"""Groups of questions: what they can be grouped by, and the order in which groups are shown.

Averages that somebody published are rows too, whose replies are not at hand. Their facets say of what: ``aggregate``
the dimension, ``group``, ``measure``, ``n`` (repeats), ``questions`` where that is known, and ``thinking`` and
``model_kind`` as for replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import polars as pl

from fathom.analysis.grid import ALL
from fathom.length import format_length
from fathom.stats.columns import facet
from fathom.stats.side_rows import is_aggregate
from fathom.types import FathomError

OVERALL = "overall"
DIMENSIONS = (OVERALL, "language", "difficulty", "length", "contextual_requirement", "primary_task", "secondary_task")
_COLUMNS = ("suite", "task", "language")
# The order of the papers; other groups follow by their names and the numbers in them.
_ORDER = ("en", "zh", "Easy", "Moderate", "Hard", "Extreme", "Full", "Partial")
_SIZES = {"k": 1024, "m": 1024 * 1024}


def groups_of(about: pl.DataFrame, dimension: str) -> pl.Series:
    """The group of every question, null for those without one.

    Args:
        about: A table with the columns of rows, one line a question.
        dimension: ``overall`` (one group, ``all``), ``length`` (written as people write it; a length of 0 is not
            known), ``language``, ``task`` or ``suite``; any other is a facet of the samples.
    """
    if dimension == OVERALL:
        return pl.repeat(ALL, len(about), eager=True)
    if dimension == "length":
        names = [format_length(length) if length else None for length in about["length"]]
        return pl.Series("length", names, dtype=pl.String)
    if dimension in _COLUMNS:
        return about[dimension]
    return about.select(facet(dimension)).to_series()


def place(group: str) -> tuple[int, list[str | float]]:
    """Where a group comes in the order of its dimension: lengths ascending, tasks by their numbers."""
    if group in _ORDER:
        return 0, [_ORDER.index(group)]
    if length := re.fullmatch(r"(\d+)([km]?)", group):
        return 1, [int(length[1]) * _SIZES.get(length[2], 1)]
    # Texts and numbers in turn, so that T2 comes before T10.
    return 2, [int(part) if number % 2 else part for number, part in enumerate(re.split(r"(\d+)", group))]


def check_dimensions(by: Sequence[str]) -> None:
    """Whether all dimensions have names that a facet can have.

    Raises:
        FathomError: One of them has not, or there are none.
    """
    for name in by:
        if not name.isidentifier():
            raise FathomError(
                f"{name!r} is nothing to group by: choose {', '.join(DIMENSIONS)}, or any other facet of the samples"
            )
    if not by:
        raise FathomError(f"nothing to group by: choose {', '.join(DIMENSIONS)}, or any other facet of the samples")


def not_there(dimension: str, rows: pl.DataFrame) -> FathomError:
    """The error for a dimension that no question of the rows has."""
    names = sorted({name for text in rows["facets"].unique() for name in _facets(text)})
    has = f"the rows have the facets {', '.join(names)}" if names else "the rows have no facets"
    return FathomError(f"no question with a score has {dimension!r} to group by; {has}")


def _facets(text: str) -> Mapping[str, object]:
    """The facets of a row; none where a table of anyone's holds something else."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def published(rows: pl.DataFrame) -> pl.DataFrame:
    """Published averages, one a line, in the order of the rows.

    Args:
        rows: A rows table; may be empty.

    Returns:
        ``model``, ``variant``, ``value``, ``dimension``, ``group``, ``measure``, ``n``, ``questions`` (null where not
        known), ``thinking`` and ``model_kind`` ("" where not said).
    """
    return rows.filter(is_aggregate(), pl.col("value").fill_nan(None).is_not_null()).select(
        "model",
        "variant",
        "value",
        dimension=facet("aggregate"),
        group=facet("group").fill_null(""),
        measure=facet("measure").fill_null("mean"),
        n=facet("n").cast(pl.Int64, strict=False).fill_null(1),
        questions=facet("questions").cast(pl.Int64, strict=False),
        thinking=facet("thinking").fill_null(""),
        model_kind=facet("model_kind").fill_null(""),
    )
