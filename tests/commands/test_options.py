"""An option is declared once: command line, Python, configuration files, records and docs take it from there."""

import dataclasses
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import Call
from fathom.cli.app import commands
from fathom.options import declare
from fathom.options.declare import (
    OptionError,
    Options,
    Read,
    arg,
    at_least,
    command,
    fields_of,
    hidden,
    line_only,
    opt,
    unset,
)
from fathom.options.line import Command, run_line
from fathom.options.values import lengths_of, pairs_of, where_of
from fathom.types import FathomError


class Shared(Options, kw_only=True):
    """Shared."""

    lengths: Annotated[
        Read[Sequence[int | str] | str | int | None, tuple[int, ...] | None],
        opt("Lengths.", metavar="TOKENS", read=lengths_of),
    ] = unset
    pairs: Annotated[dict[str, Any] | None, opt("Pairs.", "-P", many=True, read=pairs_of)] = None


class TryOptions(Shared):
    name: Annotated[str, arg("A name.")]
    _: KW_ONLY
    count: Annotated[int, opt("How many.", "-c", check=at_least(1))] = 3
    kind: Annotated[Literal["warm", "cold"] | None, opt("Which.", former=("--sort",))] = None
    loud: Annotated[bool, opt("Whether.")] = False
    share: Annotated[float | None, opt("How much.")] = None
    told: Annotated[Any, hidden("A callback.")] = None
    tone: Annotated[Literal["high", "low"], opt("How it is printed.")] = line_only("low")


@command(TryOptions)
def attempt(options: TryOptions) -> TryOptions:
    """Try something."""
    return options


MODULE = type("module", (), {"attempt": attempt})


def line(*words: str) -> TryOptions:
    """What a command line gives."""
    found: TryOptions = click.Command.main(Command("attempt", MODULE), list(words), standalone_mode=False)
    return found


def message(*words: str) -> str:
    with pytest.raises((FathomError, click.UsageError)) as error:
        line(*words)
    return error.value.format_message() if isinstance(error.value, click.UsageError) else str(error.value)


# ------------------------------------------------------------------------------------------------ one declaration

GIVEN = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(1, 10**9),
        "kind": st.sampled_from(["warm", "cold"]),
        "loud": st.booleans(),
        "share": st.floats(allow_nan=False, allow_infinity=False),
        "lengths": st.lists(st.integers(300, 10**6), min_size=1),
        "pairs": st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.integers(), min_size=1),
    },
)


