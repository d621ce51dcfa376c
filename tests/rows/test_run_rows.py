from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fathom.browse.replies import read_replies
from fathom.rows import SCHEMA, load, rows_from_run, to_frame, write_rows
from fathom.rows.runs import labels
from fathom.run import status
from fathom.runfile.ledger import Ledger
from fathom.runfile.manifest import check_run
from fathom.runfile.worker import this_worker
from fathom.suites import registry
from fathom.types import Draw, FathomError, Plan, Reply, Sample, Score, Status, Task

SAMPLE = Sample(
    id="kv/0@2048", item="kv/0", task="kv", parts=(), targets=("blue", "azure"), length=2048, tokens=2040,
    language="zh", chance=0.125, facets={"depth": 0.5, "kind": "深"},
)  # fmt: skip


def score(text: str, sample: Sample) -> Score:
    """Reads the answer after the colon; stumbles where there is none."""
    answer = text.split(":")[1].strip()
    return Score(float(answer in sample.targets), valid=True, answer=answer, grader="colon", detail="read")


@pytest.fixture(autouse=True)
def _tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(_: Draw) -> Plan:
        raise NotImplementedError

    kv = Task("kv", plan, score, "accuracy", 32, "a test", "none", version=3)
    monkeypatch.setattr(registry, "tasks", lambda: {"kv": kv})


def make_run(folder: Path, replies: list[tuple[Sample, Reply]], **manifest: Any) -> Path:
    folder.mkdir()
    facts = {
        "format": 1,
        "suite": {"name": "tiny", "fingerprint": "f00df00df00d", "tokenizer": "words"},
        "model": "lab/m",
        "generation": {"temperature": 0.0},
        "window": None,
        "on_overflow": "refuse",
    }
    (folder / "run.json").write_text(json.dumps(facts | manifest))
    ledger = Ledger(folder, this_worker())
    for sample, reply in replies:
        ledger.finish(sample, 1, reply, prompt_hash="abc", cost=0.5)
    ledger.close()
    return folder


def test_a_reply_becomes_a_row(tmp_path: Path) -> None:
    reply = Reply(
        "ok", "It is: blue", stop="stop", tokens_in=1900, tokens_out=8, tokens_reasoning=7, seconds=2.0, truncated=5,
        served="m-2026 fp_1", attempts=3,
    )  # fmt: skip
    frame = rows_from_run(make_run(tmp_path / "run", [(SAMPLE, reply)]))
    assert list(frame.columns) == list(SCHEMA)
    row = frame.row(0, named=True)
    assert json.loads(row.pop("facets")) == {"depth": 0.5, "kind": "深"}
    del row["fathom_version"]
    assert row == {
        "suite": "tiny", "task": "kv", "item": "kv/0", "sample": "kv/0@2048", "model": "lab/m", "length": 2048,
        "value": 1.0, "variant": "", "epoch": 1, "valid": True, "status": "ok", "stop": "stop", "answer": "blue",
        "target": "blue", "language": "zh", "chance": 0.125, "tokens": 2040, "tokens_in": 1900, "tokens_out": 8,
        "tokens_reasoning": 7, "truncated": 5, "cost": 0.5, "seconds": 2.0, "metric": "accuracy", "grader": "colon",
        "rule": "strict", "tokenizer": "words", "prompt_hash": "abc", "source": "fathom", "task_version": 3,
        "detail": "read", "answered": True, "served": "m-2026 fp_1", "asked_again": 2,
    }  # fmt: skip


def test_what_was_said_is_scored_and_what_was_not_answered_is_wrong(tmp_path: Path) -> None:
    statuses: tuple[Status, ...] = ("error", "incomplete", "overflow", "refused")
    replies = [
        (replace(SAMPLE, id=kind), Reply(kind, "" if kind == "error" else "It is: blue", error="no answer"))
        for kind in statuses
    ]
    frame = rows_from_run(make_run(tmp_path / "run", replies))
    assert frame["status"].to_list() == list(statuses)
    assert frame["value"].to_list() == [None, 1.0, None, 0.0]
    assert frame["answered"].to_list() == [False, True, False, False]
    assert frame["valid"].to_list() == [False, True, False, False]
    assert frame["detail"].to_list() == ["no answer", "read", "no answer", "no answer"]


@pytest.mark.parametrize("status", ["ok", "incomplete", "refused"])
@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_reply_without_visible_text_is_wrong(tmp_path: Path, status: Status, text: str) -> None:
    reply = Reply(status, text, reasoning="It is: blue")
    frame = rows_from_run(make_run(tmp_path / "run", [(SAMPLE, reply)]))
    (row,) = frame.select("value", "valid", "answered", "answer").rows()
    assert row == (0.0, False, False, None)


