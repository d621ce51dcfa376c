"""Breakdowns: plain means over questions, as the released code of LongBench Pro makes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from repeated import frame
from simulated import row

from fathom.analysis import DIMENSIONS, MEASURES, GroupScore, breakdown, cell_counts, counts, curve
from fathom.rows import to_frame
from fathom.stats.outcomes import UNANSWERED
from fathom.types import Facet, FathomError, Row

FACETS = ("contextual_requirement", "difficulty", "primary_task", "secondary_task")
LANGUAGES = {"English": "en", "Chinese": "zh"}


def asked(value: float | None, item: int = 0, *, epoch: int = 1, language: str = "en", **facts: Any) -> Row:
    """One reply; ``facts`` are the facts of ``row``, those that it has not are facets."""
    known = {name: facts.pop(name) for name in ("length", "model", "variant", "status", "task") if name in facts}
    one = row(value, item=item, epoch=epoch, facets=facts, **known)
    return Row(**{name: getattr(one, name) for name in Row.__slots__} | {"language": language})


def average(value: float, dimension: str = "overall", group: str = "all", **facets: Facet) -> Row:
    """A published average."""
    told: dict[str, Facet] = {"aggregate": dimension, "group": group, "measure": "mean", "n": 3, **facets}
    name = " ".join(map(str, told.values()))
    return Row("longbench_pro", "all", name, name, "told", 0, value, valid=True, facets=told)


def figures(found: Iterable[GroupScore]) -> dict[tuple[str, str, str, int], float]:
    return {(one.dimension, one.group, one.measure, one.n): one.score for one in found}


def test_repeats_are_averaged_first_and_every_question_counts_the_same() -> None:
    rows = [asked(value, 0, epoch=epoch) for epoch, value in enumerate((1.0, 0.5, 0.0), 1)]
    rows += [asked(1.0, 1), asked(0.0, 2, task="other")]
    (found,) = breakdown(to_frame(rows), by=("overall",))
    assert (found.group, found.measure, found.questions) == ("all", "mean", 3)
    assert found.score == pytest.approx(0.5)
    assert found.interval is not None
    assert found.interval.low < 0.5 < found.interval.high


def test_groups_come_in_the_order_of_the_paper() -> None:
    tasks = ("T10. Rules", "T2. Order", "T1. Find")
    rows = [
        asked(1.0, n, length=length, language=language, difficulty=difficulty, primary_task=task)
        for n, (length, language, difficulty, task) in enumerate(
            [(262144, "zh", "Extreme", tasks[0]), (8192, "en", "Easy", tasks[1]), (65536, "en", "Hard", tasks[2])]
        )
    ]
    groups: dict[str, list[str]] = {}
    for one in breakdown(to_frame(rows)):
        groups.setdefault(one.dimension, []).append(one.group)
    assert groups == {
        "overall": ["all"],
        "language": ["en", "zh"],
        "difficulty": ["Easy", "Hard", "Extreme"],
        "length": ["8k", "64k", "256k"],
        "primary_task": ["T1. Find", "T2. Order", "T10. Rules"],
    }


def test_best_of_and_pass_at_take_the_first_repeats() -> None:
    summary = [asked(value, 0, epoch=epoch, pass_above=0.65) for epoch, value in enumerate((0.65, 0.1, 0.66), 1)]
    plain = [asked(value, 1, epoch=epoch) for epoch, value in enumerate((0.66, 1.0, 0.0), 1)]
    found = figures(breakdown(to_frame([*summary, *plain]), by=("overall",), measures=("pass_at", "best_of")))
    assert [found["overall", "all", "best_of", n] for n in (1, 2, 3)] == pytest.approx([0.655, 0.825, 0.83])
    assert [found["overall", "all", "pass_at", n] for n in (1, 2, 3)] == [0.0, 0.5, 1.0]


def test_a_question_without_a_score_or_a_group_is_left_out_and_said() -> None:
    rows = [asked(1.0, 0, difficulty="Hard"), asked(0.0, 1), asked(None, 2, difficulty="Hard", status="incomplete")]
    overall, hard = breakdown(to_frame(rows), by=("overall", "difficulty"), unanswered="drop")
    assert (overall.score, overall.questions, overall.note) == (0.5, 2, "")
    assert (hard.score, hard.questions, hard.note) == (1.0, 1, "questions without difficulty, left out: 1")
    overall, hard = breakdown(to_frame(rows), by=("overall", "difficulty"))
    assert [overall.score, hard.score] == pytest.approx([1 / 3, 0.5])
    assert (overall.unanswered, hard.unanswered) == (1, 1)


def test_groups_with_a_cell_that_is_not_measured_have_no_score() -> None:
    rows = [asked(1.0, item, length=length) for item in range(3) for length in (2048, 8192)]
    rows[1] = replace(rows[1], value=None, status="error")
    assert [(one.dimension, one.group) for one in breakdown(to_frame(rows), by=("overall", "length", "run"))] == [
        ("length", "2k"),
    ]
    with pytest.raises(FathomError, match=r"m on kv at 8,192 tokens: 1 of 3 replies is missing.*`unanswered` drop"):
        breakdown(to_frame(rows), by=("overall",))
    (overall,) = breakdown(to_frame(rows), by=("overall",), unanswered="drop")
    assert (overall.score, overall.questions, overall.missing, overall.other) == (1.0, 5, 1, None)


def test_a_group_that_is_not_measured_takes_no_other_group_with_it() -> None:
    rows = [
        asked(1.0, item, task=task, length=length) for task in "abc" for length in (2048, 8192) for item in range(3)
    ]
    for lost in "abc":
        first = next(place for place, one in enumerate(rows) if one.task == lost)
        holed = [*rows[:first], replace(rows[first], value=None, status="error"), *rows[first + 1 :]]
        found = breakdown(to_frame(holed), by=("task",))
        assert [one.group for one in found] == [task for task in "abc" if task != lost]


def test_a_mean_carries_its_numbers_and_the_other_choice_whichever_is_made() -> None:
    rows = [asked(1.0), asked(None, 1, status="refused"), asked(0.5, 2, epoch=2, status="incomplete"), asked(0.5, 2)]
    zero, drop = (breakdown(to_frame(rows), by=("overall", "run"), unanswered=one) for one in UNANSWERED)
    assert (zero[0].score, zero[0].other, zero[0].unanswered, zero[0].cut) == (0.5, 0.75, 1, 1)
    assert (drop[0].score, drop[0].other, drop[0].unanswered, drop[0].cut) == (0.75, 0.5, 1, 1)
    assert [(one.group, one.unanswered, one.cut) for one in zero[1:]] == [("1", 1, 0)]


def test_each_repeat_is_a_group_of_its_own() -> None:
    rows = [asked(value, item, epoch=epoch) for item in (0, 1) for epoch, value in enumerate((1.0, 0.5 * item), 1)]
    assert figures(breakdown(to_frame(rows), by=("run",))) == {
        ("run", "1", "mean", 1): 1.0,
        ("run", "2", "mean", 1): 0.25,
    }


def test_a_repeat_rests_on_the_items_that_have_a_score_in_it() -> None:
    rows = [asked(1.0, item, epoch=epoch) for item in range(3) for epoch in (1, 2)][:-1]
    found = breakdown(to_frame(rows), by=("run",))
    assert [(one.group, one.questions, one.clusters) for one in found] == [("1", 3, 3), ("2", 2, 2)]


def test_published_averages_are_passed_through_in_the_same_order() -> None:
    averages = [
        average(0.6, "primary_task", "T10. Rules"),
        average(0.7, "primary_task", "T2. Order", questions=120),
        average(0.8, measure="best_of", n=2),
        average(0.5),
    ]
    found = breakdown(to_frame([*averages, asked(1.0, primary_task="T2. Order")]), measures=("mean", "best_of"))
    told = [one for one in found if one.model == "told"]
    assert [(one.dimension, one.group, one.measure, one.n, one.score, one.questions) for one in told] == [
        ("overall", "all", "mean", 3, 0.5, None),
        ("overall", "all", "best_of", 2, 0.8, None),
        ("primary_task", "T2. Order", "mean", 3, 0.7, 120),
        ("primary_task", "T10. Rules", "mean", 3, 0.6, None),
    ]
    assert all(one.interval is None for one in told)
    assert [one.model for one in found] == ["told"] * 4 + ["m"] * (len(found) - 4)


def test_published_averages_are_in_no_other_analysis() -> None:
    rows, told = to_frame([asked(1.0), asked(0.0, 1)]), to_frame([average(0.5)])
    both = pl.concat([told, rows])
    for study in (curve, counts, cell_counts):
        assert study(both) == study(rows)
    assert counts(told) == []


def test_what_cannot_be_grouped_is_said_here() -> None:
    rows = to_frame([asked(1.0, difficulty="Hard")])
    with pytest.raises(FathomError, match=r"'dificulty' to group by; the rows have the facets difficulty"):
        breakdown(rows, by=("overall", "dificulty"))
    with pytest.raises(FathomError, match="no question with a score has 'domain'"):
        breakdown(rows, by=("domain",))
    with pytest.raises(FathomError, match="cannot group by 'a b': choose overall"):
        breakdown(rows, by=("a b",))
    with pytest.raises(FathomError, match="unknown measure 'median': choose mean"):
        breakdown(rows, measures=("median",))
    with pytest.raises(FathomError, match="no measure given: choose mean"):
        breakdown(rows, measures=())
    with pytest.raises(FathomError, match="'run' groups single repeats, which only have a mean"):
        breakdown(rows, by=("run",), measures=("best_of",))
    assert breakdown(rows.clear()) == []


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.floats(0, 1)), min_size=1, max_size=20))
def test_measures_agree_with_each_other(replies: list[tuple[int, int, float]]) -> None:
    rows = to_frame(asked(value, item, epoch=epoch) for item, epoch, value in replies)
    found = breakdown(rows, by=("overall",), measures=MEASURES)
    best = [one.score for one in found if one.measure == "best_of" and one.questions == found[0].questions]
    assert best == sorted(best)
    assert all(one.interval.low <= one.score <= one.interval.high for one in found if one.interval)
    assert found == breakdown(rows, by=("overall",), measures=MEASURES)


def test_scores_do_not_change_with_the_company_they_keep() -> None:
    one = [asked(value / 10, value, difficulty="Hard") for value in range(10)]
    other = [asked(1.0, value, difficulty="Hard", model="n") for value in range(10)]
    alone = breakdown(to_frame(one), measures=MEASURES)
    beside = [found for found in breakdown(to_frame([*other, *one]), measures=MEASURES) if found.model == "m"]
    assert [found.group for found in alone] == [found.group for found in beside]
    for here, there in zip(alone, beside, strict=True):
        assert here.interval is not None
        assert there.interval is not None
        assert (here.interval.low, here.interval.high) == pytest.approx((there.interval.low, there.interval.high))


@pytest.mark.slow
@pytest.mark.long
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        scores = (rng.random((40, 3)) < rng.beta(2, 2, (40, 1))).astype(float)
        (found,) = breakdown(frame(scores), by=("overall",))
        assert found.interval is not None
        held += found.interval.low <= 0.5 <= found.interval.high
    assert 0.9 <= held / 200 <= 0.99


# ------------------------------------------------------------------------------- the averages of the released code


def of_record(record: Mapping[str, Any]) -> Row:
    """A reply of the released code's table."""
    facets: dict[str, Facet] = {name: record[name] for name in FACETS}
    if "T4" in record["primary_task"]:
        facets["pass_above"] = 0.65
    length = 1024 * int(record["token_length"].removesuffix("k"))
    return Row(
        "pro", "t", record["id"], record["id"], "m", length, record["metric"],
        epoch=record["bon_idx"], language=LANGUAGES[record["language"]], valid=True, facets=facets,
    )  # fmt: skip


