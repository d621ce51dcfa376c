"""Reads a run folder again and again: only what is new is read and scored."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fathom.analysis import CurvePoint
from fathom.analysis.curve import curve_of
from fathom.analysis.grid import ALL
from fathom.analysis.known import THRESHOLD, without
from fathom.analysis.profile import profiles
from fathom.plugins import loading
from fathom.report.live.state import Clock, Finished, Live, Planned, live
from fathom.report.reading import without_known
from fathom.rows.runs import failure_sentences, scored_rows
from fathom.rows.schema import to_frame
from fathom.rows.scoring import NOT_JUDGED, RULES, Judged, choose_judges, read_judged
from fathom.rows.table import RowsTable
from fathom.runfile.manifest import read_manifest
from fathom.runfile.store import StoredReply, new_replies, planned_cells, working_since
from fathom.types import FathomError, Row
from fathom.types.samples import is_whole

TOGETHER = 200
"""Replies that are read at once."""
REPLICATES = 1000
"""Replicates of intervals while a run goes on; the report has ten times as many, so that its ends differ a little."""


class LiveReader:
    """The state of a run as its folder shows it.

    Args:
        folder: The run folder.
        judge: The judge that scores replies now or later: tasks with a rubric wait for it. None if there will be none.
        connections: Requests in flight at once; None if unknown.

    Raises:
        FathomError: It holds no run, or its tasks cannot be used.
    """

    def __init__(self, folder: Path, judge: str | None = None, connections: int | None = None) -> None:
        self.folder = folder
        self.connections = connections
        self._manifest: Mapping[str, Any] = read_manifest(folder)
        loading.use_again(self._manifest["suite"].get("plugins"), folder)
        self._judge = judge
        self._judged = self._judgements()
        self._waiting: dict[tuple[str, int], StoredReply] = {}
        self._last = 0
        self._plan: Mapping[tuple[str, int], Planned] = {}
        self._replies: dict[tuple[str, int], Finished] = {}
        self._rows: dict[tuple[str, int], Row] = {}
        self._frame: pl.DataFrame | None = None
        self._new: list[Row] = []
        self._curve: list[CurvePoint] = []

    def _judgements(self) -> Sequence[Judged]:
        if self._judge is None:
            return read_judged(self.folder, choose_judges([self.folder], None))
        try:
            return read_judged(self.folder, choose_judges([self.folder], self._judge)) or (Judged(self._judge, {}),)
        except FathomError:  # other judges were here before it
            return (Judged(self._judge, {}),)

    @property
    def model(self) -> str:
        """Name of the model."""
        return str(self._manifest["model"])

    def read(self, until: float | None = None) -> bool:
        """Read and score what is new.

        Args:
            until: Monotonic time at which scoring ends; what is left is read at the next call. None for no limit.

        Returns:
            Whether all is read.

        Raises:
            FathomError: The store cannot be read.
        """
        if not self._plan:
            self._plan = {cell: Planned(*counts) for cell, counts in planned_cells(self.folder).items()}
        while True:
            stored = new_replies(self.folder, self._last, TOGETHER)
            for place, reply in stored:
                if until is not None and time.monotonic() > until:
                    return False
                self._last = place
                self._add(reply)
            if len(stored) < TOGETHER:
                break
        self._read_judgements(until)
        return True

    def _read_judgements(self, until: float | None) -> None:
        """Score the replies that were judged meanwhile, which is in the order of the replies."""
        if not self._waiting:
            return
        known, self._judged = self._judged, self._judgements()
        if sum(len(judge.judgements) for judge in known) == sum(len(judge.judgements) for judge in self._judged):
            return
        waiting = 0
        for key, stored in list(self._waiting.items()):
            if waiting == TOGETHER or (until is not None and time.monotonic() > until):
                return
            self._score(stored)
            waiting = waiting + 1 if key in self._waiting else 0

    def _add(self, stored: StoredReply) -> None:
        key = stored.sample, stored.epoch
        if key not in self._replies or self._replies[key].at != stored.finished_at:
            self._score(stored)

    def _score(self, stored: StoredReply) -> None:
        key = stored.sample, stored.epoch
        (row,) = scored_rows([stored], self._manifest, RULES[0], self._judged)
        waiting = row.value is None and row.detail.startswith(NOT_JUDGED)
        failed = stored.reply.status == "error"
        self._replies[key] = _finished(stored, failed=failed, waiting=waiting)
        self._waiting.pop(key, None)
        if waiting:
            self._waiting[key] = stored
        if self._rows.pop(key, None) is not None:
            self._frame, self._new = None, list(self._rows.values())
        # Those are repeated or scored before the report is made.
        if not (failed or waiting):
            self._rows[key] = row
            self._new.append(row)

    def scorer_failures(self, *, whole: bool) -> tuple[str, ...]:
        """One sentence for each exception that a scorer raised on the replies so far.

        Args:
            whole: Whether these are all.
        """
        details = [(row.sample, row.detail) for row in self._rows.values()]
        return failure_sentences(self.model, details, whole=whole)

    def state(self, total: int | None = None) -> Live:
        """The state of the run.

        Args:
            total: Replies that there will be, if not all that were ever planned.
        """
        if self._new:
            more = to_frame(self._new)
            self._frame, self._new = more if self._frame is None else pl.concat([self._frame, more]), []
            self._curve = _curve(self._frame)
        now = time.time()
        since = working_since(self.folder)
        clock = Clock(now, now if since is None else since, self.connections, working=since is not None)
        return live(self._plan, list(self._replies.values()), self._curve, clock, total)


def read_live(folder: Path, seconds: float) -> tuple[Live | None, tuple[str, ...]]:
    """The state of a run, and a sentence for each exception that a scorer raised on its replies.

    The state is None if they cannot be scored in so many seconds; there are no sentences either if its tasks cannot be
    used.

    Args:
        seconds: Time for scoring.
    """
    try:
        reader = LiveReader(folder)
        whole = reader.read(time.monotonic() + seconds)
        return reader.state() if whole else None, reader.scorer_failures(whole=whole)
    except FathomError:
        return None, ()


def _curve(rows: pl.DataFrame) -> list[CurvePoint]:
    """The curve of the report, of the replies so far: without questions that are answered closed-book."""
    known = without_known(RowsTable(rows), filter=None, threshold=THRESHOLD, panel=None)
    left = without(rows.lazy(), known.gone).collect()
    return [point for point in curve_of(profiles(left, replicates=REPLICATES)) if point.task == ALL]


def _finished(stored: StoredReply, *, failed: bool, waiting: bool) -> Finished:
    reply = stored.reply
    read = stored.tokens if reply.tokens_in is None else reply.tokens_in
    return Finished(
        task=stored.task,
        length=stored.length if is_whole(stored.length, stored.facets) else 0,
        tokens=stored.tokens,
        seconds=reply.seconds,
        at=stored.finished_at,
        tokens_in=read if stored.prompt_hash else 0,
        tokens_out=reply.tokens_out or 0,
        cost=stored.cost if stored.prompt_hash else None,
        failed=failed,
        waiting=waiting,
    )
