"""Tables of many differences: adjusted p-values, and the difference of a group to the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from simulated import row

from fathom.analysis import breakdown, compare, position_contrasts, thinking_gain
from fathom.analysis.breakdown import GroupScore, adjusted_scores
from fathom.rows import to_frame
from fathom.stats.differences import gap_of, unpaired_gap
from fathom.types import Row


def holm_by_hand(p_values: Sequence[float]) -> list[float]:
    """Each p-value times the number of those that are not smaller, and at least as large as those before it."""
    adjusted: dict[int, float] = {}
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        highest = max(highest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = highest
    return [adjusted[place] for place in range(len(p_values))]


def asked_by_group(scores: dict[str, list[float]], *, facet: str = "kind") -> list[Row]:
    """One item for each score, with its group as a facet."""
    rows: list[Row] = []
    for group, values in scores.items():
        for value in values:
            rows.append(row(value, item=len(rows), facets={facet: group}))
    return rows


def by_group(found: Sequence[GroupScore]) -> dict[str, GroupScore]:
    return {score.group: score for score in found}


def test_contrasts_of_positions_are_adjusted_for_all_of_the_table() -> None:
    rng = np.random.default_rng(1)
    rows = [
        row(float(rng.random() < (0.9 if depth == 0 else 0.4)), item=item, length=length, facets={"depth": depth})
        for length in (2048, 8192)
        for item in range(12)
        for depth in (0.0, 0.5, 1.0)
    ]
    rows += [
        dataclasses.replace(each, model="other", value=float(rng.random() < 0.5), facets={"depth": rng.random()})
        for each in rows
        if each.facets["depth"] == 0.5
    ]
    found = position_contrasts(to_frame(rows))
    assert {contrast.paired for contrast in found} == {True, False}
    assert len(found) == 18
    adjusted = holm_by_hand([contrast.p_value for contrast in found])
    assert [contrast.p_adjusted for contrast in found] == pytest.approx(adjusted)


def test_comparisons_and_gains_are_adjusted_for_all_of_the_table() -> None:
    rng = np.random.default_rng(2)
    rows = [
        row(float(rng.random() < right), item=item, model=model, task=task)
        for model, right in (("a", 0.9), ("b", 0.4))
        for task in ("kv", "qa")
        for item in range(20)
    ]
    found = compare(to_frame(rows), "a", "b")
    adjusted = holm_by_hand([comparison.p_value for comparison in found])
    assert [comparison.p_adjusted for comparison in found] == pytest.approx(adjusted)
    modes, kinds = {"a": "on", "b": "off"}, ("x", "y", "z")
    thought = []
    for each in rows:
        kind = kinds[int(each.item.rpartition("/")[2]) % 3]
        if each.task == "kv":
            facets = {"thinking": modes[each.model], "kind": kind}
            thought.append(dataclasses.replace(each, model="m", variant=modes[each.model], facets=facets))
    gains = thinking_gain(to_frame(thought), by=("overall", "kind"))
    assert len(gains) == 4
    adjusted = holm_by_hand([gain.p_value or 0.0 for gain in gains])
    assert [gain.p_adjusted for gain in gains] == pytest.approx(adjusted)


def test_a_group_is_compared_with_the_questions_of_all_others() -> None:
    scores = {"x": [1.0] * 18 + [0.0] * 2, "y": [1.0, 0.0] * 10, "z": [1.0] * 4 + [0.0] * 6}
    found = by_group(breakdown(to_frame(asked_by_group(scores)), by=("kind",)))
    for name, values in scores.items():
        rest = [value for other, own in scores.items() if other != name for value in own]
        assert found[name].difference == pytest.approx(sum(values) / len(values) - sum(rest) / len(rest))
        interval = found[name].difference_interval
        assert interval is not None
        assert (interval.low > 0 or interval.high < 0) is ((found[name].p_value or 0.0) < 0.05)
    adjusted = holm_by_hand([found[name].p_value or 0.0 for name in "xyz"])
    assert [found[name].p_adjusted for name in "xyz"] == pytest.approx(adjusted)
    assert (found["x"].p_adjusted or 0.0) < 0.05 < (found["y"].p_adjusted or 0.0)


def test_of_two_groups_there_is_one_difference() -> None:
    scores = {"x": [1.0] * 16 + [0.0] * 4, "y": [1.0, 0.0] * 10}
    first, second = breakdown(to_frame(asked_by_group(scores)), by=("kind",))
    assert (first.difference, first.p_value) == (-(second.difference or 0.0), second.p_value)
    low, high = first.difference_interval, second.difference_interval
    assert low is not None
    assert high is not None
    assert (low.low, low.high) == (-high.high, -high.low)
    assert first.p_adjusted == second.p_adjusted == first.p_value


def test_no_difference_without_a_rest_or_of_repeats() -> None:
    rows = asked_by_group({"x": [1.0, 0.0, 1.0]})
    rows += [dataclasses.replace(each, epoch=2) for each in rows]
    found = breakdown(to_frame(rows), by=("overall", "kind", "run"))
    assert len(found) == 4
    assert all(score.difference is None and score.p_value is None and score.p_adjusted is None for score in found)


def test_a_group_without_a_score_leaves_no_rest() -> None:
    rows = asked_by_group({"x": [1.0] * 8, "y": [0.0] * 8})
    rows += [row(None, item=100 + number, length=8192, facets={"kind": "z"}) for number in range(8)]
    found = breakdown(
        to_frame(dataclasses.replace(each, status="error" if each.value is None else "ok") for each in rows),
        by=("kind",),
    )
    assert [score.group for score in found] == ["x", "y"]
    assert all(score.difference is None for score in found)


def test_an_item_in_several_groups_is_resampled_with_all_its_questions() -> None:
    rng = np.random.default_rng(3)
    luck = (rng.random(40) < 0.5).astype(float).tolist()
    rows = [row(value, item=item, length=length) for item, value in enumerate(luck) for length in (1024, 2048, 4096)]
    same = breakdown(to_frame(rows), by=("length",))
    apart = breakdown(
        to_frame(
            dataclasses.replace(each, item=f"{each.item}/{each.length}", sample=f"{each.sample}/{each.length}")
            for each in rows
        ),
        by=("length",),
    )
    assert [score.difference for score in same] == pytest.approx([0.0] * 3)
    assert [score.clusters for score in same] == [score.questions for score in same] == [40] * 3
    for together, alone in zip(same, apart, strict=True):
        narrow, wide = together.difference_interval, alone.difference_interval
        assert narrow is not None
        assert wide is not None
        assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)


def test_parts_of_a_table_are_adjusted_together() -> None:
    part = breakdown(to_frame(asked_by_group({"x": [1.0] * 20, "y": [1.0, 0.0] * 10, "z": [1.0] * 10})), by=("kind",))
    other = [dataclasses.replace(score, model="other") for score in part]
    whole = adjusted_scores([*part, *other])
    assert [score.p_adjusted for score in whole] == pytest.approx(
        holm_by_hand([score.p_value or 0.0 for score in whole])
    )


def test_a_difference_beyond_all_replicates_has_a_p_value_for_many_tests() -> None:
    draws = np.random.default_rng(0).normal(0.5, 0.05, 1_000)
    assert gap_of(draws, 0.5).p_value == 2 / 1_001
    assert unpaired_gap(draws, 0.5, 60).p_value < 1e-10
    assert unpaired_gap(draws, 0.5, 2).p_value == 2 / 1_001  # few clusters say no more
    assert unpaired_gap(draws - 0.45, 0.05, 60) == gap_of(draws - 0.45, 0.05)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("groups", [2, 6])
def test_equal_groups_are_rarely_significant(groups: int) -> None:
    rng = np.random.default_rng(4)
    alarms = 0
    blank = to_frame(asked_by_group({f"g{number}": [0.0] * 12 for number in range(groups)}))
    for _ in range(100):
        luck = rng.beta(2, 1, len(blank))
        rows = blank.with_columns(value=pl.Series((rng.random(len(blank)) < luck).astype(np.float64)))
        alarms += any((score.p_adjusted or 0.0) < 0.05 for score in breakdown(rows, by=("kind",)))
    assert alarms <= 9