def said(summary: Mapping[str, Any]) -> dict[tuple[str, str, str, int], float]:
    """Every figure of a summary of the released code, by the names that it has here."""
    dimensions = ("token_length", "contextual_requirement", "difficulty", "primary_task", "language")
    runs = int(summary["inference_iterations"])
    found = {("overall", "all", "mean", runs): summary["average_overall_metric"]}
    parts = [("mean", runs, {name: summary[f"average_{name}_metric"] for name in dimensions})]
    for n in range(1, runs + 1):
        found["run", str(n), "mean", 1] = summary[f"inference_iteration_{n}_overall_metric"]
        found["overall", "all", "best_of", n] = summary[f"BoN-{n}"]["overall_metric"]
        found["overall", "all", "pass_at", n] = summary[f"pass@{n}"]
        parts.append(("best_of", n, {name: summary[f"BoN-{n}"][name] for name in dimensions}))
    for measure, n, part in parts:
        for name, groups in part.items():
            dimension = "length" if name == "token_length" else name
            for group, value in groups.items():
                found[dimension, LANGUAGES.get(group, group), measure, n] = value
    return found


@pytest.mark.slow
def test_all_figures_are_those_of_the_released_code(shared: Path) -> None:
    sets = json.loads((shared / "golden" / "aggregate" / "longbench_pro_summary.json").read_text("utf-8"))
    assert len(sets) == 9
    seen = 0
    for one in sets:
        rows = to_frame(of_record(record) for record in one["rows"])
        found = figures(breakdown(rows, by=(*DIMENSIONS, "run"), measures=MEASURES))
        if "raises" in one:  # a group without a question stops the released code; it is left out here
            tasks = {record["primary_task"] for record in one["rows"]}
            assert len(tasks) < 11
            assert {group for name, group, *_ in found if name == "primary_task"} == tasks
            continue
        expected = said(one["summary"])
        assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-12), one["name"]
        seen += len(expected)
    assert seen > 600
