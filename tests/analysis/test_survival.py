"""Facts that survive: groups, the share that each compaction keeps, ranks, coverage where the truth is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fathom.analysis import at_prices_of, survival, survivors
from fathom.analysis.questions import asked
from fathom.analysis.ranking import ranking_of_questions
from fathom.analysis.survival import share_kept
from fathom.rows.schema import to_frame
from fathom.types import FathomError, Row
from made_facts import rows_of


def test_facts_are_grouped_by_age_kind_and_number_of_compactions() -> None:
    points = survival(to_frame(rows_of("a", 0.5, Random(1))))
    by = {name: [point for point in points if point.by == name] for name in ("all", "age", "kind", "compactions")}
    assert [(point.low, point.high) for point in by["age"]] == [(0, 1024), (1024, 2048), (2048, 4096), (4096, 8192)]
    assert [point.group for point in by["kind"]] == ["date", "rule"]
    assert [(point.low, point.high) for point in by["compactions"]] == [(0, 0), (1, 1), (2, 3)]
    assert [point.questions for point in by["compactions"]] == [60, 60, 120]
    assert by["all"][0].questions == 240
    assert by["all"][0].clusters == 30
    for point in points:
        assert point.interval.low <= point.score <= point.interval.high
    assert [point.tokens_in for point in by["compactions"]] == [1000, 1100, 1250]


def test_systems_are_ranked_with_what_they_cost() -> None:
    rng = Random(2)
    rows = [*rows_of("low", 0.3, rng, conversations=40)]
    rows += [row for name in ("high", "same") for row in rows_of(name, 0.95, rng, conversations=40)]
    first, second, last = survivors(to_frame(rows))
    assert {first.variant, second.variant} == {"high", "same"}
    assert (first.best, first.worst, second.best, second.worst) == (1, 2, 1, 2)
    assert (last.variant, last.best, last.worst) == ("low", 3, 3)
    assert last.difference_interval is not None
    assert last.difference_interval.high < 0
    assert second.difference_interval is not None
    assert second.difference_interval.high > 0
    assert first.cost == pytest.approx(0.01)
    assert first.compactions == 1.5
    assert first.kept_interval is not None
    assert first.kept_interval.low < 0.95 < first.kept_interval.high


def test_rows_without_facts_have_no_survival() -> None:
    rows = [Row(suite="s", task="t", item="i", sample="i@1", model="m", length=8192, value=1.0, valid=True)]
    assert survival(to_frame(rows)) == []
    assert survivors(to_frame(rows)) == []


def test_without_compactions_nothing_is_said_of_them() -> None:
    rows = [row for row in rows_of("a", 1.0, Random(3)) if json.loads(json.dumps(dict(row.facets)))["compactions"] == 0]
    (system,) = survivors(to_frame(rows))
    assert (system.kept, system.kept_interval) == (None, None)
    assert not [point for point in survival(to_frame(rows)) if point.by == "compactions"]


@pytest.mark.slow
def test_the_share_that_is_kept_is_covered_as_often_as_its_interval_says() -> None:
    rng, covered, runs = np.random.default_rng(4), 0, 200
    compactions = np.tile(np.arange(8), 40)
    groups = [str(conversation) for conversation in np.repeat(np.arange(40), 8)]
    for run in range(runs):
        kept = (0.6, 0.8, 0.95)[run % 3]
        luck = np.repeat(rng.normal(0, 0.05, 40), 8)  # of a conversation
        scores = (rng.random(320) < np.clip(0.9 * (kept + luck) ** compactions, 0, 1)).astype(float)
        _, interval = share_kept(scores, compactions, groups)
        assert interval is not None
        covered += interval.low <= kept <= interval.high
    assert covered >= 0.92 * runs


@pytest.mark.slow
@pytest.mark.parametrize(("conversations", "runs"), [(4, 2), (8, 30), (20, 20)])
def test_intervals_of_differences_hold_for_all_systems_together(conversations: int, runs: int) -> None:
    truth, covered = {"a": 0.9, "b": 0.6, "c": 0.6}, 0
    mean = {name: float(np.mean([kept ** (question // 2) for question in range(8)])) for name, kept in truth.items()}
    for run in range(runs):
        rng = Random(run)
        rows = [row for name, kept in truth.items() for row in rows_of(name, kept, rng, conversations=conversations)]
        first, *others = survivors(to_frame(rows))
        intervals = [(other, other.difference_interval) for other in others if other.difference_interval]
        assert len(intervals) == (0 if conversations < 6 else 2)  # of fewer none can be significant
        covered += all(
            interval.low <= mean[other.variant] - mean[first.variant] <= interval.high for other, interval in intervals
        )
    assert covered >= 0.9 * runs


@pytest.mark.slow
@pytest.mark.parametrize("conversations", [4, 8, 20, 40])
def test_what_is_kept_has_an_interval_from_20_conversations_on_and_within_0_and_1(conversations: int) -> None:
    compactions = np.tile(np.arange(8), conversations)
    groups = [str(conversation) for conversation in np.repeat(np.arange(conversations), 8)]
    runs, covered = 30 if conversations >= 20 else 2, 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        scores = (rng.random(8 * conversations) < 0.9 * 0.98**compactions).astype(float)
        kept, interval = share_kept(scores, compactions, groups)
        assert kept is not None
        assert (interval is None) == (conversations < 20)
        if interval is not None:
            assert 0 <= interval.low <= kept <= interval.high <= 1
            covered += interval.low <= 0.98 <= interval.high
    assert conversations < 20 or covered >= 0.9 * runs


def test_a_fact_whose_place_is_unknown_says_nothing_about_compactions() -> None:
    rows = rows_of("a", 0.8, Random(5))
    unquoted = [replace(row, sample=f"{row.sample}u", facets={"kind": "rule", "quoted": False}) for row in rows]
    (alone,), (both,) = survivors(to_frame(rows)), survivors(to_frame([*rows, *unquoted]))
    assert (both.kept, both.compactions, both.questions) == (alone.kept, alone.compactions, 2 * alone.questions)


def test_questions_of_other_suites_are_no_facts() -> None:
    rows = [replace(row, facets={"compactions": 3}) for row in rows_of("a", 0.8, Random(6))]
    assert survivors(to_frame(rows)) == []


def test_intervals_of_differences_exclude_0_only_where_the_ranks_do() -> None:
    for run in range(6):
        rng, kept = Random(run), {"a": 0.9, "b": 0.85, "c": 0.7}
        rows = [row for name, share in kept.items() for row in rows_of(name, share, rng, conversations=8)]
        ranked = ranking_of_questions(asked(to_frame(rows)))
        for place in ranked:
            for significant, bounds in zip(place.significant, place.bounds, strict=True):
                assert bounds is None or significant == (not bounds.low <= 0 <= bounds.high)


def test_a_way_is_dominated_if_another_is_right_as_often_for_less_or_more_often_for_as_little() -> None:
    rows = []
    for name, kept, cost in (("dear", 0.9, 0.02), ("good", 0.9, 0.01), ("cheap", 0.5, 0.001), ("bad", 0.4, 0.001)):
        rows += [replace(row, cost=cost) for row in rows_of(name, kept, Random(7))]  # equal luck
    marks = {system.variant: system.frontier for system in survivors(to_frame(rows))}
    assert marks == {"good": True, "cheap": True, "dear": False, "bad": False}
    points = survival(to_frame(rows))
    assert {point.variant: point.frontier for point in points if point.by == "all"} == marks
    assert all(point.frontier for point in points if point.variant == "cheap" and point.by == "compactions")


def test_tokens_decide_where_nothing_was_paid_and_a_way_without_a_price_is_on_no_frontier() -> None:
    free = [replace(row, cost=0.0) for row in rows_of("free", 0.8, Random(8))]
    long = [replace(row, cost=0.0, variant="long", tokens_in=9999) for row in free]
    assert {system.variant: system.frontier for system in survivors(to_frame([*free, *long]))} == {
        "free": True,
        "long": False,
    }
    unknown = [replace(row, variant="unknown", cost=None) for row in free]
    paid = [replace(row, variant="paid", cost=0.1) for row in free]
    marks = {system.variant: (system.cost, system.frontier) for system in survivors(to_frame([*unknown, *paid]))}
    assert marks == {"unknown": (None, None), "paid": (pytest.approx(0.1), True)}


def test_a_way_that_was_asked_less_dominates_none_and_a_few_unknown_prices_do_not_hide_it() -> None:
    rows = rows_of("all", 0.8, Random(9))
    part = [replace(row, variant="part", cost=0.001) for row in rows_of("all", 1.0, Random(9), conversations=10)]
    assert all(system.frontier for system in survivors(to_frame([*rows, *part])))
    gaps = [replace(row, cost=None) if at < 4 else row for at, row in enumerate(rows)]
    assert survivors(to_frame(gaps))[0].cost == pytest.approx(0.01)
    gaps = [replace(row, cost=None) if at < 8 else row for at, row in enumerate(rows)]
    assert survivors(to_frame(gaps))[0].cost is None


def test_recorded_tokens_have_the_dollars_of_a_named_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["own/model"]\ninput = 2.0\noutput = 10.0\nabove = 1150\ninput_above = 4.0\n', encoding="utf-8")
    monkeypatch.setenv("FATHOM_PRICES", str(prices))
    row = replace(rows_of("", 1.0, Random(1))[0], cost=None, tokens_out=100, tokens_in=1000, tokens=1000)
    uncounted = replace(row, tokens_in=None, tokens=1200, truncated=100)  # as a whole prompt
    several = replace(row, variant="several", tokens_in=2000)  # prompts up to 1000 tokens
    lost = replace(row, variant="several", tokens_in=None)
    baseline = replace(row, model="fathom/lexical", tokens_out=None)
    unknown = replace(row, tokens_out=None)
    rows = [
        replace(each, sample=f"s{at}")
        for at, each in enumerate((row, uncounted, several, lost, baseline, unknown, replace(row, tokens_in=1200)))
    ]
    costs = at_prices_of(to_frame(rows), "own/model").sort("sample")["cost"].to_list()
    assert costs[3] is None
    assert costs[5] is None
    assert [1e6 * cost for cost in costs if cost] == pytest.approx([3000, 3200, 5000, 2000, 3400])
    with pytest.raises(FathomError, match="no price"):
        at_prices_of(to_frame(rows), "own/other")


def test_prompts_that_were_not_sent_hide_no_price() -> None:
    rows = rows_of("a", 0.9, Random(11))
    rows = [
        replace(row, status="overflow", value=None, valid=False, tokens_in=None, cost=None) if not number % 20 else row
        for number, row in enumerate(rows)
    ]
    (system,) = survivors(to_frame(rows))
    assert system.cost == pytest.approx(0.01)
    assert system.tokens_in == pytest.approx(np.mean([row.tokens_in for row in rows if row.tokens_in]))
    unknown = [replace(row, cost=None) if number % 20 == 1 else row for number, row in enumerate(rows)]
    assert survivors(to_frame(unknown))[0].cost is None
