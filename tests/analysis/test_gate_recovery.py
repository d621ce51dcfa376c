"""The gate on recovery: what it passes, fails and leaves open, and how often it is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from simulated import row

from fathom import api
from fathom.analysis.gate import Gate, gate
from fathom.analysis.gate_recovery import gate_recovery
from fathom.rows import to_frame, write_rows
from fathom.types import FathomError

LENGTHS = (1024, 4096)


def side(
    items: int, alone: float, recovered: dict[int, float], *, seed: int = 0, task: str = "qa", shared: float = 0.5
) -> pl.DataFrame:
    """Items that are right with a probability in each context; a share of an item's luck is the same for all models."""
    common, rng = np.random.default_rng(99).random(items), np.random.default_rng(seed)
    rows = []
    for item in range(items):
        chances = {"none": 0.0, "alone": alone, **{str(length): alone * share for length, share in recovered.items()}}
        for context, chance in chances.items():
            luck = common[item] if rng.random() < shared else rng.random()
            control = context in ("none", "alone")
            length = 0 if control else int(context)
            rows.append(
                row(
                    float(luck < chance),
                    task=task,
                    item=item,
                    length=length,
                    facets={"context": context} if control else {},
                )
            )
            rows[-1] = replace(rows[-1], sample=f"{task}/{item}@{context}")
    return to_frame(rows)


def decisions(decided: Gate) -> dict[str, str]:
    return {claim.name: claim.decision for claim in decided.claims}


@pytest.mark.slow
def test_equal_recovery_passes_although_the_score_is_lower() -> None:
    equal = {1024: 1.0, 4096: 1.0}
    candidate, baseline = side(400, 0.7, equal, seed=1, shared=1.0), side(400, 0.9, equal, seed=2, shared=1.0)
    assert gate(candidate, baseline, margin=0.1).decision == "FAIL"
    decided = gate_recovery(candidate, baseline, margin=0.1)
    assert decided.decision == "PASS"
    assert decided.on == "recovery"
    assert set(decisions(decided)) == {"qa", "qa at 1k", "qa at 4k"}


@pytest.mark.slow
def test_a_loss_at_one_length_fails_there() -> None:
    candidate = side(300, 0.9, {1024: 1.0, 4096: 0.6}, seed=1)
    baseline = side(300, 0.9, {1024: 1.0, 4096: 1.0}, seed=2)
    decided = gate_recovery(candidate, baseline, margin=0.1)
    assert decided.decision == "FAIL"
    assert decisions(decided)["qa at 4k"] == "FAIL"
    assert decisions(decided)["qa at 1k"] != "FAIL"
    assert gate_recovery(candidate, baseline, margin=0.1, at=[1024]).decision == "PASS"
    assert gate_recovery(baseline, candidate, margin=0.1).decision == "PASS"


def test_differences_are_those_of_plain_means() -> None:
    candidate = side(60, 0.8, {1024: 0.9, 4096: 0.5}, seed=1)
    baseline = side(60, 0.9, {1024: 0.9, 4096: 0.8}, seed=2)
    decided = gate_recovery(candidate, baseline, margin=0.1)

    def recovered(rows: pl.DataFrame, length: int) -> float:
        none, alone = (
            rows.filter(pl.col("facets").str.contains(name))["value"].to_numpy().mean() for name in ("none", "alone")
        )
        return float((rows.filter(length=length)["value"].to_numpy().mean() - none) / (alone - none))

    found = {claim.length: claim.difference for claim in decided.claims}
    wanted = {length: recovered(candidate, length) - recovered(baseline, length) for length in LENGTHS}
    assert {length: found[length] for length in LENGTHS} == pytest.approx(wanted)
    assert found[None] == pytest.approx(sum(wanted.values()) / 2)


def test_few_items_decide_nothing() -> None:
    rows = side(15, 0.9, {4096: 1.0}, shared=1.0)
    decided = gate_recovery(rows, rows, margin=0.1)
    assert decided.decision == "INCONCLUSIVE"
    assert "it takes at least 29 items" in decided.reason


