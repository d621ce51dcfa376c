"""What several tests share: a cache of their own, and where the shared data lies."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest

# Tests that put other tasks into the registry must not be the first to import what takes its functions by name.
import fathom.catalogue
import fathom.suites.build  # noqa: F401
from command_line import Call
from fathom.stats.intervals import kept_draws
from processes import end_all

pytest_plugins = ["board_stores", "studio_stores"]

# Hundreds of processes start fathom, and every worker reads all files of tests. Where the environment forbids to keep
# what was compiled, as in many containers, most of their time would be compiling the same sources again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Workers and the processes of tests fill the cores already; threads of theirs would only wait for each other.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}

# Many tests write small databases, each commit of which waits for the disk: where there is room, they are in memory.
MEMORY = Path("/dev/shm")
ROOM = 4 << 30
if MEMORY.is_dir() and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC and shutil.disk_usage(MEMORY).free >= ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

gc.disable()  # until all tests are collected
gc.set_threshold(10_000)  # and then less often: a tenth of the time of tests was that


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """More workers than cores: tests wait for servers, browsers and processes, the quick ones less."""
    return (1 if "not slow" in config.option.markexpr else 2) + (os.cpu_count() or 1)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end: the garbage collector need not look at them, not even once."""
    gc.freeze()
    gc.enable()


def pytest_sessionstart() -> None:
    """A shell's background job inherits ignored signals; tests and the processes they start rely on the defaults."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


SHARED = Path(__file__).parents[2] / "shared"

# The first example of a test may have to load a vocabulary; time is never what is tested.
hypothesis.settings.register_profile("fathom", deadline=None, max_examples=50)
hypothesis.settings.load_profile("fathom")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module", autouse=True)
def kept_weights(request: pytest.FixtureRequest) -> Iterator[None]:
    """Simulated studies of as many items have the same weights: the tests of a module draw them once, as reports do."""
    if request.module.__name__.rpartition(".")[2] == "test_interval":  # has tests of this
        yield
        return
    with kept_draws():
        yield


@pytest.fixture(autouse=True)
def no_process_stays() -> Iterator[None]:
    """Processes that a test started end with it, also where it failed."""
    yield
    end_all()


@pytest.fixture(autouse=True)
def logs_of_servers_stay_in_their_test() -> Iterator[None]:
    """Put back what a server in this process changed: it logs to a stream that ends with the test."""
    logs = [logging.getLogger(name) for name in ("fathom.board", "fathom.studio", "fathom.server", "uvicorn.error")]
    before = [(log.handlers, log.propagate, log.level) for log in logs]
    yield
    for log, (handlers, propagate, level) in zip(logs, before, strict=True):
        log.handlers, log.propagate = handlers, propagate
        log.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """Each client of a server would read those of all authorities, which takes longer than its requests."""
    try:
        import httpcore2

        read = httpcore2.default_ssl_context
    except (ImportError, AttributeError):  # another version of the library: each test reads them
        yield
        return
    contexts = cache(lambda *where: read(_trust_env=where[0]))
    with pytest.MonkeyPatch.context() as patch:
        names = ("SSL_CERT_FILE", "SSL_CERT_DIR")
        patch.setattr(
            httpcore2,
            "default_ssl_context",
            lambda *, _trust_env=True: contexts(_trust_env, *map(os.environ.get, names)),
        )
        yield


@pytest.fixture(autouse=True)
def plain_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect draws a coloured traceback of every failed request, which is most of what such tests would cost."""
    if (drawing := sys.modules.get("inspect_ai.model._model")) is not None:
        monkeypatch.setattr(drawing, "format_traceback", lambda *error: ("", ""), raising=False)


@pytest.fixture
def shared() -> Path:
    """The folder of shared data; tests that need it are skipped where it is not."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the shared data are not beside this checkout")
    return SHARED


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Calls the command in a folder of its own, with room for wide tables."""
    from fathom.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fathom", *map(str, words)])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        return int(str(code or 0)), printed.out, printed.err

    return call
