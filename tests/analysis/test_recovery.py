"""Recovery: readers with known abilities, the same numbers by plain code, and rows that change nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import mean

import numpy as np
import polars as pl
import pytest
from simulated import row

from fathom import api
from fathom.analysis import KINDS, Recovery, average_scores, breakdown, curve, longscore, position, recovery, steady
from fathom.report.measure import measure
from fathom.report.sections.recovery import RECOVERY, SECTION, STEPS, trainings
from fathom.rows import to_frame
from fathom.suites.suitefile import open_suite
from fathom.types import Facet, Row, Status
from fathom.types.samples import STEP

LENGTH = 4096


def asked(item: int, context: str, value: float | None, *, length: int = 0, task: str = "qa", question: int = 0) -> Row:
    facets: dict[str, Facet] = ({"context": context} if context else {}) | ({"question": question} if question else {})
    return row(value, item=item, length=length, task=task, facets=facets)


def item_of(item: int, scores: Mapping[str, float], *, task: str = "qa", question: int = 0) -> list[Row]:
    """The rows of a question: scores ``full``, ``alone``, ``none`` and ``padded``."""
    lengths = {"full": LENGTH, "padded": LENGTH}
    return [
        asked(item, "" if name == "full" else name, value, length=lengths.get(name, 0), task=task, question=question)
        for name, value in scores.items()
    ]


def found_in(rows: list[Row], task: str = "qa") -> Recovery:
    (found,) = [one for one in recovery(to_frame(rows)) if one.task == task]
    return found


def random_rows(rng: np.random.Generator, items: int, *, task: str = "qa", padded: int = 4) -> list[Row]:
    rows: list[Row] = []
    for item in range(items):
        luck = rng.random()
        right = {"none": luck > 0.95, "alone": luck > 0.15, "full": luck > 0.15 + 0.4 * rng.random()}
        more = {"padded": luck > 0.15 + 0.2 * rng.random()} if item % padded == 0 else {}
        rows += item_of(item, {name: float(value) for name, value in (right | more).items()}, task=task)
    return rows


def test_a_reader_that_loses_nothing_recovers_everything() -> None:
    found = found_in([row for item in range(30) for row in item_of(item, {"full": 1, "alone": 1, "none": 0})])
    assert found.recovery is not None
    assert found.recovery.value == 1
    assert found.recovery.interval.low < 1 < found.recovery.interval.high
    assert (found.reasoning.value, found.finding.value, found.by_length) == (0, 0, None)
    assert found.shares == dict(zip(KINDS, (0, 1, 0, 0, 0), strict=True))


def test_each_fault_is_found_by_its_name() -> None:
    kinds = {
        "known": {"full": 1, "alone": 1, "none": 1, "padded": 1},
        "read": {"full": 1, "alone": 1, "none": 0, "padded": 1},
        "not found": {"full": 0, "alone": 1, "none": 0, "padded": 1},
        "not understood": {"full": 0, "alone": 0, "none": 0, "padded": 0},
        "only in full": {"full": 1, "alone": 0, "none": 0, "padded": 0},
    }
    for kind, scores in kinds.items():
        found = found_in([row for item in range(10) for row in item_of(item, scores)])
        assert found.shares[kind] == 1, kind
    lost = found_in([row for item in range(10) for row in item_of(item, kinds["not found"])])
    assert lost.by_length is not None
    assert (lost.reasoning.value, lost.by_length.value, lost.finding.value) == (0, 0, 1)
    worn = found_in([row for item in range(10) for row in item_of(item, {**kinds["not found"], "padded": 0})])
    assert worn.by_length is not None
    assert (worn.reasoning.value, worn.by_length.value, worn.finding.value) == (0, 1, 0)


def test_what_is_missing_adds_up_and_equals_plain_means() -> None:
    rng = np.random.default_rng(5)
    rows = random_rows(rng, 40)
    found = found_in(rows)
    of = {
        name: {row.item: row.value for row in rows if _context(row) == name} for name in ("", "alone", "none", "padded")
    }
    full, alone, none = (mean(map(float, of[name].values())) for name in ("", "alone", "none"))  # type: ignore[arg-type]
    assert (found.full.value, found.alone.value, found.none.value) == pytest.approx((full, alone, none))
    assert found.recovery is not None
    assert found.by_length is not None
    assert found.padded is not None
    assert found.recovery.value == pytest.approx((full - none) / (alone - none))
    lost = mean(of["alone"][item] - value for item, value in of["padded"].items())  # type: ignore[operator]
    assert found.by_length.value == pytest.approx(lost)
    assert found.padded.value == pytest.approx(alone - lost)
    missing = found.reasoning.value + found.by_length.value + found.finding.value
    assert missing == pytest.approx(1 - full)


def _context(row: Row) -> str:
    return str(row.facets.get("context", ""))


def test_without_a_gain_from_the_evidence_there_is_no_recovery_and_a_reason() -> None:
    found = found_in([row for item in range(20) for row in item_of(item, {"full": 0, "alone": 0, "none": 0})])
    assert found.recovery is None
    assert "evidence alone" in found.reason


@pytest.mark.parametrize(("alone", "doubted"), [(0.06, True), (0.3, False)])
def test_the_share_of_a_very_small_gain_is_doubted(alone: float, doubted: bool) -> None:
    found = found_in([row for item in range(300) for row in item_of(item, {"full": 0.04, "alone": alone, "none": 0})])
    assert found.recovery is not None
    assert ("gain of 6.0 points" in found.doubt) == doubted == bool(found.doubt)


def test_questions_that_have_no_closed_prompt_count_their_chance_level() -> None:
    rows = [row for item in range(20) for row in item_of(item, {"full": 0.6, "alone": 1})]
    frame = to_frame(rows).with_columns(chance=pl.lit(0.2))
    (found,) = recovery(frame)
    assert (found.none.value, found.none.interval.low, found.none.interval.high) == pytest.approx((0.2, 0.2, 0.2))
    assert found.recovery is not None
    assert found.recovery.value == pytest.approx(0.5)


def test_the_mean_over_tasks_gives_each_task_the_same_weight() -> None:
    many = [row for item in range(40) for row in item_of(item, {"full": 1, "alone": 1, "none": 0}, task="many")]
    few = [row for item in range(10) for row in item_of(item, {"full": 0, "alone": 1, "none": 0}, task="few")]
    every = found_in([*many, *few], "all")
    assert every.recovery is not None
    assert every.recovery.value == pytest.approx(0.5)
    assert every.shares["read"] == pytest.approx(0.5)


def test_several_questions_of_an_item_are_paired_by_number_and_are_one_cluster() -> None:
    one, other = {"full": 1.0, "alone": 1.0, "none": 0.0}, {"full": 0.0, "alone": 1.0, "none": 0.0}
    rows = [
        row
        for item in range(20)
        for question, scores in ((1, one), (2, other))
        for row in item_of(item, scores, question=question)
    ]
    found = found_in(rows)
    assert found.questions == 40
    assert found.recovery is not None
    assert found.recovery.value == pytest.approx(0.5)


def test_rows_without_evidence_alone_have_no_recovery() -> None:
    assert recovery(to_frame([row(1.0), row(0.0, item=1)])) == []
    assert recovery(to_frame([])) == []


@pytest.mark.slow
def test_controls_change_no_other_analysis() -> None:
    rng = np.random.default_rng(1)
    rows = random_rows(rng, 20)
    whole = to_frame([row for row in rows if not _context(row)])
    for analysis in (curve, average_scores, breakdown, longscore, position, steady):
        assert analysis(to_frame(rows)) == analysis(whole), analysis.__name__


@pytest.mark.slow
@pytest.mark.long
def test_intervals_of_recovery_cover_the_truth() -> None:
    """A share of luck that the contexts of an item have in common; 95% of 300 is 285, less three standard errors."""
    right, full, alone, none = 0, 0.5, 0.85, 0.05
    for seed in range(300):
        rng = np.random.default_rng(seed)
        shared, own = rng.random((40, 1)), rng.random((40, 3))
        luck = np.where(rng.random((40, 1)) < 0.4, shared, own)  # which of both decides
        rows = [
            row
            for item, (a, b, c) in enumerate(luck.tolist())
            for row in item_of(item, {"full": float(a < full), "alone": float(b < alone), "none": float(c < none)})
        ]
        (found,) = recovery(to_frame(rows), replicates=1000)
        assert found.recovery is not None
        interval = found.recovery.interval
        right += interval.low <= (full - none) / (alone - none) <= interval.high
    assert right >= 285 - 3 * (300 * 0.95 * 0.05) ** 0.5


@pytest.mark.parametrize("status", ["error", "ok"])
def test_questions_without_a_closed_book_score_are_in_no_mean(status: Status) -> None:
    known = [row for item in range(10) for row in item_of(item, {"full": 1, "alone": 1, "none": 1})]
    rest = [row for item in range(10, 20) for row in item_of(item, {"full": 0, "alone": 1})]
    lost = [replace(asked(item, "none", None), status="error") for item in range(10, 20)] if status == "error" else []
    results = recovery(to_frame([*known, *rest, *lost]))
    if status == "error":  # half of the cell is missing: nothing is measured closed-book, and nothing made up for it
        assert results == []
        return
    (found,) = results
    assert (found.questions, found.full.value, found.shares["known"]) == (10, 1, 1)


def test_closed_book_requests_that_all_failed_are_no_chance_level() -> None:
    rows = [row for item in range(20) for row in item_of(item, {"full": 0.5, "alone": 1})]
    failed = [replace(asked(item, "none", None), status="error") for item in range(20)]
    assert recovery(to_frame([*rows, *failed])) == []


def test_a_chance_level_is_no_knowledge_and_scores_stay_scores() -> None:
    rows = [row for item in range(20) for row in item_of(item, {"full": 0, "alone": 1})]
    (found,) = recovery(to_frame(rows).with_columns(chance=pl.lit(0.5)))
    assert (found.shares["known"], found.shares["not found"]) == (0, 1)
    lucky = [
        row
        for item in range(20)
        for row in item_of(
            item, {"full": 1, "alone": float(item % 4 != 0), "none": 0} | ({} if item % 4 else {"padded": 1})
        )
    ]
    padded = found_in(lucky).padded
    assert padded is not None
    assert 0 <= padded.interval.low <= padded.value <= padded.interval.high <= 1


def test_names_of_contexts_are_those_that_builds_write(tmp_path: Path) -> None:
    api.build("passkey", tmp_path / "suite", lengths="1k", items=1, closed_book=True, alone=True, padded=1)
    contexts = {sample.facets.get("context") for sample in open_suite(tmp_path / "suite").samples()}
    assert contexts == {None, "alone", "padded"}  # a passkey cannot be asked without its context


@pytest.mark.slow
def test_a_cause_is_named_only_if_the_largest_loss_is_clear() -> None:
    def cause(scores: Mapping[str, float], items: int) -> str:
        rows = [row for item in range(items) for row in item_of(item, scores)]
        return SECTION.finding(measure(to_frame(rows))).partition("; ")[2]

    assert cause({"full": 0.4, "alone": 1, "none": 0, "padded": 1}, 30).endswith("lost to finding the evidence.")
    assert cause({"full": 0.4, "alone": 1, "none": 0}, 30).endswith("lost to length and finding the evidence.")
    # Less is lost to reasoning, where it is clear, than to length, where one item says it.
    rows = [row for item in range(6) for row in item_of(item, {"full": 0.76, "alone": 0.96, "none": 0})]
    rows += item_of(0, {"padded": 0.79})
    assert SECTION.finding(measure(to_frame(rows))).partition("; ")[2] == ""


def placed(item: int, depth: float, scores: Mapping[str, float]) -> list[Row]:
    return [replace(row, facets={**row.facets, "depth": depth}) for row in item_of(item, scores)]


def test_recovery_by_depth_is_that_of_the_questions_whose_evidence_is_there() -> None:
    rng = np.random.default_rng(3)
    rows: list[Row] = []
    of_part: list[list[dict[str, float]]] = [[] for _ in range(5)]
    for item in range(60):
        depth, luck = float(rng.random()), float(rng.random())
        scores = {"full": float(luck > depth / 2), "alone": 1.0, "none": float(luck > 0.9)}
        rows += placed(item, depth, scores)
        of_part[min(4, int(round(depth, 3) * 5))].append(scores)
    found = found_in(rows)
    assert [(part.depth_low, part.depth_high) for part in found.depths] == [(n / 5, (n + 1) / 5) for n in range(5)]
    assert sum(part.questions for part in found.depths) == 60
    for part, own in zip(found.depths, of_part, strict=True):
        full, alone, none = (mean(scores[name] for scores in own) for name in ("full", "alone", "none"))
        assert part.recovery is not None
        assert part.recovery.value == pytest.approx((full - none) / (alone - none))
        assert part.lost.value == pytest.approx(alone - full)
        assert part.recovery.interval.low < part.recovery.value < part.recovery.interval.high


def test_items_asked_at_several_depths_are_compared_with_themselves() -> None:
    rows: list[Row] = []
    for item in range(12):
        for depth in (0.0, 0.5, 1.0):
            rows += placed(item, depth, {"full": float(depth != 0.5)})
        rows += item_of(item, {"alone": 1, "none": 0})
    found = found_in(rows)
    assert [part.depth_low for part in found.depths] == [0.0, 0.5, 1.0]
    assert [part.depth_high for part in found.depths] == [0.0, 0.5, 1.0]
    assert [part.recovery.value for part in found.depths if part.recovery] == pytest.approx([1, 0, 1])
    assert found.questions == 12


def test_without_depths_or_with_few_items_there_is_no_recovery_by_depth() -> None:
    scores: dict[str, float] = {"full": 1, "alone": 1, "none": 0}
    assert found_in([row for item in range(10) for row in item_of(item, scores)]).depths == ()
    del scores["none"]  # so that few items have a clear gain
    few = found_in([row for item in range(4) for row in placed(item, 0.3 * item, scores)])
    assert [part.recovery for part in few.depths] == [None] * 4
    assert few.recovery is not None


def test_the_mean_over_tasks_by_depth_is_over_those_whose_depth_varies() -> None:
    scores: dict[str, float] = {"full": 1, "alone": 1, "none": 0}
    rows = [row for item in range(40) for row in placed(item, item / 40, scores)]
    rows += [row for item in range(10) for row in item_of(item, {**scores, "full": 0}, task="summary")]
    every = found_in(rows, "all")
    assert every.recovery is not None
    assert every.recovery.value == pytest.approx(0.5)
    assert [part.recovery.value for part in every.depths if part.recovery] == pytest.approx([1] * 5)


def checkpoint(step: int, share: float, *, model: str, variant: str) -> list[Row]:
    rows = [
        row for item in range(20) for row in item_of(item, {"full": float(item < 20 * share), "alone": 1, "none": 0})
    ]
    return [replace(one, model=model, variant=variant, facets={**one.facets, STEP: step}) for one in rows]


def test_checkpoints_of_one_training_are_in_the_order_of_their_steps() -> None:
    rows = [
        one
        for step in (2000, 500, 1000)
        for one in checkpoint(step, step / 2000, model=f"hf/run-{step}", variant=f"step {step}")
    ]
    results = measure(to_frame(rows))
    ((name, own),) = trainings(results[RECOVERY]).items()
    assert name == "hf/run-*"
    assert [result.step for result in own] == [500, 1000, 2000]
    first = next(table for table in SECTION.tables(results))
    assert [str(row[0]) for row in first.rows] == ["500", "1,000", "2,000"]
    assert [row[1].text for row in first.rows] == ["25.0", "50.0", "100.0"]
    assert len(STEPS.draw(results)) == 1


@pytest.mark.slow
def test_trainings_are_told_apart_by_their_labels_and_models_of_one_step_by_their_names() -> None:
    rows = [
        one
        for label in ("pi", "yarn")
        for step in (1, 2)
        for one in checkpoint(step, 0.5, model="openai/served", variant=f"{label}, step {step}")
    ]
    assert list(trainings(recovery(to_frame(rows)))) == ["pi, openai/served", "yarn, openai/served"]
    rows = [
        one
        for size in ("7b", "13b")
        for step in (1000, 2000)
        for one in checkpoint(step, 0.5, model=f"hf/{size}-{step}", variant=f"step {step}")
    ]
    assert list(trainings(recovery(to_frame(rows)))) == ["hf/7b-*", "hf/13b-*"]
    assert trainings(recovery(to_frame(checkpoint(1, 0.5, model="m", variant="step 1")))) == {}
