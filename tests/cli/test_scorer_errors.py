"""A user's scorer that raises an exception on some replies, from the build to the report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import Call
from fathom import api
from fathom.plugins import discovery, loading
from fathom.rows.scoring import score_reply
from fathom.runfile.store import replies
from fathom.storage import time_limits
from fathom.types import FathomError

TASK = """
from fathom.score.answers import first_number
from fathom.types import Draw, Ending, Haystack, Needle, Plan, Sample, Score, Task


def plan(draw: Draw) -> Plan:
    counter = draw.rng.randint(1, 50)
    needle = Needle(f"The lost umbrella is kept at counter {counter}.", draw.depth)
    ending = Ending("Which counter?\\nCounter:", targets=(str(counter),), chance=1 / 50)
    return Haystack("Where is the umbrella?", (needle,), ending)


def score(reply: str, sample: Sample) -> Score:
    found = first_number(reply)
    GOLD
    if found not in sample.targets:
        return Score(None + 1.0, True)
    return Score(found in sample.targets, True, found, "first number")


TASKS = (
    Task("lost_umbrella", plan, score, "accuracy", 32, "where it is", "an example", OFFICIAL languages=("en",)),
)
"""


@pytest.fixture(autouse=True)
def _no_plugins(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a new process: no file is in use; the folder is that of the test."""
    monkeypatch.setattr(loading, "_IN_USE", {})
    monkeypatch.setattr(loading, "_READ", set())
    monkeypatch.setattr(discovery, "_FOUND", {})


def write_task(gold: str = "", official: str = "") -> Path:
    path = Path("lost_umbrella.py")
    path.write_text(TASK.replace("GOLD", gold).replace("OFFICIAL", official), "utf-8")
    return path


@pytest.mark.slow
def test_replies_that_a_scorer_cannot_score_are_named_everywhere(call: Call) -> None:
    write_task()
    assert call("build", "./lost_umbrella.py", "--lengths", "1k", "--items", "4", "--out", "suite", "--quiet")[0] == 0
    code, _, err = call("run", "suite", "--model", "fathom/guess", "--out", "run", "--yes", "--quiet")
    rows = api.rows(["run"])
    failed = rows.filter(rows["value"].is_null())
    assert len(failed) > 1
    sentence = f"{len(failed)} replies could not be scored: TypeError in lost_umbrella.score"
    sample = failed["sample"][0]
    assert code == 0
    for words in (sentence, f"the first in sample {sample}: unsupported operand", "the run need not be repeated"):
        assert words in err
    assert failed["detail"].str.starts_with("scorer failed: TypeError in lost_umbrella.score: unsupported").all()
    (said,) = json.loads(call("status", "run", "--json")[1])["scorer_errors"]
    assert said.startswith(sentence)
    assert "could not be scored" in " ".join(call("status", "run")[1].split())
    assert sentence in call("rows", "run", "--out", "rows.parquet")[2]
    (count,) = api.analyze("counts", ["rows.parquet"])
    assert (count.scorer_error, count.missing, count.replies) == (len(failed), 0, 4)
    shown = " ".join(call("report", "run", "--out", "report.html")[1].split())
    assert f"{sentence}, for instance in sample {sample} (fathom/guess {len(failed)} of 4)." in shown
    assert f"{len(failed)} of 4 replies could not be scored: TypeError in lost_umbrella.score" in shown
    assert "missing: failed or not judged" not in shown
    api.run("suite", "fathom/first", out="other")
    assert sentence in str(api.gate("run", baseline="other", margin=0.1).gaps)


@pytest.mark.slow
def test_a_scorer_that_does_not_end_is_stopped(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limits, "SECONDS", 0.05)
    Path("lost_umbrella.py").write_text(
        TASK.replace("GOLD", "").replace("OFFICIAL", "").replace("return Score(None + 1.0, True)", "while True: pass"),
        "utf-8",
    )
    assert call("build", "./lost_umbrella.py", "--lengths", "1k", "--items", "2", "--out", "suite", "--quiet")[0] == 0
    code, _, err = call("run", "suite", "--model", "fathom/guess", "--out", "run", "--yes", "--quiet")
    assert code == 0
    assert "2 replies could not be scored: TooLongError in lost_umbrella.score" in err


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ("raise KeyError(reply)", r"KeyError: '\d+' \(.*lost_umbrella.py, line 15\). No reply can be scored"),
        ("return 1.0", "TypeError: it returned float, expected fathom.types.Score"),
        ("return Score(5.0, True)", r"ValueError: the value is 5.0, expected a number in \[0, 1\]"),
        ("return Score('1', True)", r"TypeError: the value is '1', expected a number"),
        ("return Score(float('nan'), True)", "ValueError: the value is nan"),
        ("return Score(None, True)", r"gives no score for the gold answer of sample lost_umbrella/\S+, expected"),
    ],
)
def test_a_build_refuses_a_scorer_that_fails_on_a_gold_answer(gold: str, message: str) -> None:
    write_task(gold)
    with pytest.raises(FathomError, match=f"^lost_umbrella: its scorer .*{message}"):
        api.build("./lost_umbrella.py", "suite", lengths=[1024], items=1)
    assert not Path("suite").exists()


OFFICIAL = """
from fathom.score.registry import Metric


def released(row):
    return Score(float(int(row.prediction) == int(row.answers[0])), True, grader="official")


METRICS = (Metric("umbrellas", "exact_match", {"official": released}, "the number"),)
"""


def test_official_code_that_raises_on_a_reply_gives_0_with_the_reason() -> None:
    path = write_task(official="official='umbrellas/exact_match',")
    path.write_text(path.read_text("utf-8") + OFFICIAL, "utf-8")
    api.build("./lost_umbrella.py", "suite", lengths=[1024], items=1)
    api.run("suite", "fathom/guess", out="run")
    (stored,) = replies(Path("run"))
    stored = replace(stored, reply=replace(stored.reply, text="42.0"))
    score = score_reply(stored, "official").score
    assert (score.value, score.valid, score.grader) == (0.0, False, "official")
    assert score.detail.startswith("the official code raises an exception, which counts as 0: ValueError: invalid")
