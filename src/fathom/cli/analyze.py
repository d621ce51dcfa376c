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


@app.command()
def longscore(sources: Sources, seed: Seed = 0, as_json: AsJson = False) -> None:
    """Change from base ability (2k, 4k, 6k) at each length, as in 100-LongBench."""
    _print("longscore", sources, seed, as_json)


@app.command()
def curve(sources: Sources, seed: Seed = 0, as_json: AsJson = False) -> None:
    """Mean score at each length, with intervals and chance."""
    _print("curve", sources, seed, as_json)


@app.command()
def length(sources: Sources, seed: Seed = 0, as_json: AsJson = False) -> None:
    """Effective context length under three definitions, with intervals."""
    _print("length", sources, seed, as_json)


@app.command()
def position(sources: Sources, seed: Seed = 0, as_json: AsJson = False) -> None:
    """Score by where in the context the gold text lies."""
    _print("position", sources, seed, as_json)


@app.command()
def counts(sources: Sources, seed: Seed = 0, as_json: AsJson = False) -> None:
    """Replies by status, validity, truncation, tokens and cost."""
    _print("counts", sources, seed, as_json)


@app.command()
def compare(sources: Sources, seed: Seed = 0, as_json: AsJson = False) -> None:
    """Paired differences between every two models on the items that they share."""
    _print("compare", sources, seed, as_json)


def _print(study: str, sources: list[Path], seed: int, as_json: bool) -> None:
    found = [dataclasses.asdict(result) for result in api.analyze(study, sources, seed=seed)]
    if as_json:
        print(json.dumps([_finite(record) for record in found], indent=2))
        return
    flat = [_flat(record) for record in found]
    names = list(dict.fromkeys(name for record in flat for name in record))
    used = [name for name in names if any(record.get(name) for record in flat)]
    print_records([{name: record.get(name, "") for name in used} for record in flat], as_json=False)


def _finite(value: Any) -> Any:
    """JSON has no infinity: an open end of an interval is null."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _flat(record: dict[str, Any]) -> dict[str, str]:
    """One line of a table: points by length become columns, intervals are written out."""
    flat: dict[str, str] = {}
    for name, value in record.items():
        if name == "points":
            for point in value:
                flat[_tokens(point["length"])] = f"{_number(point['value'])} {_interval(point['interval'])}"
        elif isinstance(value, dict):
            flat[name] = _interval(value, whole=record.get("definition") is not None)
        elif name in ("length", "tokens") and value is not None:
            flat[name] = _tokens(value)
        else:
            flat[name] = "" if value is None else _number(value) if isinstance(value, float) else str(value)
    return flat


def _interval(value: dict[str, Any] | None, whole: bool = False) -> str:
    if not value:
        return ""
    form = _tokens if whole else _number
    return f"[{form(value['low'])}, {form(value['high'])}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _tokens(value: float) -> str:
    from fathom.length import format_length

    return "beyond" if math.isinf(value) else format_length(round(value))
