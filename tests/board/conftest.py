"""What several tests of boards look at."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def published_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a site of all published results, for tests that only read it."""
    from fathom.board.build import Wanted, build_site

    out = tmp_path_factory.mktemp("published") / "site"
    build_site(Wanted(examples=False), out)
    return out
