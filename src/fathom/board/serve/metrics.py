"""Metrics of the leaderboard's server beyond those of its requests: submissions, checks, and the site."""

import time
from pathlib import Path
from typing import get_args

from prometheus_client import Gauge, Histogram

from fathom.board.serve.checking import Check, CheckResult
from fathom.board.serve.publishing import Publisher
from fathom.board.serve.schema import submissions
from fathom.board.serve.store import State, Store
from fathom.server.limits import Shares
from fathom.server.metrics import SECONDS, Metrics


def watch_store(metrics: Metrics, store: Store, folders: dict[str, Path]) -> None:
    """Adds the submissions by state, the connections to the store and the free space of folders."""
    states = get_args(State)
    metrics.watch(store, folders, lambda: {"submissions": dict.fromkeys(states, 0) | store.by_state(submissions)})


def watch_work(metrics: Metrics, publisher: Publisher, under_way: Shares) -> None:
    """Adds the bundles in progress, and whether the site is up to date."""
    progress = Gauge(
        "fathom_board_bundles_in_progress",
        "Bundles that are being received, wait for their check, or are being checked.",
        registry=metrics.registry,
    )
    progress.set_function(lambda: under_way.held)
    failed = Gauge("fathom_board_site_failed", "Whether the last build of the site failed.", registry=metrics.registry)
    failed.set_function(lambda: float(publisher.failed))
    built = Gauge(
        "fathom_board_site_built_timestamp_seconds",
        "When this process last had the site of the accepted submissions; 0 before.",
        registry=metrics.registry,
    )
    built.set_function(lambda: publisher.built)


def timed(check: Check, metrics: Metrics) -> Check:
    """A check of bundles that is timed: ``valid``, ``refused``, or ``failed`` if the server could not check it."""
    seconds = Histogram(
        "fathom_board_validation_seconds",
        "Duration of checks of bundles.",
        ["result"],
        buckets=SECONDS,
        registry=metrics.registry,
    )

    def check_timed(path: Path) -> CheckResult:
        began, result = time.monotonic(), "failed"
        try:
            checked = check(path)
            result = "refused" if checked.reasons else "valid"
            return checked
        finally:
            seconds.labels(result).observe(time.monotonic() - began)

    return check_timed
