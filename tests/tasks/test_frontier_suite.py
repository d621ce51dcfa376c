from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars
import pytest

from command_line import Call
from engine_calls import configure
from fathom import api
from fathom.analysis.published import published_twins
from fathom.suites.build import build
from fathom.suites.registry import get_suite, tasks
from fathom.suites.suitefile import open_suite
from made_frontier import write_frontier


def test_every_task_of_the_selection_is_known_and_twins_ask_for_the_same_score() -> None:
    known, selected = tasks(), set(get_suite("frontier").tasks)
    assert selected <= known.keys()
    for generated, records in published_twins().items():
        assert known[generated].metric == known[records].metric
        assert known[records].gold == ("record",)
    assert {generated for generated in published_twins() if generated in selected} == {
        "mrcr_8",
        "graphwalks_bfs",
        "graphwalks_parents",
        "nolima_twohop",
        "babilong_qa2",
    }


@pytest.mark.slow
def test_one_command_builds_runs_and_reports_the_selection_and_resumes(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the suite is built into builds/
    data = write_frontier(tmp_path / "data", count=4)
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    words = ["run", "frontier", "--model", "fathom/lexical", "--data", data, "--lengths", "1k,2k", "--items", "2"]
    code, _, errors = call(*words, "--out", tmp_path / "run", "--yes", "--report", page)
    assert code == 0, errors
    assert "Published records" in page.read_text()
    replies = api.rows(tmp_path / "run")
    assert "requests" in errors
    code, _, errors = call(*words, "--out", tmp_path / "run", "--yes", "--report", numbers)
    assert (code, "requests" in errors) == (0, False)
    assert json.loads(numbers.read_text())
    assert api.rows(tmp_path / "run").equals(replies)
    results = api.analyze_published([tmp_path / "run"])
    assert {result.task for result in results} == set(published_twins()) & set(get_suite("frontier").tasks)
    assert all(result.items[1] == 2 for result in results if result.length)


def test_records_are_as_many_at_each_length_and_none_is_truncated(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "openai--graphwalks"
    folder.mkdir(parents=True)
    rows = [
        {
            "prompt": f"Edges of {number}:\n" + "a1 -> b2\n" * edges,
            "answer_nodes": ["b2"],
            "prompt_chars": 9 * edges,
            "problem_type": "bfs",
            "date_added": "2025-04-14",
        }
        for number, edges in enumerate((900, 10, 10, 10, 900, 90, 90, 90, 10, 90))
    ]
    polars.DataFrame(rows).write_parquet(folder / "graphwalks_128k_and_shorter.parquet")
    where = {"task": ["graphwalks_published_bfs"]}
    wanted = configure("frontier", data=[str(folder.parent)], lengths=(128, 1024), items=2, where=where)
    samples = list(open_suite(build(wanted, tmp_path / "suite").folder).samples())
    assert sorted(sample.length for sample in samples) == [128, 128, 1024, 1024]
    assert all(sample.tokens <= sample.length for sample in samples)


def test_tasks_whose_records_are_not_given_are_left_out(tmp_path: Path) -> None:
    data = write_frontier(tmp_path / "data")
    for folder in ("openai--mrcr", "google", "babilong", "ArtificialAnalysis--AA-LCR"):
        shutil.rmtree(data / folder)
    suite = build(configure("frontier", data=[str(data)], lengths=(1024,), items=1), tmp_path / "suite")
    built = set(open_suite(suite.folder).manifest["tasks"])
    assert "graphwalks_published_bfs" in built
    assert "mrcr_published_8" not in built
    assert "mrcr_8" in built


def test_records_that_were_not_used_are_named_before_the_plan(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write_frontier(tmp_path / "data", count=2)
    shutil.rmtree(data / "babilong")
    words = ["run", "frontier", "--model", "fathom/lexical", "--lengths", "1k", "--items", "1", "--yes"]
    code, _, errors = call(*words, "--data", data, "--out", tmp_path / "run")
    assert code == 0, errors
    assert "babilong_published_qa2" in errors.partition("requests")[0]


def test_a_folder_without_a_usable_record_stops_the_run(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "other.jsonl").write_text('{"text": "nothing of the kind"}\n')
    words = ["run", "frontier", "--model", "fathom/lexical", "--lengths", "1k", "--items", "1", "--yes"]
    code, _, errors = call(*words, "--data", tmp_path / "data", "--out", tmp_path / "run")
    assert code == 2, errors
    assert "has no usable record of frontier" in errors
    assert not (tmp_path / "run").exists()


def test_a_report_that_would_be_no_page_is_refused_before_the_run(call: Call, tmp_path: Path) -> None:
    code, _, errors = call("run", "x", "--model", "fathom/lexical", "--report", "r.pdf", "--out", tmp_path / "run")
    assert (code, "a report ends in .html" in errors) == (2, True)
    assert not (tmp_path / "run").exists()


def test_a_report_of_one_shard_is_refused(call: Call, tmp_path: Path) -> None:
    code, _, errors = call(
        "run", "x", "--model", "fathom/lexical", "--shard", "1/2", "--report", tmp_path / "r.html", "--out", tmp_path
    )
    assert (code, "fathom merge" in errors) == (2, True)
