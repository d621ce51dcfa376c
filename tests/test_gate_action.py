"""The action of GitHub workflows decides as `fathom gate` does, and executes nothing that it is given."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fathom import api
from gate_action import Runner, program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bash") is None, reason="the scripts of the action need bash"),
]

# As the program of an installation, but that it is a fork of one that has loaded what it needs.
FATHOM = f"""import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from processes import MAIN, start_program
sys.exit(start_program(MAIN, *sys.argv[1:], stderr=None).wait())
"""
SRC = str(Path(api.__file__).parents[1])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite, and the runs of two offline baselines, of which one is far worse."""
    folder = tmp_path_factory.mktemp("runs")
    api.build("passkey", folder / "suite", corpus="world", tokenizer="words", lengths=["512"], items=40)
    for name in ("lexical", "guess"):
        api.run(folder / "suite", model=f"fathom/{name}", out=folder / name)
    return folder


@pytest.fixture
def runner(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (SRC, os.environ.get("PYTHONPATH")))))
    for one in runs.iterdir():
        (tmp_path / one.name).symlink_to(one)
    program(tmp_path / "bin", "fathom", FATHOM)
    return Runner(tmp_path, tmp_path / "bin", {"baseline": runs})


GATE = {"version": "installed", "margin": "0.2"}


def test_a_candidate_that_is_no_worse_passes(runner: Runner) -> None:
    found = runner.run(**GATE, candidate="lexical", baseline="lexical")
    assert (found.code, found.outputs["decision"], found.outputs["exit-code"]) == (0, "PASS", "0"), found.log
    assert found.summary.startswith("### fathom gate\n\n**PASS**")
    assert json.loads(Path(found.outputs["json"]).read_text("utf-8"))["decision"] == "PASS"
    assert ElementTree.parse(found.outputs["junit"]).getroot().tag == "testsuite"
    assert Path(found.outputs["markdown"]).read_text("utf-8") == found.summary


def test_a_candidate_that_is_run_here_fails_against_a_baseline_of_an_artifact(runner: Runner) -> None:
    found = runner.run(
        **GATE, suite="suite", model="fathom/guess", baseline_artifact="baseline", baseline="lexical", at="512"
    )
    assert (found.code, found.outputs["decision"]) == (1, "FAIL"), found.log
    assert "**FAIL**" in found.summary
    assert (Path(found.outputs["candidate"]) / "run.json").is_file()


@pytest.mark.parametrize(("inconclusive", "code"), [("fail", 3), ("pass", 0)])
def test_what_is_not_decided_fails_unless_it_may_pass(runner: Runner, inconclusive: str, code: int) -> None:
    found = runner.run(
        version="installed", margin="0.001", candidate="lexical", baseline="lexical", inconclusive=inconclusive
    )
    assert (found.code, found.outputs["decision"]) == (code, "INCONCLUSIVE")
    assert ("::warning title=fathom gate::" in found.log) is (code == 0)


def test_options_of_files_reach_the_run_and_the_gate(runner: Runner) -> None:
    (runner.folder / "run.toml").write_text("limit = 3\n", "utf-8")
    (runner.folder / "gate.toml").write_text("seed = 7\nunanswered = 'drop'\n", "utf-8")
    found = runner.run(
        **GATE,
        suite="suite",
        model="fathom/lexical",
        run_config="run.toml",
        gate_config="gate.toml",
        baseline="lexical",
    )
    made = Path(found.outputs["candidate"])
    assert json.loads((made / "run.json").read_text("utf-8"))["command"]["options"]["limit"] == 3
    assert found.outputs["decision"] == "INCONCLUSIVE"  # most samples are missing


def test_what_is_recovered_is_compared_on_request(runner: Runner, tmp_path: Path) -> None:
    build: dict[str, Any] = {"corpus": "world", "tokenizer": "words", "lengths": ["512"], "items": 40}
    api.build("passkey", tmp_path / "nested", closed_book=True, alone=True, **build)
    for name, model in (("reads", "fathom/lexical"), ("half", "fathom/lexical?window=256&truncate=middle")):
        api.run(tmp_path / "nested", model=model, out=tmp_path / name)
    found = runner.run(candidate="half", baseline="reads", on="recovery", **GATE)
    assert (found.outputs["decision"], found.code) == ("FAIL", 1)
    assert json.loads(Path(found.outputs["json"]).read_text("utf-8"))["on"] == "recovery"
    assert runner.run(candidate="reads", baseline="half", on="recovery", **GATE).outputs["decision"] == "PASS"
    assert "--on" in runner.run(candidate="reads", baseline="half", on="nothing", **GATE).log


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"candidate": "nothing", "baseline": "lexical"}, "nothing: no such run folder or rows file"),
        ({"candidate": "lexical"}, "give baseline or baseline-artifact"),
        ({"baseline": "lexical"}, "give candidate, or suite and model"),
        ({"candidate": "lexical", "baseline": "lexical", "inconclusive": "maybe"}, "must be 'fail' or 'pass'"),
        ({"candidate": "lexical", "baseline": "lexical", "version": "latest"}, "version must be"),
        ({"candidate": "lexical", "baseline": "lexical", "version": "1.0", "extras": "hf]; x"}, "extras must be"),
    ],
)
def test_wrong_inputs_are_named(runner: Runner, inputs: dict[str, str], said: str) -> None:
    found = runner.run(**{**GATE, **inputs})
    assert found.code == 2
    assert said in found.log
    assert found.outputs["decision"] in ("", "ERROR")


