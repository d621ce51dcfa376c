"""A quiet command shows no progress, and still ends with the answer and the next command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import Call
from fathom.run import status


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


@pytest.mark.slow
def test_a_quiet_measurement_prints_its_answer_and_its_report_only(call: Call, suite: str) -> None:
    code, out, _ = call("measure", "fathom/lexical", "--quick", "--yes", "--quiet", "--no-open", "--out", "measured")
    assert code == 0
    sentence, report = [line for line in out.splitlines() if not line.startswith(" ")]
    assert sentence.startswith("fathom/lexical ")
    assert report.startswith("measured/report.html: the report; fathom browse measured/run")


def test_status_says_first_whether_a_run_goes_on(call: Call, suite: str) -> None:
    call("run", suite, "--model", "fathom/lexical", "--out", "run", "--quiet")
    code, out, _ = call("status", "run")
    assert (code, out.splitlines()[0].rstrip()) == (0, "state    finished")
    state = status(Path("run"))
    made: tuple[tuple[dict[str, Any], str], ...] = (
        ({"finished": 3}, "stopped; the same command resumes"),
        ({"in_batches": 2, "finished": 2}, "waiting for batches; the same command collects them"),
        ({"alive": 1, "eta": 61.0}, "running, 1 process, about 1 minute left"),
        ({"alive": 2, "rate": 0.5, "eta": 20.0}, "running, 2 processes, 0.50 replies a second"),
    )
    for facts, words in made:
        assert next(iter(replace(state, **facts).facts().items())) == ("state", words)


def test_a_folder_of_runs_that_is_given_for_a_run_names_one(call: Call, suite: str) -> None:
    call("run", suite, "--model", "fathom/lexical", "--out", "runs/run", "--quiet")
    assert "runs: no run here, but a folder of runs; give one of them, such as runs/run" in call("status", "runs")[2]
