"""The command line application: its commands in the order of the work."""

import functools
from pathlib import Path
from typing import Any

import click

from fathom.commands.front import Group

MOVED = (
    *("list", "build", "show", "export", "run", "status", "likelihood", "judge"),
    *("rows", "score", "report", "plot", "analyze", "compress"),
)
"""Commands that declare their options (``fathom.commands``); the others are declared for typer."""
NAMES = (
    *("list", "build", "show", "export", "run", "status", "likelihood", "judge"),
    *("rows", "score", "report", "plot", "analyze", "compress", "board", "data"),
)


class _Root(Group):
    """The commands of both kinds."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name in MOVED or cmd_name not in NAMES:
            return super().get_command(ctx, cmd_name)
        return _Old(cmd_name)

    def lines(self) -> list[tuple[str, str]]:
        """The commands with what they do."""
        moved = dict(Group(self.package, MOVED).lines())
        old = _typer().commands
        return [(name, moved.get(name) or old[name].get_short_help_str(100)) for name in self.names]


class _Old(click.Command):
    """A command that is declared for typer, which has its own copy of click: it gets the same words."""

    def __init__(self, name: str) -> None:
        """Make it."""
        super().__init__(name, add_help_option=False, context_settings={"ignore_unknown_options": True})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave all words as they are."""
        ctx.args = list(args)
        return []

    def invoke(self, ctx: click.Context) -> Any:
        """Call it."""
        _typer()([str(self.name), *ctx.args], prog_name="fathom")


@functools.cache
def _typer() -> Any:
    from fathom.cli.typer_app import command

    return command


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from fathom import __version__

        print(f"fathom {__version__}")
        ctx.exit()


def _use(ctx: click.Context, _: click.Parameter, plugins: tuple[Path, ...]) -> None:
    if plugins and not ctx.resilient_parsing:
        from fathom.plugins import use

        for path in plugins:
            use(path)


command = _Root(
    "fathom.commands",
    NAMES,
    name="fathom",
    help="Measures how reliably a language model uses long contexts.\n\n"
    "Documents become samples (build), samples become replies (run), replies become scores (rows, report, analyze).",
    params=[
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
        ),
        click.Option(
            ["--plugin"],
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="FILE.py",
            expose_value=False,
            callback=_use,
            help="A Python file that declares tasks, suites, scorers and so on, which is run; may be given more than "
            "once. Also FATHOM_PLUGINS.",
        ),
    ],
)


def commands() -> dict[str, Any]:
    """Every command by its full name, in the order of the help; "" is the application itself."""
    found: dict[str, Any] = {"": command}

    def walk(name: str, one: Any) -> None:
        found[name] = one
        inner = {part: one.get_command(ctx, part) for part in one.names} if isinstance(one, Group) else None
        for part, own in (inner or getattr(one, "commands", {})).items():
            walk(f"{name} {part}", own)

    ctx = click.Context(command)
    for name in NAMES:
        walk(name, command.get_command(ctx, name) if name in MOVED else _typer().commands[name])
    return found