HOSTILE = [
    "; touch owned",
    "$(touch owned)",
    "`touch owned`",
    '"; touch owned; exit 0; "',
    "'; touch owned; '",
    "x\ndecision=PASS\nexit-code=0",
    "--help",
    "--version",
    "-h",
    "*",
    "${{ github.token }}",
    "a && touch owned || touch owned",
    "[hf] @ file:///x",
]


@pytest.mark.parametrize("text", [HOSTILE[0], *(pytest.param(text, marks=pytest.mark.long) for text in HOSTILE[1:])])
def test_no_input_is_executed_or_becomes_an_output(runner: Runner, text: str) -> None:
    program(runner.path, "fathom", "import json, sys\nprint(json.dumps(sys.argv[1:]))\nsys.exit(2)\n")
    program(runner.path, "python3", "import sys\nprint('asked:', sys.argv[1:])\nsys.exit(2)\n")
    of_gate = ["candidate", "baseline", "margin", "alpha", "at", "gate_config", "inconclusive", "version", "extras"]
    for name in [*of_gate, "suite", "model", "run_config"]:
        good = {"candidate": "c", "baseline": "b", "version": "installed"}
        if name in ("suite", "model", "run_config"):
            good |= {"candidate": "", "suite": "s", "model": "m"}
        if name == "extras":
            good |= {"version": "1.0"}
        found = runner.run(**{**good, name: text})
        assert found.code == 2, name
        assert found.outputs["decision"] in ("", "ERROR"), name
        assert found.outputs["exit-code"] in ("", "2"), name
        assert not list(runner.folder.rglob("owned")), name
        called = [json.loads(line) for line in found.log.splitlines() if line.startswith("[")]
        for words in called:  # the text is one word, and no option of its own
            assert all(word in (text, f"--{name.replace('_', '-')}={text}") for word in words if text in word) or (
                name in ("gate_config", "run_config") and f"--config={text}" in words
            ), (name, words)
            assert "--" in words


def test_texts_of_models_are_no_commands_to_the_runner(runner: Runner) -> None:
    evil = "::add-mask::x\n::error::no\n::set-output name=decision::PASS"
    program(
        runner.path,
        "fathom",
        f"import sys\nprint({evil!r})\nprint({evil!r}, file=sys.stderr)\nsys.exit(0 if 'run' in sys.argv else 1)\n",
    )
    found = runner.run(version="installed", suite="s", model="m", baseline="b")
    assert found.code == 1
    resume = None
    for line in found.log.splitlines():
        if stopped := re.fullmatch(r"::stop-commands::([0-9a-f]{32})", line):
            assert resume is None
            resume = f"::{stopped[1]}::"
        elif line == resume:
            resume = None
        else:
            assert resume or not line.startswith("::"), line
    assert resume is None
    assert "::error::no" in found.log


def test_a_version_is_installed_with_its_extras_into_a_folder_of_its_own(runner: Runner) -> None:
    venv = (
        "import json, pathlib, sys\n"
        "place = pathlib.Path(sys.argv[-1])\n"
        "assert sys.argv[1:3] == ['-m', 'venv'], sys.argv\n"
        "(place / 'bin').mkdir(parents=True)\n"
        "python = place / 'bin' / 'python'\n"
        f"python.write_text('#!/bin/sh\\necho \"$@\" > {runner.folder}/pip\\nexit 9\\n')\n"
        "python.chmod(0o755)\n"
    )
    program(runner.path, "python3.99", venv)
    asked = {"candidate": "c", "baseline": "b", "python": "python3.99"}
    for inputs, package in (
        ({"version": "0.4.0", "extras": "hf,documents"}, "fathom-eval[hf,documents]==0.4.0"),
        ({"version": "0.4.0rc1"}, "fathom-eval==0.4.0rc1"),
        ({}, str(Path(__file__).parents[1])),
        ({"extras": "hf"}, f"{Path(__file__).parents[1]}[hf]"),
    ):
        assert runner.run(**{**asked, **inputs}).code == 9
        words = (runner.folder / "pip").read_text("utf-8").split()
        assert words == ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--", package]
