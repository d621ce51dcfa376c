"""The commands that are declared for typer."""

import typer

from fathom.cli import (
    board,
    board_serve,
    data,
)

app = typer.Typer(
    name="fathom",
    help="Measures how reliably a language model uses long contexts.\n\n"
    "Documents become samples (build), samples become replies (run), replies become scores (rows, report, analyze).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

board_serve.add_to(board.app)
app.add_typer(board.app, name="board")
app.add_typer(data.app, name="data")

command = typer.main.get_command(app)
"""What is called; typer would make it from the declarations anew at every call."""