def test_without_the_evidence_alone_or_some_of_its_questions_nothing_is_decided() -> None:
    rows = side(60, 0.9, {4096: 1.0})
    alone = pl.col("facets").str.contains("alone")
    plain = gate_recovery(rows.filter(~alone), rows, margin=0.1)
    assert (plain.decision, plain.claims) == ("INCONCLUSIVE", ())
    assert "the candidate has no question with its evidence alone" in plain.reason
    few = rows.filter(~(alone & pl.col("item").is_in([f"qa/{item}" for item in range(10)])))
    lacking = gate_recovery(few, rows, margin=0.5)
    assert lacking.decision == "INCONCLUSIVE"
    assert "the candidate lacks 10 of 60 questions of qa at 4k" in lacking.reason
    useless = gate_recovery(rows, side(60, 0.0, {4096: 1.0}), margin=0.1)
    assert "the baseline does not answer clearly more than without" in useless.reason


def test_a_share_of_a_few_points_decides_nothing() -> None:
    rows = side(400, 0.08, {4096: 1.0}, shared=1.0)
    decided = gate_recovery(rows, rows, margin=0.5)
    assert (decided.decision, decided.claims) == ("INCONCLUSIVE", ())
    assert "the evidence brings the candidate 5.0 points, of which a share says little at 4k" in decided.reason


@pytest.mark.slow
def test_tasks_have_a_claim_each_and_the_mean_has_one_for_each_length() -> None:
    def both(seed: int) -> pl.DataFrame:
        parts = [side(80, 0.9, {1024: 1.0, 4096: 0.8}, seed=seed, task=task) for task in ("one", "two")]
        return pl.concat(parts)

    decided = gate_recovery(both(1), both(2), margin=0.2)
    assert list(decisions(decided)) == ["all tasks", "all tasks at 1k", "all tasks at 4k", "one", "two"]


@pytest.mark.slow
def test_the_command_decides_on_recovery(tmp_path: Path) -> None:
    for name, share in (("good", 1.0), ("bad", 0.3)):
        write_rows(side(200, 0.9, {4096: share}, seed=3), tmp_path / f"{name}.parquet")
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    assert api.gate(bad, baseline=good, on="recovery", margin=0.1, junit=tmp_path / "gate.xml").decision == "FAIL"
    assert api.gate(good, baseline=bad, on="recovery", margin=0.1).decision == "PASS"
    assert 'failures="1"' in (tmp_path / "gate.xml").read_text()
    with pytest.raises(FathomError, match="margin"):
        gate_recovery(side(5, 0.9, {4096: 1.0}), side(5, 0.9, {4096: 1.0}), margin=0)


@pytest.mark.slow
@pytest.mark.long
def test_errors_are_no_more_frequent_than_alpha() -> None:
    """A loss of the margin passes, and no loss fails, in at most 5% of 200 simulations, plus three standard errors."""
    most = 200 * 0.05 + 3 * (200 * 0.05 * 0.95) ** 0.5
    passed = failed = 0
    for seed in range(200):
        baseline = side(60, 0.9, {4096: 0.8}, seed=2 * seed)
        passed += gate_recovery(side(60, 0.9, {4096: 0.6}, seed=2 * seed + 1), baseline, margin=0.2).decision == "PASS"
        failed += gate_recovery(side(60, 0.9, {4096: 0.8}, seed=2 * seed + 1), baseline, margin=0.01).decision == "FAIL"
    assert passed <= most
    assert failed <= most


def test_deleted_rows_of_the_candidate_do_not_raise_its_recovery() -> None:
    candidate, baseline = side(400, 0.9, {4096: 0.8}, seed=1), side(400, 0.9, {4096: 0.9}, seed=2)
    wrong = candidate.filter(pl.col("length") == 4096, pl.col("value") == 0)["sample"].to_list()[:8]
    (whole,) = gate_recovery(candidate, baseline, margin=0.1).claims
    (less,) = gate_recovery(candidate.filter(~pl.col("sample").is_in(wrong)), baseline, margin=0.1).claims
    assert less.difference == pytest.approx(whole.difference, abs=1e-3)
    assert less.clusters == whole.clusters
