"""Tables of scores, as in papers and leaderboards: one row for each model, task and length.

A score s over n items is treated as the share of correct ones among n independent items. Its replicates are those of
the Bayesian bootstrap over such items: Beta(n s + 1/2, n (1 - s) + 1/2), the posterior under Jeffreys' prior. For
graded scores (F1, judges) these have the largest possible variance. Lengths are independent of each other, because a
table does not show which items were correct.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from fathom.analysis.base import BASE_RULES, BaseRule, GivenBase
from fathom.analysis.grid import ALL
from fathom.analysis.profile import Profile, mean_profile
from fathom.plugins.names import did_you_mean
from fathom.rows.schema import column_names, read_table
from fathom.stats.intervals import OTHER, OWN, REPLICATES, Sums, generator
from fathom.stats.outcomes import added
from fathom.tokens.length import SHORTEST, format_length
from fathom.types import FathomError

Scale: TypeAlias = Literal["percent", "fraction"]
SCALES: tuple[Scale, ...] = ("percent", "fraction")
ITEMS = 100
"""Items of a score if the table has no number: those of 100-LongBench at each length."""
PERCENT_ABOVE = 1.5
"""A table with a value above this is in percent."""

_LENGTHS = ("length", "length_k", "setting")
_SCORES = ("score", "value", "accuracy", "accuracy_percent")
_ITEMS = ("items", "n")
MOST_ITEMS = 10**9
_METRICS = ("score", "score_percent", "accuracy", "accuracy_percent")
_MEANS = (ALL, "avg", "average")
_SEVERAL = re.compile(r"\d[\d.]*\s*[km]?\s*(?:/|-|–|,|\band\b|\bto\b|\bor\b)\s*\d", re.IGNORECASE)
_LENGTH = re.compile(r"(\d{1,12}(?:\.\d+)?)\s*([km]?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """One score of a table.

    Attributes:
        task: Name of the task, ``all`` for a mean over tasks in the table.
        length: Length in tokens; 0 for a given base.
        score: Mean score in [0, 1].
        items: Number of items.
        chance: Chance level; None if unknown.
        variant: Name of the variant.
    """

    model: str
    task: str
    length: int
    score: float
    items: int
    chance: float | None = None
    variant: str = ""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The cells of a table, and notes on how they were read."""

    cells: tuple[ScoreCell, ...]
    note: str


def is_score_table(path: Path) -> bool:
    """Whether a file is a table of scores by model and length, not a rows table."""
    columns = column_names(path)
    needed = ("model" in columns, _first(columns, _LENGTHS), _first(columns, _SCORES))
    return all(needed) and not {"item", "sample"} <= set(columns)


def read_scores(
    path: Path,
    *,
    scale: Scale | None = None,
    items: int = ITEMS,
    where: Mapping[str, str] | None = None,
    chance: Mapping[str, float] | None = None,
    several: bool = False,
) -> ScoreTable:
    """Reads a table of scores.

    Columns: ``model``; ``task`` (one task without it); ``length`` (8192, 8k; plain numbers are in k if the smallest
    is below 256), ``length_k`` or ``setting``, in which 0 or ``base`` is a given base; ``score`` or ``value``;
    and optionally ``variant``, ``items`` or ``n``, ``chance``. If a column ``metric`` names the kind of a value,
    ``score`` and ``score_percent`` are read. Rows without a score or without a length (averages) are left out, and
    so are means over tasks (``all``, ``avg``) of models whose tasks are in the table.

    Args:
        path: A table, see ``fathom.rows.schema.read_table``.
        scale: ``percent`` or ``fraction``; by default percent if a value is above 1.5.
        items: Items of each score if the table has no column for them.
        where: Only rows with these values in these columns.
        chance: Chance level by task, if the table has no column for it; other tasks then have 0.
        several: Leave out rows of several lengths at once (``24k / 32k``); otherwise they are an error, since an
            average over the other lengths would not be that of the table.

    Raises:
        FathomError: The file is not such a table, a value is not a number, one cell has two scores, or a row names
            several lengths.
    """
    frame = read_table(path)
    columns = frame.columns
    length_column, score_column = _first(columns, _LENGTHS), _first(columns, _SCORES)
    if "model" not in columns or not length_column or not score_column:
        raise FathomError(
            f"{path}: not a table of scores: it needs the columns model, one of {', '.join(_LENGTHS)}, and one of "
            f"{', '.join(_SCORES)}; it has {', '.join(columns) or 'none'}"
        )
    if items < 1:
        raise FathomError(f"`items` {items}: a score is the mean of 1 item or more")
    if scale is not None and scale not in SCALES:
        raise FathomError(f"`scale` {scale}: choose {', '.join(SCALES)}")
    frame = _chosen(frame, path, where or {})
    texts = ["" if text is None else str(text) for text in frame[length_column]]
    items_column = _first(columns, _ITEMS)
    if not several:
        _one_length_each(texts, frame["model"].to_list(), path, length_column)
    cells, left_out = [], []
    for line, text, length in zip(frame.iter_rows(named=True), texts, _lengths(texts, length_column), strict=True):
        if length is None:
            left_out.append(text)
        elif (score := _number(line[score_column], path, score_column)) is not None:
            counted = _number(line[items_column], path, items_column) if items_column else None
            if counted is not None and not 1 <= counted <= MOST_ITEMS:
                raise FathomError(f"{path}: {items_column} {counted:g}: expected 1 to {MOST_ITEMS:,}")
            level = _number(line.get("chance"), path, "chance")
            task = str(line.get("task") or ALL)
            cells.append(
                ScoreCell(
                    model=str(line["model"] or ""),
                    task=ALL if task in _MEANS else task,
                    length=length,
                    score=score,
                    items=int(counted or items),
                    chance=chance.get(task, 0.0) if level is None and chance else level,
                    variant=str(line.get("variant") or ""),
                )
            )
    note = "" if items_column else f"intervals as if each score were the mean of {items} right-or-wrong items"
    if left_out:
        note += "; " * bool(note) + f"left out, because they are not lengths: {', '.join(dict.fromkeys(left_out))}"
    return ScoreTable(_single(_scaled(cells, scale, path), path), note)


