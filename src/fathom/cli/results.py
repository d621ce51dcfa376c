"""Commands about results: rows, score, report, plot."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import api
from fathom.api.table import tell_unfinished
from fathom.cli import arguments
from fathom.cli.arguments import known_of, lengths_of, names_of
from fathom.cli.longscore import Chance, Chosen, Items, ScaleOf, Where, levels_of, pairs_of
from fathom.commands.terminal import print_records, tell

if TYPE_CHECKING:
    from fathom.score.files import ScoreSummary

Sources = Annotated[list[Path], typer.Argument(help="Run folders and rows files.")]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command()(rows)
    app.command()(score)
    app.command()(report)
    app.command()(plot)


def rows(
    sources: Annotated[
        list[Path], typer.Argument(help="Run folders and rows files; or logs of another harness, or published results.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A .parquet, .csv or .jsonl file.")] = Path("rows.parquet"),
    origin: Annotated[str, typer.Option("--from", help="fathom, inspect, lm-eval or longbench-pro.")] = "fathom",
    rule: Annotated[
        str, typer.Option(help="strict, or official (as the code of the paper that a task comes from).")
    ] = "strict",
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
) -> None:
    """Turn runs, logs of other harnesses, or published results, into one table of scored replies."""
    known = known_of(filter, threshold, panel)
    frame = api.rows(sources, out, origin=origin, rule=rule, judge=judge, tell=tell, **known)
    print(f"{out}: {len(frame):,} rows")


def score(
    file: Annotated[Path, typer.Argument(help="A .jsonl file or another table, also with .gz or .zst.")],
    metric: Annotated[
        str | None, typer.Option(help="SUITE/METRIC for all rows (see `fathom list metrics`); else each row's own.")
    ] = None,
    rule: Annotated[
        str, typer.Option(help="official (as the paper's code) or strict (its faults mended).")
    ] = "official",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; standard output if left out.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with each row's own score; exit 1 if one differs.")
    ] = False,
    as_json: arguments.AsJson = False,
) -> None:
    """Score replies that are already there, one a row of a file."""
    stream = None if check else sys.stdout
    summary = api.score(file, out or stream, metric=metric, rule=rule, check=check)
    if as_json and (out or check):
        print(json.dumps(dataclasses.asdict(summary), indent=2, default=str))
    elif out or check:
        _print_counts(summary, check)
    if check:
        if summary.differing or summary.unchecked:
            failed = f", {summary.unchecked:,} could not be scored" if summary.unchecked else ""
            print(f"{summary.differing:,} of {summary.rows:,} rows differ{failed}", file=sys.stderr)
            raise typer.Exit(1)
    elif summary.unscored:
        reason = summary.errors[0][1]
        print(f"{summary.unscored:,} of {summary.rows:,} rows were not scored: {reason}", file=sys.stderr)


def _print_counts(summary: ScoreSummary, check: bool) -> None:
    """A line for each metric, then the first rows that are not as they should be."""
    print_records(
        [
            {
                "metric": name or "(none named)",
                "rows": count.rows,
                "scored": count.scored,
                "valid": count.valid,
                "mean": "-" if count.mean is None else f"{count.mean:.4f}",
            }
            | ({"equal": f"{count.equal} of {count.checked}"} if check else {})
            for name, count in summary.by_metric.items()
        ],
        as_json=False,
    )
    for one in summary.differences[:10]:
        # A name from the file is data: it must not reach the terminal as a command to it.
        name = one.case_id if one.case_id.isprintable() else ascii(one.case_id)
        print(f"  row {one.index}{name and f' {name}'}: {one}")
    for index, error in (summary.failures if check else summary.errors)[:5]:
        print(f"  row {index} could not be scored: {error}", file=sys.stderr)


def report(
    sources: Sources,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
    unanswered: arguments.Unanswered = "zero",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No tables in the terminal.")] = False,
) -> None:
    """Write one self-contained HTML page about runs, and print its tables."""
    known = known_of(filter, threshold, panel, unanswered)
    tables = api.report(sources, out, title=title, seed=seed, judge=judge, **known)
    print(out)
    tell_unfinished(sources, tell)
    if not quiet:
        from fathom.report import show

        show(tables)


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
