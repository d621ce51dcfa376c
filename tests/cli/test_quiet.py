"""A quiet command shows no progress, and still ends with the answer and the next command."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Call


@pytest.fixture
def suite(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    code, *_ = call("build", "passkey", "--lengths", "1k,2k", "--items", "2", "--out", "suite", "--quiet")
    assert code == 0
    return "suite"


def test_a_quiet_run_ends_with_the_sentence_and_the_next_command(call: Call, suite: str) -> None:
    code, out, err = call("run", suite, "--model", "fathom/lexical", "--out", "run", "--quiet")
    assert (code, err) == (0, "")
    counts, sentence, following = out.splitlines()
    assert counts.startswith("run: ")
    assert sentence.startswith("fathom/lexical keeps 85% of its score")
    assert following == "next: fathom report run"


def test_shards_end_with_the_command_that_joins_them_which_ends_with_the_sentence(call: Call, suite: str) -> None:
    for shard in ("1/2", "2/2"):
        code, out, _ = call("run", suite, "--model", "fathom/lexical", "--shard", shard, "--out", "parts", "-q")
        assert (code, out.splitlines()[-1]) == (0, "next: fathom merge parts --out merged")
    code, out, _ = call("merge", "parts", "--out", "merged")
    assert code == 0
    assert out.splitlines()[-1] == "next: fathom report merged"
    assert "fathom/lexical keeps 85% of its score" in out


def test_a_quiet_measurement_prints_its_answer_and_its_report_only(call: Call, suite: str) -> None:
    code, out, _ = call("measure", "fathom/lexical", "--quick", "--yes", "--quiet", "--no-open", "--out", "measured")
    assert code == 0
    sentence, report = [line for line in out.splitlines() if not line.startswith(" ")]
    assert sentence.startswith("fathom/lexical ")
    assert report.startswith("measured/report.html: the report; fathom browse measured/run")
