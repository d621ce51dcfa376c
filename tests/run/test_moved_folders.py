"""Run folders that are removed, moved or replaced while a run or a judge writes: what was paid is kept and named."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_suites import make_suite

from engine_calls import judge, run
from fathom.run import replies
from fathom.run.executors import DirectExecutor
from fathom.runfile.judgements import JudgementStore, judgements
from fathom.runfile.ledger import Ledger
from fathom.types import FathomError
from judged_runs import Judge, install_tasks, make_run, sample

MODEL = "fathom/lexical"


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def moved(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def replaced(folder: Path) -> None:
    """By a copy, as a backup that is restored."""
    shutil.copytree(folder, folder.with_name("copy"))
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)


def emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def parent_removed(folder: Path) -> None:
    shutil.rmtree(folder.parent)


CHANGES = [removed, moved, replaced, emptied, parent_removed]


def kept_in(error: FathomError) -> Path:
    match = re.search(
        r"All that was paid for is kept in (\S+): move that folder to (\S+), or its files into it", str(error)
    )
    assert match is not None, error
    return Path(match[1])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("at", [1, 7, 20], ids=["first", "middle", "last"])
def test_a_run_whose_folder_changes_keeps_all_replies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], at: int
) -> None:
    suite, out, finish, asked = make_suite(tmp_path, 20), tmp_path / "runs" / "run", Ledger.finish, Counter[str]()

    def changing(self: Ledger, item: Any, *rest: Any, **options: Any) -> Any:
        before = finish(self, item, *rest, **options)
        asked[item.id] += 1
        if asked.total() == at:
            change(out)
        return before

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "finish", changing)
        with pytest.raises(FathomError, match="was removed, moved or replaced while fathom was writing") as error:
            run(suite, MODEL, out=out, max_connections=2)
    kept = kept_in(error.value)
    assert {reply.sample for reply in replies(kept)} == set(asked)
    shutil.rmtree(out, ignore_errors=True)
    kept.rename(out)
    again = run(suite, MODEL, out=out).progress
    assert again is not None
    assert (again.asked, again.finished) == (20 - len(asked), 20)


def test_settings_that_are_removed_are_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, out, finish = make_suite(tmp_path, 4), tmp_path / "run", Ledger.finish

    def removing(self: Ledger, *rest: Any, **options: Any) -> Any:
        (out / "run.json").unlink(missing_ok=True)
        return finish(self, *rest, **options)

    monkeypatch.setattr(Ledger, "finish", removing)
    assert run(suite, MODEL, out=out).progress is not None
    assert (out / "run.json").is_file()


def test_a_link_to_the_folder_is_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, out, execute = make_suite(tmp_path, 4), tmp_path / "run", DirectExecutor.execute

    def linked(self: DirectExecutor, *rest: Any) -> Any:
        out.rename(tmp_path / "disk")
        out.symlink_to(tmp_path / "disk")
        return execute(self, *rest)

    monkeypatch.setattr(DirectExecutor, "execute", linked)
    assert run(suite, MODEL, out=out).progress is not None
    assert len(list(replies(tmp_path / "disk"))) == 4


@pytest.mark.parametrize("change", [removed, moved])
def test_a_judge_whose_folder_changes_keeps_all_judgements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    install_tasks(monkeypatch)
    monkeypatch.setattr(sys.modules["fathom.run.cases.model"], "open_client", lambda settings, tokenizer: Judge())
    out = make_run(tmp_path / "run", [(sample(number), f"reply {number}") for number in range(6)])
    finish, made = JudgementStore.finish, list[str]()

    def changing(self: JudgementStore, key: str, *rest: Any) -> None:
        finish(self, key, *rest)
        made.append(key)
        if len(made) == 2:
            change(out)

    monkeypatch.setattr(JudgementStore, "finish", changing)
    with pytest.raises(FathomError, match="was removed, moved or replaced") as error:
        judge(out, "lab/judge", max_connections=1, backoff=0.0)
    assert set(judgements(kept_in(error.value), "lab/judge")) == set(made)
