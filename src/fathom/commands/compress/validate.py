"""Try methods of choosing and estimating on models that they have never seen."""

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fathom.commands.compress.shared import Embeddings, Scores, half_width, print_json, vectors_of
from fathom.commands.shared import Json, MaybePath, Names, Terminal
from fathom.options.declare import Read, at_least, command, given, hidden, line_only, opt, unset
from fathom.options.values import names_of, paths_of
from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

SPLITS = {
    "random": "Random halves of the models",
    "extrapolation": "The weakest half known, the strongest half new",
    "published": "The published split",
}
"""Kinds of split, as headings."""


def budgets_of(given: Sequence[int] | str | int) -> tuple[int, ...]:
    """Numbers of items, of ``"120,237"`` or of ``[120, 237]``."""
    try:
        found = tuple(map(int, names_of(given if isinstance(given, Sequence) else str(given))))
    except ValueError:
        found = ()
    if not found:
        raise FathomError("expected numbers of items separated by commas, for instance 120,237")
    return found


def methods_of(given: Sequence[str] | str) -> tuple[str, ...] | None:
    """Names of methods; None for ``all``."""
    return None if (found := names_of(given)) == ("all",) else found


class ValidateOptions(Terminal, Json):
    sources: Scores
    budgets: Annotated[
        Read[Sequence[int] | str | int, tuple[int, ...]],
        opt(
            "Items to choose; several numbers separated by commas.",
            flag="--budget",
            metavar="ITEMS,...",
            read=budgets_of,
        ),
    ] = given("237")
    _: KW_ONLY
    methods: Annotated[
        Names,
        opt(
            "Methods to try, separated by commas; all for all that these scores allow.",
            metavar="NAME,...",
            read=methods_of,
        ),
    ] = given("all")
    splits: Annotated[int, opt("Random splits into known and new models.", check=at_least(1))] = 50
    width: Annotated[
        float | None,
        opt(
            "Also count the items until intervals have this half-width, adaptively too; for instance 0.02.",
            check=half_width,
        ),
    ] = None
    embeddings: Embeddings = unset
    seed: Annotated[int, opt("Seed of the splits.", check=at_least(0))] = 0
    out: Annotated[
        MaybePath, opt("A .parquet, .csv or .jsonl file for the table of every draw.", "-o", metavar="FILE")
    ] = unset
    plot: Annotated[MaybePath, opt("A figure of the comparison: .svg, .png, .pdf, .html or .json.", metavar="FILE")] = (
        unset
    )
    categories: Annotated[bool, opt("Show every category too.")] = line_only(False)
    progress: Annotated[Callable[[int, int], None] | None, hidden("Told (draws made, draws in all).")] = None


@dataclass(frozen=True)
class Validated:
    """How well methods estimate the scores of models that they have not seen.

    Attributes:
        summary: One line for each kind of split, budget, target and method (``fathom.compress.validate.summary``).
        reach: Items until intervals are as narrow as wanted (``fathom.compress.validate``); None where not asked for.
    """

    summary: "pl.DataFrame"
    reach: "pl.DataFrame | None" = None


@command(ValidateOptions)
def validate(options: ValidateOptions) -> Validated:
    """Try methods of choosing and estimating on models that they have never seen.

    Models are split into known and new ones: at random, and with the weakest half known and the strongest half new.
    Each method chooses items by the known models, and estimates the new ones' scores from them.
    """
    from fathom.compress.released import is_released, read_embeddings, read_split
    from fathom.compress.tables import read_matrix
    from fathom.compress.validate import reach, splits_of, summary, validate
    from fathom.report.compression import validation
    from fathom.report.figure import check_format, save
    from fathom.rows.schema import write_table

    if options.plot is not None:
        check_format(options.plot)
    paths = paths_of(options.sources)
    matrix = read_matrix(paths, least=4)
    released = len(paths) == 1 and is_released(paths[0])
    vectors = vectors_of(options.embeddings, matrix)
    if vectors is None and released:
        vectors = read_embeddings(paths[0])
    published = read_split(paths[0]) if released else None
    splits = splits_of(matrix, options.splits, seed=options.seed, published=published)
    found = validate(
        matrix,
        options.budgets,
        methods=options.methods,
        splits=splits,
        embeddings=vectors,
        progress=options.progress,
    )
    if options.out is not None:
        write_table(found, options.out)
    figures = summary(found)
    if options.plot is not None:
        save(validation(figures), options.plot)
    if options.width is None:
        return Validated(figures)
    return Validated(figures, reach(matrix, options.width, splits=splits, progress=options.progress))


# -------------------------------------------------------------------------------------------------------- printing


def main(line: ValidateOptions) -> None:
    """Print a table for each kind of split and budget, and of the items that a width takes."""
    from fathom.terminal import print_records, progress_bar, tell

    with progress_bar("validating", line.quiet) as progress:
        found = validate.body(line.but(progress=progress))
    summary = found.summary.to_dicts()
    reached = [] if found.reach is None else found.reach.to_dicts()
    if line.as_json:
        print_json({"summary": summary, "reach": reached})
        return
    _print_summary([one for one in summary if line.categories or one["target"] == "overall"])
    if reached:
        print_records(_reached(reached), as_json=False)
        tell(f"items until the 95% interval has a half-width of {line.width:g}; for most: for 95% of the new models")


def _print_summary(lines: Sequence[dict[str, Any]]) -> None:
    """A table for each kind of split and budget, and target where there are several; the least error first."""
    from fathom.terminal import print_records

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


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
