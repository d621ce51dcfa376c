"""What each reply says, as columns of 0 and 1: valid, copied, in the front third; and what its sample would give.

A column is null where the question does not arise: a reply that is not valid copies nothing, a sample without numbered
answers has no longest one. The mean of a column is then a share of the right replies (:mod:`fathom.analysis.answers`).
"""

from __future__ import annotations

import polars as pl

from fathom.analysis.order_measures import adjacent_share, kendall_tau, order_of
from fathom.stats.columns import facet, item_name

THIRDS = ("front", "middle", "rear")
SHARES = (
    *("followed", "accuracy_valid", "copied", "tau", "adjacent"),
    *(f"{third}_{kind}" for third in THIRDS for kind in ("accuracy", "chosen")),
)
"""Columns that are measured: what the model did. ``tau`` is moved to [0, 1]."""
FACTS = (
    *("copied_expected", "longest", "first", "adjacent_chance"),
    *(f"{third}_{kind}" for third in THIRDS for kind in ("gold", "chance")),
)
"""Columns that are known of the samples, whatever the model did."""
_LABEL = r"^A?([0-9]+)$"


def choice_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of tasks that ask for one of several answers, or for an order.

    Args:
        rows: A rows table. A task is one of them if some row of it has a chance level above 0 or the facet ``example``.
    """
    chosen = (pl.col("chance").fill_null(0) > 0) | facet("example").is_not_null()
    return rows.filter(chosen.any().over("task"))


def with_answer_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with their item as ``name`` and the columns of ``SHARES`` and ``FACTS``.

    Args:
        rows: Rows of a rows table that have a score.
    """
    answer, target = _plain(pl.col("answer")), _plain(pl.col("target"))
    valid = pl.col("valid").fill_null(False)
    followed = rows.with_columns(
        item_name(),
        valid.cast(pl.Float64).alias("followed"),
        pl.when(valid).then("value").alias("accuracy_valid"),
        # A valid reply always has an answer; rows of other tools may keep none.
        pl.when(valid).then(answer == _plain(facet("example"))).cast(pl.Float64).alias("copied"),
        *(
            (_plain(facet(shown)) == target).cast(pl.Float64).alias(name)
            for name, shown in (("copied_expected", "example"), ("longest", "longest"), ("first", "first"))
        ),
    )
    return followed.with_columns(*_orders(followed), *_positions(valid))


def _plain(text: pl.Expr) -> pl.Expr:
    """Answers are the same whatever their spaces and the size of their letters."""
    return text.str.replace_all(r"\s", "").str.to_uppercase()


def _orders(rows: pl.DataFrame) -> list[pl.Series]:
    """Tau and neighbours of valid replies that put all segments in order, and chance where an order is asked for."""
    taus: list[float | None] = []
    kept: list[float | None] = []
    chances: list[float | None] = []
    for answer, target, valid in rows.select("answer", "target", "valid").rows():
        true, answered = order_of(target), order_of(answer) if valid else None
        whole = true is not None and answered is not None and set(answered) == set(true)
        taus.append((kendall_tau(answered, true) + 1) / 2 if whole and answered and true else None)
        kept.append(adjacent_share(answered, true) if whole and answered and true else None)
        chances.append(1 / len(true) if true else None)
    columns = {"tau": taus, "adjacent": kept, "adjacent_chance": chances}
    return [pl.Series(name, values, dtype=pl.Float64) for name, values in columns.items()]


def _positions(valid: pl.Expr) -> list[pl.Expr]:
    """For each third: score and share of samples with the right answer there; share of choices there, and by chance."""
    answers, gold = _number(facet("answers")), _number(facet("gold"))
    numbered = gold.is_between(1, answers).fill_null(False)
    depth = facet("depth").cast(pl.Float64, strict=False)
    depth = pl.when(depth.is_between(0, 1)).then(depth)
    place = pl.when(numbered).then(_middle(gold, answers)).otherwise(depth)
    number = _number(pl.col("answer").str.strip_chars().str.extract(_LABEL, 1))
    choice = pl.when(valid & numbered & number.is_between(1, answers)).then(_middle(number, answers))
    made = []
    for third in THIRDS:
        made += [
            pl.when(_in(third, place)).then("value").alias(f"{third}_accuracy"),
            _in(third, choice).cast(pl.Float64).alias(f"{third}_chosen"),
            _in(third, place).cast(pl.Float64).alias(f"{third}_gold"),
            pl.when(numbered).then(_held(third, answers) / answers).alias(f"{third}_chance"),
        ]
    return made


def _number(text: pl.Expr) -> pl.Expr:
    return text.cast(pl.Int64, strict=False)


def _middle(number: pl.Expr, answers: pl.Expr) -> pl.Expr:
    """Where answer ``number`` of so many lies: the middle of its share of the context. Never at 1/3 or 2/3 exactly."""
    return (2 * number - 1) / (2 * answers)


def _in(third: str, place: pl.Expr) -> pl.Expr:
    if third == "front":
        return place < 1 / 3
    return place > 2 / 3 if third == "rear" else place.is_between(1 / 3, 2 / 3)


def _held(third: str, answers: pl.Expr) -> pl.Expr:
    """How many of so many answers lie in a third: those with 2 * number - 1 below two thirds of ``answers``."""
    outer = (2 * answers + 3) // 6
    return answers - 2 * outer if third == "middle" else outer
