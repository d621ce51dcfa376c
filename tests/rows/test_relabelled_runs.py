"""Not answering pays in no run folder either: wrong replies that are said to have ended otherwise, or are emptied."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fathom import api
from fathom.analysis import average_scores
from fathom.rows import rows_from_run
from fathom.runfile.store import CHECKED, SPLIT
from fathom.runfile.store_checks import know_checksums
from fathom.types import STATUSES, FathomError, Status

pytestmark = pytest.mark.slow

Averages = dict[tuple[str, int | None], float]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of an offline baseline that is right now and then."""
    folder = tmp_path_factory.mktemp("relabelled")
    tasks = "single_doc_qa,kv_retrieval,passage_count"
    api.build(tasks, folder / "suite", lengths=(1024, 2048, 4096), items=6, corpus=("world",), languages=("en",))
    api.run(folder / "suite", "fathom/lexical", folder / "run")
    return folder / "run"


def averages(folder: Path) -> Averages:
    """The means of a run, of each task at each length and over lengths, and over all tasks."""
    points, averaged = api.analyze("curve", [folder]), average_scores(rows_from_run(folder))
    found: Averages = {(one.task, one.length): one.mean for one in points if one.mean is not None}
    return found | {(one.task, None): one.mean for one in averaged if one.mean is not None}


def wrong_replies(folder: Path) -> list[tuple[str, int]]:
    return rows_from_run(folder).filter(value=0.0).select("sample", "epoch").rows()


def relabel(
    run: Path, to: Path, wrong: list[tuple[str, int]], status: Status, text: str | None, *, careful: bool = True
) -> Path:
    """A copy of the run in which some replies ended in another way; ``text`` None is that of the reply.

    Whoever is ``careful`` gives the changed rows new checksums, so that nothing about them looks edited.
    """
    shutil.copytree(run, to)
    with closing(sqlite3.connect(to / "replies.sqlite")) as db, db:
        know_checksums(db)
        db.executemany(
            "UPDATE replies SET status = ?, text = coalesce(?, text) WHERE sample = ? AND epoch = ?",
            [(status, text, *one) for one in wrong],
        )
        for rows in CHECKED[SPLIT] if careful else ():
            db.execute(f"UPDATE {rows.table} SET checksum = {rows.checksum}")
    return to


@pytest.fixture(scope="module")
def wrong(run: Path) -> list[tuple[str, int]]:
    return wrong_replies(run)


@pytest.fixture(scope="module")
def before(run: Path) -> Averages:
    return averages(run)


@pytest.mark.parametrize("share", ["one", "all"])
@pytest.mark.parametrize("text", ["", " \n", None], ids=["empty", "blank", "kept"])
@pytest.mark.parametrize("status", STATUSES)
def test_relabelling_wrong_replies_raises_no_average(
    run: Path,
    wrong: list[tuple[str, int]],
    before: Averages,
    tmp_path: Path,
    status: Status,
    text: str | None,
    share: str,
) -> None:
    assert len(wrong) > 6
    assert before["all", None] > 0
    chosen = wrong[:1] if share == "one" else wrong
    edited = relabel(run, tmp_path / "run", chosen, status, text)
    if status == "error" and text is None:
        with pytest.raises(FathomError, match=r"cannot be read: status is 'error'"):
            averages(edited)
        return
    after = averages(edited)
    assert [key for key, mean in after.items() if mean > before[key] + 1e-12] == []


def test_replies_that_were_changed_without_care_are_damage(run: Path, tmp_path: Path) -> None:
    changed = relabel(run, tmp_path / "run", wrong_replies(run)[:1], "refused", "", careful=False)
    with pytest.raises(FathomError, match=r"replies.sqlite: damaged \(replies of sample "):
        averages(changed)


def test_what_was_dropped_before_would_have_been_higher(run: Path, tmp_path: Path) -> None:
    """The attack that the rule is against: leaving what was refused out of the mean."""
    rows = rows_from_run(relabel(run, tmp_path / "run", wrong_replies(run), "refused", ""))
    honest, answered = rows_from_run(run)["value"].mean(), rows.filter(status="ok")["value"].mean()
    assert isinstance(honest, float)
    assert isinstance(answered, float)
    assert answered > honest
