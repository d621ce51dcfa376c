"""Results in other formats: the same figures as the report, nothing lost in silence, nothing half written."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from made_results import MODEL, SCRIPT, row, rows_file, usual_rows

from command_line import Call
from fathom import api
from fathom.convert import FORMATS
from fathom.convert.every_eval_ever import model_id
from fathom.convert.places import file_name
from fathom.report.made import report
from fathom.report.results import ALL, System
from fathom.rows import read, rows_from_inspect
from fathom.types import FathomError
from processes import start_program

pytestmark = pytest.mark.slow
SYSTEM = System("lab/m", "")
NEEDS: dict[str, dict[str, Any]] = {
    "inspect": {},
    "hub": {"dataset": "lab/bench"},
    "model-card": {},
    "every-eval-ever": {},
}
FILES = tuple(NEEDS)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return rows_file(tmp_path, usual_rows())


def place_of(form: str, folder: Path) -> Path:
    return folder / "README.md" if form == "model-card" else folder / "out"


def written(form: str, rows: Path, folder: Path, **options: Any) -> list[Path]:
    made = api.convert(rows, to=form, out=place_of(form, folder), **{**NEEDS[form], **options})
    return [Path(place) for place in made.places]


def figures(rows: Path) -> dict[tuple[str, int | None], float]:
    """Means of the report by task and length."""
    results = report(pl.read_parquet(rows), rows.parent / "report.html").results
    found: dict[tuple[str, int | None], float | None] = {
        (task, None): results.average[SYSTEM, task].mean for task in (*results.tasks, ALL)
    }
    found |= {(task, length): one.mean for (_, task, length), one in results.curve.items()}
    return {key: mean for key, mean in found.items() if mean is not None}


def test_every_format_is_a_choice_with_help(call: Call) -> None:
    code, printed, _ = call("convert", "--help")
    assert code == 0
    assert all(name in printed for name in FORMATS)
    assert all(callable(one.write) for one in FORMATS.values())
    code, _, error = call("convert", "x", "--to", "excel", "--out", "y")
    assert code == 2
    assert "inspect, hub" in error


def test_inspect_has_the_figures_of_the_report(rows: Path, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    (place,) = written("inspect", rows, tmp_path)
    log = read_eval_log(place)
    assert log.status == "success"
    assert log.results is not None
    (score,) = log.results.scores
    means = {name: one.value for name, one in score.metrics.items() if name.startswith("mean")}
    wanted = figures(rows)
    assert means == {
        "mean": wanted["passkey", None],
        "mean at 1k": wanted["passkey", 1024],
        "mean at 2k": wanted["passkey", 2048],
    }
    assert next(iter(score.metrics)) == "mean"  # the headline of the viewer
    assert (score.scored_samples, score.unscored_samples) == (119, 1)


def test_hub_entries_are_those_of_its_library(rows: Path, tmp_path: Path) -> None:
    import yaml
    from huggingface_hub import parse_eval_result_entries

    (place,) = written(
        "hub", rows, tmp_path, task_ids={"all": "default"}, source="https://example.org/x", revision="abc"
    )
    assert place == tmp_path / "out" / ".eval_results" / "bench.yaml"
    (entry,) = parse_eval_result_entries(yaml.safe_load(place.read_text()))
    assert (entry.dataset_id, entry.task_id, entry.dataset_revision) == ("lab/bench", "default", "abc")
    assert entry.value == pytest.approx(100 * figures(rows)[ALL, None], abs=1e-4)
    assert entry.notes is not None
    assert "95% interval" in entry.notes
    assert "1 unanswered" in entry.notes
    assert "1 missing" in entry.notes


CARD = """---
license: mit
x-own: [1, 2]
model-index:
- name: theirs
  extra: kept
  results:
  - task: {type: text-generation}
    dataset: {type: other, name: Other}
    metrics: [{type: accuracy, value: 0.5, name: theirs, odd: kept}]
---
# Title