def as_words(values: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for name, value in values.items():
        if isinstance(value, bool):
            found.append(f"--{'' if value else 'no-'}{name}")
        elif isinstance(value, dict):
            found += [word for key, one in value.items() for word in (f"--{name}", f"{key}={one}")]
        else:
            found.append(f"--{name}={','.join(map(str, value)) if isinstance(value, list) else value}")
    return found


def as_toml(values: dict[str, Any]) -> str:
    """Values as TOML, which is JSON for these but for tables."""
    plain = [f"{name} = {json.dumps(value)}" for name, value in values.items() if not isinstance(value, dict)]
    tables = [
        f"[{name}]\n" + "\n".join(f"{key} = {one}" for key, one in value.items())
        for name, value in values.items()
        if isinstance(value, dict)
    ]
    return "\n".join(plain + tables)


@given(values=GIVEN)
def test_line_call_and_file_give_the_same_options(
    values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "options.toml"
    file.write_text(as_toml(values), "utf-8")
    called = attempt("x", **values)
    assert line("x", *as_words(values)) == called
    assert line("x", "--config", str(file)) == called
    again = {name: value for name, value in called.record()["options"].items() if name != "name"}
    assert attempt("x", **again) == called
    assert dataclasses.replace(called) == called


def test_a_former_name_still_works_and_is_not_shown() -> None:
    assert line("x", "--sort", "warm") == attempt("x", kind="warm")
    assert "--sort" not in declare.table(TryOptions)


def test_an_option_of_the_command_line_alone_is_no_argument_and_is_not_recorded() -> None:
    given = line("x", "--tone", "high").but(count=5)
    assert (given.tone, given.count) == ("high", 5)
    assert given.record() == {"options": {"name": "x", "count": 5}}
    assert message("x", "--tone", "hihg") == "--tone hihg: expected high, low; did you mean high?"
    with pytest.raises(TypeError, match=re.escape("attempt() has no argument 'tone'")):
        attempt("x", tone="high")  # type: ignore[call-arg]


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('count = 5\nkind = "warm"\n', "utf-8")
    assert line("x", "--config", str(tmp_path / "a.toml"), "-c", "7") == attempt("x", count=7, kind="warm")


# ------------------------------------------------------------------------------------------------ what is wrong


def test_a_wrong_value_is_named_as_the_user_wrote_it(tmp_path: Path) -> None:
    assert message("x", "--count", "0") == "--count 0: expected a positive number"
    assert message("x", "--count", "many") == "--count many: expected a whole number"
    assert message("x", "--kind", "wram") == "--kind wram: expected warm, cold; did you mean warm?"
    assert message("x", "--lengths", "2k,8q").startswith("--lengths 2k,8q: length '8q'")
    assert message("x", "--pairs", "a") == "--pairs a: expected NAME=VALUE"
    assert "--count" in message("x", "--cuont", "3")
    file = tmp_path / "a.toml"
    for text, told in {
        "cuont = 3": "no option 'cuont'; did you mean count?",
        "count = 0": "count = 0: expected a positive number",
        'count = "x"': "count = 'x': expected a whole number",
        "told = 1": "no option 'told'",
        "count": "expected",
        "loud = 1": "loud = 1: expected true or false",
    }.items():
        file.write_text(text, "utf-8")
        assert message("x", "--config", str(file)).startswith(f"--config {file}: ")
        assert told.lower() in message("x", "--config", str(file)).lower()
    assert "No such file" in message("x", "--config", str(tmp_path / "none.toml"))


def test_a_wrong_call_is_named_as_python_names_it() -> None:
    with pytest.raises(OptionError, match=re.escape("count=0: expected a positive number")):
        attempt("x", count=0)
    with pytest.raises(TypeError, match=re.escape("attempt() has no argument 'cuont'; did you mean count?")):
        attempt("x", cuont=3)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match="expected warm, cold"):
        attempt("x", kind="wram")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="expected a whole number"):
        attempt("x", count=True)


def test_pairs_and_facets_are_read_from_lines_and_from_tables() -> None:
    assert pairs_of(["a=1", "b=x", 'c={"d": [1]}', "e="]) == {"a": 1, "b": "x", "c": {"d": [1]}, "e": ""}
    expected = {"difficulty": ("Hard", "Extreme"), "length": ("8k",)}
    assert where_of(["difficulty=Hard", "length=8192", "difficulty= Extreme ,"]) == expected
    assert where_of({"difficulty": ["Hard", "Extreme"], "length": 8192}) == expected
    assert where_of(expected) == expected


# ------------------------------------------------------------------------------------------- the commands themselves

FUNCTIONS = {"list": "catalogue"}
MOVED = {name: one for name, one in commands().items() if isinstance(one, Command)}


@pytest.mark.parametrize("name", MOVED)
def test_every_option_is_said_in_plain_words_and_once(name: str) -> None:
    fields = fields_of(MOVED[name].line)
    names = [word for one in fields for word in (one.flag, one.option.short, *one.option.former) if word]
    assert len(names) == len(set(names))
    for one in fields:
        assert one.option.help.endswith((".", ")"))
        assert one.group
        assert len(one.group) < 40


