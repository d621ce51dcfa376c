"""Commands about smaller benchmarks: compress select, estimate, validate and adaptive."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from fathom import api
from fathom.cli.arguments import AsJson, Quiet, Unanswered, names_of
from fathom.commands.terminal import print_records, progress_bar, tell
from fathom.printing import printable_json
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.compress.estimates import Estimate

app = typer.Typer(
    help="Smaller benchmarks: some items of a larger one, and what their scores say of all of it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Scores: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        help="Scores of models on items: a table with a column for each model, run folders, rows files, or the folder "
        "of MiniLongBench's released scores."
    ),
]
Embeddings: TypeAlias = Annotated[
    Path | None, typer.Option(help="An .npz file with a vector for each item, for methods that use texts.")
]

SPLITS = {
    "random": "Random halves of the models",
    "extrapolation": "The weakest half known, the strongest half new",
    "published": "The published split",
}
"""Kinds of split, as headings."""


@app.callback()
def _root() -> None:
    pass


@app.command()
def select(
    scores: Annotated[
        list[Path],
        typer.Argument(help="Scores of known models, as for the other commands; or a suite folder without any scores."),
    ],
    budget: Annotated[float, typer.Option(help="Items to choose or, with --unit cost, what they may cost.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the subset, for instance small.json.")],
    method: Annotated[str, typer.Option(help=f"{' or '.join(api.SELECTIONS)}.")] = "sampled",
    unit: Annotated[
        str, typer.Option(help="What the budget counts: items, or cost (tokens of prompts, unless a table says else).")
    ] = "items",
    models: Annotated[
        str | None, typer.Option(help="Models to choose by, separated by commas; all by default.")
    ] = None,
    embeddings: Embeddings = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Choose items that stand for a whole benchmark: `fathom run --subset` asks no others.

    By default a probability sample: every item can be drawn, those that tell models apart more often, so that estimates
    have intervals.
    """
    subset = api.compress_select(
        scores, budget, out, method=method, unit=unit, models=names_of(models), embeddings=embeddings, seed=seed
    )
    strata: dict[str, int] = {}
    for member in subset.members:
        strata[member.stratum] = strata.get(member.stratum, 0) + 1
    if as_json:
        record = {"subset": str(out), "method": subset.method, "items": len(subset.members), "strata": strata}
        print(printable_json(json.dumps(record, indent=2, ensure_ascii=False)))
        return
    print_records([{"stratum": name or "-", "items": count} for name, count in strata.items()], as_json=False)
    tell(f"{out}: {len(subset.members):,} items, {subset.method}")


@app.command()
def estimate(
    scores: Scores,
    subset: Annotated[Path | None, typer.Option("--subset", help="File of the subset.")] = None,
    method: Annotated[
        str | None, typer.Option(help="For --published: minilongbench. Subsets know their own method.")
    ] = None,
    published: Annotated[
        Path | None,
        typer.Option(help="Folder of MiniLongBench's released data: its 237 items and their parameters."),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="The scores that the subset was chosen by, where they do not lie beside it."),
    ] = None,
    unanswered: Unanswered = "zero",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .parquet, .csv or .jsonl file for the estimates.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate scores on a whole benchmark, with intervals, from the scores on a subset of its items.

    Models of one tie group do not differ significantly; ranks are those that the data allow.
    """
    found = api.compress_estimate(
        scores, subset=subset, method=method, published=published, known=known, unanswered=unanswered, out=out
    )
    if as_json:
        print(printable_json(json.dumps(_without_nan(dataclasses.asdict(found)), indent=2, ensure_ascii=False)))
        return
    from fathom.stats.outcomes import COUNTED, differ

    ties = any(one.group for one in found.models)
    counts = {one.items for one in found.models}
    ended = [name for name in COUNTED if any(one.ended.get(name) for one in found.models)]
    both = any(one.ended and differ(one.overall.value, one.other) for one in found.models)
    by_other = "drop" if found.unanswered == "zero" else "zero"
    print_records(
        [
            {
                **({"tie group": one.group, "ranks": _ranks(one.ranks)} if ties else {}),
                "model": one.model,
                "estimate": _percent(one.overall.value),
                **({"95%": _interval(one.overall)} if ties else {}),
                **{name: _percent(value) for name, value in one.others.items()},
                **({"full": _percent(one.full)} if one.full is not None else {}),
                **({"items": one.items} if len(counts) > 1 else {}),
                **({by_other: "-" if one.other is None else _percent(one.other)} if both else {}),
                **{name: one.ended.get(name, 0) for name in ended},
            }
            for one in found.models
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
    least = min((one.items for one in found.models), default=found.items)
    lacking = f"; not all of them have scores, at the least {least:,}" if least < found.items else ""
    for one in found.left_out:
        tell(f"{one}, more than 2%: no estimate. Run it again, or give --unanswered drop")
    tell(f"{found.subset}: {found.items:,} items, {found.method}{lacking}")


@app.command()
def validate(
    scores: Scores,
    budget: Annotated[str, typer.Option(help="Items to choose; several numbers separated by commas.")] = "237",
    methods: Annotated[
        str, typer.Option(help="Methods to try, separated by commas; all for all that these scores allow.")
    ] = "all",
    splits: Annotated[int, typer.Option(help="Random splits into known and new models.")] = 50,
    width: Annotated[
        float | None,
        typer.Option(
            help="Also count the items until intervals have this half-width, adaptively too; for instance 0.02."
        ),
    ] = None,
    embeddings: Embeddings = None,
    seed: Annotated[int, typer.Option(help="Seed of the splits.")] = 0,
    categories: Annotated[bool, typer.Option("--categories", help="Show every category too.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .parquet, .csv or .jsonl file for the table of every draw.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="A figure of the comparison: .svg, .png, .pdf, .html or .json.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Try methods of choosing and estimating on models that they have never seen.

    Models are split into known and new ones: at random, and with the weakest half known and the strongest half new.
    Each method chooses items by the known models, and estimates the new ones' scores from them.
    """
    with progress_bar("validating", quiet) as progress:
        found = api.compress_validate(
            scores,
            _budgets(budget),
            methods=None if methods.strip() == "all" else names_of(methods),
            splits=splits,
            width=width,
            embeddings=embeddings,
            seed=seed,
            out=out,
            plot=plot,
            progress=progress,
        )
    summary = found.summary.to_dicts()
    reached = [] if found.reach is None else found.reach.to_dicts()
    if as_json:
        record = _without_nan({"summary": summary, "reach": reached})
        print(printable_json(json.dumps(record, indent=2, ensure_ascii=False)))
        return
    _print_summary([one for one in summary if categories or one["target"] == "overall"])
    if reached:
        print_records(_reached(reached), as_json=False)
        tell(f"items until the 95% interval has a half-width of {width:g}; for most: for 95% of the new models")