def test_a_scorer_that_stumbles_ends_nothing(tmp_path: Path) -> None:
    replies = [(SAMPLE, Reply("ok", "no colon")), (replace(SAMPLE, id="z"), Reply("ok", ": azure"))]
    frame = rows_from_run(make_run(tmp_path / "run", replies))
    assert frame["value"].to_list() == [None, 1.0]
    assert frame["detail"][0] == "scorer failed: IndexError in kv.score: list index out of range"


def test_a_task_that_is_not_installed_is_named(tmp_path: Path) -> None:
    frame = rows_from_run(make_run(tmp_path / "run", [(replace(SAMPLE, task="kvv"), Reply("ok", ": blue"))]))
    assert frame["value"].to_list() == [None]
    assert "unknown task 'kvv'" in frame["detail"][0]


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="no run here"):
        rows_from_run(tmp_path)
    with pytest.raises(FathomError, match="expected strict or official"):
        rows_from_run(make_run(tmp_path / "run", []), rule="lax")


def test_a_run_and_its_rows_file_count_once(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(SAMPLE, Reply("ok", ": blue")), (replace(SAMPLE, id="z"), Reply("error"))])
    file = tmp_path / "rows.csv"
    write_rows(rows_from_run(run), file)
    assert load([run, file]).equals(load([run]))
    assert load([file]).equals(load([run]))


def test_runs_with_replies_of_their_own_are_named_by_their_folders(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, [(SAMPLE, Reply("ok", f": {name}"))]) for name in ("first", "second")]
    assert load(runs)["variant"].to_list() == ["first", "second"]


def test_prompts_without_an_answer_do_not_make_two_runs_one(tmp_path: Path) -> None:
    overflow = replace(SAMPLE, id="kv/0@4096"), Reply("overflow", "", error="prompt too long")
    failed = replace(SAMPLE, id="kv/0@8192"), Reply("error")
    runs = [
        make_run(tmp_path / name, [(SAMPLE, Reply("ok", f": {name}")), overflow, failed])
        for name in ("first", "second")
    ]
    assert load(runs)["variant"].unique(maintain_order=True).to_list() == ["first", "second"]


def test_two_unfinished_runs_are_two_runs(tmp_path: Path) -> None:
    samples = [replace(SAMPLE, id=f"kv/{number}@2048") for number in range(48)]
    runs = [make_run(tmp_path / name, [(one, Reply("ok", f": {name}")) for one in samples[:30]]) for name in "ab"]
    for run in runs:
        ledger = Ledger(run, this_worker())
        ledger.plan(len(samples), samples, 1)
        ledger.close()
    assert load(runs).group_by("variant", maintain_order=True).len().rows() == [("a", 48), ("b", 48)]


