from __future__ import annotations

import numpy as np
import pytest
from simulated import row

from fathom.analysis import position
from fathom.rows import to_frame
from fathom.types import FathomError


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