@pytest.mark.parametrize("name", MOVED)
def test_functions_show_every_option(name: str) -> None:
    from fathom import api

    function: Any = getattr(api, FUNCTIONS.get(name, name.replace(" ", "_").replace("-", "_")))
    shown = inspect.signature(function).parameters
    assert set(shown) == {one.name for one in dataclasses.fields(function.options) if one.init}
    assert all(f"    {one.name}: " in function.__doc__ for one in fields_of(function.options) if not one.line_only)


def test_help_fits_a_terminal_and_cuts_nothing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in MOVED:
        monkeypatch.setenv("COLUMNS", "80")
        code, told, _ = call(*name.split(), "--help")
        assert code == 0
        assert "…" not in told
        assert max(map(len, told.splitlines())) <= 80
        words = " ".join(told.split())
        for one in fields_of(MOVED[name].line):
            if one.option.hidden:
                continue
            assert one.option.position or one.flag in told
            assert one.metavar in told or one.option.position or one.switch
            # Examples, names with hyphens and commands in backticks stand in one line.
            assert one.option.help in words
            assert all(syntax in told for syntax in re.findall(r"`[^`]*`", one.option.help))


def test_a_group_alone_shows_its_help(call: Call) -> None:
    for words in ((), ("analyze",)):
        code, told, errors = call(*words)
        assert (code, errors) == (2, "")
        assert told.startswith("Usage: fathom")


def test_wrong_commands_and_options_are_named_with_what_was_meant(call: Call) -> None:
    code, _, told = call("rnu")
    assert (code, told.splitlines()[0]) == (2, "fathom: no command 'rnu'; did you mean run?")
    code, _, told = call("run", "s", "--modle", "x")
    assert code == 2
    assert "--model" in told
    assert told.splitlines()[1] == "  see `fathom run --help`"
    code, _, told = call("run", "s")
    assert code == 2
    assert told.startswith("fathom: -m, --model PROVIDER/NAME is missing: ")


@pytest.mark.slow
def test_shells_complete_commands_options_and_choices() -> None:
    def completed(text: str) -> list[str]:
        words = {"COMP_WORDS": text, "COMP_CWORD": str(len(text.split(" ")) - 1), "_FATHOM_COMPLETE": "bash_complete"}
        program = "import sys; from fathom.cli import main; sys.argv = ['fathom']; main()"
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, **words}, capture_output=True, text=True, check=False
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("fathom ru") == ["run"]
    assert completed("fathom run --thinking o") == ["on", "off"]
    assert "--temperature" in completed("fathom run s --temp")


def test_a_run_records_its_options_and_their_file(call: Call, tmp_path: Path) -> None:
    Path("run.toml").write_text('limit = 1\nlengths = ["1k"]\n[generation]\ntop_p = 0.5\n', "utf-8")
    words = "run passkey --config run.toml -m fathom/lexical --items 1 --out r --model-arg api_key=hush -q"
    assert call(*shlex.split(words))[0] == 0
    told = json.loads(Path("r/run.json").read_text("utf-8"))["command"]
    assert told["options"] == {
        "suite": "passkey",
        "model": "fathom/lexical",
        "out": "r",
        "items": 1,
        "lengths": [1024],
        "limit": 1,
        "generation": {"top_p": 0.5},
        "model_args": {"api_key": "***"},
    }
    assert told["config"]["file"] == "run.toml"
    assert told["config"]["options"] == ["generation", "lengths", "limit"]


def test_an_error_of_click_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_line(Command("attempt", MODULE), ["x", "--nothing"]) == 2
    assert "fathom: no option --nothing" in capsys.readouterr().err


# --------------------------------------------------------------------------------------------- one place for an option

