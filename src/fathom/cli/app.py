"""The command line application: its commands in the order of the work."""

from pathlib import Path
from typing import Any

import click

from fathom.options.line import Group

NAMES = (
    *(
        "measure",
        "list",
        "draft",
        "build",
        "check-gold",
        "show",
        "export",
        "doctor",
        "serve-local",
        "forecast",
        "plan",
        "run",
        "search-length",
        "search-best",
        "merge",
        "status",
        "likelihood",
        "judge",
    ),
    *(
        "rows",
        "score",
        "browse",
        "report",
        "compare",
        "card",
        "plot",
        "convert",
        "analyze",
        "gate",
        "bisect",
        "compress",
        "lab",
        "board",
        "studio",
        "data",
    ),
)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from fathom import __version__

        print(f"fathom {__version__}")
        ctx.exit()


def _use(ctx: click.Context, _: click.Parameter, plugins: tuple[Path, ...]) -> None:
    if plugins and not ctx.resilient_parsing:
        from fathom.plugins.loading import use

        for path in plugins:
            use(path)


command = Group(
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
            help="A Python file that declares tasks, suites, scorers and so on, and is executed; may be given more "
            "than once. Also FATHOM_PLUGINS.",
        ),
    ],
)


def commands() -> dict[str, Any]:
    """Every command by its full name, in the order of the help; "" is the application itself."""
    return command.walk()
