from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fathom.models.answers import Output, to_reply
from fathom.rows import rows_from_inspect
from fathom.types import FathomError

pytestmark = pytest.mark.slow  # all look at what takes long to make

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

FACTS = {
    "suite": "tiny", "task": "kv", "item": "kv/0", "length": 2048, "tokens": 2040, "chance": 0.125, "language": "zh",
    "tokenizer": "words", "facets": {"depth": 0.5},
}  # fmt: skip


def make_sample(number: int, reply: str, stop: Any = "stop", **fields: Any) -> EvalSample:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput, ModelUsage

    output = ModelOutput.from_content("mockllm/model", reply, stop_reason=stop)
    output.usage = ModelUsage(input_tokens=100, output_tokens=7, total_tokens=107, reasoning_tokens=3)
    facts: dict[str, Any] = {
        "id": f"kv/{number}@2048",
        "epoch": 1,
        "input": "a prompt",
        "target": "blue",
        "output": output,
    }
    return EvalSample(**(facts | {"metadata": FACTS | {"item": f"kv/{number}"}} | fields))


def write_log(
    folder: Path, samples: list[EvalSample], suffix: str = ".eval", listed: bool = True, cap: int | None = None
) -> Path:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalSpec, write_eval_log
    from inspect_ai.model import GenerateConfig

    ids = dict.fromkeys(sample.id for sample in samples)
    spec = EvalSpec(
        created="2025-07-01T00:00:00+00:00",
        task="kv_task",
        model="lab/m",
        dataset=EvalDataset(name="data", samples=len(samples), sample_ids=list(ids) if listed else None),
        config=EvalConfig(epochs=max((sample.epoch for sample in samples), default=1)),
    )
    path = folder / f"log{suffix}"
    plan = EvalPlan(config=GenerateConfig(max_tokens=cap))
    write_eval_log(EvalLog(status="success", eval=spec, plan=plan, samples=samples), path)
    return path


def scored(value: Any, **fields: Any) -> dict[str, Any]:
    from inspect_ai.scorer import Score

    return {"scores": {"own": Score(value=value, **fields)}}


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_samples_of_our_tasks(tmp_path: Path, suffix: str) -> None:
    fields = scored(
        0.5, answer="blue", explanation="half", metadata={"valid": False, "grader": "ours", "rule": "strict"}
    )
    log = write_log(tmp_path, [make_sample(0, "blue", total_time=2.0, **fields)], suffix)
    row = rows_from_inspect(log).row(0, named=True)
    assert json.loads(row.pop("facets")) == {"depth": 0.5}
    assert row == {
        "suite": "tiny", "task": "kv", "item": "kv/0", "sample": "kv/0@2048", "model": "lab/m", "length": 2048,
        "value": 0.5, "variant": "", "epoch": 1, "valid": False, "status": "ok", "stop": "stop", "answer": "blue",
        "target": "blue", "language": "zh", "chance": 0.125, "tokens": 2040, "tokens_in": 100, "tokens_out": 7,
        "tokens_reasoning": 3, "truncated": 0, "cost": None, "seconds": 2.0, "metric": "own", "grader": "ours",
        "rule": "strict", "tokenizer": "words", "prompt_hash": "", "source": "inspect", "task_version": 1,
        "fathom_version": "", "detail": "half", "answered": True, "served": "mockllm/model", "asked_again": 0,
    }  # fmt: skip


def test_samples_of_other_tasks(tmp_path: Path) -> None:
    samples = [make_sample(0, "x", metadata={"level": 3, "notes": ["a"]}, id=7, target=["a", "b"], **scored("C"))]
    row = rows_from_inspect(write_log(tmp_path, samples)).row(0, named=True)
    assert (row["suite"], row["task"], row["item"], row["sample"]) == ("data", "kv_task", "kv_task/7", "kv_task/7")
    assert (row["length"], row["tokens"], row["chance"], row["target"]) == (0, None, None, "a")
    assert json.loads(row["facets"]) == {"level": 3}


def test_epochs_and_logs_that_do_not_list_their_samples(tmp_path: Path) -> None:
    samples = [make_sample(number, "x", epoch=epoch, **scored("C")) for number in (0, 1) for epoch in (1, 2)]
    for listed in (True, False):
        frame = rows_from_inspect(write_log(tmp_path, samples, listed=listed))
        found = frame.select("sample", "epoch").sort("sample", "epoch").rows()
        assert found == [(f"kv/{number}@2048", epoch) for number in (0, 1) for epoch in (1, 2)]


def test_values(tmp_path: Path) -> None:
    values = ["C", "I", "P", "N", True, 1, 0.25, {"one": 0.75}, 7, "great", {"a": 1, "b": 0}, float("nan")]
    samples = [make_sample(number, "x", **scored(value)) for number, value in enumerate(values)]
    frame = rows_from_inspect(write_log(tmp_path, samples))
    assert frame["value"].to_list() == [1, 0, 0.5, 0, 1, 1, 0.25, 0.75, None, None, None, None]
    assert "7 is not a number in [0, 1]" in frame["detail"][8]


