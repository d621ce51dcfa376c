"""Runs of a subset ask what it names and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from run_suites import make_suite

from engine_calls import run
from fathom import api
from fathom.run import Preflight, RunSummary, read_manifest, replies
from fathom.suites.subsetfile import write_subset
from fathom.types import FathomError, Member, Subset


def subset_of(place: Path, *items: str, name: str = "few", weight: float = 1.0) -> Path:
    path = place / f"{name}.json"
    write_subset(Subset(name, tuple(Member(item, weight) for item in items), "random"), path)
    return path


def go(suite: Path, out: Path, subset: Path | None, **options: object) -> tuple[RunSummary, Preflight]:
    shown: list[Preflight] = []

    def confirm(preflight: Preflight) -> bool:
        shown.append(preflight)
        return True

    summary = run(suite, "fathom/guess", out=out, subset=subset, confirm=confirm, **options)
    return summary, shown[0]


def test_only_members_are_asked_by_item_or_by_id(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 9, lengths=(256, 512))
    summary, ahead = go(suite, tmp_path / "run", subset_of(tmp_path, "item3", "item5@512", "item8"))
    assert {row.sample for row in replies(tmp_path / "run")} == {"item3@512", "item5@512", "item8@256"}
    assert (ahead.requests, ahead.total) == (3, 3)
    assert summary.progress is not None
    assert (summary.progress.finished, summary.progress.total) == (3, 3)


def test_lengths_and_limits_choose_among_the_members(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 9, lengths=(256, 512))
    subset = subset_of(tmp_path, "item1", "item2", "item4", "item6")
    go(suite, tmp_path / "run", subset, lengths=[256], limit=2)
    assert {row.item for row in replies(tmp_path / "run")} == {"item2", "item4"}
    with pytest.raises(FathomError, match="no sample has both the requested tasks and lengths in this subset"):
        go(suite, tmp_path / "other", subset_of(tmp_path, "item1", name="one"), lengths=[256])


def test_unknown_members_are_counted_and_named(tmp_path: Path) -> None:
    subset = subset_of(tmp_path, "item0", "a", "b", "c", "d")
    with pytest.raises(FathomError, match=r"4 of its 5 members .*\('a', 'b', 'c', \.\.\.\); 1 are"):
        go(make_suite(tmp_path, 2), tmp_path / "run", subset)
    assert not (tmp_path / "run").exists()


def test_the_run_says_which_subset_it_is_and_does_not_take_another(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 4), tmp_path / "run"
    go(suite, out, subset_of(tmp_path, "item0", "item1"))
    told = read_manifest(out)["subset"]
    assert (told["name"], told["method"], told["members"]) == ("few", "random", 2)
    # The same members in another order, under another name, are the same subset.
    go(suite, out, subset_of(tmp_path, "item1", "item0", name="again"))
    larger = subset_of(tmp_path, "item0", "item1", "item2", name="more")
    heavier = subset_of(tmp_path, "item0", "item1", name="heavy", weight=2.0)
    for other in (larger, heavier, None):
        with pytest.raises(FathomError, match="holds a run with subset = "):
            go(suite, out, other)
    assert len(list(replies(out))) == 2


def test_a_run_of_everything_does_not_take_a_subset(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 2), tmp_path / "run"
    go(suite, out, None)
    with pytest.raises(FathomError, match="subset = None, but subset = '"):
        go(suite, out, subset_of(tmp_path, "item0"))


def test_run_folders_and_exports_of_subsets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    suite, subset = make_suite(tmp_path, 4), subset_of(tmp_path, "item2", name="a few/x")
    assert api.run(suite, "fathom/guess", subset=subset).folder == Path("runs/suite-a-few-x/fathom-guess")
    assert api.export(suite, tmp_path / "out.jsonl", subset=subset) == 1
    assert json.loads((tmp_path / "out.jsonl").read_text())["id"] == "item2@256"
    with pytest.raises(FathomError, match="1 of its 1 members"):
        api.export(suite, tmp_path / "out.jsonl", subset=subset_of(tmp_path, "x"))
