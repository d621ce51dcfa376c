"""Commands ``fathom analyze breakdown``, ``repeats``, ``neighbours`` and ``thinking``: means over questions."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from fathom import api
from fathom.cli.analyze import Seed, Sources, finite, known_of
from fathom.cli.arguments import AsJson, Filter, Judge, Panel, Threshold, names_of, print_records, tell

if TYPE_CHECKING:
    from fathom.analysis import Interval, Neighbour, Repeats, ThinkingGain

UnscoredAs: TypeAlias = Annotated[
    str,
    typer.Option(
        "--unscored",
        help="drop: means are over scored replies. zero: a prompt that did not fit, a refusal and a cut reply count "
        "as wrong.",
    ),
]
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
    unscored: UnscoredAs = "drop",
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
    chosen = known_of(filter, threshold, panel) | {"by": dimensions, "unscored": unscored}
    chosen["measures"] = names_of(measures)
    _print("breakdown", sources, seed, judge, chosen, as_json)


def repeats(
    sources: Sources,
    unscored: UnscoredAs = "drop",
    seed: Seed = 0,
    judge: Judge = None,
    filter: Filter = None,
    threshold: Threshold = api.THRESHOLD,
    panel: Panel = None,
    as_json: AsJson = False,
) -> None:
    """How much of a mean's error is due to the questions, and how much to few repeats; best of n and pass at n."""
    chosen = known_of(filter, threshold, panel) | {"unscored": unscored}
    _print("repeats", sources, seed, judge, chosen, as_json)


def neighbours(
    sources: Sources,
    unscored: UnscoredAs = "drop",
    seed: Seed = 0,
    judge: Judge = None,
    filter: Filter = None,
    threshold: Threshold = api.THRESHOLD,
    panel: Panel = None,
    as_json: AsJson = False,
) -> None:
    """Models from the highest score to the lowest, and which cannot be told from the next one below."""
    chosen = known_of(filter, threshold, panel) | {"unscored": unscored}
    _print("neighbours", sources, seed, judge, chosen, as_json)


def thinking(
    sources: Sources,
    by: Annotated[str | None, typer.Option(help=f"What to group by, separated by commas: {_DIMENSIONS}.")] = None,
    unscored: UnscoredAs = "drop",
    seed: Seed = 0,
    judge: Judge = None,
    filter: Filter = None,
    threshold: Threshold = api.THRESHOLD,
    panel: Panel = None,
    as_json: AsJson = False,
) -> None:
    """What models gain by thinking, over the questions that they answered both ways."""
    chosen = known_of(filter, threshold, panel) | {"by": names_of(by), "unscored": unscored}
    _print("thinking", sources, seed, judge, chosen, as_json)


NOTHING = {
    "breakdown": "no row has a score",
    "repeats": "no reply has a score",
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
    elif study == "breakdown":
        from fathom.report import show
        from fathom.report.breakdown import score_tables

        show(score_tables(found))
    else:
        for lines in TABLES[study](found):
            print_records(_used(lines), as_json=False)


def _errors(one: Repeats) -> dict[str, str]:
    return {
        "model": one.model,
        "variant": one.variant,
        "questions": str(one.questions),
        "runs": str(one.runs),
        "uneven": str(one.uneven or ""),
        "mean": _figure(one.mean),
        "95%": _range(one.interval),
        "error": _figure(one.error, 4),
        "of questions": _figure(one.error_questions, 4),
        "of replies": _figure(one.error_replies, 4),
        "each run": " ".join(map(_figure, one.run_means)),
        "note": one.note,
    }


def _trend(one: Repeats) -> list[dict[str, str]]:
    return [
        {
            "model": one.model,
            "variant": one.variant,
            "n": str(at.n),
            "best of first": _figure(at.best_of),
            "best of any": _figure(at.best_of_unbiased),
            "best of 95%": _range(at.best_of_interval),
            "pass at first": _figure(at.pass_at),
            "pass at any": _figure(at.pass_at_unbiased),
            "pass at 95%": _range(at.pass_at_interval),
        }
        for at in one.trend
    ]


def _rank(one: Neighbour) -> dict[str, str]:
    return {
        "rank": str(one.rank),
        "model": one.model,
        "variant": one.variant,
        "score": _figure(one.score),
        "95%": _range(one.interval),
        "questions": str(one.questions),
        "ahead by": _figure(one.gap),
        "ahead 95%": _range(one.gap_interval),
        "tied": "with the next" if one.tied else "",
    }


def _gain(one: ThinkingGain) -> dict[str, str]:
    return {
        "model": one.model,
        "kind": one.model_kind,
        "dimension": one.dimension,
        "group": one.group,
        "without": _figure(one.without),
        "thinking": _figure(one.thinking),
        "gain": f"{one.gain:+.3f}",
        "95%": _range(one.interval),
        "questions": "" if one.questions is None else str(one.questions),
        "tokens": "" if one.tokens is None else f"{one.tokens:,.0f}",
    }


# How each study is printed: the lines of one table or more.
TABLES: Mapping[str, Callable[[Sequence[Any]], list[list[dict[str, str]]]]] = {
    "repeats": lambda found: [[_errors(one) for one in found], [line for one in found for line in _trend(one)]],
    "neighbours": lambda found: [[_rank(one) for one in found]],
    "thinking": lambda found: [[_gain(one) for one in found]],
}


def _used(lines: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Lines without the columns that are empty in all."""
    used = [name for name in (lines[0] if lines else ()) if any(line[name] for line in lines)]
    return [{name: line[name] for name in used} for line in lines]


def _figure(value: float | None, digits: int = 3) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _range(interval: Interval | None) -> str:
    return "" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"
