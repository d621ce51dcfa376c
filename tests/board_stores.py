"""Fixtures of the board's tests: stores in SQLite and in a real PostgreSQL, and the site of published results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from made_once import made_once
from postgres import NoPostgresError, postgres

if TYPE_CHECKING:
    from fathom.board.serve.store import Store

_numbers = itertools.count()


@pytest.fixture(scope="session")
def database_server() -> Iterator[str]:
    """The URL of a real PostgreSQL; tests that need it are skipped where there is none."""
    with ExitStack() as open_until_the_end:
        try:
            url = open_until_the_end.enter_context(postgres())
        except NoPostgresError as reason:
            pytest.skip(str(reason))
        yield url


@pytest.fixture
def new_database(database_server: str) -> Iterator[str]:
    """The URL of an empty database of its own, which is dropped at the end."""
    import psycopg

    name = f"board{next(_numbers)}"
    with psycopg.connect(database_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield f"{database_server.rpartition('/')[0]}/{name}".replace("postgresql://", "postgresql+psycopg://")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.long])])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is: a folder, then a database."""
    if request.param == "sqlite":
        return str(tmp_path / "store")
    url: str = request.getfixturevalue("new_database")
    return url


@pytest.fixture
def opened(place: str) -> Iterator[Callable[[], Store]]:
    """Opens the store, as often as it is called; each is closed at the end."""
    from fathom.board.serve.store import Store

    with ExitStack() as open_until_the_end:
        yield lambda: open_until_the_end.enter_context(closing(Store(place)))


@pytest.fixture
def store(opened: Callable[[], Store]) -> Store:
    """The store, open."""
    return opened()


@pytest.fixture(scope="session")
def published_site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of a site of all published results, for tests that only read it."""
    from fathom.board.build import SiteSettings, build_site

    def make(out: Path) -> None:
        build_site(SiteSettings(examples=False), out)

    return made_once(tmp_path_factory, worker_id, "published-site", make)
