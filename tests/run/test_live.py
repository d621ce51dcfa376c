"""The state of a run as it grows: its value, its text, and the panel that shows it."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import run_suites
from run_suites import make_suite, sample

import judged_runs
from engine_calls import judge, run
from fathom.analysis import CurvePoint
from fathom.report.live import panel as panels
from fathom.report.live.panel import Panel
from fathom.report.live.reading import LiveReader, read_live
from fathom.report.live.state import Clock, Finished, Live, LiveLength, Planned, live, seconds_left
from fathom.report.live.text import log_line, panel_lines
from fathom.report.measure import measure_scores
from fathom.report.reading import filtered
from fathom.runfile.progress import Progress
from fathom.runfile.store import replies
from fathom.stats.intervals import Interval
from fathom.types import STATUSES, Facet


def took(task: str, length: int) -> float:
    """The seconds of a request: a start, a part by length, and tasks that differ."""
    return (0.8 + length / 4000) * {"a": 1.0, "b": 1.5}[task]


def asked(plan: dict[tuple[str, int], Planned], connections: int) -> list[Finished]:
    """Every reply of a run, on a clock that nobody waits for, in turn by task and length."""
    rounds = max(cell.replies for cell in plan.values())
    jobs = [cell for number in range(rounds) for cell in plan if number < plan[cell].replies]
    free, done = [0.0] * connections, []
    for task, length in jobs:
        place = free.index(min(free))
        free[place] += took(task, length)
        done.append(Finished(task, length, length, took(task, length), 1000 + free[place]))
    return sorted(done, key=lambda reply: reply.at)


PLAN = {(task, length): Planned(20, 20 * length) for task in "ab" for length in (2048, 4096, 16384, 32768)}


@pytest.mark.parametrize("connections", [1, 8])
def test_the_time_left_learned_from_two_lengths_holds_for_longer_ones(connections: int) -> None:
    short = {cell: planned for cell, planned in PLAN.items() if cell[1] <= 4096}
    done = asked(short, connections)
    now = done[-1].at
    left = seconds_left(PLAN, done, Clock(now, 1000.0, connections))
    rest = asked({cell: planned for cell, planned in PLAN.items() if cell not in short}, connections)
    assert left == pytest.approx(rest[-1].at - 1000, rel=0.2)


@pytest.mark.parametrize("known", [True, False])
def test_the_time_left_is_right_from_the_first_rounds_on(known: bool) -> None:
    done = asked(PLAN, 4)
    end = done[-1].at
    for share in (0.2, 0.5, 0.8):
        part = done[: int(share * len(done))]
        left = seconds_left(PLAN, part, Clock(part[-1].at, 1000.0, 4 if known else None))
        assert left == pytest.approx(end - part[-1].at, rel=0.2)


def test_the_time_left_counts_down_between_replies_and_is_unknown_before_the_first() -> None:
    done = asked(PLAN, 4)[:40]
    clock = Clock(done[-1].at, 1000.0, 4)
    left, later = (seconds_left(PLAN, done, replace(clock, now=clock.now + passed)) for passed in (0, 5))
    assert left is not None
    assert later == pytest.approx(left - 5)
    assert seconds_left(PLAN, [], clock) is None
    assert seconds_left({}, [], clock) is None
    # Replies of an earlier process say nothing of the speed of this one.
    assert seconds_left(PLAN, done, replace(clock, since=clock.now + 1)) is None
    # What was refused without a request took no time, and prompts of one length say that longer ones take longer.
    assert seconds_left(PLAN, [replace(done[0], seconds=0.0)], clock) is None
    one = seconds_left(PLAN, [replace(done[0], task="a", length=2048, tokens=2048, seconds=2.0)], clock)
    assert one is not None
    assert one > 2.0 * 159 / 4


def point(length: int, mean: float) -> CurvePoint:
    return CurvePoint("m", "", "all", length, mean, Interval(mean - 0.1, mean + 0.1), 10, 10, None)


def test_the_state_has_the_figures_of_its_replies() -> None:
    done = [replace(reply, tokens_in=100, tokens_out=10, cost=0.5) for reply in asked(PLAN, 1)[:12]]
    done[3] = replace(done[3], failed=True, cost=None)
    done[4] = replace(done[4], waiting=True)
    state = live(PLAN, done, [point(2048, 0.8)], Clock(done[-1].at, 1000.0, 1))
    assert (state.finished, state.total, state.failed, state.waiting) == (12, 160, 1, 1)
    assert (state.tokens_in, state.tokens_out, state.cost) == (1200, 120, 5.5)
    assert [row.length for row in state.lengths] == [2048, 4096, 16384, 32768]
    assert sum(row.finished for row in state.lengths) == 11
    assert {row.planned for row in state.lengths} == {40}
    assert state.lengths[0].mean == 0.8
    assert state.lengths[1].mean is None
    busy = sum(reply.seconds for reply in done)
    assert state.rate == pytest.approx(12 / busy)
    assert state.speed == pytest.approx(12 * 110 / busy)
    assert live(PLAN, done, [], Clock(done[-1].at, 1000.0, 1, working=False)).rate is None
    assert live({}, [], [], Clock(0.0, 0.0)) == Live(0, 0)


STATE = Live(
    finished=212,
    total=500,
    failed=3,
    waiting=11,
    lengths=(
        LiveLength(2048, 53, 125, 0, 0, 0.853, Interval(0.782, 0.911)),
        LiveLength(8192, 52, 125, 3, 0, 0.63, Interval(0.54, 0.72), complete=False),
        LiveLength(131072, 50, 125, 0, 11, None, None),
        LiveLength(262144, 11, 125, 0, 11, None, None),
    ),
    tokens_in=1_234_567,
    tokens_out=34_210,
    cost=1.234,
    rate=1.42,
    speed=22_310,
    left=372,
)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_the_panel_fits_terminals_of_any_width(width: int) -> None:
    lines = panel_lines(STATE, "openai/my-model", width)
    assert max(map(len, lines)) <= width
    assert len(lines) <= 10
    text = " ".join(lines)
    if width >= 60:
        assert "212 of 500 replies (42%), about 6.2 min left" in text
        for fact in (
            "85%  [78, 91]",
            "1.2M tokens in, 34.2k out",
            "$1.23",
            "3 failed",
            "1.4 replies/s",
            "22.3k tokens/s",
        ):
            assert fact in text
        assert "53 of 125" in text
        assert "50 of 125, 11 to judge" in text
        assert "not all tasks" in text
        assert "waiting for the judge" in text
    assert ("openai/my-model" in text) == (width >= 80)


def test_a_log_has_the_same_figures_in_one_line() -> None:
    assert log_line(STATE) == (
        "212 of 500 replies (42%), about 6.2 min left; scores 2k 85% [78, 91], 8k 63% [54, 72]; 1.2M tokens in, 34.2k "
        "out; $1.23; 3 failed; 11 waiting for the judge; 1.4 replies/s; 22.3k tokens/s"
    )
    assert log_line(Live(0, 10)) == "0 of 10 replies (0%); 0 tokens in, 0 out"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    suite = make_suite(tmp_path, 12, lengths=(256, 512))
    run(suite, "fathom/first", out=tmp_path / "run")
    return tmp_path / "run"


def test_the_scores_are_those_of_the_report(folder: Path) -> None:
    state, results = read_live(folder, 60)[0], measure_scores(filtered([folder]))
    assert state is not None
    task = results.with_mean[-1]
    (system,) = results.systems
    for row in state.lengths:
        assert row.mean == results.curve[system, task, row.length].mean
        assert row.interval is not None
    stored = list(replies(folder))
    assert (state.finished, state.total, state.left) == (len(stored), 12, None)


def test_truncated_and_padded_prompts_are_no_lengths_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about: dict[int, dict[str, Facet]] = {512: {}, 256: {"cut_from": 512}, 128: {"context": "padded"}}
    monkeypatch.setattr(
        run_suites, "sample", lambda number, length: replace(sample(number, length), facets=about[length])
    )
    suite = make_suite(tmp_path, 6, lengths=tuple(about))
    run(suite, "fathom/first", out=tmp_path / "run")
    state, _ = read_live(tmp_path / "run", 60)
    assert state is not None
    assert [(row.length, row.finished, row.planned) for row in state.lengths] == [(512, 2, 2)]
    assert (state.finished, state.total) == (6, 6)


def test_what_came_later_is_read_later_and_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = LiveReader(folder)
    assert not reader.read(time.monotonic() - 1)
    assert reader.state().finished == 0
    assert reader.read()
    assert reader.state().finished == 12
    monkeypatch.setattr("fathom.report.live.reading.scored_rows", None)
    assert reader.read()


def test_replies_that_a_judge_will_score_wait_for_it(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 4, tasks=("single_doc_qa",))
    run(suite, "fathom/first", out=tmp_path / "run")
    reader = LiveReader(tmp_path / "run", judge="openai/judge")
    reader.read()
    state = reader.state()
    assert state.waiting == 4
    assert [row.mean for row in state.lengths] == [None]
    assert "4 waiting for the judge" in log_line(state)
    assert read_live(tmp_path / "run", 60) != (state, ())


def counts(finished: int) -> Progress:
    return Progress(finished, 12, {**dict.fromkeys(STATUSES, 0), "ok": finished}, 10, 1, 0.0, 1.0, finished)


class Screen(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(folder: Path, monkeypatch: pytest.MonkeyPatch, *, terminal: bool, until: str = "replies") -> str:
    """What a panel writes while a run goes on until it has written a text."""
    written, wrote = Screen(), threading.Event()
    write = written.write

    def watched(text: str) -> int:
        if until in text:
            wrote.set()
        return write(text)

    monkeypatch.setattr(written, "write", watched)
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr(panels, "FIRST_LINE", 0.0)
    monkeypatch.setattr(panels, "FIRST_LOOK", 0.0)
    monkeypatch.setattr(panels, "SHARE", 1e9)
    one = Panel("my-model", terminal=terminal)
    one.progress(counts(12))
    with one.watch(folder, 4):
        assert wrote.wait(60)
    return written.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_panel_shows_scores_on_a_terminal_and_in_a_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    text = shown(folder, monkeypatch, terminal=terminal, until="256")
    assert "my-model" in text
    assert "12 of 12 replies (100%)" in text
    assert "256" in text


def test_a_panel_that_cannot_read_the_run_shows_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "12 of 12 replies (100%)" in shown(tmp_path / "absent", monkeypatch, terminal=False)


@pytest.mark.parametrize("broken", ["LiveReader", "log_line", "threading.Thread.start"])
def test_a_panel_that_fails_does_not_fail_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fail(*about: Any, **more: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(panels, "FIRST_LINE", 0.0)
    if "." in broken:
        monkeypatch.setattr(threading.Thread, "start", fail)
    else:
        monkeypatch.setattr(panels, broken, fail)
    one = Panel("m", terminal=False)
    summary = run(make_suite(tmp_path, 4), "fathom/first", out=tmp_path / "run", progress=one.progress, watch=one.watch)
    assert summary.progress is not None
    assert summary.progress.finished == 4


def test_a_look_that_takes_long_leaves_the_terminal_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looking, go_on, written = threading.Event(), threading.Event(), Screen()

    def look(self: Panel, *about: object, **more: object) -> None:
        looking.set()
        go_on.wait(60)

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr(panels, "ENDING", 0.05)
    monkeypatch.setattr(Panel, "_look", look)
    before = {*threading.enumerate()}
    with Panel("m", terminal=True).watch(folder, 4):
        assert looking.wait(60)
    hidden, shown_again = written.getvalue().rfind("\x1b[?25l"), written.getvalue().rfind("\x1b[?25h")
    assert -1 < hidden < shown_again
    assert sys.stderr is written
    go_on.set()
    for thread in {*threading.enumerate()} - before:
        thread.join()
    assert sys.stderr is written


def test_a_run_leaves_no_log_of_its_store_behind(tmp_path: Path) -> None:
    one = Panel("m", terminal=True)
    run(make_suite(tmp_path, 40), "fathom/first", out=tmp_path / "run", progress=one.progress, watch=one.watch)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"replies.sqlite", "run.json"}


def test_a_panel_of_a_judge_shows_scores_as_judgements_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged_runs.install_tasks(monkeypatch)
    monkeypatch.setattr("fathom.run.cases.model.open_client", lambda settings, tokenizer: judged_runs.Judge())
    folder = judged_runs.make_run(
        tmp_path / "run", [(judged_runs.sample(number), f"It is {number}.") for number in range(6)]
    )
    reader = LiveReader(folder, judge="lab/judge")
    reader.read()
    before = reader.state()

    @contextmanager
    def watch(watched: Path, connections: int) -> Iterator[None]:
        assert (watched, connections) == (folder, 2)
        yield
        reader.read()

    judge(folder, "lab/judge", max_connections=2, backoff=0.0, watch=watch)
    assert (before.waiting, reader.state().waiting) == (6, 0)
    assert [row.mean is None for row in before.lengths] == [True]
    assert [row.mean is None for row in reader.state().lengths] == [False]


def test_a_panel_that_knows_no_request_takes_the_time_left_from_its_counts() -> None:
    panel = Panel("my-judge", terminal=False)
    panel.progress(counts(2))
    panel._first = (time.monotonic() - 10, 2)
    panel.progress(counts(7))
    now = panel._now()
    assert now is not None
    assert now.left == pytest.approx(10, rel=0.1)


def test_a_part_of_the_replies_of_a_run_is_not_shown_as_if_it_were_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panels, "FIRST_LOOK", 0.0)
    monkeypatch.setattr(panels, "SHARE", 1e9)
    panel = Panel("my-model", terminal=False)
    panel.progress(counts(12))
    monkeypatch.setattr(panels, "STEP", -1.0)
    panel._look(folder, 4, time.monotonic() - 5)
    assert panel._now() == Live(12, 12, tokens_in=10, tokens_out=1, cost=0.0)
    monkeypatch.setattr(panels, "STEP", 60.0)
    panel._look(folder, 4, time.monotonic() - 5)
    now = panel._now()
    assert now is not None
    assert sum(row.finished for row in now.lengths) == 12
