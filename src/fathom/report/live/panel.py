"""Shows a run that goes on, from a thread of its own: a panel on a terminal, lines in a log."""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.report.live.reading import LiveReader
from fathom.report.live.state import Live
from fathom.report.live.text import log_line, panel_lines, result_lines
from fathom.report.results import Results
from fathom.runfile.progress import Progress

if TYPE_CHECKING:
    from rich.live import Live as Shown

TICK = 1.0
"""Seconds between two looks at a run."""
SHARE = 0.01
"""Share of the time that reading and scoring may take of a processor: short runs show scores once or not at all."""
FIRST_LOOK = 2.0
"""Seconds until scores are looked at; before, there are counts."""
STEP = 0.03
"""Seconds of scoring at a time, of a run that has many replies already."""
ENDING = 2.0
"""Seconds after which the end of a run waits no longer for its panel."""
FIRST_LINE, LINES = 30.0, 60.0
"""Seconds until the first line of a log, and between two; of a long run, a twentieth of its time."""


class Panel:
    """What a run shows while it goes on. Nothing that goes wrong here reaches the run.

    Args:
        title: What is run.
        judge: The judge that scores replies at the end, if one does.
        terminal: Whether there is a terminal on standard error; by default, that is looked up.
    """

    def __init__(self, title: str, judge: str | None = None, *, terminal: bool | None = None) -> None:
        self._title = title
        self._judge = judge
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._progress: Progress | None = None
        self._first: tuple[float, int] | None = None
        self._reader: LiveReader | None = None
        self._state: Live | None = None
        self._at = 0.0
        self._lines: list[str] = []
        self._left_out = self._read = False
        self._shown: Shown | None = None

    def progress(self, state: Progress) -> None:
        """Take down the counts of the run, after each reply."""
        self._progress = state
        self._first = self._first or (time.monotonic(), state.finished)

    @contextmanager
    def watch(self, folder: Path, connections: int) -> Iterator[None]:
        """Show a run while it goes on.

        Args:
            connections: Requests in flight at once.
        """
        ended, went_well = threading.Event(), False
        show = self._on_terminal if self._terminal else self._in_log
        thread = threading.Thread(
            target=self._guarded, args=(show, folder, connections, ended, lambda: went_well), daemon=True
        )
        with suppress(RuntimeError):  # no thread can be started
            thread.start()
        try:
            yield
            went_well = True
        finally:
            ended.set()
            if thread.ident is not None:
                thread.join(ENDING)
            if thread.is_alive() and self._shown is not None:  # the terminal must not stay as it is for the panel
                with suppress(Exception):
                    self._shown.stop()
            # The next folder is another run.
            self._reader = self._state = self._progress = self._first = None
            self._lines, self._left_out, self._read = [], False, False

    def _guarded(self, show: Callable[..., None], *about: object) -> None:
        with suppress(Exception):
            show(*about)

    def _on_terminal(
        self, folder: Path, connections: int, ended: threading.Event, went_well: Callable[[], bool]
    ) -> None:
        from rich.console import Console
        from rich.live import Live as Shown

        console = Console(stderr=True)
        began = time.monotonic()
        if ended.is_set():
            return
        with Shown(console=console, auto_refresh=False, vertical_overflow="crop") as shown:
            self._shown = shown
            while not ended.wait(0.0 if self._state is None else TICK):
                self._look(folder, connections, began)
                self._draw(shown, console.width)
                if self._state is None and ended.wait(TICK):
                    break
            # What a run has come to is said at its end; of one that was interrupted this is the last.
            shown.transient = went_well()

    def _in_log(self, folder: Path, connections: int, ended: threading.Event, went_well: Callable[[], bool]) -> None:
        began, wait = time.monotonic(), FIRST_LINE
        while not ended.wait(wait):
            # Between two lines there is time for all that came.
            self._look(folder, connections, began, whole=True)
            if (state := self._now()) is not None:
                print(f"{self._title}: {log_line(state)}", file=sys.stderr, flush=True)
            wait = max(LINES, (time.monotonic() - began) / 20)

    def _draw(self, shown: "Shown", width: int) -> None:
        from rich.text import Text

        state = self._now()
        lines = [] if state is None else panel_lines(state, self._title, width)
        if lines != self._lines:
            self._lines = lines
            shown.update(Text("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)

    def _look(self, folder: Path, connections: int, began: float, *, whole: bool = False) -> None:
        """Read what is new, if there is time for it."""
        passed = time.monotonic() - began
        if not whole and (passed < FIRST_LOOK or time.thread_time() > SHARE * passed):
            return
        with self._losing_the_reader():
            reader = self._open(folder, connections)
            if reader is not None:
                # Of a run with many replies already, a part would be shown as if there were no more.
                self._read = reader.read(None if whole else time.monotonic() + STEP) or self._read
                if self._read:
                    self._take(reader.state(self._total()))

    @contextmanager
    def _losing_the_reader(self) -> Iterator[None]:
        """Go on with counts alone if something goes wrong."""
        try:
            yield
        except Exception:
            self._left_out, self._reader, self._state = True, None, None

    def _open(self, folder: Path, connections: int) -> LiveReader | None:
        if self._reader is None and not self._left_out:
            self._reader = LiveReader(folder, self._judge, connections)
        return self._reader

    def _total(self) -> int | None:
        return None if self._progress is None else self._progress.total

    def _take(self, state: Live) -> None:
        self._state, self._at = state, time.monotonic()

    def _now(self) -> Live | None:
        """The last state with the counts of now; None before anything is known."""
        counts, state = self._progress, self._state
        if counts is None:
            return state
        state = state or Live(counts.finished, counts.total)
        passed = time.monotonic() - self._at
        return replace(
            state,
            finished=counts.finished,
            total=counts.total,
            failed=counts.counts["error"],
            in_batches=counts.in_batches,
            tokens_in=counts.tokens_in,
            tokens_out=counts.tokens_out,
            cost=counts.cost,
            left=self._left_at_this_rate(counts) if state.left is None else max(0.0, state.left - passed),
        )

    def _left_at_this_rate(self, counts: Progress) -> float | None:
        """The seconds left where no request is known, as of judges: what is missing takes as long as what came."""
        if self._first is None or counts.finished <= self._first[1]:
            return None
        began, before = self._first
        return (counts.total - counts.finished) * (time.monotonic() - began) / (counts.finished - before)


def print_scores(results: Results) -> None:
    """Print the scores by length of what was measured, as the panel had them, if there is a terminal to see it."""
    if sys.stderr.isatty():
        for system in results.systems:
            print("\n".join(result_lines(results, system, shutil.get_terminal_size().columns)), file=sys.stderr)