def _print_summary(lines: Sequence[dict[str, Any]]) -> None:
    """A table for each kind of split and budget, and target where there are several; the least error first."""
    tables: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for line in lines:
        tables.setdefault((line["split"], line["budget"], line["target"]), []).append(line)
    for (split, budget, target), part in tables.items():
        costs = {f"{line['cost_share']:.1%}" for line in part}
        of = ("" if target == "overall" else f", {target}") + (
            f", {costs.pop()} of the cost" if len(costs) == 1 else ""
        )
        print(f"{SPLITS[split]}, {budget:,} items{of}, {max(line['draws'] for line in part)} draws")
        ordered = sorted(part, key=lambda line: math.inf if line["error"] is None else line["error"])
        print_records([_line(line, cost=bool(costs)) for line in ordered], as_json=False)
        print()


def _line(one: dict[str, Any], *, cost: bool) -> dict[str, Any]:
    return {
        "method": one["method"],
        "Spearman": _figure(one["spearman"], 3) + (f"±{one['spearman_se']:.3f}" if one["spearman_se"] else ""),
        "error": _figure(one["error"], 4),
        "bias": "-" if one["bias"] is None else f"{one['bias']:+.4f}",
        "coverage": "-" if one["coverage"] is None else f"{one['coverage']:.1%}",
        "half-width": _figure(one["half_width"], 4),
        **({"cost": f"{one['cost_share']:.1%}"} if cost else {}),
        "seconds": f"{one['seconds']:.2f}",
    }


def _reached(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over the splits of one kind, for each method."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        grouped.setdefault((line["split"], line["method"]), []).append(line)
    return [
        {
            "split": split,
            "method": method,
            "items": f"{_mean(part, 'mean_items'):.0f}",
            "for most": f"{_mean(part, 'most_items'):.0f}",
            "coverage": f"{_mean(part, 'coverage'):.1%}",
            "error": f"{_mean(part, 'error'):.4f}",
            "bias": f"{_mean(part, 'bias'):+.4f}",
        }
        for (split, method), part in grouped.items()
    ]


def _mean(lines: Sequence[dict[str, Any]], name: str) -> float:
    return sum(float(line[name]) for line in lines) / len(lines)


def _budgets(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise FathomError(
            f"--budget {text!r}: expected numbers of items separated by commas, for instance 120,237"
        ) from error


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.2f}"


def _interval(one: Estimate) -> str:
    return "-" if one.low is None or one.high is None else f"{100 * one.low:.1f} to {100 * one.high:.1f}"


def _ranks(ranks: tuple[int, int] | None) -> str:
    return "-" if ranks is None else f"{ranks[0]} to {ranks[1]}" if ranks[0] < ranks[1] else str(ranks[0])


def _without_nan(value: Any) -> Any:
    """The same with None for NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _without_nan(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value
