"""Whole runs in another manner are remembered in a line each, with the names of the tests that failed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import signal
from pathlib import Path

def test_a():
    assert " " in Path(__file__).parent.name

def test_b():
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
"""


def finishes(folder: Path, *words: str) -> tuple[int, list[str]]:
    # Without plugins that take longer to start than all that is tested here.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    done = subprocess.run(
        [sys.executable, ".ci/manners", *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout.splitlines() + done.stderr.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="a clone needs git")
def test_a_run_in_another_manner_is_a_line_with_what_failed(tmp_path: Path) -> None:
    for name in (".ci/manners", "performance/random_order.py"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "test_it.py").write_text(TESTS)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Tests"]):
        subprocess.run([*git, *words], check=True)
    manners = ("spaces", "background", "busy", "random")
    assert finishes(tmp_path, *manners, "--", "-n", "0", "-p", "no:cacheprovider")[0] == 0
    assert finishes(tmp_path, "--", "-n", "0", "-p", "no:cacheprovider", "test_it.py")[0] == 1
    well, failed, *names = (tmp_path / ".ci" / "runs.txt").read_text("utf-8").splitlines()
    counts = r"2 tests, 0 failed, 0 errors, 0 skipped; \d+ s, \d+ s of the processor"
    assert re.search(rf"^\S+ \S+ [0-9a-f]+ spaces background busy random=\d+ -n 0 .*: {counts}$", well), well
    assert re.search(r" -n 0 .* test_it.py: 2 tests, 2 failed, 0 errors", failed), failed
    assert names == ["    test_it::test_a", "    test_it::test_b"]


def test_a_manner_that_is_none_is_named() -> None:
    ended, told = finishes(ROOT, "bussy")
    assert ended == 2
    assert "no manner 'bussy'; expected busy, stress" in told[-1]
