"""Commands about smaller benchmarks: compress estimate and study."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fathom import api
from fathom.cli.arguments import AsJson, Quiet, names_of, print_records, tell
from fathom.printing import printable_json
from fathom.types import FathomError

LINES = 60
"""Lines of a study that are printed."""

app = typer.Typer(
    help="Smaller benchmarks: some items of a larger one, and what their scores say of all of it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root() -> None:
    pass


@app.command()
def estimate(
    scores: Annotated[
        list[Path],
        typer.Argument(
            help="Scores of models on items: a table with a column for each model, run folders, rows files, or the "
            "folder of MiniLongBench's released scores."
        ),
    ],
    subset: Annotated[Path | None, typer.Option("--subset", help="File of the subset.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"How scores are estimated: {', '.join(api.ESTIMATES)}; by default as the subset was chosen."
        ),
    ] = None,
    published: Annotated[
        Path | None,
        typer.Option(help="Folder of MiniLongBench's released data: its 237 items and their parameters."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .parquet, .csv or .jsonl file for the estimates.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate scores on a whole benchmark from the scores on a subset of its items."""
    found = api.compress_estimate(scores, subset=subset, method=method, published=published, out=out)
    if as_json:
        print(printable_json(json.dumps(_without_nan(dataclasses.asdict(found)), indent=2, ensure_ascii=False)))
        return
    print_records(
        [
            {
                "model": one.model,
                "predicted": _percent(one.predicted),
                "direct": _percent(one.direct),
                "weighted": _percent(one.weighted),
                "full": "" if one.full is None else _percent(one.full),
                "items": one.items,
            }
            for one in sorted(found.scores, key=lambda one: one.predicted, reverse=True)
        ],
        as_json=False,
    )
    if found.agreement:
        print()
        print_records(
            [
                {
                    "estimate": one.estimate,
                    "models": one.models,
                    "n": one.count,
                    "Spearman": f"{one.spearman:.4f}",
                    "error": _percent(one.error),
                    "bias": f"{100 * one.bias:+.2f}",
                }
                for one in found.agreement
            ],
            as_json=False,
        )
    tell(f"{found.method}: {found.items:,} of {found.of:,} items")


@app.command()
def study(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(api.COMPRESSION_STUDIES)}.")],
    scores: Annotated[
        list[Path],
        typer.Argument(help="Scores of models on items, see `fathom compress`."),
    ],
    budget: Annotated[int, typer.Option(help="Items to choose.")] = 237,
    known: Annotated[
        str | None,
        typer.Option(
            help="Models that items are chosen by, separated by commas; by default MiniLongBench's own for its "
            "released scores, else every other model."
        ),
    ] = None,
    embeddings: Annotated[
        Path | None,
        typer.Option(
            help="An .npz file with an array embeddings, a row for each item; by default those beside the released "
            "scores."
        ),
    ] = None,
    use: Annotated[
        str, typer.Option(help="What embeddings are: the start of the search, or the mean of the prior.")
    ] = "start",
    dimensions: Annotated[int, typer.Option(help="Dimensions of item response theory.")] = 10,
    values: Annotated[
        str | None,
        typer.Option(help="What is tried, separated by commas: shares left out, dimensions, or numbers of models."),
    ] = None,
    draws: Annotated[int | None, typer.Option(help="Subsets, or choices of models, that are drawn.")] = None,
    tasks: Annotated[str | None, typer.Option(help="With neighbours: only items of these tasks.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .parquet, .csv or .jsonl file for the whole table.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Study MiniLongBench's method: what each of its choices does to the ranks of models."""
    frame = api.compress_study(
        kind,
        scores,
        budget=budget,
        known=names_of(known),
        embeddings=embeddings,
        use=use,
        dimensions=dimensions,
        values=_numbers(values),
        draws=draws,
        tasks=names_of(tasks),
        seed=seed,
        out=out,
        tell=None if quiet or not sys.stderr.isatty() else tell,
    )
    if as_json:
        print(printable_json(json.dumps(_without_nan(frame.to_dicts()), ensure_ascii=False)))
        return
    from fathom.compress.study import summarised

    frame = summarised(frame)
    if "setting" in frame.columns and frame["category"].n_unique() > 1:
        frame = frame.filter(category="all").drop("category")
        tell("estimates of the whole score; --out FILE or --json gives those of each category too")
    shown = frame.head(LINES)
    print_records([{name: _rounded(value) for name, value in line.items()} for line in shown.to_dicts()], as_json=False)
    if len(frame) > LINES:
        tell(f"the first {LINES} of {len(frame):,} lines; --out FILE or --json gives all of them")


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise FathomError(f"--values {text!r}: expected numbers separated by commas") from None


def _rounded(value: Any) -> Any:
    return f"{value:.4f}" if isinstance(value, float) else value


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _without_nan(value: Any) -> Any:
    """The same with null for numbers that are not defined, which JSON has no word for."""
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
