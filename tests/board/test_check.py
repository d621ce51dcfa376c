"""Checks of bundles that can be read: what they verify, what is missing, and what they cannot know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fathom.board.bundles.bundle import REPLIES, ROWS, Bundle, archive
from fathom.board.bundles.bundling import bundle_of
from fathom.board.bundles.check import Checked, check
from fathom.board.bundles.opening import parse_bundle
from fathom.board.bundles.rescoring import check_scores
from fathom.rows.scoring import NOT_JUDGED
from fathom.runfile.ledger import Ledger
from fathom.runfile.worker import this_worker
from fathom.suites.suitefile import add_facets, open_suite, write_manifest
from fathom.types import FathomError, Reply
from made_bundles import Content, consistent, make_run, make_suite, taken_apart

Checks = Callable[..., Checked]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return make_suite(tmp_path / "suite")


@pytest.fixture
def run(tmp_path: Path, suite: Path) -> Path:
    return make_run(tmp_path / "run", suite)


@pytest.fixture
def checks(tmp_path: Path, suite: Path) -> Checks:
    """Checks a bundle, its bytes or a run, against the suite."""

    def checks(made: Bundle | Content | Path, suites: tuple[Path, ...] = (suite,), **given: Any) -> Checked:
        if isinstance(made, Path):
            made = bundle_of([made])
        (tmp_path / "b.zip").write_bytes(made.packed() if isinstance(made, Content) else archive(made))
        return check(tmp_path / "b.zip", suites, **given)

    return checks


def topics(checked: Checked, level: Any) -> list[str]:
    return [finding.topic for finding in checked.of(level)]


def words(checked: Checked) -> str:
    return "\n".join(finding.words for finding in checked.findings)


def test_all_that_can_be_verified(run: Path, checks: Checks) -> None:
    checked = checks(run)
    assert checked.complete
    assert topics(checked, "verified") == ["hashes", "scores", "gold", "prompts", "completeness"]
    # One prompt did not fit; a judge and a model can only be believed.
    assert topics(checked, "unverified") == ["overflow", "judges", "source"]
    assert checked.findings[0].level == "unverified"
    assert len(checked.sha256) == 64


def test_without_the_suite(tmp_path: Path, suite: Path, checks: Checks) -> None:
    there = {"name": "pro", "fingerprint": "f00df00df00df00d", "tokenizer": "words"}
    checked = checks(make_run(tmp_path / "known", suite, suite=there), ())
    assert checked.complete
    assert "suite" in topics(checked, "unverified")
    assert "gold" not in topics(checked, "verified")
    checked = checks(make_run(tmp_path / "run", suite), ())
    assert topics(checked, "refused") == ["unknown"]


def test_without_logs(run: Path, checks: Checks) -> None:
    checked = checks(bundle_of([run], logs=False))
    assert checked.complete
    assert "scores" in topics(checked, "unverified")
    assert topics(checked, "verified") == ["hashes", "gold", "prompts", "completeness"]


def test_another_suite(run: Path, tmp_path: Path, checks: Checks) -> None:
    other = make_suite(tmp_path / "other", "beefbeefbeefbeef")
    checked = checks(run, (other,))
    assert topics(checked, "refused") == ["suite"]
    assert "tiny beefbeefbeefbeef" in words(checked)
    with pytest.raises(FathomError, match="not a built suite"):
        checks(run, (tmp_path / "run",))


@pytest.mark.slow
def test_a_suite_with_clusters_is_that_of_a_run_without_them(tmp_path: Path, suite: Path, checks: Checks) -> None:
    clustered = make_suite(tmp_path / "clustered")
    add_facets(clustered, {f"passkey/{number}": {"cluster": "a town"} for number in range(6)})
    write_manifest(clustered, open_suite(clustered).manifest)
    for name, built, other in (("old", suite, clustered), ("new", clustered, suite), ("same", clustered, clustered)):
        assert "gold" in topics(checks(make_run(tmp_path / name, built), (other,)), "verified")
    forged = [replace(sample, facets={**sample.facets, "cluster": "b"}) for sample in open_suite(clustered).samples()]
    made = make_run(tmp_path / "forged", clustered, samples=forged)
    assert "cluster" in words(checks(made, (clustered,)))
    assert "gold" not in topics(checks(made, (clustered,)), "verified")


def test_a_forged_score_is_refused_with_what_it_should_be(run: Path, checks: Checks) -> None:
    content = taken_apart(archive(bundle_of([run])))
    row = content.lines[ROWS][0]
    assert (row["sample"], row["value"]) == ("kv_retrieval/0@256", 0.0)
    row["value"] = 1.0
    checked = checks(content)
    assert topics(checked, "refused") == ["scores"]
    assert "line 1: value of sample kv_retrieval/0@256 is 1.0, but recomputed from the reply it is 0.0" in words(
        checked
    )


def test_a_last_digit_that_a_machine_rounds_otherwise_is_no_forgery(run: Path, checks: Checks) -> None:
    content = taken_apart(archive(bundle_of([run])))
    row = next(row for row in content.lines[ROWS] if row["value"] not in (None, 0.0, 1.0))
    row["value"] += 1e-13
    assert checks(content).complete


def test_a_score_by_another_version_says_so(run: Path, checks: Checks) -> None:
    content = taken_apart(archive(bundle_of([run])))
    for row in content.lines[ROWS][:2]:
        row["task_version"] = 9
    content.head["versions"]["scored by"] = "0.0.9"
    checked = checks(content)
    assert topics(checked, "refused") == ["rows"]
    assert "scored with version 9 of the task (fathom 0.0.9), here with version 1" in words(checked)
    content = taken_apart(archive(bundle_of([run])))
    content.head["versions"]["scored by"] = "0.0.9"
    checked = checks(content)
    assert checked.complete
    assert "version" in topics(checked, "unverified")


def test_gold_answers_of_ones_own_are_found_with_the_suite_only(run: Path, tmp_path: Path, checks: Checks) -> None:
    bundle = bundle_of([run])
    at = next(at for at, one in enumerate(bundle.results) if one.rows[0].value == 0.0)
    said = bundle.results[at].log
    assert said is not None
    easy = replace(bundle.results[at], log=replace(said, targets=(said.text,)))
    forged = consistent(replace(bundle, results=(*bundle.results[:at], easy, *bundle.results[at + 1 :])))
    checked = checks(forged)
    assert topics(checked, "refused") == ["gold"]
    assert "but in the suite it is" in words(checked)
    known = replace(forged, parts=(replace(forged.parts[0], suite="pro"),))
    checked = checks(consistent(known), ())
    assert checked.accepted
    assert "so gold answers, prompts and" in words(checked)


def test_a_partial_run_is_not_complete(tmp_path: Path, suite: Path, checks: Checks) -> None:
    samples = list(open_suite(suite).samples())
    checked = checks(make_run(tmp_path / "run", suite, samples[1:]))
    assert (checked.accepted, checked.complete) == (True, False)
    assert "1 of 16 replies are missing: passkey 1" in words(checked)
    checked = checks(
        make_run(tmp_path / "task", suite, [sample for sample in samples if sample.task == "passkey"], judge=False)
    )
    assert checked.complete
    assert "6 samples of 1 task" in words(checked)
    assert "tasks that were not run: kv_retrieval" in words(checked)


def test_repeats_are_all_there_or_missing(run: Path, suite: Path, checks: Checks) -> None:
    ledger, first = Ledger(run, this_worker()), next(open_suite(suite).samples())
    result = next(result for result in bundle_of([run]).results if result.rows[0].sample == first.id)
    ledger.finish(first, 2, Reply("ok", "1"), prompt_hash=result.rows[0].prompt_hash, cost=0.5)
    ledger.close()
    checked = checks(run)
    assert topics(checked, "incomplete") == ["completeness"]
    assert "15 of 32 replies are missing" in words(checked)
    known = bundle_of([run])
    known = consistent(replace(known, parts=(replace(known.parts[0], suite="pro"),)))
    assert topics(checks(known, ()), "incomplete") == ["completeness"]


def test_failed_requests_and_replies_that_wait_for_a_judge_are_missing(
    tmp_path: Path, suite: Path, checks: Checks
) -> None:
    run = make_run(tmp_path / "run", suite)
    ledger = Ledger(run, this_worker())
    for sample in open_suite(suite).samples(["single_doc_qa"], limit=1):
        ledger.finish(sample, 1, Reply("ok", "another reply"), prompt_hash="", cost=None)
    for one in open_suite(suite).samples(["passkey"], limit=1):
        ledger.finish(one, 1, Reply("error", error="http://10.0.0.1 is down"), prompt_hash="", cost=None)
    ledger.close()
    checked = checks(run)
    assert topics(checked, "incomplete") == ["errors", "judges"]
    assert NOT_JUDGED in checked.bundle.rows["detail"].str.join("|")[0] if checked.bundle else False
    # A reply without a prompt is one that nobody gave.
    assert "it has a reply, but no prompt was sent" in words(checked)


def test_prompts_that_were_cut_cannot_be_verified(tmp_path: Path, suite: Path, checks: Checks) -> None:
    for policy, level in (("middle", "unverified"), ("refuse", "refused")):
        run = make_run(tmp_path / policy, suite, on_overflow=policy)
        ledger, first = Ledger(run, this_worker()), next(open_suite(suite).samples())
        ledger.finish(first, 1, Reply("ok", "1", truncated=9), prompt_hash="0" * 16, cost=None)
        ledger.close()
        assert "prompts" in topics(checks(run), level)


@pytest.mark.parametrize("prompt", ["plain", "thinking"])
def test_prompts_that_ask_for_thoughts(prompt: str, tmp_path: Path, suite: Path, checks: Checks) -> None:
    thinking = {"mode": "on", "kind": "instruct", "prompt": prompt, "switch": "none", "truncation": None}
    bundle = bundle_of([make_run(tmp_path / "run", suite, thinking=thinking, variant="thinking")])
    checked = checks(bundle)
    assert checked.complete
    assert {row.tokens for row in (result.rows[0] for result in bundle.results)} == (
        {253, 509} if prompt == "plain" else {255, 511}
    )
    other = {"plain": "thinking", "thinking": "plain"}[prompt]
    swapped = replace(bundle, settings={**bundle.settings, "thinking": thinking | {"prompt": other}})
    assert topics(checks(swapped), "refused") == ["gold"]


def test_judgements(run: Path, checks: Checks) -> None:
    content = taken_apart(archive(bundle_of([run])))
    content.lines["judgements.jsonl"][0]["parts"] = {"fluency": 1.0, "correctness": 3.0}
    assert topics(checks(content), "refused") == ["scores"]
    content = taken_apart(archive(bundle_of([run])))
    content.lines["judgements.jsonl"][0]["key"] = "0" * 32
    assert topics(checks(content), "refused") == ["judges"]


def test_a_bundle_of_the_future(run: Path, checks: Checks) -> None:
    created = bundle_of([run]).created
    assert checks(run, today=date.fromisoformat(created)).complete
    checked = checks(run, today=date(2026, 1, 1))
    assert topics(checked, "refused") == ["fields"]
    assert f"created is {created}, which is in the future" in words(checked)


def test_patience_ends(run: Path) -> None:
    moments = iter(range(100))
    found = list(check_scores(parse_bundle(archive(bundle_of([run]))), seconds=5, clock=lambda: next(moments)))
    assert [finding.topic for finding in found if finding.level == "refused"] == ["time"]


def test_what_is_no_file(tmp_path: Path) -> None:
    assert topics(check(tmp_path), "refused") == ["file"]
    with pytest.raises(FathomError, match="no such file"):
        check(tmp_path / "none.zip")


def test_the_log_of_another_sample(run: Path, checks: Checks) -> None:
    content = taken_apart(archive(bundle_of([run])))
    lines = content.lines[REPLIES]
    assert lines[0]["text"] != lines[2]["text"]
    lines[0]["text"], lines[2]["text"] = lines[2]["text"], lines[0]["text"]
    checked = checks(content)
    assert topics(checked, "refused") == ["digests"]
    assert "replies.jsonl: line 1" in words(checked)


def test_findings_as_json(run: Path, checks: Checks) -> None:
    said = checks(run).json()
    assert said["accepted"] is said["complete"] is True
    assert (said["model"], said["suites"], said["replies"]) == ("lab/model-7b", ["tiny"], 16)
