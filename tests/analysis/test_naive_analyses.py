"""The analyses of rows against a second implementation in plain loops (``naive.py``), on random tables."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.analysis import average_scores, breakdown, compare, neighbours, position_contrasts, profiles, steady
from fathom.analysis import longscore as of_longscore
from fathom.rows import to_frame
from fathom.types import Row
from naive import Reply, average, by_group, flips, holm, longscore, mean_of, question_means, retention
from naive import compare as naive_compare
from naive import curve as naive_curve

pytestmark = pytest.mark.slow
LENGTHS = (2048, 4096, 8192, 16384)
CHANCE = 0.125


def frame(replies: Sequence[Reply]) -> pl.DataFrame:
    """The replies as rows."""
    return to_frame(
        Row(
            "s", reply.task, reply.item, reply.sample, reply.model, reply.length, reply.score,
            epoch=reply.epoch, status="ok", valid=True, chance=CHANCE,
            facets=dict(reply.facets) | ({"cluster": reply.cluster} if reply.cluster else {}),
        )
        for reply in replies
    )  # fmt: skip


@st.composite
def studies(draw: st.DrawFn, models: int = 2, full: bool = False) -> list[Reply]:
    """Replies of models to samples of items, with gaps: not every model was asked everything, nor equally often."""
    zero_one = draw(st.booleans())
    score = st.sampled_from([0.0, 1.0]) if zero_one else st.sampled_from([0.0, 0.25, 0.4, 0.5, 0.75, 1.0])
    lengths = LENGTHS[: draw(st.integers(1, len(LENGTHS)))] if not full else LENGTHS
    clustered, several = draw(st.booleans()), draw(st.booleans())
    found = []
    for task in ("kv", "qa", "ruler")[: draw(st.integers(1, 3))]:
        for number in range(draw(st.integers(1, 4))):
            item = f"{task}/{number}"
            cluster = f"{task} book {number // 2}" if clustered else ""
            for length in lengths:
                for question in range(draw(st.integers(1, 2)) if several else 1):
                    for model in "abc"[:models]:
                        needed = full and number == question == 0
                        epochs = 1 if needed else draw(st.sampled_from([0, 1, 1, 1, 2]))
                        found += [
                            Reply(
                                model, task, item, f"{item}@{length}/{question}", length, epoch + 1, draw(score),
                                cluster, (("kind", "even" if number % 2 else "odd"),),
                            )
                            for epoch in range(epochs)
                        ]  # fmt: skip
    return found


def has_both(replies: Sequence[Reply]) -> bool:
    return {reply.model for reply in replies} >= {"a", "b"}


@given(studies())
@settings(max_examples=25)
def test_curves_and_average_scores(replies: list[Reply]) -> None:
    rows = frame(replies)
    for profile in profiles(rows, replicates=5):
        expected = {
            length: mean for (task, length), mean in naive_curve(replies, profile.model).items() if task == profile.task
        }
        own = {
            int(length): float(mean)
            for length, mean, complete in zip(profile.lengths, profile.means, profile.complete, strict=True)
            if complete
        }
        assert own == pytest.approx(expected)
    for score in average_scores(rows):
        expected_mean = average(replies, score.model, score.task)
        if expected_mean is None:
            assert score.mean is None
        else:
            assert score.mean == pytest.approx(expected_mean)
            assert score.interval is not None
            assert score.interval.low <= expected_mean + 1e-9
            assert score.interval.high >= expected_mean - 1e-9


@given(studies(models=1, full=True))
@settings(max_examples=25)
def test_longscore_and_retention(replies: list[Reply]) -> None:
    rows = frame(replies)
    for score in of_longscore(rows, base_lengths=LENGTHS[:2]):
        expected = longscore(replies, "a", score.task, LENGTHS[:2])
        if not score.undefined:
            assert expected is not None
            assert {point.length: point.value for point in score.points} == pytest.approx(expected)
            assert score.average == pytest.approx(mean_of(list(expected.values())))
    for measure in steady(rows):
        values = {length: mean for (task, length), mean in naive_curve(replies, "a").items() if task == measure.task}
        base = mean_of([values[2048], values[4096]])
        for point in measure.points:
            if point.retention is not None:
                assert point.retention.value == pytest.approx(retention(values[point.length], base, CHANCE))


@given(studies().filter(has_both))
@settings(max_examples=40)
def test_comparisons_on_shared_samples(replies: list[Reply]) -> None:
    found = compare(frame(replies), "a", "b", replicates=20)
    expected = naive_compare(replies, "a", "b")
    assert {(one.task, one.length) for one in found} == set(expected)
    for one in found:
        naive = expected[one.task, one.length]
        assert one.difference == pytest.approx(naive.difference, abs=1e-12)
        assert one.items == naive.items
        added = [0.0 if abs(value) < 1e-12 else value for value in naive.contributions.values()]
        assert one.p_value == pytest.approx(flips(added), abs=1e-12)
    adjusted = holm([one.p_value for one in found], len(found))
    assert [one.p_adjusted for one in found] == pytest.approx(adjusted)
    cells = {(reply.task, reply.length) for reply in replies}
    for one in found:
        mine = [cell for cell in cells if one.task in ("all", cell[0]) and one.length in (None, cell[1])]
        assert one.cells_of == len(mine)
        assert one.cells <= one.cells_of


@given(studies(models=3))
@settings(max_examples=30)
def test_means_over_questions_and_the_order_of_models(replies: list[Reply]) -> None:
    found = neighbours(frame(replies))
    means = {model: question_means(replies, model) for model in "abc"}
    means = {model: own for model, own in means.items() if own}
    for place, one in enumerate(found):
        own = means[one.model]
        assert one.score == pytest.approx(mean_of([mean for mean, _ in own.values()]))
        assert one.questions == len(own)
        if place + 1 == len(found):
            assert one.gap is None
            continue
        below = means[found[place + 1].model]
        shared = sorted(own.keys() & below.keys())
        assert one.gap_questions == len(shared)
        if not shared:
            assert one.gap is None
            continue
        gaps = [own[name][0] - below[name][0] for name in shared]
        assert one.gap == pytest.approx(mean_of(gaps), abs=1e-12)
        added: dict[str, float] = {}
        for name, gap in zip(shared, gaps, strict=True):
            added[own[name][1]] = added.get(own[name][1], 0.0) + gap / len(shared)
        tidy = [0.0 if abs(value) < 1e-12 else value for value in added.values()]
        assert one.p_value == pytest.approx(flips(tidy), abs=1e-12)


@given(studies(models=1).filter(bool))
@settings(max_examples=25)
def test_groups_of_a_breakdown(replies: list[Reply]) -> None:
    found = {one.group: (one.score, one.questions) for one in breakdown(frame(replies), by=["kind"])}
    expected = by_group(replies, "a", "kind")
    assert found.keys() == expected.keys()
    for name, (score, questions) in expected.items():
        assert found[name][0] == pytest.approx(score)
        assert found[name][1] == questions


@given(
    st.lists(
        st.lists(st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), min_size=3, max_size=3), min_size=2, max_size=2),
        min_size=4, max_size=6,
    )
)  # fmt: skip
@settings(max_examples=25)
def test_contrasts_of_positions(table: list[list[list[float | None]]]) -> None:
    """Items x lengths x depths: an item is compared with itself."""
    table[0] = table[1] = [[0.5, 1.0, 0.0]] * 2
    rows = to_frame(
        Row(
            "s", "kv", f"kv/{item}", f"kv/{item}@{LENGTHS[at]}/{depth}", "m", LENGTHS[at], value,
            status="ok", valid=True, facets={"depth": depth},
        )
        for item, lengths in enumerate(table)
        for at, depths in enumerate(lengths)
        for depth, value in zip((0.0, 0.5, 1.0), depths, strict=True)
        if value is not None
    )  # fmt: skip
    places = {"front": 0, "middle": 1, "rear": 2}
    found = {(one.first, one.second, one.length): one for one in position_contrasts(rows, replicates=20)}
    for (first, second, length), one in found.items():
        if not one.paired:
            continue
        gaps = []
        at_lengths = [LENGTHS.index(length)] if length is not None else [0, 1]
        for at in at_lengths:
            own = [
                a - b
                for lengths in table
                for a, b in [(lengths[at][places[first]], lengths[at][places[second]])]
                if a is not None and b is not None
            ]
            gaps.append(mean_of(own))
        assert one.difference == pytest.approx(mean_of(gaps), abs=1e-12)
