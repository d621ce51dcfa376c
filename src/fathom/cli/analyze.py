"""Commands ``fathom analyze ...``: one study each, as a table or as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from fathom import api
from fathom.cli.arguments import AsJson, print_records

app = typer.Typer(
    help="Studies of runs: LongScore, curves, effective length, position, comparisons.", no_args_is_help=True
)

Sources = Annotated[list[Path], typer.Argument(help="Run folders and rows files.")]
Seed = Annotated[int, typer.Option(help="Seed of the bootstrap.")]


STUDIES = {
    "longscore": "Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench.",
    "curve": "Mean score at each length, with intervals and chance.",
    "length": "Effective context length under three definitions, with intervals.",
    "position": "Score by where in the context the gold text lies.",
    "counts": "Replies by status, validity, truncation, tokens and cost.",
    "compare": "Paired differences between every two models on the items that they share.",
}


def _add(study: str, help: str) -> None:
    def command(sources: Sources, seed: Seed = 0, as_json: AsJson = False) -> None:
        _print(study, sources, seed, as_json)

    app.command(study, help=help)(command)


for _study, _help in STUDIES.items():
    _add(_study, _help)

# Studies that a report has a table of; the others are printed as records.
SECTIONS = {"curve": "scores", "longscore": "longscore", "length": "effective", "counts": "counts"}


def _print(study: str, sources: list[Path], seed: int, as_json: bool) -> None:
    if study in SECTIONS and not as_json:
        from fathom.report import show, tables

        wanted = [table for table in tables(api.rows(sources), seed=seed) if table.section == SECTIONS[study]]
        return show(wanted, details=True)
    found = [dataclasses.asdict(result) for result in api.analyze(study, sources, seed=seed)]
    if as_json:
        print(json.dumps([_finite(record) for record in found], indent=2))
        return
    flat = [_flat(record) for record in found]
    used = [name for name in (flat[0] if flat else ()) if any(record[name] for record in flat)]
    print_records([{name: record[name] for name in used} for record in flat], as_json=False)


def _finite(value: Any) -> Any:
    """JSON has no infinity: an open end of an interval is null."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
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
