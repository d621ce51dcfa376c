"""CI names a test that fails once and passes alone, and fails when it has seen it before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

AGAIN = Path(__file__).parents[1] / ".ci" / "again"
UNSTABLE = """
from pathlib import Path

def test_a():
    count = Path(__file__).with_name("count")
    runs = int(count.read_text()) if count.exists() else 0
    count.write_text(str(runs + 1))
    assert runs % 2

def test_b():
    assert True
"""


def finishes(folder: Path, *words: str) -> tuple[int, str]:
    # Without the other plugins, which take longer to start than all that is tested here.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.slow
def test_what_fails_once_is_named_and_fails_the_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(AGAIN, tmp_path / ".ci" / "again")
    seen = tmp_path / ".ci" / "unstable.txt"
    seen.touch()
    (tmp_path / "test_it.py").write_text(UNSTABLE)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for code in (0, 1):  # unstable once, and once more
        assert finishes(tmp_path, "-m", "pytest", "-q")[0] == 1
        ended, told = finishes(tmp_path, ".ci/again")
        assert ended == code
        assert "test_it.py::test_a" in told
        assert ("::warning file=.ci/unstable.txt::unstable: test_it.py::test_a" in told) == (code == 0)
        (line,) = seen.read_text().splitlines()
        assert line.endswith(" test_it.py::test_a")
    (tmp_path / "test_it.py").write_text("def test_a():\n    assert False\n")
    assert finishes(tmp_path, "-m", "pytest", "-q")[0] == 1
    assert finishes(tmp_path, ".ci/again")[0] == 1
    assert len(seen.read_text().splitlines()) == 1
