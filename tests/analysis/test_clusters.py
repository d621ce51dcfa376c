"""Several questions over one context: paired question by question, and intervals that know they belong together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated import row

from fathom.analysis import compare, curve, profiles
from fathom.rows import to_frame
from fathom.stats.intervals import interval_of
from fathom.types import Row


def question(value: float | None, number: int, *, item: int = 0, model: str = "m") -> Row:
    one = row(value, item=item, model=model, facets={"question": number})
    return replace(one, sample=f"{one.sample}/q{number}", status="ok" if value is not None else "error")


def test_questions_are_averaged_within_their_item() -> None:
    rows = [question(1.0, number) for number in (1, 2, 3)] + [question(0.0, 1, item=1)]
    assert curve(to_frame(rows))[0].mean == 0.5


def test_models_are_compared_on_the_same_questions() -> None:
    rows = [question(1.0, 1, model="a"), question(0.0, 2, model="a"), question(1.0, 1, model="b")]
    rows += [question(1.0, 1, item=1, model="a"), question(0.0, 2, item=1, model="b")]
    (one,) = [found for found in compare(to_frame(rows), "a", "b") if (found.task, found.length) == ("kv", 2048)]
    assert (one.difference, one.items) == (0.0, 1)


def coverage(simulations: int, rng: np.random.Generator, *, as_items: bool) -> float:
    """How often the 95% interval of the mean holds the truth, for 25 items of 6 questions that are alike."""
    blank = to_frame(
        replace(question(0.0, number, item=item), item=f"{item}/{number if as_items else 0}")
        for item in range(25)
        for number in range(6)
    )
    held = 0
    for seed in range(simulations):
        right = rng.random((25, 6)) < rng.beta(1, 1, 25)[:, None]
        rows = blank.with_columns(value=right.ravel().astype(np.float64))
        profile = profiles(rows, seed=seed, replicates=400)[0]
        interval = interval_of(profile.draws[:, 0], float(profile.means[0]))
        held += interval.low <= 0.5 <= interval.high
    return held / simulations


@pytest.mark.slow
@pytest.mark.long
def test_intervals_hold_the_truth_where_questions_share_a_context() -> None:
    rng = np.random.default_rng(4)
    assert 0.91 <= coverage(200, rng, as_items=False) <= 0.99
    assert coverage(100, rng, as_items=True) < 0.85


def test_the_same_weights_for_all_questions_of_an_item() -> None:
    rng = np.random.default_rng(1)
    values = rng.random(20)
    one = to_frame(question(float(value), 1, item=item) for item, value in enumerate(values))
    many = to_frame(
        question(float(value), number, item=item) for item, value in enumerate(values) for number in (1, 2, 3)
    )
    assert curve(many) == curve(one)
