"""How replies ended, in bundles: what contradicts the log is refused, what counts 0 is said, and format 1 is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fathom.board.bundles.bundle import DIGESTS, FORMAT, REPLIES, ROWS, archive, hashed
from fathom.board.bundles.bundling import bundle_of
from fathom.board.bundles.check import Checked, check
from fathom.board.bundles.findings import RefusedError
from fathom.board.bundles.opening import parse_bundle
from fathom.runfile.ledger import Ledger
from fathom.runfile.serving import SERVER_CUT
from fathom.runfile.worker import this_worker
from fathom.stats.outcomes import counted, tally
from fathom.suites.suitefile import open_suite
from fathom.types import Reply
from made_bundles import Content, in_format_2, make_run, make_suite, taken_apart

WRONG = "kv_retrieval/0@256"  # the first line of every file


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_suite(tmp_path_factory.mktemp("suite") / "suite")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, suite: Path) -> Path:
    """The run of ``made_bundles``, in which some replies ended otherwise."""
    folder = make_run(tmp_path_factory.mktemp("run") / "run", suite, judge=False)
    ends = (
        Reply("refused", "I cannot help with that.", stop="stop"),
        Reply("refused", stop="content_filter", error="filtered by http://10.0.0.1"),
        Reply("incomplete", reasoning="hm", stop="max_tokens"),
        Reply("incomplete", "It is Keeper 10021", stop="max_tokens"),
        Reply("ok", " \n", stop="stop"),
    )
    ledger = Ledger(folder, this_worker())
    sent = {result.rows[0].sample: result.rows[0].prompt_hash for result in bundle_of([folder]).results}
    for one, reply in zip(open_suite(suite).samples(["passkey", "single_doc_qa"]), ends, strict=False):
        ledger.finish(one, 1, reply, prompt_hash=sent[one.id], cost=None)
    ledger.close()
    return folder


@pytest.fixture
def content(run: Path) -> Content:
    return taken_apart(archive(bundle_of([run])))


def checked(content: Content, suite: Path, tmp_path: Path) -> Checked:
    (tmp_path / "b.zip").write_bytes(content.packed())
    return check(tmp_path / "b.zip", [suite])


def words(found: Checked, level: Any) -> list[str]:
    return [finding.words for finding in found.of(level)]


def in_format_1(content: Content) -> Content:
    """As earlier versions wrote it: no word on answers, no score but for whole replies, and all texts."""
    in_format_2(content).head["format"] = 1
    for row in content.lines[ROWS]:
        del row["answered"]
        if row["status"] != "ok":
            row |= {"value": None, "valid": False, "answer": None, "grader": "", "detail": ""}
    return content


def test_text_that_is_no_answer_is_left_out(run: Path) -> None:
    bundle = bundle_of([run])
    assert "cannot help" not in archive(bundle).decode("utf-8", "replace")
    for result in bundle.results:
        assert result.log is not None
        assert (result.log.text != "") == result.rows[0].answered == (result.reply_hash != hashed(""))
    assert tally(counted(bundle.rows)) == {"unanswered": 4, "cut": 1, "overflow": 1, "missing": 0, "scorer_error": 0}


def test_what_counts_0_is_said(content: Content, suite: Path, tmp_path: Path) -> None:
    found = checked(content, suite, tmp_path)
    assert found.complete
    assert "4 of 16 replies have no text (refused, empty, truncated before it) and count 0" in words(found, "verified")
    (unfit,) = [word for word in words(found, "unverified") if "did not fit" in word]
    assert unfit.startswith("1 of 16 prompts did not fit and count 0, which cannot be verified")
    assert "passkey at 512 tokens (1 of 3 prompts did not fit)" in unfit
    (overflow,) = {row["sample"] for row in content.lines[ROWS] if row["status"] == "overflow"}
    for row in content.lines[ROWS]:
        row["detail"] = f"{SERVER_CUT}: 300 of 500" if row["sample"] == overflow else row["detail"]
    (cut,) = [word for word in words(checked(content, suite, tmp_path), "unverified") if "did not fit" in word]
    assert cut.startswith("1 of 16 prompts did not fit (the server cut 1 of them) and count 0")
    for name in (REPLIES,):
        del content.lines[name]
    found = checked(content, suite, tmp_path)
    assert "4 of 16 replies have no text (refused, empty, truncated before it) and count 0" in words(
        found, "unverified"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": "refused"}, "answered is true, but a reply with status refused has no text; expected false"),
        ({"status": "error"}, "answered is true, but a reply with status error has no text"),
        ({"status": "overflow"}, "answered is true, but a reply with status overflow has no text"),
        ({"status": "refused", "answered": False}, "answered is false, but by its hash in digests.jsonl the reply has"),
        ({"status": "error", "answered": False}, "answered is false, but by its hash in digests.jsonl the reply has"),
        ({"status": "overflow", "answered": False}, "answered is false, but by its hash in digests.jsonl the reply"),
        ({"status": "incomplete", "answered": False}, "answered is false, but by its hash in digests.jsonl the reply"),
        ({"answered": False}, "answered is false, but by its hash in digests.jsonl the reply has text"),
        ({"status": "incomplete"}, "status is incomplete, impossible for a reply with text and the stop 'stop'"),
        ({"stop": "content_filter"}, "status is ok, impossible for a reply with text and the stop 'content_filter'"),
    ],
)  # fmt: skip
def test_an_end_that_the_reply_contradicts_is_refused(
    change: dict[str, Any], said: str, content: Content, suite: Path, tmp_path: Path
) -> None:
    for record in (line for name in (ROWS, DIGESTS) for line in content.lines[name] if line["sample"] == WRONG):
        record |= {name: value for name, value in change.items() if name in record}
    found = checked(content, suite, tmp_path)
    assert not found.accepted
    assert words(found, "refused")[0].startswith("rows.jsonl: line 1: ")
    assert said in words(found, "refused")[0]


def test_an_emptied_reply_that_claims_an_answer_is_refused(content: Content, suite: Path, tmp_path: Path) -> None:
    content.lines[REPLIES][0]["text"] = ""
    content.lines[DIGESTS][0]["reply_hash"] = hashed("")
    assert (
        "answered is true, but by its hash in digests.jsonl the reply is empty"
        in (words(checked(content, suite, tmp_path), "refused")[0])
    )
    content.lines[REPLIES][0]["text"] = " \n"
    content.lines[DIGESTS][0]["reply_hash"] = hashed(" \n")
    assert (
        "answered is true, but in replies.jsonl the reply has no visible text"
        in (words(checked(content, suite, tmp_path), "refused")[0])
    )


@pytest.mark.parametrize("value", [1.0, 0.5, None])
def test_a_score_of_nothing_is_refused(value: float | None, content: Content, suite: Path, tmp_path: Path) -> None:
    row = next(line for line in content.lines[ROWS] if line["status"] == "refused")
    row["value"] = value
    assert "an unanswered reply has the score 0.0" in words(checked(content, suite, tmp_path), "refused")[0]


def test_bundles_of_format_2_are_read(content: Content, suite: Path, tmp_path: Path) -> None:
    old = in_format_2(content)
    bundle = parse_bundle(old.packed())
    assert bundle.format == 2
    assert archive(bundle) == old.packed()
    found = checked(old, suite, tmp_path)
    assert found.complete
    assert "32 scores match the scores recomputed from the replies" in words(found, "verified")
    old.lines[REPLIES][0]["inputs"] = {}
    with pytest.raises(RefusedError, match=r"replies.jsonl: line 1: inputs is an object; expected only the fields"):
        parse_bundle(old.packed())


@pytest.mark.parametrize("logs", [True, False])
@pytest.mark.parametrize("where", ["facets", "inputs", "both"])
def test_what_the_scorer_is_told_is_compared_with_the_suite(
    where: str, logs: bool, content: Content, suite: Path, tmp_path: Path
) -> None:
    """Nothing is left out, changed or moved from one field to the other."""
    reply = next(line for line in content.lines[REPLIES] if line["sample"] == "passkey/1@512")
    rows = [line for line in content.lines[ROWS] if line["sample"] == reply["sample"]]
    assert (reply["inputs"], rows[0]["facets"]) == ({"digits": 5}, {"depth": 0.5})
    if where != "facets":
        reply["inputs"] = {}
    for row in rows:
        row["facets"] |= {"facets": {"digits": 6}, "inputs": {}, "both": {"digits": 5}}[where]
    if not logs:
        del content.lines[REPLIES]
    found = checked(content, suite, tmp_path)
    refused = " ".join(words(found, "refused"))
    # Without logs nothing is computed again, and a run of an earlier version has such facets.
    assert found.accepted == (not logs and where != "facets")
    assert refused == "" if found.accepted else "sample passkey/1@512: " in refused


def test_bundles_of_format_1_are_read(content: Content, suite: Path, tmp_path: Path) -> None:
    old = in_format_1(content)
    bundle = parse_bundle(old.packed())
    assert (bundle.format, FORMAT) == (1, 4)
    assert archive(bundle) == old.packed()
    assert bundle.rows["answered"].null_count() == 16
    # What was cut has no score in it, and counts 0 as if nothing had been said.
    assert tally(counted(bundle.rows)) == {"unanswered": 4, "cut": 0, "overflow": 1, "missing": 0, "scorer_error": 0}
    found = checked(old, suite, tmp_path)
    assert found.complete
    assert "32 scores match the scores recomputed from the replies" in words(found, "verified")
    assert "4 of 16 replies have no text" in " ".join(words(found, "unverified"))


def test_a_score_of_an_empty_reply_of_format_1(content: Content, suite: Path, tmp_path: Path) -> None:
    """Its scorer gave it 0, with words of its own; more than that is forged."""
    old = in_format_1(content)
    at, row = next((at, one) for at, one in enumerate(old.lines[ROWS]) if one["status"] == "ok" and not one["valid"]
                   and one["detail"] == "empty reply")  # fmt: skip
    row |= {"grader": "exact match", "detail": "nothing there"}
    assert checked(old, suite, tmp_path).complete
    row["value"] = 1.0
    assert words(checked(old, suite, tmp_path), "refused")[0].startswith(f"rows.jsonl: line {at + 1}: value of")


def test_scores_of_other_than_whole_replies_are_refused_in_format_1(content: Content) -> None:
    old = in_format_1(content)
    row = next(line for line in old.lines[ROWS] if line["status"] == "refused")
    row["value"] = 1.0
    with pytest.raises(RefusedError, match="a reply with status refused has no score, expected null"):
        parse_bundle(old.packed())


def test_a_newer_format_is_refused(content: Content) -> None:
    content.head["format"] = 5
    with pytest.raises(RefusedError, match="format"):
        parse_bundle(content.packed())
