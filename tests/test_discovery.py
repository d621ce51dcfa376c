"""What benchmarks declare is found by name, once; other packages add theirs."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from fathom import api
from fathom.board.published import published_files
from fathom.documents.sources.registry import sources
from fathom.plugins import discovery
from fathom.plugins.discovery import declared, modules
from fathom.score.judge import rubrics
from fathom.score.registry import metrics
from fathom.suites.registry import tasks
from fathom.types import FathomError, Results, Row, Task


def name_of(task: Task) -> str:
    return task.name


def modules_of(monkeypatch: pytest.MonkeyPatch, **declarations: object) -> None:
    other = ModuleType("other")
    vars(other).update(declarations)
    known = list(modules("tasks"))
    monkeypatch.setattr(discovery, "modules", lambda kind: [*known, other])
    monkeypatch.setattr(discovery, "_FOUND", {})


def test_a_name_is_declared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    modules_of(monkeypatch, TASKS=(replace(tasks()["passkey"], description="another"),))
    with pytest.raises(FathomError, match="module other declares 'passkey', which another module declares already"):
        declared("tasks", name_of)


def test_a_module_may_import_what_another_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    known = tasks()
    modules_of(monkeypatch, TASKS=(known["passkey"],))
    assert declared("tasks", name_of) == known


def test_other_packages_add_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    known = tasks()
    modules_of(monkeypatch, TASKS=(replace(known["passkey"], name="other"),))
    assert [*declared("tasks", name_of)] == [*known, "other"]


@pytest.mark.parametrize("kind", ["tasks", "suites", "metrics", "rubrics", "sources", "boards", "results"])
def test_every_kind_has_a_group_of_entry_points(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def points(group: str) -> list[EntryPoint]:
        return [EntryPoint("mine", "made", group)] if group == f"fathom.{kind}" else []

    monkeypatch.setattr(discovery, "entry_points", points)
    assert [*modules(kind)][-1].__name__ == "made"


def test_another_package_names_its_benchmark_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for file, text in {
        "quotes/__init__.py": "",
        "quotes/tasks.py": "TASKS = ('a task',)",
        "quotes/board/__init__.py": "BOARDS = ('a board',)",
        "quotes/board/published.csv": "",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("quotes", "quotes", discovery.BENCHMARKS)
    monkeypatch.setattr(discovery, "entry_points", lambda group: [point] if group == discovery.BENCHMARKS else [])
    monkeypatch.setattr(discovery, "_FOUND", {})
    for kind, name in (("tasks", "a task"), ("boards", "a board")):
        assert name in declared(kind, lambda one: str(getattr(one, "name", getattr(one, "id", one))))
    assert tmp_path / "quotes/board" in discovery.folders()
    assert tmp_path / "quotes/board/published.csv" in published_files()


def test_metrics_rubrics_and_sources_are_in_the_order_of_their_names() -> None:
    for found in (metrics(), sources()):
        assert [*found] == sorted(found)
    assert {*rubrics()} == {*("qa", "summary", "rating", "similarity", "verdict", "helmet_answer", "helmet_summary")}


def test_another_package_adds_a_form_of_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def read(path: Path, tell: object) -> list[tuple[str, list[Row]]]:
        row = Row(suite="s", task="t", item="i", sample="x", model="m", length=1024, value=1.0)
        return [(str(path), [row] if path.name == "good" else [])]

    modules_of(monkeypatch, RESULTS=(Results("theirs", read, "their results"),))
    assert api.rows([tmp_path / "good"], origin="theirs")["value"].to_list() == [1.0]
    with pytest.raises(FathomError, match="bad: it contains no replies"):
        api.rows([tmp_path / "bad"], origin="theirs")
    with pytest.raises(FathomError, match=r"choose fathom, inspect, .*longbench-pro, theirs"):
        api.rows([tmp_path], origin="thers")
