"""What a look at any time rests on: evidence that is never lost, for every kind of score."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from test_gate import drawn, side

from fathom.analysis.sequential import sequential_gate
from fathom.types.samples import place_of


def test_evidence_of_a_look_is_never_lost_at_the_next() -> None:
    """So the p-values of the last look are the smallest of all looks, which simulations of every look rest on."""
    candidate, baseline = drawn(1, 200, {4096: 0.2}), drawn(2, 200)
    order = sorted(set(candidate["item"]), key=lambda item: place_of("kv", item))
    looks = []
    for items in (20, 60, 120, 200):
        claims = sequential_gate(candidate.filter(pl.col("item").is_in(order[:items])), baseline, margin=0.1).claims
        looks.append([(claim.p_worse, claim.p_margin) for claim in claims])
    assert (np.diff(np.array(looks), axis=0) <= 1e-12).all()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", ["ceiling", "floor", "ties", "graded", "eight items"])
def test_equal_models_are_rarely_called_worse_whatever_the_scores(kind: str) -> None:
    """At level .05 in at most 5 of 100: 6 of 40 or more have a probability of 1.4%."""
    rng = np.random.default_rng(45)
    items = 8 if kind == "eight items" else 60
    called = 0
    for _ in range(40):
        ease = rng.random((items, 1))
        sides = []
        for _ in range(2):
            luck = 0.7 * ease + 0.3 * rng.random((items, 3))
            scores = {
                "ceiling": luck < 0.93, "floor": luck < 0.1, "ties": np.round(4 * luck) / 4, "graded": luck,
            }.get(kind, luck < 0.5)  # fmt: skip
            sides.append(side({1024 * 2**n: np.asarray(scores, dtype=float)[:, n] for n in range(3)}))
        called += any(claim.p_worse <= 0.05 for claim in sequential_gate(sides[0], sides[1], margin=0.03).claims)
    assert called < 6
