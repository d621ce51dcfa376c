from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated import row

from fathom.analysis import PositionContrast, position, position_contrasts
from fathom.rows import to_frame
from fathom.types import FathomError, Row


def test_random_depths_fall_into_bins() -> None:
    rng = np.random.default_rng(0)
    rows = [
        row(float(abs(depth - 0.5) > 0.3), item=item, length=length, facets={"depth": float(depth)})
        for length in (2048, 8192)
        for item, depth in enumerate(rng.random(60))
    ]
    points = position(to_frame(rows), bins=5)
    assert [(point.length, point.depth_low, point.depth_high) for point in points] == [
        (length, part / 5, (part + 1) / 5) for length in (2048, 8192) for part in range(5)
    ]
    assert [point.mean for point in points[:5]] == [1, 0, 0, 0, 1]
    assert sum(point.items for point in points) == 120
    assert all(point.interval.low <= point.mean <= point.interval.high for point in points)


def test_swept_depths_are_points_of_their_own() -> None:
    depths = (0.0, 0.25, 0.5, 1.0)
    rows = [row(depth, item=item, facets={"depth": depth}) for item in range(3) for depth in depths]
    points = position(to_frame(rows))
    assert [(point.depth_low, point.depth_high, point.mean, point.items) for point in points] == [
        (depth, depth, depth, 3) for depth in depths
    ]


@pytest.mark.parametrize(("depths", "items", "chosen"), [(21, 2, True), (22, 2, False), (21, 1, False)])
def test_up_to_21_depths_of_two_items_each_are_chosen_ones(depths: int, items: int, chosen: bool) -> None:
    rows = [
        row(1.0, item=depth * items + item, facets={"depth": round(depth / (depths - 1), 3)})
        for depth in range(depths)
        for item in range(items)
    ]
    points = position(to_frame(rows))
    assert len(points) == (depths if chosen else 5)
    assert all((point.depth_low == point.depth_high) is chosen for point in points)


def test_both_ends_belong_to_a_bin() -> None:
    rows = [row(1.0, item=0, facets={"depth": 0.0}), row(0.0, item=1, facets={"depth": 1.0})]
    assert [(point.depth_low, point.depth_high) for point in position(to_frame(rows), bins=2)] == [(0, 0.5), (0.5, 1)]


def test_epochs_are_averaged_first() -> None:
    rows = [row(1.0, item=0, epoch=epoch, facets={"depth": 0.1}) for epoch in (1, 2, 3)]
    rows += [row(0.0, item=1, facets={"depth": 0.1}), row(0.0, item=2, facets={"depth": 0.9})]
    assert position(to_frame(rows), bins=2)[0].mean == 0.5


def test_no_points_where_depth_does_not_vary_or_is_no_depth() -> None:
    rows = [row(1.0, item=item, task="a", facets={"depth": 0.5}) for item in range(9)]
    rows += [row(1.0, item=item, task="b", facets={"depth": "deep"}) for item in range(9)]
    rows += [row(1.0, item=item, task="c") for item in range(9)]
    rows += [row(None, item=item, task="d", status="error", facets={"depth": item / 9}) for item in range(9)]
    rows += [row(1.0, item=item, task="e", facets={"depth": 7.0 + item}) for item in range(9)]
    assert position(to_frame(rows)) == []
    assert position(to_frame([])) == []


def test_a_bin_without_items_is_left_out() -> None:
    rows = [row(1.0, item=item, facets={"depth": depth}) for item, depth in enumerate((0.01, 0.02, 0.99))]
    assert [point.depth_low for point in position(to_frame(rows), bins=10)] == [0, 0.9]


def test_bins_must_be_one_or_more() -> None:
    with pytest.raises(FathomError, match="bins"):
        position(to_frame([]), bins=0)


# ------------------------------------------------------------------------------------------------ contrasts


def swept(truths: dict[float, float], items: int, rng: np.random.Generator, length: int = 2048) -> list[Row]:
    """Items asked at every depth; the harder the item, the worse at all of them."""
    ease = rng.beta(2, 1, items)
    return [
        row(float(rng.random() < ease[item] * truth), item=item, length=length, facets={"depth": depth})
        for item in range(items)
        for depth, truth in truths.items()
    ]


def of(found: list[PositionContrast], first: str, second: str, length: int | None = 2048) -> PositionContrast:
    (one,) = [each for each in found if (each.first, each.second, each.length) == (first, second, length)]
    return one


def test_places_are_compared_within_items_where_depths_were_swept() -> None:
    values = {0.0: [1, 1, 1, 0], 0.4: [0, 0, 1, 0], 0.9: [0, 0, 0, 0], 1.0: [1, 0, 1, 1]}
    rows = [
        row(float(value), item=item, facets={"depth": depth})
        for depth, column in values.items()
        for item, value in enumerate(column)
    ]
    found = position_contrasts(to_frame(rows))
    assert [(one.first, one.second, one.difference) for one in found] == [
        ("front", "middle", 0.5),
        ("rear", "middle", 0.5),
        ("front", "rear", 0.0),
    ]
    assert (found[0].first_depth, found[0].second_depth, found[1].first_depth) == (0.0, 0.4, 1.0)
    assert all(one.paired and one.items == 4 and one.p_value is not None for one in found)
    assert all(one.interval.low <= one.difference <= one.interval.high for one in found)


