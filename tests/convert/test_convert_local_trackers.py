"""Runs of MLflow and Weights & Biases, and the validator of Every Eval Ever, with the packages themselves.

They are too large for the environment of the other tests: `make test-models` has them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from made_results import MODEL, SCRIPT, row, rows_file, usual_rows

from fathom import api
from fathom.report.made import report
from fathom.report.results import System
from fathom.types import FathomError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # those of others' packages
SYSTEM = System("lab/m", "")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return rows_file(tmp_path, usual_rows())


@pytest.fixture
def mlflow_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("mlflow", reason="needs the extra mlflow")
    monkeypatch.chdir(tmp_path)  # its files of artifacts
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def runs_of(uri: str, experiment: str = "tiny") -> list[Any]:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    there = client.get_experiment_by_name(experiment)
    return list(client.search_runs([there.experiment_id]))


def test_mlflow_has_the_figures_of_the_report(mlflow_uri: str, rows: Path, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    api.convert(rows, to="mlflow", out=mlflow_uri)
    results = report(pl.read_parquet(rows), tmp_path / "report.html").results
    (run,) = runs_of(mlflow_uri)
    assert run.info.run_name == "lab/m"
    assert run.info.status == "FINISHED"
    assert run.data.metrics["score/passkey"] == results.average[SYSTEM, "passkey"].mean
    interval = results.average[SYSTEM, "passkey"].interval
    assert interval is not None
    assert run.data.metrics["score/passkey/low"] == interval.low
    assert run.data.metrics["score/passkey/missing"] == 1
    client = MlflowClient(tracking_uri=mlflow_uri)
    history = {one.step: one.value for one in client.get_metric_history(run.info.run_id, "by_length/passkey")}
    assert history == {length: results.curve[SYSTEM, "passkey", length].mean for length in (1024, 2048)}
    assert {artifact.path for artifact in client.list_artifacts(run.info.run_id)} == {"report.html", "rows.parquet"}
    place = client.download_artifacts(run.info.run_id, "rows.parquet", str(tmp_path))
    assert pl.read_parquet(place)["value"].null_count() == 1


def test_mlflow_refuses_the_same_results_and_replaces_them(mlflow_uri: str, rows: Path) -> None:
    api.convert(rows, to="mlflow", out=mlflow_uri)
    with pytest.raises(FathomError, match="`force`"):
        api.convert(rows, to="mlflow", out=mlflow_uri)
    (first,) = runs_of(mlflow_uri)
    api.convert(rows, to="mlflow", out=mlflow_uri, force=True)
    (second,) = runs_of(mlflow_uri)
    assert first.info.run_id != second.info.run_id


def test_mlflow_replaces_what_was_stopped(mlflow_uri: str, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(MlflowClient, "log_artifacts", stopped)
        with pytest.raises(KeyboardInterrupt):
            api.convert(rows, to="mlflow", out=mlflow_uri)
    (half,) = runs_of(mlflow_uri)
    assert half.info.status == "FAILED"
    api.convert(rows, to="mlflow", out=mlflow_uri)
    (whole,) = runs_of(mlflow_uri)
    assert (whole.info.status, whole.data.tags["fathom.complete"]) == ("FINISHED", "true")


def test_mlflow_takes_odd_names_and_leaves_out_missing_scores(mlflow_uri: str, tmp_path: Path) -> None:
    lost = [row(number, 2048, None, status="error", answered=False, model=MODEL, task=SCRIPT) for number in range(9)]
    rows = rows_file(tmp_path, [*(row(number, model=MODEL, task=SCRIPT) for number in range(9)), *lost])
    made = api.convert(rows, to="mlflow", out=mlflow_uri, experiment="odd")
    (run,) = runs_of(mlflow_uri, "odd")
    assert run.info.run_name == MODEL
    scores = [name for name in run.data.metrics if name.count("/") <= 2 and "score" in name and "alert" in name]
    assert not any(name.startswith("score/") and name.endswith("_") for name in scores)
    assert any("have no score" in note for note in made.notes)


def test_mlflow_says_what_is_wrong_with_an_address(rows: Path, mlflow_uri: str) -> None:
    with pytest.raises(FathomError) as caught:
        api.convert(rows, to="mlflow", out="ftp://user:geheim-passwort-1@localhost/x")
    assert "geheim" not in str(caught.value)


def test_no_key_reaches_a_tracker(mlflow_uri: str, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", "geheimer-schluessel-123")
    leaky = rows_file(tmp_path / "leaky", [row(number, variant="key geheimer-schluessel-123") for number in range(9)])
    api.convert(leaky, to="mlflow", out=mlflow_uri)
    (run,) = runs_of(mlflow_uri)
    assert "geheimer" not in json.dumps({**run.data.params, **run.data.tags, "name": run.info.run_name})


# ------------------------------------------------------------------------------------------ Weights & Biases


BLOCK, HEADER = 32768, 7


def records_of(place: Path) -> list[Any]:
    """What an offline run would send: a log in LevelDB's format, whose records are protocol buffers."""
    from wandb.proto import wandb_internal_pb2

    (file,) = place.glob("*.wandb")
    data, at, parts, found = file.read_bytes(), HEADER, b"", []
    while at + HEADER <= len(data):
        if BLOCK - at % BLOCK < HEADER:  # too little is left of the block for another header
            at += BLOCK - at % BLOCK
            continue
        size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        parts += data[at + HEADER : at + HEADER + size]
        at += HEADER + size
        if kind in (1, 4):  # whole, or the last part
            record = wandb_internal_pb2.Record()
            record.ParseFromString(parts)
            found.append(record)
            parts = b""
    return found


