"""The command line, made with click from commands whose options are declared (``options``)."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem, shell_complete

from fathom.options.declare import Config, Field, OptionError, Options, fields_of, read_config
from fathom.plugins.names import did_you_mean
from fathom.types import FathomError
from fathom.types.common import with_options

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_COLUMN = 26
"""Characters of the names of options beyond which their help begins on a line of its own."""


COMPLETION = "_FATHOM_COMPLETE"
"""Environment variable in which a shell asks for completions."""
_LONG = 100
"""Characters of a wrong value that its message shows."""


class Command(click.Command):
    """A command that is made from its declaration.

    Its module has the function (``declare.command``); where it prints something, ``main``, which takes the same options
    and returns the exit code; and where the command line takes other options, their class ``Line``.
    """

    def __init__(self, name: str, module: Any) -> None:
        """Make the command ``name`` from its module."""
        function = next(value for value in vars(module).values() if hasattr(value, "body"))
        self.line: type[Options] = getattr(module, "Line", function.options)
        self.main_of_module: Callable[[Any], int | None] = getattr(module, "main", function.body)
        config = click.Option(
            ["--config"],
            type=click.Path(path_type=Path),
            metavar="FILE.toml",
            is_eager=True,
            expose_value=False,
            callback=self._read_config,
            help="Read options from a TOML file; those on the command line win.",
        )
        super().__init__(
            name,
            # On a line what takes all words that follow comes last, in Python the sources come first.
            params=[
                *map(_parameter, sorted(self._fields(), key=lambda field: field.option.position and field.option.many)),
                config,
            ],
            callback=self._call,
            help=_unbroken(inspect.getdoc(function.body) or ""),
            context_settings=SETTINGS,
        )

    def _fields(self) -> list[Field]:
        return [field for field in fields_of(self.line) if not field.option.hidden]

    def missing(self, parameter: click.Parameter | None) -> str:
        """What to say of an argument or option that is needed and not given: its name, and what it is."""
        field = next((field for field in self._fields() if parameter and field.name == parameter.name), None)
        return f"{_names(field)} is missing: {field.option.help}" if field else ""

    def _read_config(self, ctx: click.Context, _: click.Parameter, path: Path | None) -> None:
        if path is not None and not ctx.resilient_parsing:
            config = ctx.meta["config"] = read_config(path, self.line)
            ctx.default_map = dict(config.values)

    def _call(self, **values: Any) -> int | None:
        ctx = click.get_current_context()
        given = {
            name: value
            for name, value in values.items()
            if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
        }
        config: Config | None = ctx.meta.get("config")
        if config is not None and "config" in {field.name for field in fields_of(self.line)}:
            given["config"] = config
        return self.main_of_module(self.line.made(given))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; errors name options as the command line does."""
        with self._naming_options():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run; errors name options as the command line does."""
        with self._naming_options():
            return super().invoke(ctx)

    @contextmanager
    def _naming_options(self) -> Iterator[None]:
        try:
            yield
        except OptionError as error:
            shown = ",".join(map(str, error.value)) if isinstance(error.value, list | tuple) else error.value
            shown = shown if len(str(shown)) <= _LONG else f"{str(shown)[:_LONG]}..."
            raise FathomError(self.with_flags(f"`{error.name}` {shown}: {error.expected}")) from None
        except FathomError as error:
            raise FathomError(self.with_flags(str(error))) from error

    def with_flags(self, message: str) -> str:
        """A message with options named as they are on the line: ``--window`` for ```window```."""
        flags = {field.name: field.name.upper() if field.option.position else field.flag for field in self._fields()}
        return with_options(message, lambda name: flags.get(name) or f"--{name.replace('_', '-')}")

    def get_help(self, ctx: click.Context) -> str:
        """The help, with the spaces and hyphens that kept lines from breaking as they were."""
        return super().get_help(ctx).translate({ord(kept): char for char, kept in _KEPT.items()})

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Nothing: arguments stand above the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups, under the titles of the classes that declare them."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for field in sorted(self._fields(), key=lambda field: not field.required):
            title = "Arguments" if field.option.position else field.group
            groups.setdefault(title, []).append((_names(field), _help(field)))
        declared = {field.name for field in self._fields()}
        rest = [param for param in self.get_params(ctx) if param.name not in declared]
        records = [record for param in rest if (record := param.get_help_record(ctx)) is not None]
        groups.setdefault("Other", []).extend(records)
        first = ("Arguments", "Options")
        for title in sorted(groups, key=lambda title: (title == "Other", title not in first)):
            with formatter.section(title):
                formatter.write_dl(groups[title], col_max=_COLUMN)


def _names(field: Field) -> str:
    if field.option.position:
        return field.name.upper() + ("..." if field.option.many else "")
    flag = field.flag if field.switch else f"{field.flag} {field.metavar}"
    return ", ".join(filter(None, (field.option.short, flag)))


def _help(field: Field) -> str:
    if field.required:
        return _unbroken(field.option.help) + ("" if field.option.position else "  [required]")
    shown = f"  [default: {field.shown_default}]" if field.shown_default else ""
    return _unbroken(field.option.help) + shown + (f"  [env: {field.option.env}]" if field.option.env else "")


_KEPT = {" ": "\N{NO-BREAK SPACE}", "-": "\N{NON-BREAKING HYPHEN}"}


def _unbroken(text: str) -> str:
    """Text whose lines break neither at hyphens, which are part of names, nor within a command in backticks."""
    whole = re.sub("`[^`]*`", lambda match: match[0].replace(" ", _KEPT[" "]), text)
    return whole.replace("-", _KEPT["-"])


class _Kind(click.ParamType[Any]):
    """The type of one option: its declaration reads and checks."""

    def __init__(self, field: Field) -> None:
        self.field, self.name = field, field.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        waits = self.field.option.many or (ctx is not None and ctx.resilient_parsing)
        return value if waits else self.field.checked(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if self.field.choices:
            return [CompletionItem(choice) for choice in self.field.choices if choice.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file")] if self.name in ("PATH", "FILE", "FOLDER") else []


class _Repeated(click.Option):
    """An option that may be given several times, or be a table in a config file."""

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        return None if not value else dict(value) if isinstance(value, Mapping) else tuple(value)


def _parameter(field: Field) -> click.Parameter:
    if field.option.position:
        count = -1 if field.option.many else 1
        shown = _names(field) if field.required else f"[{_names(field)}]"
        return click.Argument([field.name], type=_Kind(field), required=field.required, nargs=count, metavar=shown)
    names = [field.name, *filter(None, (field.option.short,)), field.flag, *field.option.former]
    rest: dict[str, Any] = {"help": field.option.help, "required": field.required, "envvar": field.option.env or None}
    if field.flag.startswith("--no-"):
        return click.Option(names, is_flag=True, flag_value=False, type=bool, **rest)
    if field.switch:
        names[names.index(field.flag)] = f"{field.flag}/--no-{field.flag[2:]}"
        return click.Option(names, type=bool, **rest)
    if field.option.many:
        return _Repeated(names, multiple=True, metavar=field.metavar, **rest)
    return click.Option(names, type=_Kind(field), metavar=field.metavar, **rest)


class Group(click.Group):
    """Commands that are imported when they are called: each is a module, or a package of more, of one package.

    A package whose commands are alike may declare them itself, as ``COMMANDS`` by name: each has a ``function``, a
    ``main`` and a ``summary``.
    """

    def __init__(
        self, package: str, names: tuple[str, ...], former: Mapping[str, str] | None = None, **rest: Any
    ) -> None:
        """Make a group of commands.

        Args:
            names: Names of the commands, in the order of the help.
            former: Today's names by former ones, which keep working.
            rest: What ``click.Group`` takes.
        """
        super().__init__(context_settings=SETTINGS, no_args_is_help=True, **rest)
        self.package, self.names, self.former = package, names, former or {}

    @property
    def declared(self) -> Mapping[str, Any]:
        """The commands that the package declares itself."""
        declared: Mapping[str, Any] = getattr(importlib.import_module(self.package), "COMMANDS", {})
        return declared

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the work."""
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        cmd_name = self.former.get(cmd_name, cmd_name)
        if cmd_name not in self.names:
            return None
        if cmd_name in self.declared:
            return Command(cmd_name, self.declared[cmd_name])
        module = importlib.import_module(f"{self.package}.{_module(cmd_name)}")
        if hasattr(module, "NAMES"):
            former = getattr(module, "FORMER", None)
            return Group(module.__name__, module.NAMES, former, name=cmd_name, help=module.__doc__)
        return Command(cmd_name, module)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; a wrong name is an error that names the nearest one."""
        if (
            args
            and args[0] not in (*self.names, *self.former)
            and not args[0].startswith("-")
            and not ctx.resilient_parsing
        ):
            ctx.fail(f"no command {args[0]!r}{did_you_mean(args[0], self.names)}")
        return super().resolve_command(ctx, args)

    def walk(self, name: str = "") -> dict[str, Any]:
        """All commands of the group by their names, and the group itself by ``name``."""
        commands: dict[str, Any] = {name: self}
        for part in self.names:
            command, full = self.get_command(click.Context(self), part), f"{name} {part}".strip()
            commands |= command.walk(full) if isinstance(command, Group) else {full: command}
        return commands

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands with what they do; no command is imported for it, unless its package declares it."""
        matches = [CompletionItem(name, help=line) for name, line in self.lines() if name.startswith(incomplete)]
        return matches or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with what they do."""
        with formatter.section("Commands"):
            formatter.write_dl(self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """The first line of each module, which says what its command does."""
        folder = files(self.package)
        summaries = []
        for name in self.names:
            if name in self.declared:
                summaries.append((name, self.declared[name].summary))
                continue
            file = folder / f"{_module(name)}.py"
            with (file if file.is_file() else folder / name / "__init__.py").open(encoding="utf-8") as lines:
                summaries.append((name, lines.readline().strip().strip('"')))
        return summaries


def _module(name: str) -> str:
    return f"{name}_" if name in ("list", "import") else name.replace("-", "_")


def run_line(group: click.Command, words: list[str]) -> int:
    """Run one command line.

    Returns:
        The exit code: 2 with one message on standard error where the line is wrong.

    Raises:
        FathomError: The command failed with a user-fixable error.
        KeyboardInterrupt: The user stopped the command or a question of it.
        BrokenPipeError: Nobody reads the output any more.
    """
    try:
        # Not with click's ``main``, which makes exit code 1 of a closed pipe: that of a gate that does not pass.
        if instruction := os.environ.get(COMPLETION):
            return shell_complete(group, {}, "fathom", COMPLETION, instruction)
        with group.make_context("fathom", words) as context:
            return group.invoke(context) or 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich does the same
            raise end.__context__ from None
        raise
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 2
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "fathom"
        message = error.format_message()
        if isinstance(error, click.NoSuchOption):
            message = f"no option {error.option_name}{did_you_mean(error.option_name, error.possibilities or ())}"
        elif isinstance(error, click.MissingParameter) and error.ctx and isinstance(error.ctx.command, Command):
            message = error.ctx.command.missing(error.param) or message
        print(f"fathom: {message}\n  see `{path} --help`", file=sys.stderr)
        return 2
