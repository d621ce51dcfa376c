"""Commands ``fathom analyze breakdown``, ``repeats``, ``neighbours`` and ``thinking``: means over questions."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import api
from fathom.cli.analyze import Seed, Sources, finite
from fathom.cli.arguments import AsJson, Filter, Judge, Panel, Threshold, Unanswered, known_of, names_of, tell

if TYPE_CHECKING:
    from fathom.report import Table

_DIMENSIONS = "overall, language, length, task, suite, run, or any facet (difficulty, primary_task, ...)"


def add_to(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("breakdown")(breakdown)
    app.command("repeats")(repeats)
    app.command("neighbours")(neighbours)
    app.command("thinking")(thinking)


def breakdown(
    sources: Sources,
    by: Annotated[str | None, typer.Option(help=f"What to group by, separated by commas: {_DIMENSIONS}.")] = None,
    measures: Annotated[str, typer.Option(help="Any of mean, best_of and pass_at, separated by commas.")] = "mean",
    unanswered: Unanswered = "zero",
    seed: Seed = 0,
    judge: Judge = None,
    filter: Filter = None,
    threshold: Threshold = api.THRESHOLD,
    panel: Panel = None,
    as_json: AsJson = False,
) -> None:
    """Mean over questions in each group, best of n and pass at n, as in LongBench Pro."""
    dimensions = names_of(by)
    if dimensions and not as_json:  # tables have a column for the whole
        dimensions = tuple(dict.fromkeys(("overall", *dimensions)))
    chosen = known_of(filter, threshold, panel, unanswered) | {"by": dimensions}
    chosen["measures"] = names_of(measures)
    _print("breakdown", sources, seed, judge, chosen, as_json)


def repeats(
    sources: Sources,
    unanswered: Unanswered = "zero",
    seed: Seed = 0,
    judge: Judge = None,
    filter: Filter = None,
    threshold: Threshold = api.THRESHOLD,
    panel: Panel = None,
    as_json: AsJson = False,
) -> None:
    """How much of a mean's error is due to the questions, and how much to few repeats; best of n and pass at n."""
    chosen = known_of(filter, threshold, panel, unanswered)
    _print("repeats", sources, seed, judge, chosen, as_json)


def neighbours(
    sources: Sources,
    unanswered: Unanswered = "zero",
    seed: Seed = 0,
    judge: Judge = None,
    filter: Filter = None,
    threshold: Threshold = api.THRESHOLD,
    panel: Panel = None,
    as_json: AsJson = False,
) -> None:
    """Models from the highest score to the lowest, and which cannot be told from the next one below."""
    chosen = known_of(filter, threshold, panel, unanswered)
    _print("neighbours", sources, seed, judge, chosen, as_json)


def thinking(
    sources: Sources,
    by: Annotated[str | None, typer.Option(help=f"What to group by, separated by commas: {_DIMENSIONS}.")] = None,
    unanswered: Unanswered = "zero",
    seed: Seed = 0,
    judge: Judge = None,
    filter: Filter = None,
    threshold: Threshold = api.THRESHOLD,
    panel: Panel = None,
    as_json: AsJson = False,
) -> None:
    """What models gain by thinking, over the questions that they answered both ways."""
    chosen = known_of(filter, threshold, panel, unanswered) | {"by": names_of(by)}
    _print("thinking", sources, seed, judge, chosen, as_json)


NOTHING = {
    "breakdown": "no row has a score",
    "repeats": "no reply has a score; of published averages see `fathom analyze breakdown --measures best_of,pass_at`",
    "neighbours": "no reply has a score; published averages cannot be compared question by question",
    "thinking": "no model of these rows has scores both with thinking and without; run it with both modes",
}


def _print(
    study: str, sources: Sources, seed: int, judge: str | None, chosen: Mapping[str, Any], as_json: bool
) -> None:
    found = api.analyze(study, sources, seed=seed, judge=judge, tell=tell, **chosen)
    if as_json:
        print(json.dumps([finite(dataclasses.asdict(one)) for one in found], indent=2))
    elif not found:
        tell(NOTHING[study])
    else:
        from fathom.report import show

        show(_tables(study, found))


def _tables(study: str, found: Sequence[Any]) -> list[Table]:
    """Results as the report has them."""
    from fathom.report.breakdown import gain_tables, run_tables, score_tables
    from fathom.report.ranks import neighbour_tables

    tables: Mapping[str, Callable[[Sequence[Any]], list[Table]]] = {
        "breakdown": score_tables,
        "repeats": run_tables,
        "neighbours": neighbour_tables,
        "thinking": gain_tables,
    }
    return tables[study](found)
