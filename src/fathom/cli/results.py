"""The command plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import api
from fathom.cli import arguments
from fathom.cli.arguments import known_of, lengths_of, names_of
from fathom.cli.longscore import Chance, Chosen, Items, ScaleOf, Where, levels_of, pairs_of
from fathom.commands.terminal import tell

if TYPE_CHECKING:
    pass

Sources = Annotated[list[Path], typer.Argument(help="Run folders and rows files.")]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command()(plot)


def plot(
    kind: Annotated[
        str,
        typer.Argument(
            help="curve, task-curves, tasks, scores, position, position-lines, needle, truncation, answers, longscore, "
            "longscore-heatmap, lengths-heatmap, tasks-heatmap, requirement-heatmap, best-of-n or pass-at-n."
        ),
    ],
    sources: Annotated[
        list[Path],
        typer.Argument(help="Run folders and rows files; or tables of scores by model, task and length."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A .svg, .png, .pdf, .html or .json (Vega-Lite) file.")],
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    models: Annotated[str | None, typer.Option(help="Only these models, separated by commas, in this order.")] = None,
    tasks: Annotated[
        str | None, typer.Option(help="Only these tasks of runs and rows files, separated by commas.")
    ] = None,
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
    unanswered: arguments.Unanswered = "zero",
    lengths: Chosen = None,
    items: Items = 100,
    scale: ScaleOf = None,
    where: Where = None,
    chance: Chance = None,
) -> None:
    """Draw one figure into a file."""
    known = known_of(filter, threshold, panel, unanswered) | {"tell": tell}
    reading: dict[str, Any] = {
        "items": items,
        "scale": scale,
        "where": pairs_of(where, "--where"),
        "chance": levels_of(chance),
        "lengths": lengths_of(lengths),
        "tasks": names_of(tasks),
    }
    print(api.plot(sources, kind, out, models=names_of(models) or (), seed=seed, judge=judge, **known, **reading))
