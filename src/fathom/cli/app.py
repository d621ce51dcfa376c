"""The command line application: its commands in the order of the work."""

from pathlib import Path
from typing import Annotated

import typer

from fathom import api
from fathom.cli import (
    analyze,
    board,
    board_serve,
    breakdowns,
    compress,
    compress_adaptive,
    compress_studies,
    data,
    judge,
    replies,
    results,
    samples,
)

app = typer.Typer(
    name="fathom",
    help="Measures how deep a language model really reads.\n\n"
    "Documents become samples (build), samples become replies (run), replies become scores (rows, report, analyze).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from fathom import __version__

        print(f"fathom {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            help="A Python file that declares tasks, suites, scorers and so on, which is run; may be given more than "
            "once. Also FATHOM_PLUGINS."
        ),
    ] = None,
) -> None:
    for path in plugin or ():
        api.use_plugin(path)


samples.add_to(app)
replies.add_to(app)
judge.add_to(app)
results.add_to(app)
breakdowns.add_to(analyze.app)
compress_adaptive.add_to(compress.app)
compress_studies.add_to(compress.app)
board_serve.add_to(board.app)
app.add_typer(analyze.app, name="analyze")
app.add_typer(compress.app, name="compress")
app.add_typer(board.app, name="board")
app.add_typer(data.app, name="data")

command = typer.main.get_command(app)
"""What is called; typer would make it from the declarations anew at every call."""
