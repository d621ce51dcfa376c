"""A newcomer types the README: every command of it ends well where there is a server, a key and documents."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from scripted_server import ScriptedServer, completion

import files_of_docs
from command_line import Call

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh ([^\n]+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PORT = "http://127.0.0.1:8000/v1"
# What is typed beside the line so that it takes seconds; `--yes` is the answer to the question whether to start.
SHORTER = {"measure": "--quick --yes --no-open", "build": "--items 2", "browse": "--out pages"}
ELSEWHERE = {"lab": "a model on this machine: tests/extend", "gate": "exit code 3 of two small runs is no error"}


def typed() -> list[str]:
    """Every line of the blocks of commands, without comments."""
    lines = [line.partition("  #")[0].strip() for _, text in BLOCKS for line in text.splitlines()]
    return [line for line in lines if line]


def test_each_line_that_is_no_command_of_fathom_prepares_one() -> None:
    others = [line for line in typed() if not line.startswith("fathom ")]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for line in others:
        words = line.split("  ")[0].split()
        if words[0] == "make":
            assert words[1] in targets
        elif words[:2] == ["pip", "install"]:
            assert words[2].strip("'.[]") in extras
        else:
            assert line in ("python3 -m venv .venv && source .venv/bin/activate", "export OPENAI_API_KEY=...")
    # An environment comes before what is installed into it.
    assert others.index("python3 -m venv .venv && source .venv/bin/activate") < others.index("pip install '.[inspect]'")


@pytest.mark.slow
def test_a_newcomer_types_every_command_of_the_readme(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    files_of_docs.make(made)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-newcomer")
    monkeypatch.setattr(sys, "stdin", None)
    with ScriptedServer(lambda *_: completion("I do not know.")) as server:
        for line in filter(lambda line: line.startswith("fathom "), typed()):
            words = shlex.split(line.replace(PORT, server.base_url))
            if words[1] in ELSEWHERE:
                continue
            files_of_docs.give(made, words)
            more = SHORTER.get(words[1], "").split()
            if words[1] == "measure" and words[2] == "local":  # which downloads a model; test_local_model has it
                continue
            if words[1] == "measure" and "--model-base-url" not in words:  # in place of OpenAI's own server
                more += ["--model-base-url", server.base_url]
            code, out, err = call(*words[1:], *(word for word in more if word not in words))
            assert code == 0, f"{line}\n{out}{err}"
            assert out.strip(), line
