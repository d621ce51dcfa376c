"""The steps of action.yml, run as a runner of GitHub does: expressions replaced, scripts in bash, outputs read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from processes import STARTER, lent

ROOT = Path(__file__).parents[1]
EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")


@dataclass(frozen=True)
class Ended:
    """What came of an action: exit code of the last step, its log, outputs of steps and the summary of the job."""

    code: int
    log: str
    outputs: Mapping[str, str]
    summary: str


@dataclass(frozen=True)
class Runner:
    """A machine that runs the action in ``folder``, which also is the workspace.

    Attributes:
        folder: The workspace.
        path: A folder whose programs are found first.
        artifacts: Folders of artifacts by name.
    """

    folder: Path
    path: Path
    artifacts: Mapping[str, Path]

    def run(self, **inputs: str) -> Ended:
        """Run the action with inputs, whose ``_`` stand for ``-``."""
        action = read_action()
        named = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert set(named) <= set(action["inputs"])
        known = {f"inputs.{name}": str(one["default"]) for name, one in action["inputs"].items()}
        known |= {f"inputs.{name}": value for name, value in named.items()}
        known |= {"github.action_path": str(ROOT), "github.run_id": "1", "github.token": "token"}
        (self.folder / "temp").mkdir(exist_ok=True)
        summary = self.folder / "summary.md"
        summary.write_text("", "utf-8")
        code, log = 0, ""
        for step in action["runs"]["steps"]:
            if code or not value(step.get("if", "'always'"), known):
                continue
            if "uses" in step:
                given = {name: replaced(text, known) for name, text in step["with"].items()}
                shutil.copytree(self.artifacts[given["name"]], given["path"])
                continue
            code, said, outputs = self._script(step, known)
            log += said
            known |= {f"steps.{step['id']}.outputs.{name}": text for name, text in outputs.items()}
        outputs = {name: replaced(one["value"], known) for name, one in action["outputs"].items()}
        return Ended(code, log, outputs, summary.read_text("utf-8"))

    def _script(self, step: Mapping[str, Any], known: Mapping[str, str]) -> tuple[int, str, dict[str, str]]:
        script, written = self.folder / "temp" / "step.sh", self.folder / "temp" / "outputs"
        script.write_text(step["run"], "utf-8")
        written.write_text("", "utf-8")
        env = {
            **os.environ,
            "PATH": f"{self.path}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_OUTPUT": str(written),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            **{name: replaced(text, known) for name, text in step["env"].items()},
            STARTER: str(lent()),
        }
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[lent()],
        )
        lines = written.read_text("utf-8").splitlines()
        return ended.returncode, ended.stdout, dict(line.split("=", 1) for line in lines)


@cache
def read_action() -> dict[str, Any]:
    """What action.yml says."""
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    return action


def replaced(text: str, known: Mapping[str, str]) -> str:
    """A text with its expressions replaced."""
    return EXPRESSION.sub(lambda found: value(found[1], known), text)


def value(expression: str, known: Mapping[str, str]) -> str:
    """The value of an expression: names, texts, ``||``, ``&&``, ``==`` and ``!=``; what is not known is empty."""
    for operator in (" || ", " && ", " != ", " == "):
        left, found, right = expression.partition(operator)
        if found:
            first = value(left, known)
            if operator == " || ":
                return first or value(right, known)
            if operator == " && ":
                return value(right, known) if first else ""
            return "true" if (first == value(right, known)) is (operator == " == ") else ""
    return expression[1:-1] if expression.startswith("'") else known.get(expression, "")


def program(folder: Path, name: str, script: str) -> None:
    """A program of a Python script with the standard library only, which starts in a third of the time."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable} -IS\n{script}", "utf-8")
    path.chmod(0o755)
