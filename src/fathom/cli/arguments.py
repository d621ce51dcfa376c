"""Kinds of arguments that several commands share."""

from typing import Annotated, TypeAlias

import typer

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Judge: TypeAlias = Annotated[
    str | None,
    typer.Option("--judge", help="Judge whose scores are shown, where there are several; none for no judge's."),
]
Unanswered: TypeAlias = Annotated[
    str,
    typer.Option(
        "--unanswered",
        "--unscored",
        help="zero: what a model did not answer (a refusal, an empty reply, nothing visible before the output cap) "
        "counts 0. drop: it is left out of the means.",
    ),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
