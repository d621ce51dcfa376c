"""Commands about what exists and about samples: list, build, show, export."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fathom import api
from fathom.cli.arguments import AsJson, Lengths, Only, Subset, lengths_of, names_of, where_of
from fathom.commands.terminal import print_records, tell

LISTED = 30  # entries of a list that a table shows


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command("list")(list_)
    app.command()(show)
    app.command()(export)


def list_(
    kind: Annotated[str, typer.Argument(help="suites, tasks, metrics, boards, models, settings or data.")],
    as_json: AsJson = False,
) -> None:
    """Show what exists: suites, tasks, metrics, boards, models, their settings, and data sources of suites."""
    records = api.catalogue(kind)
    if kind == "settings" and not as_json:
        print_records([_settings(record) for record in records], as_json=False)
        tell("output caps and temperatures are those without/with thinking; --json shows all settings")
        return
    shown = {"suite", "tasks", "lengths", "task", "metric", "needs", "rules", "model", "window", "input", "output"}
    shown |= {"data", "dataset", "licence", "roles", "description", "board", "title", "suites"}
    if not as_json:
        records = [{k: _short(v) for k, v in record.items() if k in shown} for record in records]
    print_records(records, as_json)


def _short(value: Any) -> Any:
    """A value for a table: of a list too long for it the two ends, and how many there are."""
    if not isinstance(value, list) or len(value) <= LISTED:
        return value
    return f"{value[0]} ... {value[-1]} ({len(value)} in all)"


def _settings(record: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of one model in few columns, so that its name stays whole in a narrow terminal."""
    pairs = {name: (record[name], record[f"{name}_thinking"]) for name in ("output", "temperature")}
    return {
        "model": record["model"],
        "kind": record["kind"],
        "cut to": record["truncation"],
        **{name: "/".join("-" if one is None else str(one) for one in pair) for name, pair in pairs.items()},
    }


def show(
    folder: Annotated[Path, typer.Argument(help="A built suite.")],
    sample: Annotated[str, typer.Argument(help="Sample or item id; the first sample if left out.")] = "",
    text: Annotated[bool, typer.Option("--text", help="Print the whole prompt.")] = False,
    thinking: Annotated[
        bool, typer.Option("--thinking", help="The sample with the prompt that asks for thoughts before the answer.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show one sample: its facts and where its text comes from, or its prompt."""
    shown = api.show(folder, sample, text=text, thinking=thinking)
    if text:
        print(shown["prompt"])
    elif as_json:
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        shown |= {field: [f"{name} {value}" for name, value in shown[field].items()] for field in ("facets", "inputs")}
        print_records([{"": key, " ": value} for key, value in shown.items()], as_json=False)


def export(
    folder: Annotated[Path, typer.Argument(help="A built suite.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; standard output if left out.")] = None,
    format: Annotated[str, typer.Option(help="jsonl.")] = "jsonl",
    lengths: Lengths = None,
    tasks: Annotated[str | None, typer.Option(help="Only these tasks, separated by commas.")] = None,
    subset: Subset = None,
    where: Only = None,
) -> None:
    """Write samples with their full text, one JSON object a line, for other tools."""
    count = api.export(
        folder,
        out,
        format=format,
        lengths=lengths_of(lengths),
        tasks=names_of(tasks),
        subset=subset,
        where=where_of(where),
    )
    if out:
        print(f"{out}: {count:,} samples")
