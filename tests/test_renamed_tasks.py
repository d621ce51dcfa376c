"""Renamed tasks: the same content as before, both names typed, and what has the old name stored still loads."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine_calls import configure
from fathom import api
from fathom.analysis import compare
from fathom.board.bundles.check import check
from fathom.board.examples import examples
from fathom.board.published import published_files, read_published
from fathom.rows import read_labels, read_rows, write_rows
from fathom.runfile.store import replies
from fathom.suites import registry
from fathom.suites.build import BuildConfig, build
from fathom.suites.registry import get_task, task_name, tasks
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError

NEW, OLD = ("leader_kv_short", "leader_needle_long"), ("leader_kv_32k", "leader_needle_128k")


def wanted() -> BuildConfig:
    return configure(
        ",".join(NEW), lengths=(1024, 2048), items=3, tokenizer="words", languages=["en"], corpus=["world"]
    )


@pytest.fixture
def suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders of one order: as it was built when the tasks had their old names, and as it is built now."""
    now = wanted()
    old_of = dict(zip(NEW, OLD, strict=True))
    grids = tuple((old_of[name], grid) for name, grid in now.grids)
    before = replace(now, suite=",".join(OLD), tasks=OLD, grids=grids)
    former = {old: replace(get_task(new), name=old, formerly="") for new, old in old_of.items()}
    with monkeypatch.context() as patch:
        patch.setattr(registry, "tasks", lambda: former)
        build(before, tmp_path / "old")
    build(now, tmp_path / "new")
    return tmp_path / "old", tmp_path / "new"


def test_a_task_is_found_by_both_names() -> None:
    assert get_task("leader_kv_32k") is get_task("leader_kv_short")
    assert task_name("starter,leader_kv_32k,leader_passkey_5_128k") == "starter,leader_kv_short,leader_passkey_5_long"
    assert "leader_kv_32k" not in tasks()
    typed = configure("leader_kv_32k,leader_kv_short")
    assert (typed.suite, typed.tasks) == ("leader_kv_short", ("leader_kv_short",))
    assert configure("leader_needle_32k") == configure("leader_needle_short")
    with pytest.raises(FathomError, match="unknown task 'leader_kv_64k'; did you mean leader_kv"):
        get_task("leader_kv_64k")


def test_no_length_stands_in_the_name_of_a_task() -> None:
    assert not [name for name in tasks() if name.endswith("k") and name[-2].isdigit()]


def test_no_name_of_before_is_the_name_of_another_task() -> None:
    former = [task.formerly for task in tasks().values() if task.formerly]
    assert len(set(former)) == len(former) == 14
    assert not {*former} & {*tasks()}


def test_a_renamed_task_gives_the_same_content(suites: tuple[Path, Path]) -> None:
    old, new = map(open_suite, suites)
    assert {sample.task for sample in old.samples()} == {*OLD}
    assert {sample.task for sample in new.samples()} == {*NEW}
    assert [replace(one, task=task_name(one.task)) for one in old.samples()] == [*new.samples()]
    assert old.manifest["fingerprint"] == new.manifest["fingerprint"]
    assert not build(wanted(), suites[0]).fresh


@pytest.mark.slow
@pytest.mark.parametrize("name", [NEW[0], OLD[0]])
def test_samples_are_chosen_by_both_names(suites: tuple[Path, Path], name: str, tmp_path: Path) -> None:
    for folder in suites:
        suite = open_suite(folder)
        assert len([*suite.samples(tasks=[name])]) == 6
        assert len([*suite.samples(where={"task": [name]})]) == 6
        api.run(folder, "fathom/guess", tmp_path / "runs" / folder.name, tasks=[name])
        assert api.rows([tmp_path / "runs" / folder.name])["task"].to_list() == [NEW[0]] * 6
    made = build(replace(wanted(), where=(("task", (name,)),)), tmp_path / "where")
    assert made.manifest["samples"] == {NEW[0]: 6}


