"""Command ``fathom analyze difficulty``: labels of questions from the replies of three tiers of models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import api
from fathom.cli.analyze import Seed, Sources, finite
from fathom.cli.arguments import AsJson, Filter, Judge, Panel, Threshold, known_of, print_records, tell

if TYPE_CHECKING:
    from fathom.analysis import Difficulty


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("difficulty")(difficulty)


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
    judge: Judge = None,
    filter: Filter = None,
    threshold: Threshold = api.THRESHOLD,
    panel: Panel = None,
    as_json: AsJson = False,
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
