"""The commands that are declared for typer."""

import typer

from fathom.cli import (
    compress,
    compress_adaptive,
    compress_studies,
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

compress_adaptive.add_to(compress.app)
compress_studies.add_to(compress.app)
app.add_typer(compress.app, name="compress")

command = typer.main.get_command(app)
"""What is called; typer would make it from the declarations anew at every call."""