def test_samples_that_did_not_end_well_score_what_they_say(tmp_path: Path) -> None:
    from inspect_ai._util.error import EvalError
    from inspect_ai.log import EvalSampleLimit

    error = EvalError(message="lost", traceback="", traceback_ansi="")
    samples = [
        make_sample(0, "x", "max_tokens", **scored("I")),
        make_sample(1, "", "model_length", **scored("I")),
        make_sample(2, "", "content_filter", **scored("I")),
        make_sample(3, "", error=error),
        make_sample(4, "x", limit=EvalSampleLimit(type="time", limit=9.0), **scored("C")),
        make_sample(5, "x"),
    ]
    frame = rows_from_inspect(write_log(tmp_path, samples))
    assert frame["status"].to_list() == ["incomplete", "overflow", "refused", "error", "incomplete", "ok"]
    # What was cut is scored as it stands, a refusal is wrong, and a request that failed is missing.
    assert frame["value"].to_list() == [0.0, None, 0.0, None, 1.0, None]
    assert frame["answered"].to_list() == [True, False, False, False, True, True]
    assert frame["valid"].to_list() == [True, False, False, False, True, False]
    assert frame["detail"].to_list()[3:] == ["lost", "ended by time limit", "no score in the log"]


def test_replies_of_a_log_and_of_a_run_have_the_same_statuses(tmp_path: Path) -> None:
    from inspect_ai.model import ContentReasoning, ContentText, ModelOutput

    texts = ["nine", "nine, and", "", "", "<think>so", "blocked", "no"]
    stops: list[Any] = ["stop", "max_tokens", "max_tokens", "stop", "stop", "content_filter", "stop"]
    samples = [
        make_sample(number, text, stop, **scored("C"))
        for number, (text, stop) in enumerate(zip(texts, stops, strict=True))
    ]
    thought = ModelOutput.from_content("mockllm/model", [ContentReasoning(reasoning="so")])
    refused = ModelOutput.from_content("mockllm/model", [ContentText(text="I cannot", refusal=True)])
    samples += [make_sample(7, "", output=thought, **scored("C")), make_sample(8, "", output=refused, **scored("C"))]
    frame = rows_from_inspect(write_log(tmp_path, samples))
    expected = [to_reply(Output(text, stop=stop)) for text, stop in zip(texts, stops, strict=True)]
    expected += [to_reply(Output("", reasoning="so")), to_reply(Output("I cannot", refusal=True))]
    assert frame["status"].to_list() == [reply.status for reply in expected]
    assert frame["status"].to_list()[1:3] == ["incomplete", "incomplete"]
    assert frame["answered"].to_list() == [reply.answered for reply in expected]
    assert frame["value"].to_list() == [float(reply.answered) for reply in expected]


@pytest.mark.parametrize(
    ("task", "cap", "status"),
    [
        ("longbench_hotpotqa", 32, "ok"),
        ("longbench_hotpotqa", 64, "incomplete"),
        ("longbench_hotpotqa", None, "incomplete"),
        ("longbench_v2_cot", 2000, "ok"),  # its second request has a cap of its own
        ("passkey", 32, "incomplete"),
    ],
)
def test_a_cap_that_is_part_of_a_task_ends_a_whole_reply(
    tmp_path: Path, task: str, cap: int | None, status: str
) -> None:
    samples = [
        make_sample(number, text, "max_tokens", metadata=FACTS | {"task": task}, **scored(0.5))
        for number, text in enumerate(["nine, and", "<think>so"])
    ]
    for sample in samples:
        sample.output.usage = None
    frame = rows_from_inspect(write_log(tmp_path, samples, cap=cap))
    assert frame["status"].to_list() == [status, "incomplete"]
    assert frame["value"].to_list() == [0.5, 0.0]
    assert frame["answered"].to_list() == [True, False]


@pytest.mark.parametrize("wrong", [10**40, 10**400, -(10**400), True, "8k"])
def test_lengths_that_cannot_be_are_unknown(tmp_path: Path, wrong: object) -> None:
    sample = make_sample(0, "blue \ud83d", **scored(1.0)).model_copy(update={"metadata": FACTS | {"length": wrong}})
    sample.scores["own"].answer = "blue \ud83d"  # type: ignore[index]  # it was scored
    row = rows_from_inspect(write_log(tmp_path, [sample], ".json")).row(0, named=True)
    assert (row["length"], row["value"]) == (1 if wrong is True else 0, 1.0)


def test_a_scorer_may_be_named(tmp_path: Path) -> None:
    from inspect_ai.scorer import Score

    scores = {"match": Score(value="I"), "judge": Score(value=0.75)}
    log = write_log(tmp_path, [make_sample(0, "x", scores=scores), make_sample(1, "x", **scored(1))])
    assert rows_from_inspect(log)["value"].to_list() == [0.0, 1.0]
    assert rows_from_inspect(log, "judge")["value"].to_list() == [0.75, None]
    with pytest.raises(FathomError, match="'nobody'"):
        rows_from_inspect(log, "nobody")


def test_what_is_not_such_a_log(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="no such file"):
        rows_from_inspect(tmp_path / "log.eval")
    for name in ("log.eval", "log.json", "log.txt"):
        (tmp_path / name).write_text("{nothing")
        with pytest.raises(FathomError, match=f"{name}: cannot be read"):
            rows_from_inspect(tmp_path / name)


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_one_nan_costs_that_sample_only(tmp_path: Path, suffix: str) -> None:
    log = write_log(
        tmp_path, [make_sample(n, "x", **scored(value)) for n, value in enumerate([1.0, float("nan")])], suffix
    )
    rows = rows_from_inspect(log)
    assert rows["value"].to_list() == [1.0, None]
    assert rows["detail"].to_list()[1] == "score nan is not a number in [0, 1]"
