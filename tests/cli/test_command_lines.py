"""Command lines and calls of earlier releases still mean what they meant.

``command_lines.json`` holds command lines with the function of ``fathom.api`` that each called, and its arguments,
as they were when every option was still declared several times. The line and the call must still give the same options.
"""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from fathom import api
from fathom.cli import app
from fathom.cli.app import command
from fathom.commands.analyze import FORMER
from fathom.commands.board import token
from fathom.options.declare import Options, fields_of
from fathom.options.line import Command, run_line

FILE = Path(__file__).with_name("command_lines.json")
SAVED = json.loads(FILE.read_text("utf-8"))
commands = cache(app.commands)  # to make all of them takes a tenth of a second


def lines_of(function: str) -> list[tuple[str, dict[str, Any]]]:
    """Its command lines with its arguments."""
    usual = SAVED["usual"][function]
    return [(line, usual | own) for line, called, own in SAVED["lines"] if called == function]


def options(words: list[str]) -> Options:
    """The options that a command line gives."""
    words = [words[0], FORMER.get(words[1], words[1]), *words[2:]] if words[0] == "analyze" else words
    known = commands()
    name = next(name for name in (" ".join(words[:2]), words[0]) if isinstance(known.get(name), Command))
    one = known[name]
    one.main_of_module = lambda line: line
    found: Options = click.Command.main(one, words[len(name.split()) :], standalone_mode=False)
    return found


def values(found: Options, kind: type) -> dict[str, Any]:
    shown = {
        field.name: getattr(found, field.name)
        for field in fields_of(kind)
        if not (field.option.hidden or field.line_only)
    }
    return {name: value for name, value in shown.items() if value not in (None, {}, ())}


def function_of(words: list[str], name: str) -> Any:
    """What ``fathom.api`` has for a line that called a function of this name."""
    return getattr(api, f"analyze_{words[1]}" if words[0] == "analyze" else name)


def difference(line: str, function: str, arguments: dict[str, Any]) -> str:
    """What a command line does otherwise than it did; "" for nothing."""
    words = shlex.split(line)
    found, kind = options(words), function_of(words, function).options
    if isinstance(found, token.Line):
        found = found.wanted()
    known = {field.name for field in fields_of(kind)}
    # A study was first asked for its tables of scores or its rows: of such lines only these arguments are known.
    part = function in ("score_tables", "filtered")
    assert part or set(arguments) - known <= {"study"}, set(arguments) - known
    call = {name: value for name, value in arguments.items() if value is not None or name == "temperature"}
    needed = {one.name: getattr(found, one.name) for one in fields_of(kind) if one.required}
    then = values(kind(**needed | {name: value for name, value in call.items() if name in known}), kind)
    now = values(found, kind)
    looked_at = set(arguments) & known if part else {*then, *now}
    # A judge that is not told a temperature is asked with 0, as before.
    now |= {"temperature": 0.0} if function == "judge" and now.get("temperature") == "default" else {}
    changed = sorted(name for name in looked_at if now.get(name) != then.get(name))
    return ", ".join(f"{name}: {now.get(name)!r}, was {then.get(name)!r}" for name in changed)


@pytest.mark.slow
@pytest.mark.parametrize("function", sorted(SAVED["usual"]))
def test_old_command_lines_mean_what_they_meant(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = lines_of(function)
    assert lines
    changed = {line: difference(line, function, arguments) for line, arguments in lines}
    assert {line: how for line, how in changed.items() if how} == {}


@pytest.mark.parametrize("former", FORMER)
def test_former_names_of_studies_work(former: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_line(command, ["analyze", former, "--help"]) == 0
    assert f"analyze {former} " in capsys.readouterr().out
    assert getattr(api, f"analyze_{former}") is getattr(api, "analyze_" + FORMER[former].replace("-", "_"))