def test_wandb_writes_offline_what_the_report_has(rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="needs the extra wandb")
    monkeypatch.setenv("WANDB_MODE", "online")  # nothing may be sent, whatever the environment says
    monkeypatch.setenv("WANDB_API_KEY", "f" * 40)
    made = api.convert(rows, to="wandb", out=tmp_path / "out", most_rows=50)
    results = report(pl.read_parquet(rows), tmp_path / "report.html").results
    (place,) = map(Path, made.places)
    assert "offline-run" in place.name
    assert place.is_relative_to(tmp_path / "out")
    records = records_of(place)
    summary = {
        item.key or ".".join(item.nested_key): json.loads(item.value_json)
        for record in records
        for item in record.summary.update
    }
    assert summary["score/passkey"] == results.average[SYSTEM, "passkey"].mean
    history = {}
    for record in records:
        items = {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        if "length" in items and "by_length/passkey" in items:
            history[items["length"]] = items["by_length/passkey"]
    assert history == {length: results.curve[SYSTEM, "passkey", length].mean for length in (1024, 2048)}
    (table,) = place.glob("files/media/table/*.json")
    shown = json.loads(table.read_text())
    assert len(shown["data"]) == 50
    assert any("first 50 of 120" in note for note in made.notes)
    assert {record.run.host for record in records} == {""}
    sent = [file for file in place.rglob("*") if file.is_file() and "logs" not in file.parts]
    for private in (str(Path.cwd()), str(tmp_path), "f" * 40):
        assert not any(private.encode() in file.read_bytes() for file in sent)
    with pytest.raises(FathomError, match="`force`"):
        api.convert(rows, to="wandb", out=tmp_path / "out")


# ------------------------------------------------------------------------------------------ Every Eval Ever


def validator() -> str:
    """The program ``every_eval_ever``, beside this Python or on the path."""
    found = shutil.which("every_eval_ever", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip("needs the package every-eval-ever, for Python 3.12")
    return found


def validated(folder: Path) -> list[dict[str, Any]]:
    files = sorted(str(place) for place in folder.rglob("*.json*"))
    assert files
    done = subprocess.run([validator(), "validate", "--format", "json", *files], capture_output=True, text=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_every_eval_ever_accepts_the_records(rows: Path, tmp_path: Path) -> None:
    validator()
    api.convert(rows, to="every-eval-ever", out=tmp_path / "out", organization="lab", dataset="lab/bench")
    found = validated(tmp_path / "out")
    assert [one["line_count"] for one in found if one["file_type"] == "instance"] == [119]
    assert [one for one in found if not one["valid"] or one["warnings"]] == []


def test_every_eval_ever_accepts_odd_names_and_runs(tmp_path: Path) -> None:
    validator()
    odd = [row(number, model=MODEL, suite="../s", task=SCRIPT, answer=SCRIPT) for number in range(9)]
    api.convert(rows_file(tmp_path, odd), to="every-eval-ever", out=tmp_path / "out")
    api.build("passkey", out=tmp_path / "suite", items=3, lengths="1k,2k")
    api.run(tmp_path / "suite", model="fathom/lexical?window=2k", out=tmp_path / "run")
    api.convert(tmp_path / "run", to="every-eval-ever", out=tmp_path / "out")
    found = validated(tmp_path / "out")
    assert len(found) == 4
    assert [one for one in found if not one["valid"] or one["warnings"]] == []
