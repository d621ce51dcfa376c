from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import row

from fathom import api
from fathom.analysis.gate import Gate, gate, net_loss_p_value
from fathom.report.gate import as_markdown, write_junit
from fathom.rows import to_frame, write_rows
from fathom.types import FathomError

LENGTHS = (1024, 2048, 4096)


def side(scores: dict[int, np.ndarray], model: str = "m", task: str = "kv") -> pl.DataFrame:
    """Rows of one model on one task: scores of its items by length."""
    return to_frame(
        row(float(value), task=task, item=item, length=length, model=model)
        for length, values in scores.items()
        for item, value in enumerate(values)
    )


def drawn(seed: int, items: int, loss: dict[int, float] | None = None, noise: float = 0.1) -> pl.DataFrame:
    """Items that are right with 80%, the same at every length and for every seed but for some noise and a loss."""
    right = np.random.default_rng(0).random(items) < 0.8
    rng = np.random.default_rng(seed)
    scores = {}
    for length in LENGTHS:
        flipped = rng.random(items) < noise
        lost = rng.random(items) < (loss or {}).get(length, 0.0)
        scores[length] = (right ^ flipped) & ~lost
    return side(scores)


def decisions(found: Gate) -> dict[str, str]:
    return {one.name: one.decision for one in found.claims}


@pytest.mark.slow
def test_the_same_scores_pass_with_enough_items() -> None:
    found = gate(drawn(1, 2000), drawn(1, 2000), margin=0.03)
    assert found.decision == "PASS"
    assert set(decisions(found)) == {"kv", "kv at 1k", "kv at 2k", "kv at 4k"}
    assert (found.lost, found.gained, found.gaps) == ((), (), ())
    assert {one.difference for one in found.claims} == {0.0}


def test_few_items_decide_nothing() -> None:
    found = gate(drawn(1, 20), drawn(1, 20), margin=0.03)
    assert found.decision == "INCONCLUSIVE"
    assert found.reason.endswith("kv, kv at 1k, kv at 2k, kv at 4k; it takes at least 99 items, even without a loss")
    more = gate(drawn(1, 120, noise=0.1), drawn(2, 120, noise=0.1), margin=0.03)
    assert (more.decision, more.reason.endswith("more items would decide it")) == ("INCONCLUSIVE", True)


@pytest.mark.parametrize(("items", "decision"), [(28, "INCONCLUSIVE"), (29, "PASS")])
def test_equal_answers_pass_if_a_loss_would_have_shown(items: int, decision: str) -> None:
    equal = side(dict.fromkeys(LENGTHS, np.ones(items)))
    assert gate(equal, equal, margin=0.1).decision == decision


@given(st.integers(1, 60), st.floats(0.01, 0.9), st.data())
def test_the_p_value_of_a_net_loss_is_that_of_the_binomial_distribution(
    clusters: int, margin: float, data: st.DataObject
) -> None:
    lost = data.draw(st.integers(0, clusters))
    chance = sum(math.comb(clusters, k) * margin**k * (1 - margin) ** (clusters - k) for k in range(lost + 1))
    assert net_loss_p_value(-lost / clusters, margin, clusters) == pytest.approx(chance, abs=1e-9)
    assert net_loss_p_value(0.05, margin, clusters) == pytest.approx((0.95 - margin) ** clusters)
    assert net_loss_p_value(1.0, margin, clusters) == 0


def test_a_clear_gain_passes_with_few_items() -> None:
    worse = side({length: np.arange(12) % 2 for length in LENGTHS})
    assert gate(side(dict.fromkeys(LENGTHS, np.ones(12))), worse, margin=0.1).decision == "PASS"


def test_a_gate_with_several_tasks_counts_the_items_of_the_smallest() -> None:
    several = pl.concat([side({1024: np.ones(count)}, task=task) for task, count in (("kv", 40), ("qa", 25))])
    found = gate(several, several, margin=0.1)
    assert {one.name: one.clusters for one in found.claims} == {"all tasks at 1k": 50, "kv": 40, "qa": 25}
    assert decisions(found) == {"all tasks at 1k": "PASS", "kv": "PASS", "qa": "INCONCLUSIVE"}


@pytest.mark.slow
def test_a_loss_at_one_length_fails_and_is_named() -> None:
    found = gate(drawn(1, 1500, {4096: 0.08}), drawn(2, 1500), margin=0.03, alpha=0.01)
    assert found.decision == "FAIL"
    assert "kv at 4k" in found.reason
    assert "kv at 1k" not in found.reason
    assert decisions(found)["kv at 4k"] == "FAIL"
    assert len(found.lost) > len(found.gained) > 0
    assert all(one.baseline >= 0.5 > one.candidate for one in found.lost)
    only = gate(drawn(1, 1500, {4096: 0.08}), drawn(2, 1500), margin=0.03, at=(1024,))
    assert set(decisions(only)) == {"kv at 1k"}
    assert only.decision != "FAIL"