Text with --- and é.
"""


def test_a_model_card_keeps_everything_else(rows: Path, tmp_path: Path) -> None:
    from huggingface_hub import ModelCard, metadata_load

    place = tmp_path / "README.md"
    place.write_text(CARD)
    assert written("model-card", rows, tmp_path) == [place]
    text = place.read_text()
    assert text.endswith("---\n# Title\n\nText with --- and é.\n")
    data = metadata_load(place)
    assert data is not None
    assert (data["license"], data["x-own"]) == ("mit", [1, 2])
    index = data["model-index"][0]
    assert (index["name"], index["extra"]) == ("theirs", "kept")
    assert index["results"][0]["metrics"] == [{"type": "accuracy", "value": 0.5, "name": "theirs", "odd": "kept"}]
    results = ModelCard.load(place).data.eval_results
    ours = {
        result.dataset_config: result.metric_value for result in results if result.metric_name == "fathom: mean score"
    }
    wanted = figures(rows)
    assert ours == {
        "passkey": wanted["passkey", None],
        "passkey@1k": wanted["passkey", 1024],
        "passkey@2k": wanted["passkey", 2048],
    }
    with pytest.raises(FathomError, match="`force`"):
        written("model-card", rows, tmp_path)
    written("model-card", rows, tmp_path, force=True)
    assert place.read_text() == text


def test_a_card_that_cannot_be_read_is_left_alone(rows: Path, tmp_path: Path) -> None:
    place = tmp_path / "README.md"
    for broken in ("---\na: [1\n---\n", "---\nmodel-index: soon\n---\nx"):
        place.write_text(broken)
        with pytest.raises(FathomError, match=r"README\.md"):
            written("model-card", rows, tmp_path)
        assert place.read_text() == broken


def test_every_eval_ever_has_uncertainty_and_every_scored_reply(rows: Path, tmp_path: Path) -> None:
    aggregate, samples = written("every-eval-ever", rows, tmp_path, organization="lab")
    record = json.loads(aggregate.read_text())
    results = {one["evaluation_result_id"]: one["score_details"] for one in record["evaluation_results"]}
    wanted = figures(rows)
    assert {name: one["score"] for name, one in results.items()} == {
        "passkey": wanted["passkey", None],
        "passkey@1k": wanted["passkey", 1024],
        "passkey@2k": wanted["passkey", 2048],
    }
    assert results["passkey@2k"]["details"]["missing"] == "1"
    assert results["passkey@2k"]["details"]["unanswered"] == "1"
    interval = results["passkey"]["uncertainty"]["confidence_interval"]
    assert interval["lower"] < results["passkey"]["score"] < interval["upper"]
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    about = record["detailed_evaluation_results"]
    assert (len(lines), about["total_rows"]) == (119, 119)
    assert about["additional_details"] == {"replies_without_a_score": "1"}
    assert about["file_path"] == samples.relative_to(tmp_path / "out").as_posix()
    assert {line["evaluation_id"] for line in lines} == {record["evaluation_id"]}
    assert all(line["evaluation_result_id"] in results for line in lines)


def test_rows_come_back_from_inspect(tmp_path: Path, call: Call) -> None:
    """A run with its prompts, there and back again."""
    suite = tmp_path / "suite"
    api.build("passkey", out=suite, items=3, lengths="1k,2k")
    assert call("run", suite, "--model", "fathom/lexical", "--out", tmp_path / "run", "--quiet")[0] == 0
    before = read([tmp_path / "run"])
    made = api.convert(tmp_path / "run", to="inspect", out=tmp_path / "logs")
    after = pl.concat(rows_from_inspect(Path(place)) for place in made.places)
    lost = ["source", "prompt_hash", "fathom_version", "cost"]  # and said to be lost in docs/reference/formats.md
    key = ["sample", "epoch"]
    assert after.sort(key).drop(lost).rows() == before.sort(key).drop(lost).rows()
    from inspect_ai.log import read_eval_log

    samples = read_eval_log(made.places[0], resolve_attachments=True).samples or []
    assert all("passkey" in str(sample.input) and len(str(sample.input)) > 2000 for sample in samples)
    bare = api.convert(tmp_path / "run", to="inspect", out=tmp_path / "bare", prompts=False)
    samples = read_eval_log(bare.places[0], resolve_attachments=True).samples or []
    assert not any(len(str(sample.input)) > 2000 for sample in samples)


def test_rows_without_replies_come_back_with_their_scores(rows: Path, tmp_path: Path) -> None:
    (place,) = written("inspect", rows, tmp_path)
    before, after = pl.read_parquet(rows), rows_from_inspect(place)
    names = ["sample", "length", "status", "value", "answered", "valid", "tokens_in", "facets", "chance", "target"]
    assert after.sort("sample").select(names).rows() == before.sort("sample").select(names).rows()


def test_a_missing_score_is_neither_zero_nor_silent(tmp_path: Path) -> None:
    lost = [row(number, 2048, None, status="error", detail="timeout", answered=False) for number in range(9)]
    rows = rows_file(tmp_path, [*(row(number) for number in range(9)), *lost])
    for form in FILES:
        options: dict[str, Any] = {"task_ids": {"passkey@1k": "a"}} if form == "hub" else {}
        made = api.convert(rows, to=form, out=place_of(form, tmp_path / form), **{**NEEDS[form], **options})
        for place in map(Path, made.places):
            if place.suffix != ".eval":
                assert "NaN" not in place.read_text()
                assert '"score": 0' not in place.read_text()
        if form != "hub":
            assert any("passkey@2k (9 of 9 replies are missing)" in note for note in made.notes), (form, made.notes)
    with pytest.raises(FathomError, match="no figure has a score"):
        api.convert(rows, to="hub", out=tmp_path / "x", dataset="lab/b", task_ids={"passkey@2k": "a"})


def test_rows_without_lengths(tmp_path: Path) -> None:
    rows = rows_file(tmp_path, [row(number, 0, float(number % 2)) for number in range(20)])
    for form in FILES:
        assert all(place.exists() for place in written(form, rows, tmp_path / form))


@pytest.mark.parametrize("form", ["hub", "model-card"])
def test_a_format_of_one_model_asks_which(form: str, tmp_path: Path) -> None:
    two = [row(number, model=model) for number in range(9) for model in ("lab/m", "lab/n")]
    rows = rows_file(tmp_path, two)
    with pytest.raises(FathomError, match="`model`: lab/m, lab/n"):
        written(form, rows, tmp_path)
    with pytest.raises(FathomError, match="no such model"):
        written(form, rows, tmp_path, model="lab/x")
    assert written(form, rows, tmp_path, model="lab/n")


def test_odd_names_are_never_paths(tmp_path: Path) -> None:
    odd = [
        replace(row(number), model=MODEL, task="../../up", suite="../s", detail=SCRIPT, answer=SCRIPT)
        for number in range(9)
    ]
    rows = rows_file(tmp_path, odd)
    folder = tmp_path / "in" / "side"
    for form in FILES:
        for place in written(form, rows, folder / form):
            assert place.resolve().is_relative_to(folder / form)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in", "rows.parquet"]
    assert file_name("a/b") != file_name("a-b")
    assert file_name("..") not in ("..", "")
    assert model_id("a:b|c") == "unknown/a_b_c"


@pytest.mark.parametrize("form", FILES)
def test_nothing_is_overwritten_without_force(form: str, rows: Path, tmp_path: Path) -> None:
    before = {place: place.read_bytes() for place in written(form, rows, tmp_path)}
    with pytest.raises(FathomError, match="`force`"):
        written(form, rows, tmp_path)
    assert {place: place.read_bytes() for place in before} == before
    assert set(written(form, rows, tmp_path, force=True)) == set(before) or form == "inspect"


def test_a_folder_with_other_files_is_not_replaced(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    with pytest.raises(FathomError, match=r"thesis\.tex"):
        written("inspect", rows, tmp_path, force=True)


KILLED = """
import os, signal, sys
from fathom import api
from fathom.convert import material
told, count = material.Material.scored_replies, 0
def dying(self, *args, **values):
    for number, one in enumerate(told(self, *args, **values)):
        if number == 40:
            os.kill(os.getpid(), signal.SIGKILL)
        yield one