def _first(columns: Sequence[str], names: Sequence[str]) -> str:
    return next((name for name in names if name in columns), "")


def _chosen(frame: pl.DataFrame, path: Path, where: Mapping[str, str]) -> pl.DataFrame:
    for name, value in where.items():
        if name not in frame.columns:
            columns = f"{', '.join(frame.columns)}{did_you_mean(name, frame.columns)}"
            raise FathomError(f"`where` {name}={value}: {path} has no such column; it has {columns}")
        matching = frame.filter(pl.col(name).cast(pl.String) == value)
        if matching.is_empty():
            known = ", ".join(map(str, frame[name].unique(maintain_order=True)[:12]))
            raise FathomError(f"`where` {name}={value}: no such row in {path}; {name} is one of {known}")
        frame = matching
    if "metric" in frame.columns and "metric" not in where:
        frame = frame.filter(pl.col("metric").is_in(_METRICS))
    return frame


def _lengths(texts: Sequence[str], column: str) -> list[int | None]:
    """Lengths in tokens, 0 for the base, None for other texts."""
    read = [_LENGTH.fullmatch(text.strip()) for text in texts]
    plain = [float(match[1]) for match in read if match and not match[2] and float(match[1]) > 0]
    unit = 1024 if column == "length_k" or (plain and min(plain) < SHORTEST) else 1
    units = {"": unit, "k": 1024, "m": 1024 * 1024}
    lengths: list[int | None] = []
    for text, match in zip(texts, read, strict=True):
        if text.strip().lower() == "base":
            lengths.append(0)
        else:
            lengths.append(round(float(match[1]) * units[match[2].lower()]) if match else None)
    return lengths


def _one_length_each(texts: Sequence[str], models: Sequence[object], path: Path, column: str) -> None:
    several = [(text, str(model)) for text, model in zip(texts, models, strict=True) if _SEVERAL.match(text.strip())]
    if several:
        names = ", ".join(dict.fromkeys(repr(text) for text, _ in several))
        who = ", ".join(dict.fromkeys(model for _, model in several))
        raise FathomError(
            f"{path}: {column} {names} (of {who}) is not a single length, and an average without it would be wrong: "
            "write the length of each score into the table, choose lengths with `lengths`, or choose other rows "
            "with `where` COLUMN=VALUE"
        )


def _number(value: object, path: Path, column: str) -> float | None:
    if value is None or str(value).strip() == "":
        return None
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FathomError(f"{path}: {column} is {value!r}, expected a number, or an empty cell without a score")
    return number


def _scaled(cells: Sequence[ScoreCell], scale: Scale | None, path: Path) -> list[ScoreCell]:
    highest = max((cell.score for cell in cells), default=0.0)
    in_percent = highest > PERCENT_ABOVE if scale is None else scale == "percent"
    unit = 100.0 if in_percent else 1.0
    for cell in cells:
        if not 0 <= cell.score <= unit:
            raise FathomError(
                f"{path}: {cell.model}, {cell.task}, {format_length(cell.length)}: a score of {cell.score:g} is not "
                f"between 0 and {unit:g}; give the scale of the table with `scale` {' or '.join(SCALES)}, or choose "
                "rows with `where` COLUMN=VALUE"
            )
        if cell.chance is not None and not 0 <= cell.chance <= 1:
            raise FathomError(f"{path}: {cell.task}: a chance level of {cell.chance:g} is not between 0 and 1")
    return [replace(cell, score=cell.score / unit) for cell in cells]


