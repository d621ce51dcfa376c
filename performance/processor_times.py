"""The tests that take most of the processor, with the processes that they start.

    PYTHONPATH=performance pytest -n 0 -p processor_times    # prints the 40 dearest at the end

Times of processes that are no child of the tests, such as PostgreSQL, are not in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

SHOWN = 40
_TICKS = os.sysconf("SC_CLK_TCK")
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
    """Measure a test with its fixtures."""
    before = _spent(os.getpid())
    try:
        return (yield)
    finally:
        _seconds[item.nodeid] = (_spent(os.getpid()) - before) / _TICKS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the dearest tests."""
    terminalreporter.write_line(f"{sum(_seconds.values()):.0f} seconds of the processor in {len(_seconds):,} tests")
    for name, seconds in sorted(_seconds.items(), key=lambda one: -one[1])[:SHOWN]:
        terminalreporter.write_line(f"{seconds:8.1f}  {name}")
