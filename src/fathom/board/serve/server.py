"""The server process: listens, serves the application until a signal, and builds the site."""

import logging
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from fathom.board.serve.app import make_app
from fathom.board.serve.checking import Policy, check_of
from fathom.board.serve.limits import Limits
from fathom.board.serve.own import OwnResults
from fathom.board.serve.process import run_process
from fathom.board.serve.publishing import Build, Publisher
from fathom.board.serve.store import Store
from fathom.runfile.manifest import FILE
from fathom.runfile.manifest import read_manifest as read_run
from fathom.server.backup import serving
from fathom.server.listening import Service, address_of, listening, private_files, serve_app
from fathom.server.logs import set_up
from fathom.server.metrics import Metrics, exposed
from fathom.suites.suitefile import read_manifest as read_suite
from fathom.types import FathomError

log = logging.getLogger("fathom.board")
BUILD_SECONDS = 3600.0
"""Time limit for building the site."""
_EMPTY = "<!doctype html><meta charset=utf-8><title>No results yet</title><p>There are no results yet.</p>\n"
PUBLIC = 0o022
"""Permissions on the files of a site that only the owner has: writing."""


@dataclass(frozen=True, slots=True)
class Page:
    """What the site shows besides the results that are sent.

    Attributes:
        results: The site's own results: runs, rows files and bundles.
        models: A file of facts about models, see ``fathom.board.model_facts``.
        published: Whether published results are shown.
    """

    results: Sequence[Path]
    models: Path | None
    title: str | None
    published: bool

    @property
    def options(self) -> list[str]:
        """The options of ``board build`` for it."""
        words = [f"--title={self.title}"] * (self.title is not None) + ["--no-published"] * (not self.published)
        return words + ([f"--models={self.models.resolve()}"] if self.models is not None else [])


def serve(store: str, out: Path, page: Page, policy: Policy, limits: Limits, service: Service) -> None:
    """Serves a leaderboard and accepts bundles, until interrupted.

    Args:
        store: A folder (SQLite) or the URL of a PostgreSQL database.
        out: Folder of the sites; ``current`` in it is the served one.
        page: What the site shows.
        policy: Requirements for bundles.
        limits: Limits for each person and address.
        service: Where it listens, and how it is watched.

    Raises:
        FathomError: No suite is given, the store or a folder cannot be opened, or the port is taken.
    """
    _check(policy)
    policy = replace(policy, names=(*policy.names, *_models(page.results)))
    set_up("fathom.board", service.log_format)
    stopping, counted = threading.Event(), Metrics("board")
    with (
        private_files(),
        listening(service.host, service.port) as listener,
        exposed(service.metrics, counted.registry) as exposed_at,
        closing(Store(store)) as opened,
        serving(store),
    ):
        options = [*page.options, *(f"--suite={folder.resolve()}" for folder in policy.suites)]
        own = [result.resolve() for result in page.results]
        publisher = Publisher(opened, out.resolve(), build_of(own, options, stopping), stopping)
        check = check_of(policy, limits, stopping, OwnResults(own, stopping))
        app = make_app(opened, publisher, check, limits, counted, proxied=bool(service.proxies))
        if exposed_at:
            log.info("metrics are at %s", exposed_at)
        if service.ready:
            service.ready(address_of(service.host, listener))
        serve_app(app, listener, stopping, limits, service.proxies)


def _models(results: Sequence[Path]) -> Iterator[str]:
    """Models of the runs among results."""
    for path in results:
        for run in (path, *(sorted(path.iterdir()) if path.is_dir() else ())):
            if (run / FILE).is_file():
                yield str(read_run(run)["model"])


def _check(policy: Policy) -> None:
    """Checks the policy at start, instead of at the first bundle."""
    if not policy.suites and not policy.any_suite:
        raise FathomError(
            "give the suites whose bundles are accepted, each with `suite` FOLDER, so that scores can be recomputed; "
            "`any_suite` accepts all suites, without verifying their references"
        )
    for folder in policy.suites:
        read_suite(folder)


def build_of(results: Sequence[Path], options: Sequence[str], stopping: threading.Event) -> Build:
    """``board build`` in a separate process, because it takes much memory."""

    def build(bundles: Sequence[Path], out: Path) -> None:
        if "--no-published" in options and not [*results, *bundles]:  # a new board, or its last entry was removed
            out.mkdir(parents=True)
            (out / "index.html").write_text(_EMPTY, "utf-8")
            out.chmod(0o777 & ~PUBLIC)
            (out / "index.html").chmod(0o666 & ~PUBLIC)
            return
        command = [sys.executable, "-c", "from fathom.cli import main; main()", "board", "build", "--quiet", *options]
        end = run_process([*command, f"--out={out}", *map(str, [*results, *bundles])], BUILD_SECONDS, stopping, PUBLIC)
        if end.code is None:
            raise FathomError(f"board build took more than {BUILD_SECONDS:g} seconds")
        if end.code:
            reason = end.err.strip().removeprefix("fathom: ")
            raise FathomError(reason[-2000:] or f"board build ended with status {end.code}")

    return build