NEW = '    top_k: Annotated[int | None, opt("Tokens to choose the next one among.", "-k", check=at_least(1))] = None\n'
LOOK = """
import contextlib, inspect, io, json, sys
from pathlib import Path
from fathom import api
from fathom.cli.app import commands
from fathom.options import declare
from fathom.options.line import run_line
from fathom.commands.run import RunOptions

command = commands()["run"]
shown = io.StringIO()
with contextlib.redirect_stdout(shown):
    run_line(command, ["--help"])
Path("run.toml").write_text("top-k = 7")
command.main_of_module = lambda line: print(json.dumps(line.record()["options"]["top_k"]))
run_line(command, ["s", "-m", "x", "-k", "5"])
run_line(command, ["s", "-m", "x", "--config", "run.toml"])
print("-k, --top-k INTEGER" in shown.getvalue())
print("--top-k" in declare.table(command.line), "top_k" in inspect.signature(api.run).parameters)
print("top_k: Tokens to choose" in api.run.__doc__)
try:
    api.run("s", "x", top_k=0)
except declare.OptionError as error:
    print(error)
"""


@pytest.mark.slow
def test_an_option_of_run_is_one_line_in_one_file(tmp_path: Path) -> None:
    package = Path(declare.__file__).parents[1]
    shutil.copytree(package, tmp_path / "fathom", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "fathom" / "commands" / "run.py"
    text = file.read_text("utf-8")
    place = "    _: KW_ONLY\n"
    text = text.replace(place, place + NEW, 1)
    text = re.sub(r"(from fathom\.options\.declare import) ", r"\1 at_least, ", text, count=1)
    file.write_text(text, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LOOK], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        "5",
        "7",
        "True",
        "True True",
        "True",
        "top_k=0: expected a positive number",
    ], done.stderr


class OffOptions(Options, kw_only=True):
    marks: Annotated[bool, opt("Without marks.", flag="--no-marks")] = True


@command(OffOptions)
def off(options: OffOptions) -> int:
    """Try a flag."""
    return int(options.marks)


def test_a_flag_turns_off_what_is_on_by_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    front = Command("off", type("module", (), {"off": off}))
    file = tmp_path / "off.toml"
    file.write_text("marks = false\n", "utf-8")
    assert run_line(front, []) == off() == 1
    assert run_line(front, ["--no-marks"]) == off(marks=False) == 0
    assert run_line(front, ["--config", str(file)]) == 0
    assert run_line(front, ["--marks"]) == 2
    assert declare.table(OffOptions).splitlines()[-1] == "| `--no-marks` | Without marks. |  |"


@pytest.mark.slow
def test_help_loads_no_library_of_numbers_and_no_other_command() -> None:
    program = """
import sys
sys.argv = ["fathom", *sys.argv[1:]]
from fathom.cli import main
try:
    main()
finally:
    heavy = {"numpy", "polars", "rich", "pydantic", "inspect_ai", "altair", "fathom.commands.run"} & set(sys.modules)
    print(sorted(heavy), file=sys.stderr)
"""
    for words in (["--help"], ["analyze", "--help"], ["judge", "--help"], ["--version"]):
        done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
        assert done.stderr == "[]\n", (words, done.stderr)


def test_choices_are_those_of_the_libraries_that_obey_them() -> None:
    from fathom.analysis import BASE_RULES, CORRECT, POLICIES
    from fathom.catalogue import KINDS as LISTS
    from fathom.report.plot import KINDS
    from fathom.stats.outcomes import UNANSWERED

    def choices(command: str, option: str) -> set[str]:
        return set(next(one for one in fields_of(MOVED[command].line) if one.name == option).choices)

    assert choices("plot", "kind") == set(KINDS)
    assert choices("list", "kind") == set(LISTS)
    assert choices("analyze difficulty", "correct") == set(CORRECT)
    assert choices("analyze longscore", "base") == set(BASE_RULES)
    assert choices("report", "filter") == set(POLICIES)
    assert choices("report", "unanswered") == set(UNANSWERED)


def test_an_empty_path_is_not_the_current_folder(call: Call) -> None:
    code, _, told = call("rows", "nothing", "-o", "")
    assert code == 2
    assert "--out : expected a path" in told
