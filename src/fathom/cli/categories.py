"""Command ``fathom analyze categories``: averages by category and over all of them."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from fathom import api
from fathom.cli.analyze import Seed, Sources, finite, print_flat
from fathom.cli.arguments import AsJson, Filter, Judge, Panel, Threshold, Unanswered, known_of, tell


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("categories")(categories)


def categories(
    sources: Sources,
    by: Annotated[
        str, typer.Option(help="Facet to group by: category, bucket, difficulty, v2_length, domain or any other.")
    ] = "category",
    tasks: Annotated[bool, typer.Option("--tasks", help="Print each task of a group too.")] = False,
    compensated: Annotated[
        bool, typer.Option("--compensated", help="Give replies of the wrong form the chance level instead of 0.")
    ] = False,
    seed: Seed = 0,
    judge: Judge = None,
    filter: Filter = None,
    threshold: Threshold = api.THRESHOLD,
    panel: Panel = None,
    unanswered: Unanswered = "zero",
    as_json: AsJson = False,
) -> None:
    """Mean of the tasks of each category, and of the categories, as in LongBench."""
    known = known_of(filter, threshold, panel, unanswered)
    found = api.analyze(
        "categories", sources, by=by, compensated=compensated, seed=seed, judge=judge, tell=tell, **known
    )
    if as_json:
        print(json.dumps([finite(dataclasses.asdict(one)) for one in found], indent=2))
        return
    if not found:
        tell("no row has a score")
    # Without their tasks the column says "all" everywhere: a field that is empty in all is not printed.
    print_flat(found if tasks else [dataclasses.replace(one, task="") for one in found if one.task == "all"])
