"""Files as lm-evaluation-harness 0.4 writes them (``lm_eval/loggers/evaluation_tracker.py``), made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathom.rows import rows_from_lm_eval
from fathom.types import FathomError

DATE = "2025-07-01T12-30-45.123456"


def sample(doc_id: int, doc: dict[str, Any], target: str, reply: str, **metrics: Any) -> dict[str, Any]:
    return {
        "doc_id": doc_id,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": "a prompt", "arg_1": {"until": [], "max_gen_toks": 128}}},
        "resps": [[reply]],
        "filtered_resps": [reply.strip()],
        "filter": metrics.pop("filter", "none"),
        "metrics": list(metrics),
        "doc_hash": f"d{doc_id}",
        "prompt_hash": f"p{doc_id}",
        "target_hash": f"t{doc_id}",
        **metrics,
    }


def write(folder: Path, task: str, samples: list[dict[str, Any]], date: str = DATE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    results = {
        "results": {task: {"alias": task}},
        "versions": {task: 2.0},
        "config": {"model": "hf", "model_args": {"pretrained": "lab/seven-b"}},
        "model_source": "hf",
        "model_name": "lab/seven-b",
        "model_name_sanitized": "lab__seven-b",
    }
    (folder / f"results_{date}.json").write_text(json.dumps(results))
    file = folder / f"samples_{task}_{date}.jsonl"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in samples), encoding="utf-8")
    return file


def ruler(doc_id: int, length: int, score: float) -> dict[str, Any]:
    doc = {"index": doc_id, "input": "...", "outputs": ["71"], "length": length - 40, "max_length": length}
    others = {str(other): -1.0 for other in (4096, 8192)}
    return sample(doc_id, doc, "71", " 71.", **(others | {str(length): score}))


def test_ruler_has_lengths(tmp_path: Path) -> None:
    write(tmp_path / "lab__seven-b", "niah_single_1", [ruler(0, 4096, 1.0), ruler(1, 8192, 0.25)])
    frame = rows_from_lm_eval(tmp_path)
    assert frame["length"].to_list() == [4096, 8192]
    assert frame["value"].to_list() == [1.0, 0.25]
    assert frame["metric"].to_list() == ["4096", "8192"]
    assert frame["tokens"].to_list() == [4056, 8152]
    row = frame.row(0, named=True)
    assert (row["model"], row["task"], row["item"]) == ("lab/seven-b", "niah_single_1", "niah_single_1/0")
    assert (row["sample"], row["source"], row["status"]) == ("niah_single_1/0@4096", "lm-eval", "ok")
    assert (row["answer"], row["target"], row["prompt_hash"], row["chance"]) == ("71.", "71", "p0", None)
    assert json.loads(row["facets"]) == {"filter": "none", "version": "2.0"}


def test_the_first_metric_on_the_right_scale_is_taken(tmp_path: Path) -> None:
    lines = [
        sample(0, {}, "a", "b", bleu=0.4, qa_f1_score=0.5, acc=True),
        sample(1, {}, "a", "b", bleu=34.0, qa_f1_score=0.75, acc=False),
    ]
    file = write(tmp_path, "longbench_hotpotqa", lines)
    assert rows_from_lm_eval(file)["value"].to_list() == [0.5, 0.75]
    assert rows_from_lm_eval(file)["length"].to_list() == [0, 0]
    assert rows_from_lm_eval(file, metric="acc")["value"].to_list() == [1.0, 0.0]
    partly = rows_from_lm_eval(file, metric="bleu")
    assert partly["value"].to_list() == [0.4, None]
    assert "no metric" in partly["detail"][1]


def test_one_row_a_document_whatever_its_filters(tmp_path: Path) -> None:
    lines = [
        sample(doc, {}, "18", "18", filter=name, exact_match=value)
        for name, value in (("strict-match", 0.0), ("flexible-extract", 1.0))
        for doc in (0, 1)
    ]
    file = write(tmp_path, "gsm8k", lines)
    assert rows_from_lm_eval(file)["value"].to_list() == [0.0, 0.0]
    flexible = rows_from_lm_eval(file, filter_name="flexible-extract")
    assert flexible["value"].to_list() == [1.0, 1.0]
    with pytest.raises(FathomError, match="filters flexible-extract, strict-match and metrics exact_match"):
        rows_from_lm_eval(file, filter_name="loose")
    with pytest.raises(FathomError, match="'rouge'"):
        rows_from_lm_eval(file, metric="rouge")


def test_older_files_and_likelihood_tasks(tmp_path: Path) -> None:
    old = {"doc_id": 3, "doc": {"q": "?"}, "target": "1", "arguments": [["ctx", " a"], ["ctx", " b"]],
           "resps": [[[-1.0, False]], [[-2.0, False]]], "filtered_resps": [[-1.0, False], [-2.0, False]],
           "acc": 1.0, "acc_norm": 0.0}  # fmt: skip
    file = tmp_path / "lab__m" / "samples_arc_easy.jsonl"
    file.parent.mkdir()
    file.write_text(json.dumps(old) + "\n\n")
    row = rows_from_lm_eval(file).row(0, named=True)
    assert (row["value"], row["metric"], row["answer"]) == (1.0, "acc", None)
    assert (row["task"], row["model"], row["facets"]) == ("arc_easy", "lab__m", "{}")
    assert rows_from_lm_eval(file, model="mine")["model"].to_list() == ["mine"]


def test_task_names_may_hold_underscores_and_dates_tell_runs_apart(tmp_path: Path) -> None:
    for date, model in ((DATE, "lab/one"), ("2025-07-02T00-00-00.000001", "lab/two")):
        file = write(tmp_path, "a_b_2024_c", [sample(0, {}, "a", "a", acc=1.0)], date)
        results = file.with_name(f"results_{date}.json")
        results.write_text(json.dumps(json.loads(results.read_text()) | {"model_name": model}))
    frame = rows_from_lm_eval(tmp_path)
    assert frame["task"].to_list() == ["a_b_2024_c"] * 2
    assert frame["model"].to_list() == ["lab/one", "lab/two"]


def test_what_is_not_such_a_log(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="--log_samples"):
        rows_from_lm_eval(tmp_path)
    file = tmp_path / "samples_x.jsonl"
    file.write_text('{"doc_id": 0, "acc": 1}\n{"doc_id"')
    with pytest.raises(FathomError, match=r"samples_x\.jsonl: line 2: not JSON"):
        rows_from_lm_eval(file)
    file.write_text('{"id": 0}\n')
    with pytest.raises(FathomError, match=r"line 1: no doc_id"):
        rows_from_lm_eval(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FathomError, match="starts as UTF-16"):
        rows_from_lm_eval(file)


def test_one_score_that_is_none_costs_that_sample_only_which_is_named(tmp_path: Path) -> None:
    from fathom.rows.origins import origins, read_origin
    from fathom.rows.parts import ReadOptions

    scores = [1.0, float("nan"), None, 0.5]
    write(tmp_path, "t", [sample(n, {}, "x", "x", f1=score, em=[0, 2, 0, 1][n]) for n, score in enumerate(scores)])
    notes: list[str] = []
    frame, _ = read_origin([tmp_path], origins()["lm-eval"], ReadOptions(tell=notes.append))
    assert frame["metric"].to_list() == ["f1"] * 4
    assert frame["value"].to_list() == [1.0, None, None, 0.5]
    reason = "no metric in [0, 1] in the log"
    assert f"2 replies have no score: t/1 ({reason}: f1 is nan); t/2 ({reason})" in notes


def test_nan_as_text_in_a_table_is_no_score(tmp_path: Path) -> None:
    from fathom.rows.parts import cell

    assert str(cell("value", "NaN", "x")) == "nan"
    with pytest.raises(FathomError, match="tokens_in is 'nan'"):
        cell("tokens_in", "nan", "x")
