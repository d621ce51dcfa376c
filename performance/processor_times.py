"""The tests and files of tests that take most of the processor, with the processes that they start.

    PYTHONPATH=performance pytest -p processor_times              # prints the 40 dearest of each at the end
    SHOWN=400 PYTHONPATH=performance pytest -p processor_times    # prints more

Times of processes that are no child of the tests, such as PostgreSQL, are not in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

SHOWN = int(os.environ.get("SHOWN", "40"))
_TICKS = os.sysconf("SC_CLK_TCK")
_PROPERTY = "seconds of the processor"
_started = pytest.StashKey[int]()
_seconds: dict[str, float] = {}


def _spent(pid: int) -> int:
    """Clock ticks of a process, of its children that have ended, and of those that run."""
    ticks = 0
    with suppress(OSError):  # it has ended
        ticks = sum(map(int, Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11:15]))
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # only this thread has ended: what the others took still counts
                ticks += sum(map(_spent, map(int, (task / "children").read_text("utf-8").split())))
    return ticks


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Begin a test with its fixtures."""
    item.stash[_started] = _spent(os.getpid())
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Say with the last report of a test what it took, which a worker sends as well."""
    if call.when == "teardown":
        item.user_properties.append((_PROPERTY, (_spent(os.getpid()) - item.stash[_started]) / _TICKS))
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what a test took, in whichever process it ran."""
    if report.when == "teardown":
        said = [float(str(value)) for name, value in report.user_properties if name == _PROPERTY]
        _seconds[report.nodeid] = sum(said)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the dearest tests and files."""
    files = dict.fromkeys((name.partition("::")[0] for name in _seconds), 0.0)
    for name, seconds in _seconds.items():
        files[name.partition("::")[0]] += seconds
    terminalreporter.write_line(f"{sum(_seconds.values()):.0f} seconds of the processor in {len(_seconds):,} tests")
    for dearest in (_seconds, files):
        for name, seconds in sorted(dearest.items(), key=lambda one: -one[1])[:SHOWN]:
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")
