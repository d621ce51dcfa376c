"""Commands ``fathom analyze ...``: one study each, as a table or as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import api
from fathom.cli import arguments, longscore
from fathom.cli.arguments import known_of, lengths_of
from fathom.commands.reading import unanswered_of
from fathom.commands.terminal import print_records, tell
from fathom.printing import printable

if TYPE_CHECKING:
    from fathom.report import Table

app = typer.Typer(
    help="Studies of runs: LongScore, curves, effective length, position, comparisons.", no_args_is_help=True
)

Sources = Annotated[list[Path], typer.Argument(help="Run folders and rows files.")]
Seed = Annotated[int, typer.Option(help="Seed of the bootstrap.")]


Figures = Annotated[
    list[Path],
    typer.Argument(help="Run folders and rows files; or tables of scores by model, task and length, see longscore.md."),
]


# Studies of profiles, which work on tables of scores too.
FIGURES = {
    "longscore": "Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench.",
    "steady": "Steadier measures beside LongScore: retention, log-ratio, area, and the lengths L85 and L50.",
    "curve": "Mean score at each length, with intervals and chance.",
    "length": "Effective context length under three definitions, with intervals.",
}


def _add_figures(study: str, help: str) -> None:
    def command(
        sources: Figures,
        lengths: longscore.Chosen = None,
        base: longscore.Base = None,
        items: longscore.Items = 100,
        scale: longscore.ScaleOf = None,
        where: longscore.Where = None,
        chance: longscore.Chance = None,
        seed: Seed = 0,
        judge: arguments.Judge = None,
        filter: arguments.Filter = None,
        threshold: arguments.Threshold = api.THRESHOLD,
        panel: arguments.Panel = None,
        unanswered: arguments.Unanswered = "zero",
        as_json: arguments.AsJson = False,
    ) -> None:
        reading = _reading(base, items, scale, where, chance) | {"lengths": lengths_of(lengths)}
        known = known_of(filter, threshold, panel, unanswered)
        if as_json or study == "steady" or base or lengths or api.score_tables(sources):
            return _print_scores(study, sources, seed, judge, as_json, reading | known)
        _print(study, sources, seed, judge, as_json, known)

    app.command(study, help=help)(command)


for _study, _help in FIGURES.items():
    _add_figures(_study, _help)


def _reading(
    base: str | None, items: int, scale: str | None, where: list[str] | None, chance: list[str] | None
) -> dict[str, Any]:
    return {
        "base": base,
        "items": items,
        "scale": scale,
        "where": longscore.pairs_of(where, "--where"),
        "chance": longscore.levels_of(chance),
    }


def _print_scores(
    study: str, sources: list[Path], seed: int, judge: str | None, as_json: bool, reading: dict[str, Any]
) -> None:
    found = api.analyze(study, sources, seed=seed, judge=judge, tell=tell, **reading)
    if as_json:
        print(json.dumps([finite(dataclasses.asdict(one)) for one in found], indent=2))
        return
    found = longscore.broken_down(found)
    if study in LINES:
        print_records(LINES[study](found), as_json=False)
    else:
        from fathom.report import show

        show(TABLES[study](found))
    for note in longscore.notes_of(found):
        print(printable(note))


STUDIES = {
    "truncation": "Whole prompts against the same ones cut: how much of each task needs the full text.",
    "answers": "Replies that follow the instructions or copy their example; chance, shortcuts, orders, position bias.",
    "counts": "Replies by status, validity, truncation, tokens and cost.",
    "compare": "Paired differences between every two models on the items that they share.",
    "agreement": "How often every two models, or two ways of asking one, give the same answer.",
    "known": "Questions that models answer without any context, and which of them are removed.",
}


def _add(study: str, help: str) -> None:
    def command(
        sources: Sources,
        seed: Seed = 0,
        judge: arguments.Judge = None,
        filter: arguments.Filter = None,
        threshold: arguments.Threshold = api.THRESHOLD,
        panel: arguments.Panel = None,
        unanswered: arguments.Unanswered = "zero",
        as_json: arguments.AsJson = False,
    ) -> None:
        _print(study, sources, seed, judge, as_json, known_of(filter, threshold, panel, unanswered))

    app.command(study, help=help)(command)


for _study, _help in STUDIES.items():
    _add(_study, _help)


@app.command("position")
def position(
    sources: Sources,
    bins: Annotated[int, typer.Option(help="Equal parts of the context for depths that were drawn at random.")] = 5,
    seed: Seed = 0,
    judge: arguments.Judge = None,
    filter: arguments.Filter = None,
    threshold: arguments.Threshold = api.THRESHOLD,
    panel: arguments.Panel = None,
    unanswered: arguments.Unanswered = "zero",
    as_json: arguments.AsJson = False,
) -> None:
    """Score by where in the context the gold text lies, and front, middle and rear against each other."""
    known = known_of(filter, threshold, panel, unanswered)
    found = api.analyze("position", sources, seed=seed, judge=judge, bins=bins, tell=tell, **known)
    if as_json:
        print(json.dumps([finite(dataclasses.asdict(one)) for one in found], indent=2))
        return
    from fathom.analysis import PositionPoint
    from fathom.report import show
    from fathom.report.position import contrast_tables

    if not found:
        tell("no reply in these rows has a score and a depth; build with --depths front,middle,end to study positions")
    print_flat([one for one in found if isinstance(one, PositionPoint)])
    show(contrast_tables([one for one in found if not isinstance(one, PositionPoint)]), details=True)


@app.command("judge")
def judge(
    sources: Sources,
    labels: Annotated[
        Path, typer.Option(help="CSV or JSONL with a score in [0, 1] for each labelled sample; see docs/judges.md.")
    ],
    seed: Seed = 0,
    judge: arguments.Judge = None,
    as_json: arguments.AsJson = False,
) -> None:
    """A judge's scores beside those of people: agreement, Cohen's kappa, bias by length."""
    found = [
        dataclasses.asdict(result) for result in api.analyze("judge", sources, seed=seed, labels=labels, judge=judge)
    ]
    if as_json:
        print(json.dumps([finite(record) for record in found], indent=2))
        return
    if found and found[0]["unmatched"]:
        typer.echo(f"labels that belong to no reply in these rows: {found[0]['unmatched']}", err=True)
    flat = [_flat(record) for record in found]
    table = [
        {
            "replies": record["group"] or record["by"],
            "count": record["replies"],
            "failed": record["failed"],
            "bias": record["bias"],
            "bias 95%": record["bias_interval"],
            "exact": record["exact"],
            "kappa": record["kappa"],
            "weighted": record["kappa_weighted"],
            "right": record["kappa_right"],
        }
        for record in flat
    ]
    print_records(table, as_json=False)


# How the studies of tables of scores are printed.
TABLES: Mapping[str, Callable[[Sequence[Any]], list[Table]]] = {
    "longscore": longscore.longscore_tables,
    "steady": longscore.steady_tables,
}
LINES: Mapping[str, Callable[[Sequence[Any]], list[dict[str, str]]]] = {
    "curve": longscore.curve_lines,
    "length": longscore.length_lines,
}
# Studies that a report has a table of; the others are printed as records.
SECTIONS = {"curve": "scores", "longscore": "longscore", "length": "effective", "counts": "counts", "known": "known"}


def _print(study: str, sources: list[Path], seed: int, judge: str | None, as_json: bool, known: dict[str, Any]) -> None:
    if study in SECTIONS and not as_json:
        from fathom.report import show, tables

        how = unanswered_of(known.pop("unanswered"))
        left = api.filtered(sources, judge=judge, seed=seed, tell=tell if study in FIGURES else None, **known)
        wanted = [table for table in tables(left, seed=seed, unanswered=how) if table.section == SECTIONS[study]]
        return show(wanted, details=True)
    results = api.analyze(study, sources, seed=seed, judge=judge, tell=tell, **known)
    if as_json:
        print(json.dumps([finite(dataclasses.asdict(result)) for result in results], indent=2))
    elif study == "truncation":
        from fathom.report import show
        from fathom.report.truncation import truncation_tables

        show(truncation_tables(results))
    elif study == "answers":
        from fathom.report import show
        from fathom.report.answers import answers_tables

        if not results:
            tell(
                "no task in these rows has a chance level above 0 and a reply with a score, or an example in its "
                "instructions"
            )
        show(answers_tables(results))
    else:
        if not results and study in ("compare", "agreement"):
            tell("no two models or variants in these rows have a score for the same sample; name runs of one suite")
        print_flat(results)


# Headings that fold between words where the name of a field would break within one.
HEADINGS = {"agreement": "same answer", "interval": "95%"}


# Numbers that a table has a column of only where one of them is more than none.
NONE = {f"{name}{side}": "0" for name in ("unanswered", "cut", "overflow", "missing") for side in ("", "_a", "_b")}


def print_flat(results: Sequence[Any]) -> None:
    """Results as they are, one a line, without the fields that are empty in all."""
    flat = [_with_systems(_flat(dataclasses.asdict(result))) for result in results]
    used = [
        name for name in (flat[0] if flat else ()) if any(record[name] not in ("", NONE.get(name)) for record in flat)
    ]
    print_records([{HEADINGS.get(name, name): record[name] for name in used} for record in flat], as_json=False)


def _with_systems(line: dict[str, str]) -> dict[str, str]:
    """A line about two systems with one cell for each: its model, and its variant where it has one."""
    if "variant_a" not in line:
        return line
    sides = {side: ", ".join(filter(None, (line[f"model_{side}"], line[f"variant_{side}"]))) for side in "ab"}
    return sides | {name: text for name, text in line.items() if name[:-1] not in ("model_", "variant_")}


def finite(value: Any) -> Any:
    """JSON has no infinity: an open end of an interval is null."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _flat(record: dict[str, Any]) -> dict[str, str]:
    """One line of a table, with intervals written out."""
    from fathom.length import format_length

    flat: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat[name] = f"[{value['low']:.3f}, {value['high']:.3f}]"
        elif name == "length":
            flat[name] = "all" if value is None else format_length(value)
        else:
            flat[name] = "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
    return flat
