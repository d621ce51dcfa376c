"""Which of several models is the best, with a stated error, at any look."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from test_gate import side

from fathom.analysis.best import best_models
from fathom.report.studies import tables_of
from fathom.types import FathomError
from fathom.types.samples import place_of


def models(rng: np.random.Generator, shares: tuple[float, ...], items: int) -> pl.DataFrame:
    """Models right on these shares of the items, at two lengths that share an item's luck."""
    sides = []
    luck = rng.random((items, 1))
    for number, share in enumerate(shares):
        own = 0.7 * luck + 0.3 * rng.random((items, 2))
        right = own < np.quantile(0.7 * rng.random(20_000) + 0.3 * rng.random(20_000), share)
        sides.append(side({1024: right[:, 0], 2048: right[:, 1]}, model=f"m{number}"))
    return pl.concat(sides)


def test_a_model_that_is_clearly_the_best_is_the_only_one_left() -> None:
    rows = models(np.random.default_rng(1), (0.9, 0.5, 0.4), 200)
    found = best_models(rows)
    assert found[0].model == "m0"
    assert [model.may_be_best for model in found] == [True, False, False]
    assert (found[0].best, found[0].worst) == (1, 1)
    assert found[0].difference == 0
    assert found[1].interval.low < found[1].difference < found[1].interval.high < 0
    (table,) = tables_of(found)
    assert [row[1].text for row in table.rows] == ["yes", "no", "no"]


def test_two_models_are_compared_as_the_gate_does() -> None:
    from fathom.analysis.sequential import sequential_gate

    rows = models(np.random.default_rng(2), (0.7, 0.5), 80)
    first, second = (rows.filter(model=name) for name in ("m0", "m1"))
    claims = sequential_gate(second, first, margin=0.1).claims
    (overall,) = (claim for claim in claims if claim.length is None)
    # Holm's correction of the gate is for three claims at most.
    found = {model.model: model for model in best_models(rows)}
    assert found["m1"].p_value <= overall.p_worse <= 3 * found["m1"].p_value + 1e-12
    assert found["m1"].difference == pytest.approx(overall.difference)


@pytest.mark.slow
@pytest.mark.long
def test_the_best_is_rarely_called_not_the_best() -> None:
    """At most 5 of 100 when several are equal: 5 of 30 or more have a probability of 2%."""
    missed = 0
    for seed in range(30):
        found = best_models(models(np.random.default_rng(seed), (0.6, 0.6, 0.6, 0.6), 80))
        missed += not all(model.may_be_best for model in found)
    assert missed < 5


def test_ranks_and_the_best_come_from_the_same_evidence() -> None:
    """Model a wins the first 40 items and loses 45 later: that a is better was shown, and b's mean is higher."""
    rows = side({1024: np.zeros(200)})
    names = rows.select("task", "item").rows()
    order = sorted(range(200), key=lambda number: place_of(*names[number]))
    a, b = np.zeros(200), np.zeros(200)
    a[order[:40]], b[order[40:85]] = 1, 1
    found = best_models(pl.concat([side({1024: a}, model="a"), side({1024: b}, model="b")]))
    ranks = {model.model: (model.may_be_best, model.best, model.worst) for model in found}
    assert ranks == {"a": (True, 1, 1), "b": (False, 2, 2)}
    assert found[0].model == "b"
    # Where each was shown to be better at some moment, neither is above the other.
    b[order[40:]] = 1
    found = best_models(pl.concat([side({1024: a}, model="a"), side({1024: b}, model="b")]))
    assert [(model.best, model.worst) for model in found] == [(1, 2), (1, 2)]
    assert [model.may_be_best for model in found] == [True, True]


def test_one_model_and_models_without_common_samples_are_refused() -> None:
    rows = models(np.random.default_rng(1), (0.9, 0.5), 5)
    with pytest.raises(FathomError, match="the best of several models is asked for, and there is 1"):
        best_models(rows.filter(model="m0"))
    other = rows.with_columns(sample=pl.when(pl.col("model") == "m0").then("sample").otherwise(pl.lit("x")))
    with pytest.raises(FathomError, match="no samples in common"):
        best_models(other)
    with pytest.raises(FathomError, match="alpha 1"):
        best_models(rows, alpha=1.0)
