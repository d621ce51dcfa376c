"""Quick rehearsals of restoring and upgrading; ``performance/restore_servers.py`` has the figures of larger ones."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "performance"))

import upgrade_servers  # noqa: E402
from restore_servers import rehearse_board, rehearse_studio  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture(params=["sqlite", "postgresql"])
def own_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that may be destroyed."""
    if request.param == "sqlite":
        return str(tmp_path / "store")
    if shutil.which("pg_dump") is None:
        pytest.skip("there is no pg_dump on this machine")
    url: str = request.getfixturevalue("new_database")
    return url


def test_a_destroyed_leaderboard_comes_back_from_its_backup(own_place: str, tmp_path: Path) -> None:
    rehearsed = rehearse_board(own_place, tmp_path, submissions=25)
    assert rehearsed.lost == 0
    assert rehearsed.before >= 20
    assert rehearsed.after >= 1


def test_a_destroyed_studio_comes_back_from_its_backup(own_place: str, tmp_path: Path) -> None:
    rehearsed = rehearse_studio(own_place, tmp_path, seconds=1.5)
    assert rehearsed.lost == 0
    assert rehearsed.before > 10


def test_a_store_of_the_first_version_is_upgraded_and_rolled_back(tmp_path: Path) -> None:
    """Needs the history of the repository, and what the earlier version depends on."""
    commit = "fd4f7743"
    known = subprocess.run(["git", "-C", str(ROOT), "cat-file", "-e", commit], capture_output=True, check=False)
    if known.returncode:
        pytest.skip("this checkout has no history (git fetch --unshallow)")
    try:
        old = upgrade_servers.earlier(commit, tmp_path / "old")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the earlier version cannot be installed here: {error.cmd[:5]}")
    (tmp_path / "board").mkdir()
    stores = str(tmp_path / "store"), str(tmp_path / "back")
    figures = upgrade_servers.upgrade_board(old, *stores, tmp_path / "board")
    assert figures["submissions"] == 4
    assert figures["bundles"] == 2
    assert figures["scores equal"] is True
