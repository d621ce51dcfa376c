"""Two models at a glance: the figures of the paired comparison, a band over all lengths, and what flipped."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from fathom.analysis import compare
from fathom.analysis.two_models import two_models
from fathom.report.measure import measure
from fathom.rows import to_frame
from fathom.types import FathomError, Row

LENGTHS = (2048, 4096, 8192, 16384)


def rows_of(model: str, loss: float, *, lengths: tuple[int, ...] = LENGTHS, items: int = 60) -> pl.DataFrame:
    """Right and wrong answers on two tasks; the same items are hard for both, and ``loss`` of them at 16k more."""
    made = []
    for task in ("passkey", "kv_retrieval"):
        luck = np.random.default_rng([len(task)]).random((items, len(LENGTHS)))
        own = np.random.default_rng([len(task), len(model), ord(model[0])]).random((items, len(LENGTHS)))
        for item in range(items):
            for place, length in enumerate(LENGTHS):
                right = luck[item, place] < 0.85 and own[item, place] > (loss if length == 16384 else 0.05)
                name = f"{task}-{item}"
                row = Row("suite", task, name, f"{name}@{length}", model, length, float(right))
                made += [row] if length in lengths else []
    return to_frame(made)


def test_figures_are_those_of_the_paired_comparison_turned_round() -> None:
    a, b = rows_of("a", 0.05), rows_of("b", 0.4)
    result = two_models(a, b)
    known = {(own.task, own.length): own for own in compare(pl.concat([a, b]), "a", "b")}
    figures = [own for own in (*result.lengths, *result.tasks, *result.cells, result.overall) if own is not None]
    assert {(own.task, own.length) for own in figures} == set(known)
    for own in figures:
        other = known[own.task, own.length]
        assert own.difference == pytest.approx(-other.difference)
        assert (own.interval.low, own.interval.high) == pytest.approx((-other.interval.high, -other.interval.low))
        assert own.p_value == other.p_value
        assert own.score_b - own.score_a == pytest.approx(own.difference)


def test_scores_and_band_are_those_of_a_plain_computation() -> None:
    a, b = rows_of("a", 0.05), rows_of("b", 0.4)
    result = two_models(a, b)
    rng = np.random.default_rng(5)
    noise, differences = np.zeros((4000, len(LENGTHS))), np.zeros(len(LENGTHS))
    for task in ("passkey", "kv_retrieval"):
        first, second = (
            np.array([side.filter(task=task, length=length).sort("item")["value"] for length in LENGTHS]).T
            for side in (a, b)
        )
        weights = rng.dirichlet(np.ones(len(first)), size=4000)  # the Bayesian bootstrap, without pseudo-clusters
        noise += weights @ (second - first) / 2
        differences += (second - first).mean(axis=0) / 2
    noise -= noise.mean(axis=0)
    errors = noise.std(axis=0)
    reach = np.quantile(np.abs(noise / errors).max(axis=1), 0.95) * errors
    assert [own.difference for own in result.lengths] == pytest.approx(differences)
    bands = [own.band for own in result.lengths if own.band is not None]
    assert [(band.high - band.low) / 2 for band in bands] == pytest.approx(reach, rel=0.12)
    assert [own.significant for own in result.lengths] == [False, False, False, True]
    # Simultaneous intervals are wider than those for themselves.
    assert all(band.low < own.interval.low for own, band in zip(result.lengths, bands, strict=True))


def test_only_cells_of_both_are_compared_and_the_others_are_named() -> None:
    result = two_models(rows_of("a", 0.05), rows_of("b", 0.4, lengths=LENGTHS[:2]))
    assert [own.length for own in result.lengths] == [2048, 4096]
    left = {(own.length, own.a, own.b) for own in result.left_out}
    assert left == {(8192, "", "not asked"), (16384, "", "not asked")}
    assert result.samples == 2 * 2 * 60
    assert {flip.length for flip in (*result.lost, *result.gained)} <= {2048, 4096}


def test_prompts_that_were_not_sent_yet_are_left_out() -> None:
    whole, b = rows_of("a", 0.05), rows_of("b", 0.4)
    waits = pl.col("item").str.ends_with("9")
    part = b.with_columns(
        value=pl.when(~waits).then("value"),
        status=pl.when(waits).then(pl.lit("error")).otherwise("status"),
        detail=pl.when(waits).then(pl.lit("not asked yet: resume the run")).otherwise("detail"),
    )
    result, left = two_models(whole, part), two_models(whole, b.filter(~waits))
    assert not result.left_out
    assert result == left


def test_flips_are_samples_that_one_has_right_and_the_other_wrong() -> None:
    a, b = rows_of("a", 0.05), rows_of("b", 0.4)
    result = two_models(a, b)
    both = a.join(b, on="sample", suffix="_b")
    assert {flip.sample for flip in result.lost} == set(both.filter(value=1.0, value_b=0.0)["sample"])
    assert {flip.sample for flip in result.gained} == set(both.filter(value=0.0, value_b=1.0)["sample"])


def test_equal_models_differ_nowhere() -> None:
    a = rows_of("a", 0.3)
    result = two_models(a, a.with_columns(model=pl.lit("b")))
    assert not any(own.significant for own in (*result.lengths, *result.tasks, *result.cells))
    assert (result.lost, result.gained) == ((), ())


def test_runs_of_different_suites_are_refused() -> None:
    b = rows_of("b", 0.4).with_columns(suite=pl.lit("other"))
    with pytest.raises(FathomError, match="different suites, suite and other"):
        two_models(rows_of("a", 0.05), b)


def test_scores_have_the_intervals_of_the_report() -> None:
    rows = [Row("suite", "passkey", f"i{n}", f"i{n}@{x}", "a", x, 1.0) for n in range(12) for x in (2048, 4096)]
    a = to_frame(rows)
    b = a.with_columns(model=pl.lit("b"), value=pl.when(pl.col("item") == "i3").then(0.0).otherwise(1.0))
    result = two_models(a, b)
    for side, rows_of_side in (("a", a), ("b", b)):
        results = measure(rows_of_side)
        (system,) = results.systems
        for own in result.cells:
            assert own.length is not None
            curve = results.curve[system, own.task, own.length]
            assert getattr(own, f"interval_{side}") == curve.interval
        average = results.average[system, "passkey"].interval
        assert [getattr(own, f"interval_{side}") for own in result.tasks] == [average]


def test_flips_have_their_suite() -> None:
    a = to_frame([Row(suite, "passkey", "i", "i@2048", "a", 2048, 1.0) for suite in ("one", "two")])
    b = a.with_columns(model=pl.lit("b"), value=pl.when(pl.col("suite") == "two").then(0.0).otherwise(1.0))
    assert [(flip.suite, flip.sample) for flip in two_models(a, b).lost] == [("two", "i@2048")]