def test_labels_are_those_of_the_table(tmp_path: Path) -> None:
    for name in ("old/lab-m", "new/lab-m", "other"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        make_run(tmp_path / name, [(SAMPLE, Reply("ok", f": {name}"))])
    runs = [tmp_path / name for name in ("old/lab-m", "new/lab-m", "other")]
    assert load(runs)["variant"].to_list() == ["old/lab-m", "new/lab-m", "other"]
    assert list(labels(runs).values()) == [("tiny", "lab/m", name) for name in ("old/lab-m", "new/lab-m", "other")]
    assert {run.variant for run in read_replies(runs).runs} == {"old/lab-m", "new/lab-m", "other"}


def test_different_replies_to_one_sample_are_refused(tmp_path: Path) -> None:
    shared = replace(SAMPLE, id="kv/0@4096"), Reply("ok", ": blue")
    first = make_run(tmp_path / "first", [(SAMPLE, Reply("ok", ": blue")), shared])
    second = make_run(tmp_path / "second", [(SAMPLE, Reply("ok", ": red")), shared])
    with pytest.raises(FathomError) as error:
        load([first, second])
    for part in (str(first), str(second), "lab/m", "kv/0@2048", "--epochs"):
        assert part in str(error.value)


def test_other_settings_are_variants(tmp_path: Path) -> None:
    replies = [(SAMPLE, Reply("ok", ": blue"))]
    runs = [
        make_run(tmp_path / "a", replies),
        make_run(tmp_path / "b", replies, on_overflow="middle", generation={"temperature": 0.0, "top_p": 0.5}),
        make_run(tmp_path / "c", replies, model="lab/other", on_overflow="left"),
    ]
    assert load(runs)["variant"].to_list() == [
        "on_overflow=refuse, top_p=default", "on_overflow=middle, top_p=0.5", "",
    ]  # fmt: skip
    assert load(runs[1:])["variant"].to_list() == ["", ""]


def test_two_servers_are_variants_only_if_nothing_else_tells_them_apart(tmp_path: Path) -> None:
    here, there = ({"base_url": f"http://{name}/v1"} for name in ("here", "there"))
    other = {"suite": {"name": "tiny", "fingerprint": "beefbeefbeef", "tokenizer": "words"}}
    replies = [(SAMPLE, Reply("ok", ": blue"))]
    same = [make_run(tmp_path / "a", replies, **here), make_run(tmp_path / "b", replies, **there)]
    moved = make_run(tmp_path / "c", [(replace(SAMPLE, id="q"), Reply("ok", ": blue"))], **(there | other))
    assert load(same)["variant"].to_list() == ["base_url=http://here/v1", "base_url=http://there/v1"]
    assert load([same[0], moved])["variant"].to_list() == ["", ""]


def test_servers_started_in_other_ways_are_variants(tmp_path: Path) -> None:
    replies = [(SAMPLE, Reply("ok", ": blue"))]
    started = "vllm serve lab/m --port 80"
    lines = (started, f"{started} --hf-overrides '{{\"a\": 1}}' --max-model-len 99", "vllm serve lab/m --port 81")
    runs = [make_run(tmp_path / str(number), replies, server_command=line) for number, line in enumerate(lines)]
    untold = make_run(tmp_path / "untold", replies)
    assert load(runs[:2])["variant"].to_list() == [
        "server: no other flags", "server: --hf-overrides '{\"a\": 1}' --max-model-len 99",
    ]  # fmt: skip
    assert load(runs[::2])["variant"].to_list() == ["server: --port 80", "server: --port 81"]
    assert load([runs[0], untold])["variant"].to_list() == ["server: no other flags", "server: not told"]
    assert len(set(load([*runs, untold])["variant"])) == 4
    assert load([runs[0]])["variant"].to_list() == [""]
    turned = make_run(tmp_path / "turned", replies, server_command="vllm serve lab/m --max-model-len 9 --port 80")
    order = make_run(tmp_path / "order", replies, server_command="vllm serve lab/m --port 80 --max-model-len 9")
    assert load([turned, order])["variant"].to_list() == [
        "server: vllm serve lab/m --max-model-len 9 --port 80", "server: vllm serve lab/m --port 80 --max-model-len 9",
    ]  # fmt: skip


def test_suites_of_one_name_are_told_apart(tmp_path: Path) -> None:
    other = {"name": "tiny", "fingerprint": "beefbeefbeef", "tokenizer": "words"}
    replies = [(SAMPLE, Reply("ok", ": blue"))]
    runs = [make_run(tmp_path / "a", replies), make_run(tmp_path / "b", replies, suite=other)]
    assert load(runs)["suite"].to_list() == ["tiny#f00df00d", "tiny#beefbeef"]


SUITE = {"name": "tiny", "fingerprint": "f00d", "tokenizer": "words"}


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({"format": 1}, "model = 'None', expected a text"),
        ({"format": 1, "model": "lab/m"}, "suite = 'None', expected an object"),
        ({"format": 1, "model": 7, "suite": SUITE}, "model = '7', expected a text"),
        ({"format": 1, "model": "lab/m", "suite": []}, r"suite = '\[\]', expected an object"),
        ({"format": 1, "model": "lab/m", "suite": {"name": "tiny"}}, "suite.fingerprint = 'None', expected a text"),
        ({"format": 1, "model": "lab/m", "suite": SUITE | {"tokenizer": {}}}, "suite.tokenizer"),
        ({"format": 1, "model": "lab/m", "suite": SUITE, "generation": [1]}, "generation"),
        ({"format": 1, "model": "lab/m", "suite": SUITE, "model_args": "x"}, "model_args"),
        ({"format": 1, "model": "lab/m", "suite": SUITE, "window": "4k"}, "window"),
        ({"format": 1, "model": "lab/m", "suite": SUITE, "window": True}, "window"),
        ({"format": 1, "model": "lab/m", "suite": SUITE, "on_overflow": 1}, "on_overflow"),
        ({"format": 1, "model": "lab/m", "suite": SUITE, "base_url": 1}, "base_url"),
        ({"format": 1, "model": "lab/m", "suite": SUITE, "variant": 1}, "variant"),
        ({"format": 2}, "checksum does not match its content"),
        ({"format": 3}, r"written by a newer fathom \(format 3; this one reads up to 2\): upgrade with"),
        ({"format": None}, "format 'None', expected a number"),
        ([], "expected an object"),
    ],
)
def test_a_damaged_manifest_is_told_by_all_who_read_it(tmp_path: Path, content: object, named: str) -> None:
    folder = make_run(tmp_path / "run", [(SAMPLE, Reply("ok", ": blue"))])
    (folder / "run.json").write_text(json.dumps(content))
    for read in (rows_from_run, status, lambda place: load([place]), lambda place: check_run(place, {})):
        with pytest.raises(FathomError, match=f"run.json: .*{named}"):
            read(folder)


def test_nothing_to_load(tmp_path: Path) -> None:
    assert load([]).equals(to_frame([]))
    with pytest.raises(FathomError, match="no such run folder or rows file"):
        load([tmp_path / "nothing"])
    with pytest.raises(FathomError, match="no run here"):
        load([tmp_path])