material.Material.scored_replies = dying
api.convert(sys.argv[2], to=sys.argv[1], out=sys.argv[3])
"""


@pytest.mark.parametrize("form", ["inspect", "every-eval-ever"])
def test_a_killed_conversion_leaves_nothing_under_the_final_names(form: str, rows: Path, tmp_path: Path) -> None:
    process = start_program(KILLED, form, rows, tmp_path / "out")
    assert process.wait() == -signal.SIGKILL
    left = [place for place in (tmp_path / "out").rglob("*") if place.is_file()]
    assert [place for place in left if not place.name.startswith(".")] == []
    assert all(place.exists() for place in written(form, rows, tmp_path))


@pytest.mark.parametrize("form", FILES)
def test_a_folder_that_cannot_be_written(form: str, rows: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")
    with pytest.raises(FathomError, match="file"):
        written(form, rows, blocked)
    assert blocked.read_text() == "x"


def test_out_is_needed(rows: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for form in FORMATS:
        code, _, error = call("convert", rows, "--to", form)
        assert code == 2
        assert "--out" in error


@pytest.mark.parametrize(("form", "library"), [("mlflow", "mlflow"), ("wandb", "wandb"), ("hub", "huggingface_hub")])
def test_the_error_names_the_extra(
    form: str, library: str, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(FathomError, match=rf"pip install 'fathom-eval\[{form}\]'"):
        api.convert(rows, to=form, out=tmp_path / "x", dataset="a/b")


FOREIGN = Path(__file__).parents[1] / "rows" / "foreign"


@pytest.mark.parametrize("origin", ["inspect", "lm-eval", "lighteval", "opencompass", "helmet", "nemo-evaluator"])
@pytest.mark.parametrize("named", [True, False])
def test_results_of_other_programs_are_converted(origin: str, named: bool, call: Call, tmp_path: Path) -> None:
    source = FOREIGN / origin / ("eval" if origin == "inspect" else "")
    if origin == "inspect":
        source = next(source.glob("*_codes_*.eval"))
    chosen = ("--from", origin) if named else ()
    code, printed, error = call("convert", source, *chosen, "--to", "every-eval-ever", "--out", tmp_path / "out")
    assert code == 0, error
    wanted = read([source], origin if named else "fathom")
    scored = wanted.filter(pl.col("value").is_not_null()).height
    places = [Path(line) for line in printed.splitlines()]
    lines = [line for place in places if place.suffix == ".jsonl" for line in place.read_text().splitlines()]
    assert len(lines) == scored > 0
    if origin == "lighteval":
        assert "have no length" in error  # the notes of the reader are told