@pytest.mark.slow
def test_an_old_run_pairs_with_a_new_one(suites: tuple[Path, Path], tmp_path: Path) -> None:
    runs = [tmp_path / "run-old", tmp_path / "run-new"]
    for suite, run, model in zip(suites, runs, ("fathom/lexical", "fathom/guess"), strict=True):
        api.run(suite, model, run)
    assert {one.task for one in replies(runs[0])} == {*OLD}
    rows = api.rows(runs)
    assert {*rows["task"]} == {*NEW}
    assert {*rows["suite"]} == {",".join(NEW)}
    found = {(one.task, one.length): one for one in compare(rows, "fathom/lexical", "fathom/guess")}
    assert found[NEW[0], 1024].items == 3
    assert rows.filter(model="fathom/lexical")["value"].null_count() == 0


@pytest.mark.slow
def test_a_run_goes_on_with_the_suite_under_either_name(suites: tuple[Path, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    api.run(suites[0], "fathom/lexical", run, limit=1)
    first = {one.sample: one.reply for one in replies(run)}
    api.run(suites[0], "fathom/lexical", run)
    api.run(suites[1], "fathom/lexical", run)
    after = {one.sample: one for one in replies(run)}
    assert len(after) == 12
    assert all(after[name].reply == reply for name, reply in first.items())
    assert {one.task for one in after.values()} == {*OLD}


@pytest.mark.slow
def test_a_bundle_of_an_old_run_is_checked_against_both_suites(suites: tuple[Path, Path], tmp_path: Path) -> None:
    api.run(suites[0], "fathom/lexical", tmp_path / "run")
    api.board_bundle([tmp_path / "run"], tmp_path / "b.zip")
    for suite in suites:
        found = check(tmp_path / "b.zip", [suite])
        assert found.complete, found.findings
        assert found.bundle is not None
        assert {*found.bundle.rows["task"]} == {*NEW}


@pytest.mark.slow
def test_a_rows_file_with_the_old_names(suites: tuple[Path, Path], tmp_path: Path) -> None:
    api.run(suites[1], "fathom/lexical", tmp_path / "run")
    rows = api.rows([tmp_path / "run"])
    names: dict[str, Any] = {**dict(zip(NEW, OLD, strict=True)), ",".join(NEW): ",".join(OLD)}
    write_rows(rows.with_columns(pl.col("task", "suite").replace(names)), tmp_path / "rows.csv")
    assert "leader_kv_32k," in (tmp_path / "rows.csv").read_text()
    assert read_rows(tmp_path / "rows.csv").equals(rows)


@pytest.mark.slow
def test_labels_published_scores_and_plots_take_the_old_names(suites: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("task,sample,score\nleader_kv_32k,leader_kv_32k/en/0000@1024,1\n")
    assert read_labels(tmp_path / "labels.csv")["task"].to_list() == ["leader_kv_short"]
    shipped = next(path for path in published_files() if path.parent.name == "leader")
    (tmp_path / shipped.with_suffix(".toml").name).write_bytes(shipped.with_suffix(".toml").read_bytes())
    (tmp_path / shipped.name).write_text(shipped.read_text().replace("leader_kv_short,", "leader_kv_32k,"))
    cells = [[one.cells for one in read_published(path)["leader-32k"]] for path in (shipped, tmp_path / shipped.name)]
    assert cells[0] == cells[1]
    api.run(suites[0], "fathom/lexical", tmp_path / "run")
    api.plot([tmp_path / "run"], "curve", tmp_path / "curve.svg", tasks=["leader_kv_32k"])
    assert (tmp_path / "curve.svg").is_file()


def test_examples_of_a_site_come_from_suites_with_the_old_names(suites: tuple[Path, Path]) -> None:
    assert {*examples([NEW[0]], [suites[0]])} == {NEW[0]}


@pytest.mark.slow
def test_inspect_knows_both_names() -> None:
    pytest.importorskip("inspect_ai")
    import_module("fathom.run.inspect_tasks")
    from inspect_ai.util import registry_create

    samples = []
    for name in (NEW[0], OLD[0]):
        made: Any = registry_create("task", f"fathom/{name}", length="1k", items=1)
        samples.append([(sample.id, sample.input, sample.metadata) for sample in made.dataset])
    assert samples[0] == samples[1]
    assert samples[0][0][2]["task"] == NEW[0]
