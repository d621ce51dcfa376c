"""A newcomer types the README word by word where there is nothing but the wheel with its own libraries.

An empty environment, an empty home, no variables and no checkout. ``make newcomer`` runs it; it takes minutes, so that
``make test`` does not.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from scripted_server import ScriptedServer, completion
from test_newcomer import README, typed

import files_of_docs
from test_install import archives, environment

__all__ = ["archives"]  # a fixture
PORT = "http://127.0.0.1:8000/v1"
# What is typed beside the line so that it takes seconds; `--yes` is the answer to the question whether to start.
SHORTER = {"measure": "--quick --yes --no-open", "build": "--items 2", "browse": "--out pages"}
ELSEWHERE = {"lab": "a model on this machine: tests/extend", "gate": "exit code 3 of two small runs is no error"}
PYTHON = re.findall(r"^```python run\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_a_newcomer_with_nothing_types_the_readme(
    archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = environment(tmp_path / "environment", *archives.glob("*.whl"))
    made, home, work = (tmp_path / name for name in ("made", "home", "work"))
    for folder in (home, work):
        folder.mkdir()
    files_of_docs.make(made)
    monkeypatch.chdir(work)
    variables = {"PATH": os.pathsep.join((str(programs), "/usr/bin", "/bin")), "HOME": str(home)}

    def type_in(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line], cwd=work, env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        said = (done.stdout + done.stderr).decode()  # whatever the locale, text is UTF-8
        assert done.returncode == 0, f"{line}\n{said}"
        assert "Traceback" not in said, f"{line}\n{said}"
        return done.stdout.decode()

    with ScriptedServer(lambda *_: completion("I do not know.")) as server:
        for line in typed():
            if line.startswith("export "):
                name, _, value = line.removeprefix("export ").partition("=")
                variables[name] = value
            words = shlex.split(line)
            if words[0] != "fathom" or words[1] in ELSEWHERE or words[1:3] == ["measure", "local"]:
                continue  # what is installed beside the wheel has tests of its own
            files_of_docs.give(made, words)
            more = SHORTER.get(words[1], "")
            if words[1] == "measure" and "--model-base-url" not in words:  # in place of OpenAI's own server
                more += f" --model-base-url {server.base_url}"
            said = type_in(f"{line.replace(PORT, server.base_url)} {more}")
            assert said.strip(), line
    (work / "first.py").write_text("".join(PYTHON), "utf-8")
    assert "fathom/lexical" in type_in("python first.py")
    assert {path.name for path in home.iterdir()} <= {".cache"}
