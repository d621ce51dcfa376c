"""Errors name options as Python does; the command line shows the flags that people type."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import fathom
from command_line import Call
from fathom.cli.app import commands
from fathom.models.protocol import Settings
from fathom.options.line import Command
from fathom.types import FathomError

SOURCE = Path(fathom.__file__).parent
FLAG = re.compile(r"(?<![\w`-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def test_python_reads_of_names_and_the_command_line_of_flags(call: Call) -> None:
    with pytest.raises(FathomError, match=r"^`model_base_url` 'localhost': no scheme"):
        Settings("openai/x", base_url="localhost")
    code, _, error = call("doctor", "openai/x", "--model-base-url", "localhost")
    assert code == 2
    assert error.startswith("fathom: --model-base-url 'localhost'")


def test_an_option_that_has_another_name_on_the_line_is_named_so() -> None:
    judge = commands()["judge"]
    assert isinstance(judge, Command)
    assert judge.with_flags("give `model_base_url` or `window_size`") == "give --judge-base-url or --window-size"
    assert judge.with_flags("run `fathom judge` again") == "run `fathom judge` again"
    error = FathomError("give `model_base_url`").renamed(model_base_url="judge_base_url")
    assert str(error) == "give `judge_base_url`"


@pytest.mark.slow
def test_errors_below_the_commands_name_no_flags() -> None:
    """Those of whole commands, which stand in backticks, may: they are meant to be typed."""
    flags = {
        field.flag for command in commands().values() if isinstance(command, Command) for field in command._fields()
    }
    wrong = [
        f"{path.relative_to(SOURCE)}:{text.lineno}: {flag}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in ("commands", "cli", "options")
        if "--" in (source := path.read_text(encoding="utf-8"))
        for raised in ast.walk(ast.parse(source))
        if isinstance(raised, ast.Raise) and raised.exc is not None
        for text in ast.walk(raised.exc)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
        for flag in FLAG.findall(re.sub(r"`fathom[^`]*(`|$)|fathom \w+ [^;]*", "", text.value))
        if flag in flags
    ]
    assert not wrong
