"""A reply or a document that takes longer than its size explains costs only itself."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fathom.documents.corpus import files, read_corpus
from fathom.documents.corpus.records import make_document
from fathom.score.files import score_file
from fathom.score.registry import Metric, ScoringRow, get_metric, unscored
from fathom.storage import time_limits
from fathom.storage.time_limits import TooLongError, within_time

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the platform has no timer")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limits, "SECONDS", 0.05)
    monkeypatch.setattr(time_limits, "AGAIN", 0.05)


def busy(seconds: float = 20.0) -> None:
    """Something that takes processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.slow
def test_work_that_does_not_end_is_stopped_and_the_next_has_time_again() -> None:
    for _ in range(2):
        with (
            pytest.raises(TooLongError, match="more than 0 seconds of processor"),
            within_time(100),
        ):
            busy()
    with within_time(100):
        pass
    busy(0.3)  # no timer is left
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


@pytest.mark.slow
def test_work_that_catches_everything_is_told_again() -> None:
    def careless(again: bool) -> None:
        try:
            busy()
        except Exception:
            busy() if again else None

    for again in (False, True):
        with pytest.raises(TooLongError), within_time(1):
            careless(again)


@pytest.mark.slow
def test_waiting_takes_no_processor_time() -> None:
    with within_time(1):
        time.sleep(0.3)


@pytest.mark.slow
def test_other_threads_have_no_limit() -> None:
    ended: list[bool] = []

    def work() -> None:
        with within_time(1):
            busy(0.3)
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]


def test_a_document_that_is_not_read_in_time_is_named_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(record: Any, *arguments: Any) -> Any:
        if "lighthouse" in record["text"]:
            busy()
        return make_document(record, *arguments)

    monkeypatch.setattr(files, "make_document", slow)
    (tmp_path / "a.txt").write_text("The lighthouse is old.")
    (tmp_path / "b.txt").write_text("The harbour is new.")
    corpus = read_corpus(str(tmp_path))
    assert [document.text for document in corpus.documents] == ["The harbour is new."]
    (problem,) = corpus.problems
    assert "reading took more than 0 seconds of processor time for 22 characters" in str(problem)


def test_a_reply_of_a_file_that_is_not_scored_in_time_has_no_score_and_the_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = get_metric("100longbench/qa_f1")

    def slow(row: ScoringRow) -> Any:
        if row.prediction == "slow":
            busy()
            return unscored("strict")
        return usual.rules["strict"](row)

    made = Metric.of("made", "slow", slow, slow, "For tests.")
    monkeypatch.setattr("fathom.score.registry.metrics", lambda: {"made/slow": made})
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prediction": "slow", "answers": ["a"]}\n{"prediction": "Paris", "answers": ["Paris"]}\n')
    summary = score_file(rows, metric="made/slow")
    assert (summary.unscored, summary.by_metric["made/slow"].scored) == (1, 1)
    assert "took more than 0 seconds of processor time for 4 characters; it was stopped" in summary.errors[0][1]
