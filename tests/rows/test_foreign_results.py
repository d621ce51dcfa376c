"""Files that other programs really wrote (``tests/rows/foreign``): every field, and the programs' own averages."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from command_line import Call
from fathom.rows import load, read
from fathom.rows.origins import origin_of
from fathom.types import FathomError
from fathom.types.origins import ORIGINS

FOREIGN = Path(__file__).with_name("foreign")
PROGRAMS = [one.name for one in ORIGINS if one.module and one.name != "table"]
RIGHT, WORDY, SILENT, CUT = 0, 3, 4, 5
"""Numbers of the items by what is replied, see ``tests/code_server.py``."""


def only(path: Path, pattern: str) -> Path:
    (found,) = path.rglob(pattern)
    return found


def content(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def means(frame: pl.DataFrame, *by: str) -> dict[Any, float]:
    averages = frame.group_by(*by).agg(pl.col("value").mean()).rows()
    return {row[0] if len(by) == 1 else row[:-1]: row[-1] for row in averages}


def by_item(frame: pl.DataFrame, ending: str) -> dict[str, Any]:
    (row,) = frame.filter(pl.col("item").str.ends_with(ending)).iter_rows(named=True)
    return dict(row)


def source(name: str) -> Path:
    return FOREIGN / name / "eval" if name == "inspect" else FOREIGN / name


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_is_recognised_and_named(name: str) -> None:
    found = origin_of(source(name))
    assert found is not None
    assert found.name == name
    told: list[str] = []
    assert read([source(name)], name).equals(read([source(name)], tell=told.append))
    assert load([source(name)]).equals(read([source(name)]))
    assert set(read([source(name)])["source"]) == {name}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_reply_without_text_is_unanswered_and_scores_nothing(name: str) -> None:
    frame = read([source(name)])
    silent = frame.filter(~pl.col("answered").fill_null(True))
    # One of six; OpenCompass has files of two evaluators, and lm-evaluation-harness of two tasks.
    assert len(silent) * 6 == len(frame)
    assert set(silent["value"]) == {0.0}
    assert not any(silent["valid"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_page_of_formats_says_which_columns_are_filled(name: str) -> None:
    frame = read([source(name)])
    page = (FOREIGN.parents[2] / "docs" / "reference" / "formats.md").read_text("utf-8")
    lines = page.partition("<!-- columns of other programs -->")[2].strip().partition("\n\n")[0].splitlines()
    head, _, *table = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    for columns, *cells in table:
        said = cells[head.index(name) - 1]
        for column in re.findall("`(.+?)`", columns):
            nothing = (None, "", "{}", 1 if column == "epoch" else 0)
            filled = any(value is False or value not in nothing for value in frame[column])
            if said == "no" or (said == "yes" and column != "truncated"):  # none of these prompts was truncated
                assert filled == (said == "yes"), (column, said)


@pytest.mark.slow
def test_inspect() -> None:
    told: list[str] = []
    log = only(FOREIGN / "inspect" / "eval", "*_codes_*.eval")
    frame = read([log], columns={"length": "metadata.max_length", "item": "metadata.item"}, tell=told.append)
    assert told == ["Samples have several metrics (includes, exact): includes is used; `fathom rows --metric` chooses"]
    assert frame.shape[0] == 24
    assert sorted(set(frame["epoch"])) == [1, 2]
    assert sorted(set(frame["length"])) == [64, 128]
    from inspect_ai.log import read_eval_log

    results = read_eval_log(log, header_only=True).results
    assert results is not None
    metrics = {"includes": "accuracy", "exact": "mean"}
    reported = {one.name: one.metrics[metrics[one.name]].value for one in results.scores}
    assert frame["value"].mean() == pytest.approx(reported["includes"])
    exact = read([log], metric="exact")
    assert exact["value"].mean() == pytest.approx(reported["exact"])
    row = by_item(frame.filter(length=64, epoch=2), f"{WORDY}")
    assert (row["suite"], row["task"], row["sample"]) == ("codes", "codes", "3@64")
    assert (row["model"], row["value"], row["answer"]) == (
        "openai-api/loop/made/seven-b",
        1.0,
        "the code is 95319.",
    )
    assert (row["target"], row["status"], row["stop"], row["metric"]) == ("95319", "ok", "stop", "includes")
    assert (row["tokens_out"], row["variant"], row["source"]) == (4, "", "inspect")
    assert row["seconds"] > 0
    cut = by_item(frame.filter(length=64, epoch=1), f"{CUT}")
    assert (cut["status"], cut["stop"], cut["answered"], cut["value"]) == ("incomplete", "max_tokens", True, 0.0)


@pytest.mark.slow
def test_both_formats_of_inspect_have_the_same_rows() -> None:
    frames = []
    for kind in ("eval", "json"):
        log = only(FOREIGN / "inspect" / kind, f"*_codes_*.{kind}")
        frames.append(read([log]).drop("seconds").sort("sample", "epoch"))
    assert frames[0].equals(frames[1])
    with pytest.raises(FathomError, match="different replies of model"):
        read([FOREIGN / "inspect" / kind for kind in ("eval", "json")])


def test_two_tasks_of_inspect_over_one_data_set_are_two_tasks() -> None:
    frame = read([FOREIGN / "inspect" / "eval"])
    assert means(frame, "task") == {"codes": 0.5, "codes_without_length": 0.5}
    assert frame["sample"].n_unique() == 18


def test_lm_eval() -> None:
    told: list[str] = []
    frame = read([FOREIGN / "lm-eval"], tell=told.append)
    results = content(only(FOREIGN / "lm-eval", "results_*.json"))["results"]
    codes = frame.filter(task="codes")
    assert codes["value"].mean() == pytest.approx(results["codes"]["exact_match,strict-match"])
    assert any("filters (strict-match, flexible-extract): strict-match is used" in note for note in told)
    by_length = means(frame.filter(task="codes_by_length"), "length")
    assert by_length == {length: results["codes_by_length"][f"{length},none"] for length in (64, 128)}
    other = read([only(FOREIGN / "lm-eval", "samples_codes_2*.jsonl")], metric="exact_match,flexible-extract")
    assert other["value"].mean() == pytest.approx(results["codes"]["exact_match,flexible-extract"])
    row = by_item(codes, f"codes/{WORDY}")
    assert (row["model"], row["suite"], row["sample"]) == ("made/seven-b", "lm-eval", "codes/3@64")
    assert (row["length"], row["answer"], row["target"], row["value"]) == (64, "The code is 95319.", "95319", 0.0)
    assert json.loads(row["facets"]) == {"filter": "strict-match", "version": "1.0"}


def test_lighteval() -> None:
    told: list[str] = []
    frame = read([FOREIGN / "lighteval"], columns={"length": "doc.specific.length"}, tell=told.append)
    assert told == ["Samples have several metrics (em, f1): em is used; `fathom rows --metric` chooses"]
    results = content(only(FOREIGN / "lighteval", "results_*.json"))["results"]
    for metric in ("em", "f1"):
        found = means(read([FOREIGN / "lighteval"], metric=metric), "task")
        assert found == {task: pytest.approx(results[task][metric]) for task in ("codes:64|0", "codes:128|0")}
    row = by_item(frame.filter(length=128), f"/{WORDY}")
    assert (row["model"], row["suite"], row["task"]) == ("openai/made/seven-b", "lighteval", "codes:128|0")
    assert (row["answer"], row["target"], row["metric"], row["value"]) == ("The code is 95319.", "95319", "em", 0.0)
    assert (row["tokens_in"], row["status"], row["length"]) == (None, "ok", 128)


def test_details_of_lighteval_alone_find_their_model() -> None:
    frame = read([only(FOREIGN / "lighteval", "details_codes:64*.parquet")])
    assert set(frame["model"]) == {"openai/made/seven-b"}


def test_opencompass() -> None:
    told: list[str] = []
    frame = read([FOREIGN / "opencompass"], tell=told.append)
    assert any("right if prediction and reference are equal" in note for note in told)
    with only(FOREIGN / "opencompass", "summary_*.csv").open() as stream:
        reported = {line["dataset"]: float(line["seven-b"]) for line in csv.DictReader(stream)}
    assert {task: 100 * mean for task, mean in means(frame, "task").items()} == pytest.approx(reported, abs=0.01)
    row = by_item(frame.filter(task="codes_em_64"), f"/{WORDY}")
    assert (row["model"], row["suite"], row["value"], row["metric"]) == ("seven-b", "OpenCompass", 0.0, "correct")
    assert row["target"] == '["95319"]'
    assert row["answered"] is None or row["answered"]


def test_helmet() -> None:
    told: list[str] = []
    frame = read([FOREIGN / "helmet"], tell=told.append)
    assert any("substring_exact_match is used" in note for note in told)
    for file in FOREIGN.glob("helmet/*.json"):
        reported, length = content(file)["averaged_metrics"], content(file)["args"]["input_max_length"]
        for metric in ("substring_exact_match", "exact_match", "f1", "rougeL_recall"):
            found = read([file], metric=metric)
            assert 100 * found["value"].mean() == pytest.approx(reported[metric])  # type: ignore[operator]
            assert set(found["length"]) == {length}
            assert found["tokens_in"].mean() == pytest.approx(reported["input_len"])
            assert found["tokens_out"].mean() == pytest.approx(reported["output_len"])
    row = by_item(frame.filter(length=512, target="95319"), "")
    assert (row["model"], row["suite"], row["task"]) == ("made/seven-b", "HELMET", "json_kv")
    assert (row["answer"], row["value"], row["tokens_in"]) == ("The code is 95319.", 1.0, 66)
    # The same question at another length is the same item, wherever it stands in the file.
    assert frame["item"].n_unique() == 6
    assert set(frame.group_by("item").agg(pl.col("target").n_unique())["target"]) == {1}


def test_helmet_with_thinking_has_the_length_of_the_prompt(tmp_path: Path) -> None:
    made = content(next(FOREIGN.glob("helmet/*in512*.json")))
    made["args"] |= {"thinking": True, "input_max_length": 512 + 32768}
    (tmp_path / "one.json").write_text(json.dumps(made))
    assert set(read([tmp_path / "one.json"])["length"]) == {512}


def test_nemo_evaluator() -> None:
    told: list[str] = []
    frame = read([FOREIGN / "nemo-evaluator"], columns={"length": "metadata.max_length"}, tell=told.append)
    assert told == [
        "Samples have several metrics (correct, contained): correct is used; `fathom rows --metric` chooses"
    ]
    results = yaml.safe_load((FOREIGN / "nemo-evaluator" / "results.yml").read_text())
    scores = results["results"]["tasks"]["codes"]["metrics"]["pass@1"]["scores"]
    for metric in ("correct", "contained"):
        found = read([FOREIGN / "nemo-evaluator"], metric=metric)["value"].mean()
        assert found == pytest.approx(scores[metric]["value"], abs=5e-5)
    row = by_item(frame, f"codes/{WORDY}@64")
    assert (row["model"], row["task"], row["length"]) == ("made/seven-b", "codes", 64)
    assert (row["answer"], row["target"], row["value"]) == ("The code is 95319.", "95319", 0.0)


def test_samples_that_nemo_evaluator_could_not_ask_are_missing(tmp_path: Path) -> None:
    lines = (FOREIGN / "nemo-evaluator" / "byob_predictions.jsonl").read_text().splitlines()
    first = json.loads(lines[0]) | {"response": None, "scores": None, "status": "skipped_model_error", "error": "lost"}
    (tmp_path / "byob_predictions.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]))
    row = read([tmp_path]).row(0, named=True)
    assert (row["status"], row["value"], row["detail"], row["answered"]) == ("error", None, "lost", False)


def test_normalised_samples_of_nemo_evaluator(tmp_path: Path) -> None:
    """Made by hand after its class ``SampleRecord``: the harnesses that write them run in containers only."""
    one: dict[str, Any] = {
        "id": "7", "generation": "blue", "num_generated_tokens": 3, "num_prompt_tokens": 4000, "sub_query_id": 1,
        "score": 1, "score_name": "symbolic_correct", "query": "?", "answer": "blue", "ground_truth": "blue",
    }  # fmt: skip
    folder = tmp_path / "nemo-evaluator-per-sample-outputs"
    folder.mkdir()
    lines = [one, one | {"id": "8", "score": None}, one | {"id": "9", "generation": ""}]
    (folder / "codes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shutil.copy(FOREIGN / "nemo-evaluator" / "results.yml", tmp_path)
    frame = read([tmp_path], columns={"length": "tokens_in"})
    assert frame.select("item", "value", "epoch", "tokens_in", "tokens_out", "length").rows() == [
        ("codes/7", 1.0, 2, 4000, 3, 4096),
        ("codes/9", 0.0, 2, 4000, 3, 4096),
    ]
    assert set(frame["model"]) == {"made/seven-b"}


@pytest.mark.parametrize(
    ("kept", "sought"),
    [
        ("lm-eval/made__seven-b/results_*.json", "--log_samples"),
        ("lighteval/results/openai/made/seven-b/results_*.json", "--save-details"),
        ("nemo-evaluator/results.yml", "--save-predictions"),
    ],
)
def test_averages_alone_are_an_error_that_says_what_is_needed(kept: str, sought: str, tmp_path: Path) -> None:
    file = next(FOREIGN.glob(kept))
    copy = Path(shutil.copy(file, tmp_path / file.name))
    for path in (copy, tmp_path):
        with pytest.raises(FathomError, match=sought) as raised:
            load([path])
        assert file.name in str(raised.value) or str(tmp_path) in str(raised.value)


def test_opencompass_without_details_says_so(tmp_path: Path) -> None:
    shutil.copytree(FOREIGN / "opencompass", tmp_path / "out")
    for file in (tmp_path / "out").rglob("results/seven-b/*.json"):
        file.write_text(json.dumps({"accuracy": 33.3}))
    with pytest.raises(FathomError, match=r"no scores of single samples .*--dump-eval-details"):
        load([tmp_path / "out"])


def test_opencompass_does_not_score_where_equality_is_not_its_accuracy(tmp_path: Path) -> None:
    shutil.copytree(FOREIGN / "opencompass", tmp_path / "out")
    file = only(tmp_path / "out", "results/seven-b/codes_acc_64.json")
    file.write_text(json.dumps(content(file) | {"accuracy": 50.0}))
    told: list[str] = []
    frame = read([tmp_path / "out"], tell=told.append)
    assert "codes_acc_64" not in set(frame["task"])
    assert any("codes_acc_64.json: its evaluator gives no score for a sample" in note for note in told)


def test_lengths_of_opencompass_are_read_from_its_configuration(tmp_path: Path) -> None:
    shutil.copytree(FOREIGN / "opencompass", tmp_path / "out")
    config = only(tmp_path / "out", "configs/*.py")
    text = config.read_text().replace("path='codes_64.jsonl'", "path='codes_64.jsonl', max_seq_length=4096")
    config.write_text(f"raise SystemExit('executed')\n{text}")
    frame = read([tmp_path / "out"])
    assert means(frame.filter(pl.col("task").str.ends_with("_64")), "length").keys() == {4096}
    assert means(frame.filter(pl.col("task").str.ends_with("_128")), "length").keys() == {0}


def test_runs_with_other_settings_are_variants(tmp_path: Path) -> None:
    made = content(next(FOREIGN.glob("helmet/*in512*.json")))
    for name, temperature in (("cold", 0.0), ("warm", 1.0)):
        made["args"]["temperature"] = temperature
        (tmp_path / f"{name}.json").write_text(json.dumps(made))
    frame = read([tmp_path])
    assert set(frame["variant"]) == {"temperature=0.0", "temperature=1.0"}
    named = read([tmp_path / "warm.json"], constants={"variant": "mine", "model": "lab/m"})
    assert named.select("model", "variant").unique().rows() == [("lab/m", "mine")]


def test_results_of_two_programs_in_one_folder_are_named(tmp_path: Path) -> None:
    for name in ("helmet", "nemo-evaluator"):
        shutil.copytree(FOREIGN / name, tmp_path / name)
    with pytest.raises(
        FathomError, match=r"several programs: HELMET \(.*\), NeMo Evaluator \(.*\)\. Name one with `origin`"
    ):
        load([tmp_path])
    assert set(read([tmp_path], "helmet")["suite"]) == {"HELMET"}
    assert set(load([tmp_path / "helmet", tmp_path / "nemo-evaluator"])["suite"]) == {"HELMET", "NeMo Evaluator"}


def test_lengths_are_named_by_the_user(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    code, _, error = call("rows", FOREIGN / "nemo-evaluator", "--out", out)
    assert code == 0
    assert (
        "12 of 12 replies have no length: NeMo Evaluator does not say it. `fathom rows --columns length=FIELD`" in error
    )
    code, _, error = call("rows", FOREIGN / "nemo-evaluator", "--columns", "length=metadata.maximum", "--out", out)
    assert code == 2
    assert "row 1: no field 'metadata.maximum' for the column length; there are: sample_id" in error
    assert "metadata.max_length" in error
    code, _, error = call("rows", FOREIGN / "nemo-evaluator", "--columns", "size=metadata.maximum", "--out", out)
    assert code == 2
    assert "--columns size: not a column of rows; choose suite, task" in error
    code, _, error = call(
        "rows", FOREIGN / "nemo-evaluator", "--set", "length=8k", "--out", out, "--metric", "contained"
    )
    assert (code, "note" in error) == (0, False)
    assert set(pl.read_parquet(out)["length"]) == {8192}


def test_a_file_of_opencompass_is_found_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FOREIGN / "opencompass", tmp_path / "out")
    file = only(tmp_path / "out", "results/seven-b/codes_acc_64.json")
    monkeypatch.chdir(file.parent)
    frame = read([Path(file.name)])  # its program is recognised
    assert frame.equals(read([file], "opencompass"))
    assert set(frame["model"]) == {"seven-b"}


def damaged(value: Mapping[str, Any] | list[Any]) -> list[Any]:
    """Variants of a record with values of other types."""
    odd: list[Any] = [None, [], "x", "\ud83d", -1, float("nan"), 10**400, {"a": {"b": []}}]
    if isinstance(value, list):
        return odd
    return [{**value, name: other} for name in value for other in odd] + [
        {name: one for name, one in value.items() if name != left} for left in value
    ]


@pytest.mark.slow
@pytest.mark.parametrize("field", ["args", "data"])
def test_damaged_results_of_helmet_are_errors_or_rows(field: str, tmp_path: Path) -> None:
    made, file = content(next(FOREIGN.glob("helmet/*in512*.json"))), tmp_path / "one.json"
    part = made["args"] if field == "args" else made["data"][0]
    for other in damaged(part):
        file.write_text(json.dumps(made | {field: other if field == "args" else [other, *made["data"][1:]]}))
        readable(file, "helmet")


@pytest.mark.slow
def test_damaged_results_of_opencompass_are_errors_or_rows(tmp_path: Path) -> None:
    shutil.copytree(FOREIGN / "opencompass", tmp_path / "out")
    for name in ("codes_acc_64", "codes_em_64"):
        file = only(tmp_path / "out", f"results/seven-b/{name}.json")
        made = content(file)
        details = made["details"]
        first = details[0] if isinstance(details, list) else details["0"]
        for other in [*damaged(first), *damaged([])]:
            rest = [other, *details[1:]] if isinstance(details, list) else details | {"0": other}
            file.write_text(json.dumps(made | {"details": rest}))
            readable(file, "opencompass")


@pytest.mark.slow
def test_damaged_samples_of_lm_eval_and_nemo_are_errors_or_rows(tmp_path: Path) -> None:
    for name, pattern in (("lm-eval", "samples_codes_2*"), ("nemo-evaluator", "byob_predictions.jsonl")):
        real = only(FOREIGN / name, pattern)
        lines, file = real.read_text().splitlines(), tmp_path / real.name
        for other in damaged(json.loads(lines[0])):
            file.write_text("\n".join([json.dumps(other), *lines[1:]]))
            readable(file, name)


def readable(file: Path, name: str) -> None:
    """It is an error of ours, or its rows are sound."""
    said = ""
    try:
        frame = read([file], name)
    except FathomError as error:
        said = str(error)
    assert file.name in said or frame["value"].is_between(0, 1).fill_null(True).all()


@pytest.mark.parametrize("name", PROGRAMS)
def test_files_that_end_early_are_errors_that_name_them(name: str, tmp_path: Path) -> None:
    for file in sorted(source(name).rglob("*")):
        if not file.is_file() or file.suffix in (".py", ".csv", ".md", ".txt", ".score", ".yml"):
            continue
        if "predictions" in file.parts or file.name.startswith(("results_", "byob_results")):
            continue
        copy = tmp_path / file.relative_to(FOREIGN)
        copy.parent.mkdir(parents=True, exist_ok=True)
        whole = file.read_bytes()
        for end in (0, 1, len(whole) // 2, len(whole) - 3):
            copy.write_bytes(whole[:end])
            with pytest.raises(FathomError) as raised:
                read([copy], name)
            assert str(copy) in str(raised.value) or copy.name in str(raised.value)
