"""Commands ``fathom analyze categories``, ``breakdown``, ``repeats``, ``neighbours``, ``thinking``, ``difficulty``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import api
from fathom.cli import arguments
from fathom.cli.analyze import Seed, Sources, finite, print_flat
from fathom.cli.arguments import known_of, names_of
from fathom.commands.terminal import print_records, tell

if TYPE_CHECKING:
    from fathom.analysis import Difficulty
    from fathom.report import Table

_DIMENSIONS = "overall, language, length, task, suite, run, or any facet (difficulty, primary_task, ...)"
NOTHING = {
    "breakdown": "no row has a score",
    "repeats": "no reply has a score; of published averages see `fathom analyze breakdown --measures best_of,pass_at`",
    "neighbours": "no reply has a score; published averages cannot be compared question by question",
    "thinking": "no model of these rows has scores both with thinking and without; run it with both modes",
}


def add_to(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("categories")(categories)
    app.command("breakdown")(breakdown)
    app.command("repeats")(repeats)
    app.command("neighbours")(neighbours)
    app.command("thinking")(thinking)
    app.command("difficulty")(difficulty)


def breakdown(
    sources: Sources,
    by: Annotated[str | None, typer.Option(help=f"What to group by, separated by commas: {_DIMENSIONS}.")] = None,
    measures: Annotated[str, typer.Option(help="Any of mean, best_of and pass_at, separated by commas.")] = "mean",
    unanswered: arguments.Unanswered = "zero",
    seed: Seed = 0,
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
    as_json: arguments.AsJson = False,
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
    unanswered: arguments.Unanswered = "zero",
    seed: Seed = 0,
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
    as_json: arguments.AsJson = False,
) -> None:
    """How much of a mean's error is due to the questions, and how much to few repeats; best of n and pass at n."""
    chosen = known_of(filter, threshold, panel, unanswered)
    _print("repeats", sources, seed, judge, chosen, as_json)


def neighbours(
    sources: Sources,
    unanswered: arguments.Unanswered = "zero",
    seed: Seed = 0,
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
    as_json: arguments.AsJson = False,
) -> None:
    """Models from the highest score to the lowest, and which cannot be told from the next one below."""
    chosen = known_of(filter, threshold, panel, unanswered)
    _print("neighbours", sources, seed, judge, chosen, as_json)


def thinking(
    sources: Sources,
    by: Annotated[str | None, typer.Option(help=f"What to group by, separated by commas: {_DIMENSIONS}.")] = None,
    unanswered: arguments.Unanswered = "zero",
    seed: Seed = 0,
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
    as_json: arguments.AsJson = False,
) -> None:
    """What models gain by thinking, over the questions that they answered both ways."""
    chosen = known_of(filter, threshold, panel, unanswered) | {"by": names_of(by)}
    _print("thinking", sources, seed, judge, chosen, as_json)


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
    from fathom.report.tables import neighbour_tables

    tables: Mapping[str, Callable[[Sequence[Any]], list[Table]]] = {
        "breakdown": score_tables,
        "repeats": run_tables,
        "neighbours": neighbour_tables,
        "thinking": gain_tables,
    }
    return tables[study](found)


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
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
    unanswered: arguments.Unanswered = "zero",
    as_json: arguments.AsJson = False,
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


def difficulty(
    sources: Sources,
    tiers: Annotated[Path, typer.Option(help="TOML file with the lists of models high, mid and low.")],
    correct: Annotated[
        str,
        typer.Option(
            help="When a model is right that was asked several times: majority, any or all of its replies pass, or "
            "their mean would."
        ),
    ] = "majority",
    allowed: Annotated[
        int, typer.Option(help="Models of a tier that may be right although a question is beyond the tier.")
    ] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Write the label of each question here: .parquet, .csv or .jsonl.")
    ] = None,
    seed: Seed = 0,
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
    as_json: arguments.AsJson = False,
) -> None:
    """Easy, Moderate, Hard or Extreme: which questions which tiers of models get wrong, and how stable that is."""
    (found,) = api.analyze(
        "difficulty",
        sources,
        tiers=tiers,
        correct=correct,
        allowed=allowed,
        out=out,
        seed=seed,
        judge=judge,
        tell=tell,
        **known_of(filter, threshold, panel),
    )
    if as_json:
        print(json.dumps(finite(as_record(found)), indent=2))
        return
    print_records(_lines(found), as_json=False)
    if found.labels:
        print(f"agreement {found.agreement:.3f}: how likely other models of these tiers give a question the same label")
    for note in found.notes:
        print(note)
    if out is not None:
        print(f"labels of {len(found.labels):,} questions: {out}")


def as_record(found: Difficulty) -> dict[str, Any]:
    """The result as JSON can hold it, which knows no pairs as keys."""
    from fathom.analysis import label_table

    return {
        "counts": dict(found.counts),
        "agreement": found.agreement,
        "moved": [{"from": one, "to": other, "share": share} for (one, other), share in found.moved.items()],
        "notes": list(found.notes),
        "labels": label_table(found).to_dicts(),
    }


def _lines(found: Difficulty) -> list[Mapping[str, str]]:
    """One line for each label: its questions, and how likely other models would give them which."""
    asked = sum(found.counts.values())
    return [
        {
            "label": label,
            "questions": str(count),
            "share": f"{count / asked:.3f}" if asked else "",
            **{f"→ {other}": _share(found.moved.get((label, other))) for other in found.counts},
        }
        for label, count in found.counts.items()
    ]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