@pytest.mark.slow
def test_a_small_loss_within_the_margin_passes() -> None:
    found = gate(drawn(1, 4000, dict.fromkeys(LENGTHS, 0.01), 0.02), drawn(2, 4000, noise=0.02), margin=0.05)
    assert found.decision == "PASS"
    assert all(one.difference < 0 for one in found.claims)


def test_a_loss_within_the_margin_is_no_failure_however_significant() -> None:
    lost = side({1024: np.arange(60) >= 15})
    within, beyond = (gate(lost, side({1024: np.ones(60)}), margin=margin) for margin in (0.26, 0.1))
    assert within.claims[0].p_worse < 0.001
    assert (within.decision, beyond.decision) == ("INCONCLUSIVE", "FAIL")


def test_the_largest_loss_is_the_one_that_is_told() -> None:
    found = gate(
        side({1024: np.arange(60) % 2, 2048: np.zeros(60)}), side({1024: np.ones(60), 2048: np.ones(60)}), margin=0.1
    )
    assert found.reason == "a significant loss of more than 10 points (-100.0 at worst): kv, kv at 1k, kv at 2k"


def test_a_score_of_one_half_is_right() -> None:
    candidate, baseline = (side({1024: np.array(own)}) for own in ([0.5, 0.5, 0.25, 1.0], [1.0, 0.25, 0.5, 0.5]))
    found = gate(candidate, baseline, margin=0.1)
    assert [(one.sample, one.candidate, one.baseline) for one in found.lost] == [("kv/2@1024", 0.25, 0.5)]
    assert [(one.sample, one.candidate, one.baseline) for one in found.gained] == [("kv/1@1024", 0.5, 0.25)]


@pytest.mark.parametrize(
    ("absent", "said"), [(1, ()), (2, ("the candidate has no score for kv at 1k (2 of 50 samples)",))]
)
def test_one_absent_sample_of_fifty_is_wrong_and_two_are_a_gap(absent: int, said: tuple[str, ...]) -> None:
    found = gate(side({1024: np.ones(50)}).tail(50 - absent), side({1024: np.ones(50)}), margin=0.1)
    assert found.gaps == said
    assert len(found.lost) == (0 if said else 1)


def test_nothing_comparable_never_passes() -> None:
    other = drawn(1, 400).with_columns(suite=pl.lit("another"))
    found = gate(drawn(1, 400), other, margin=0.5)
    assert (found.decision, found.claims) == ("INCONCLUSIVE", ())
    assert found.reason == "nothing is comparable; they are runs of different suites"
    assert gate(drawn(1, 400), drawn(1, 400), margin=0.5, at=(9999,)).decision == "INCONCLUSIVE"


@pytest.mark.slow
def test_left_out_samples_never_pass() -> None:
    whole = drawn(1, 2000)
    hard = whole.filter((pl.col("value") == 1) | (pl.col("length") != 4096))
    found = gate(hard, whole, margin=0.2)
    assert found.decision == "INCONCLUSIVE"
    assert "the candidate has no score for" in found.reason


@pytest.mark.slow
def test_a_few_left_out_samples_never_pass_if_they_are_many_of_a_task_at_a_length() -> None:
    length = dict.fromkeys(LENGTHS, np.ones(200))
    whole = pl.concat([side(length, task=task) for task in ("a", "b", "c", "d")])
    lost = pl.col("sample").is_in(whole.filter(task="b", length=4096)["sample"].head(20).implode())
    wrong = whole.with_columns(value=pl.when(lost).then(0.0).otherwise("value"))
    assert gate(wrong, whole, margin=0.02).decision == "FAIL"
    found = gate(whole.filter(~lost), whole, margin=0.02)
    assert found.decision == "INCONCLUSIVE"
    assert found.gaps == ("the candidate has no score for b at 4k (20 of 200 samples)",)


@pytest.mark.slow
@pytest.mark.parametrize("status", ["overflow", "error"])
def test_what_neither_has_a_score_for_never_passes(status: str) -> None:
    there = pl.col("length") < 4096
    both = drawn(1, 2000).with_columns(
        value=pl.when(there).then("value"), status=pl.when(there).then("status").otherwise(pl.lit(status))
    )
    for at in (None, (2048, 4096)):
        found = gate(both, both, margin=0.2, at=at)
        assert found.decision == "INCONCLUSIVE"
        assert "the baseline has no score for kv at 4k (2,000 of 2,000 samples)" in found.gaps
    assert gate(both, both, margin=0.2, at=(1024, 2048)).decision == "PASS"