def _single(cells: Sequence[ScoreCell], path: Path) -> tuple[ScoreCell, ...]:
    """One cell for each model, task and length; means over tasks only if the tasks are missing."""
    kept: dict[tuple[str, str, str, int], ScoreCell] = {}
    for cell in cells:
        key = cell.model, cell.variant, cell.task, cell.length
        if key in kept and kept[key].score != cell.score:
            raise FathomError(
                f"{path}: {cell.model}, {cell.task}, {format_length(cell.length)} has the scores "
                f"{kept[key].score:g} and {cell.score:g}; choose rows with `where` COLUMN=VALUE"
            )
        kept[key] = cell
    broken_down = {(cell.model, cell.variant) for cell in cells if cell.task != ALL}
    return tuple(cell for cell in kept.values() if cell.task != ALL or (cell.model, cell.variant) not in broken_down)


def score_profiles(
    table: ScoreTable, *, base: BaseRule | None = None, seed: int = 0, replicates: int = REPLICATES
) -> list[Profile]:
    """Profiles of every model and variant of a table: each of its tasks, then ``all``.

    Args:
        table: The cells; for a model, a task has one cell at a length.
        base: ``given``: the cell of length 0; ``paper``: the mean at 2k, 4k and 6k; by default ``given`` if the
            table has such a cell.

    Raises:
        FathomError: The base is unknown, or that of the code, which needs rows; or there is no score.
    """
    if base is not None and base not in BASE_RULES:
        raise FathomError(f"`base` {base}: choose {', '.join(BASE_RULES)}")
    if base == "code":
        raise FathomError("`base` code needs rows: a table of scores has no items to pool as the released code does")
    if not table.cells:
        raise FathomError("the table has no score at a length")
    given = any(cell.length == 0 for cell in table.cells) if base is None else base == "given"
    models: dict[tuple[str, str], dict[str, list[ScoreCell]]] = {}
    for cell in table.cells:
        models.setdefault((cell.model, cell.variant), {}).setdefault(cell.task, []).append(cell)
    profile = partial(_profile, given=given, seed=seed, replicates=replicates, note=table.note)
    profiles = []
    for tasks in models.values():
        if list(tasks) != [ALL]:
            profiles += [profile(cells, 1.0) for cells in tasks.values()]
        profiles.append(mean_profile([profile(cells, 1 / len(tasks)) for cells in tasks.values()]))
    return profiles


def _profile(
    cells: Sequence[ScoreCell], prior: float, *, given: bool, seed: int, replicates: int, note: str
) -> Profile:
    first = cells[0]
    tested = sorted((cell for cell in cells if cell.length), key=lambda cell: cell.length)
    rng = generator(seed, f"{first.model}\x1f{first.variant}\x1f{first.task}")
    sums = _sums(tested, rng, replicates)
    chance = np.array([_level(cell) for cell in tested], dtype=np.float64)
    items = np.array([cell.items for cell in tested], dtype=np.int64)
    means = np.array([cell.score for cell in tested], dtype=np.float64)
    return Profile(
        model=first.model,
        variant=first.variant,
        task=first.task,
        tasks=(first.task,),
        lengths=np.array([cell.length for cell in tested], dtype=np.int64),
        means=means,
        draws=sums.means(seed, prior, OWN),
        compared=sums.means(seed, prior, OTHER),
        chance=chance,
        chance_draws=np.tile(chance, (replicates, 1)),
        items=items,
        scored=items,
        complete=np.ones(len(tested), dtype=np.bool_),
        other=means,
        gaps=(None,) * len(tested),
        tallies=(added(()),) * len(tested),
        low=means,
        high=means,
        base=_given([cell for cell in cells if not cell.length], prior, rng, seed, replicates) if given else None,
        note=note,
    )


def _sums(cells: Sequence[ScoreCell], rng: np.random.Generator, replicates: int) -> Sums:
    """Weighted sums of correct items, and sums of all weights: gamma variates, as in a Bayesian bootstrap."""
    right = np.array([cell.items * cell.score for cell in cells], dtype=np.float64)
    wrong = np.array([cell.items * (1 - cell.score) for cell in cells], dtype=np.float64)
    scored = rng.standard_gamma(right, (replicates, len(cells)))
    return Sums(scored, scored + rng.standard_gamma(wrong, (replicates, len(cells))), np.ones(len(cells)))


def _given(cells: Sequence[ScoreCell], prior: float, rng: np.random.Generator, seed: int, replicates: int) -> GivenBase:
    if not cells:
        nothing = np.full(replicates, math.nan)
        return GivenBase(math.nan, nothing, math.nan, nothing, 0, (), "")
    (cell,) = cells
    draws = _sums(cells, rng, replicates).means(seed, prior, OWN)[:, 0]
    level = _level(cell)
    return GivenBase(cell.score, draws, level, np.full(replicates, level), cell.items, (), "base as given in the table")


def _level(cell: ScoreCell) -> float:
    return math.nan if cell.chance is None else cell.chance