def test_only_items_at_both_places_count() -> None:
    depths: list[list[float | None]] = [[1, 0, 1], [1, 1, None], [None, 0, 0]]
    rows = [
        row(value, item=item, facets={"depth": depth})
        for item, values in enumerate(depths)
        for depth, value in zip((0.0, 0.5, 1.0), values, strict=True)
        if value is not None
    ]
    found = position_contrasts(to_frame(rows))
    assert [(one.items, one.difference) for one in found] == [(2, 0.5), (2, 0.5), (1, 0.0)]


def test_a_length_that_is_not_measured_has_no_position_and_no_mean_over_lengths() -> None:
    rows = [
        row(float(item > 0), item=item, length=length, facets={"depth": depth})
        for item in range(4)
        for length in (8192, 32768)
        for depth in (0.0, 0.5, 1.0)
    ]
    assert {one.length for one in position_contrasts(to_frame(rows))} == {8192, 32768, None}
    rows[3] = replace(rows[3], value=None, status="error")
    assert rows[3].length == 32768
    assert {one.length for one in position(to_frame(rows))} == {8192}
    assert {one.length for one in position_contrasts(to_frame(rows))} == {8192}


def test_over_the_lengths_each_has_the_same_weight() -> None:
    rng = np.random.default_rng(0)
    rows = swept({0.0: 1.0, 1.0: 0.5}, 30, rng) + swept({0.0: 1.0, 1.0: 1.0}, 10, rng, length=8192)
    found = position_contrasts(to_frame(rows))
    assert {(one.first, one.second) for one in found} == {("front", "rear")}
    short, long, mean = (of(found, "front", "rear", length) for length in (2048, 8192, None))
    assert mean.difference == pytest.approx((short.difference + long.difference) / 2)
    assert mean.items == 30


@pytest.mark.slow
def test_random_depths_are_compared_by_thirds_and_say_so() -> None:
    rng = np.random.default_rng(0)
    depths = rng.random(90)
    rows = [
        row(float(abs(depth - 0.5) > 1 / 6), item=item, length=length, facets={"depth": float(depth)})
        for length in (2048, 8192)
        for item, depth in enumerate(depths)
    ]
    found = position_contrasts(to_frame(rows))
    assert all(not one.paired for one in found)
    assert of(found, "front", "middle").p_value < 0.001 < of(found, "front", "rear").p_value
    assert of(found, "front", "middle").difference == of(found, "rear", "middle", None).difference == 1
    assert of(found, "front", "rear").difference == 0
    assert {(one.first, one.first_depth, one.second_depth) for one in found} == {
        ("front", 1 / 6, 1 / 2), ("rear", 5 / 6, 1 / 2), ("front", 1 / 6, 5 / 6),
    }  # fmt: skip
    assert of(found, "front", "middle").items == int((depths < 2 / 3).sum())


def test_an_item_at_two_random_depths_does_not_stand_for_all_others() -> None:
    rng = np.random.default_rng(0)
    rows = [
        row(float(depth > 0.5), item=item, facets={"depth": float(depth)}) for item, depth in enumerate(rng.random(60))
    ]
    rows += [row(0.0, item=0, facets={"depth": depth, "question": 2}) for depth in (0.01, 0.99)]
    one = of(position_contrasts(to_frame(rows)), "front", "rear")
    assert not one.paired
    assert one.items > 30
    assert one.difference < -0.9


def test_lengths_that_are_paired_stay_so_beside_others_that_are_not() -> None:
    rng = np.random.default_rng(0)
    rows = swept({0.0: 1.0, 0.5: 0.5, 1.0: 1.0}, 10, rng)
    rows += [row(1.0, item=item, length=8192, facets={"depth": float(rng.random())}) for item in range(30)]
    found = position_contrasts(to_frame(rows))
    assert {(one.length, one.paired) for one in found} == {(2048, True), (8192, False)}
    # Over two of three lengths it would not be the mean over the lengths.
    found = position_contrasts(to_frame([*rows, *swept({0.0: 1.0, 0.5: 0.5, 1.0: 1.0}, 10, rng, length=4096)]))
    assert {(one.length, one.paired) for one in found} == {(2048, True), (4096, True), (8192, False)}


@pytest.mark.slow
@pytest.mark.long
def test_the_difference_between_places_is_covered_by_its_interval() -> None:
    rng = np.random.default_rng(1)
    held = {True: 0, False: 0}
    alarms = 0
    for _ in range(100):
        found = position_contrasts(to_frame(swept({0.0: 0.9, 0.5: 0.6, 1.0: 0.9}, 20, rng)), replicates=200)
        one = of(found, "front", "middle")
        held[True] += one.interval.low <= 0.3 * 2 / 3 <= one.interval.high
        alarms += (of(found, "front", "rear").p_value or 0.0) < 0.05
        depths = rng.random(60)
        rows = [
            row(
                float(rng.random() < (0.5 if 1 / 3 <= depth < 2 / 3 else 0.8)),
                item=item,
                facets={"depth": float(depth)},
            )
            for item, depth in enumerate(depths)
        ]
        apart = of(position_contrasts(to_frame(rows), replicates=200), "rear", "middle")
        held[False] += apart.interval.low <= 0.3 <= apart.interval.high
    assert all(0.9 <= count / 100 <= 1 for count in held.values()), held
    assert alarms <= 12


def test_no_contrast_where_depth_does_not_vary() -> None:
    rows = [row(1.0, item=item, facets={"depth": 0.5}) for item in range(9)]
    assert position_contrasts(to_frame(rows)) == []
    assert position_contrasts(to_frame([])) == []