def test_each_side_is_one_model() -> None:
    both = pl.concat([side({1024: np.ones(3)}, "a"), side({1024: np.ones(3)}, "b")])
    with pytest.raises(FathomError, match="the baseline must be the rows of one model and variant; found a, b"):
        gate(side({1024: np.ones(3)}), both, margin=0.1)


@pytest.mark.parametrize("wrong", [{"margin": 3.0}, {"margin": 0.1, "alpha": 1.0}])
def test_percent_is_no_fraction(wrong: dict[str, float]) -> None:
    ones = side({1024: np.ones(3)})
    with pytest.raises(FathomError, match="expected a fraction above 0 and below 1"):
        gate(ones, ones, **wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_baseline_without_points_to_lose_never_passes() -> None:
    zeros = side(dict.fromkeys(LENGTHS, np.zeros(2000)))
    found = gate(zeros, zeros, margin=0.03)
    assert found.decision == "INCONCLUSIVE"
    assert found.reason == "the baseline scores 0.0, so it has no 3 points to lose"


@pytest.mark.slow
def test_deleted_wrong_replies_are_wrong_answers() -> None:
    whole = drawn(1, 2000)
    wrong = whole.filter((pl.col("value") == 0) & (pl.col("length") == 4096)).head(39)
    kept = whole.join(wrong.select("sample", "length"), on=["sample", "length"], how="anti")
    found = gate(kept, whole, margin=0.03)
    assert (found.gaps, found.lost, found.gained) == ((), (), ())
    assert {one.difference for one in found.claims} == {0.0}
    right = whole.filter((pl.col("value") == 1) & (pl.col("length") == 4096)).head(39)
    found = gate(whole.join(right.select("sample", "length"), on=["sample", "length"], how="anti"), whole, margin=0.03)
    assert len(found.lost) == 39


@pytest.mark.slow
def test_several_tasks_are_claims_of_their_own() -> None:
    two = [side({1024: np.ones(300), 2048: np.ones(300)}, task=task) for task in ("kv", "qa")]
    found = gate(pl.concat(two), pl.concat(two), margin=0.03)
    assert list(decisions(found)) == ["all tasks", "all tasks at 1k", "all tasks at 2k", "kv", "qa"]
    assert found.decision == "PASS"


@pytest.mark.slow
def test_equal_models_rarely_fail() -> None:
    failed = sum(
        gate(drawn(2 * seed + 1, 60), drawn(2 * seed + 2, 60), margin=0.01, alpha=0.05).decision == "FAIL"
        for seed in range(40)
    )
    assert failed <= 5  # 2 expected at most; 6 or more has a probability of 1.4%


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from fathom.cli.app import command
    from fathom.options.line import run_line

    monkeypatch.setenv("COLUMNS", "80")
    write_rows(drawn(1, 1500, {4096: 0.2}), tmp_path / "new.parquet")
    write_rows(drawn(2, 1500), tmp_path / "old.parquet")
    new, old, xml = str(tmp_path / "new.parquet"), str(tmp_path / "old.parquet"), tmp_path / "gate.xml"
    assert run_line(command, ["gate", new, "--baseline", old, "--junit", str(xml)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("FAIL: ")
    assert max(map(len, out.splitlines()[1:])) <= 80
    suite = ElementTree.parse(xml).getroot()
    assert suite.get("tests") == "4"
    assert int(suite.get("failures") or 0) >= 1
    assert run_line(command, ["gate", old, "--baseline", old]) == 0
    assert run_line(command, ["gate", old, "--baseline", old, "--at", "1k", "--margin", "0.0001"]) == 3
    capsys.readouterr()
    assert run_line(command, ["gate", new, "--baseline", old, "--json"]) == 1
    assert '"decision": "FAIL"' in capsys.readouterr().out
    assert api.gate(new, baseline=old).decision == "FAIL"


def test_markdown_and_junit_escape_names(tmp_path: Path) -> None:
    task = "<b>|`@all`"
    found = gate(side({1024: np.zeros(40)}, task=task), side({1024: np.ones(40)}, task=task), margin=0.1)
    text = as_markdown(found)
    assert "<b>" not in text
    assert "@all" not in text
    write_junit(found, tmp_path / "gate.xml")
    names = [case.get("name") for case in ElementTree.parse(tmp_path / "gate.xml").getroot()]
    assert names[0] is not None
    assert task in names[0]
