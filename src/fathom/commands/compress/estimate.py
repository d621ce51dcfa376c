"""Estimate scores on a whole benchmark from the scores on a subset of its items."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.compress.shared import Published, Scores, print_json
from fathom.commands.shared import Json, MaybePath, Unanswered
from fathom.options.declare import OptionError, command, opt, unset
from fathom.options.values import paths_of
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.compress.estimates import Estimate, ModelEstimate, Unestimated
    from fathom.compress.ranks import RankCorrelation

OWN = "estimate"
"""Name of a method's own estimate, beside its others."""


class EstimateOptions(Json):
    sources: Scores
    _: KW_ONLY
    subset: Annotated[MaybePath, opt("File of the subset.", metavar="FILE")] = unset
    method: Annotated[
        str | None, opt("For --published: minilongbench. Subsets know their own method.", metavar="NAME")
    ] = None
    published: Published = unset
    known: Annotated[
        MaybePath,
        opt("The scores that the subset was chosen by, where they are not beside it.", metavar="FILE"),
    ] = unset
    unanswered: Unanswered = "zero"
    out: Annotated[MaybePath, opt("A .parquet, .csv or .jsonl file for the estimates.", "-o", metavar="FILE")] = unset


@dataclass(frozen=True)
class Estimated:
    """Estimates of a benchmark's scores from those of a subset.

    Attributes:
        subset: Name of the subset.
        method: Method by which it was chosen.
        items: Items of the subset.
        models: One for each model, the best first.
        agreement: How the estimates agree with the scores themselves, where they are known.
        left_out: Models that too many of the subset's items are missing of for an estimate.
        unanswered: How replies count that were not answered.
    """

    subset: str
    method: str
    items: int
    models: "Sequence[ModelEstimate]"
    agreement: "Sequence[RankCorrelation]"
    left_out: "Sequence[Unestimated]" = ()
    unanswered: str = "zero"


@command(EstimateOptions)
def estimate(options: EstimateOptions) -> Estimated:
    """Estimate scores on a whole benchmark, with intervals, from the scores on a subset of its items.

    Models of one tie group do not differ significantly; ranks are those that the data allow.
    """
    from fathom.compress import minilongbench
    from fathom.compress.estimates import of_subset
    from fathom.compress.tables import read_matrix, read_sampled
    from fathom.subsetfile import read_subset

    published = options.published
    if (published is None) == (options.subset is None):
        raise FathomError(
            "name one subset: its file with --subset FILE, or with --published FOLDER the folder of MiniLongBench's "
            "released data"
        )
    if options.subset is not None:
        chosen = read_subset(options.subset)
        mini = minilongbench.read_mini(options.subset) if chosen.method == minilongbench.METHOD else None
        method, wanted = chosen.method, {member.item for member in chosen.members}
    else:
        mini = minilongbench.published(Path(str(published)))
        chosen, method, wanted = mini.subset, minilongbench.METHOD, set()
    if options.method not in (None, method):
        raise OptionError("method", options.method, f"this subset was chosen by {method!r}, and is estimated so")
    scores = read_matrix(paths_of(options.sources), wanted=wanted, unanswered=options.unanswered)
    known = None
    if mini is None and options.subset is not None:
        known = read_sampled(options.subset)[1] if options.known is None else read_matrix(options.known)
    models, left_out = of_subset(chosen, scores, known, mini, options.unanswered)
    agreed = _agreement(models, _groups(models, published))
    found = Estimated(chosen.name, method, len(chosen.members), models, agreed, left_out, options.unanswered)
    if options.out is not None:
        _write(found, options.out)
    return found


def _groups(models: "Sequence[ModelEstimate]", published: Path | None) -> dict[str, list[int]]:
    """All models; and those that the published benchmark was made with and tested with, where these are they."""
    from fathom.compress.released import MODELS, read_models, read_split

    groups = {"all": list(range(len(models)))}
    if published is None or not (published / MODELS).is_file():
        return groups
    names = read_models(published)
    places = {one.model: place for place, one in enumerate(models)}
    for group, numbers in zip(("test", "train"), reversed(read_split(published)), strict=True):
        if all(names[number] in places for number in numbers):
            groups[group] = [places[names[number]] for number in numbers]
    return groups


def _agreement(models: "Sequence[ModelEstimate]", groups: Mapping[str, Sequence[int]]) -> "list[RankCorrelation]":
    import numpy as np

    from fathom.compress.ranks import agreement

    truth = np.array([math.nan if one.full is None else one.full for one in models])
    estimates = {OWN: np.array([one.overall.value for one in models])}
    for name in models[0].others if models else ():
        estimates[name] = np.array([one.others[name] for one in models])
    known = {name: group for name, group in groups.items() if (~np.isnan(truth[list(group)])).sum() > 1}
    return agreement(truth, estimates, known)


def _write(found: Estimated, path: Path) -> None:
    import polars as pl

    from fathom.rows.schema import write_table

    ends = (("", "value"), (" low", "low"), (" high", "high"))
    lines = [
        {
            "model": one.model,
            OWN: one.overall.value,
            "low": one.overall.low,
            "high": one.overall.high,
            **one.others,
            "full": one.full,
            "items": one.items,
            "other": one.other,
            **one.ended,
            **{f"{name}{end}": getattr(part, field) for name, part in one.categories.items() for end, field in ends},
        }
        for one in found.models
    ]
    write_table(pl.DataFrame(lines, infer_schema_length=None), path)


# -------------------------------------------------------------------------------------------------------- printing


def main(line: EstimateOptions) -> None:
    """Print a table of the models, and how the estimates agree with the scores where these are known."""
    from fathom.terminal import print_records, tell

    found = estimate.body(line)
    if line.as_json:
        print_json(dataclasses.asdict(found))
        return
    print_records(_lines(found), as_json=False)
    if found.agreement:
        print()
        print_records([_agreed(one) for one in found.agreement], as_json=False)
    least = min((one.items for one in found.models), default=found.items)
    lacking = f"; not all of them have scores, at the least {least:,}" if least < found.items else ""
    for one in found.left_out:
        tell(f"{one}, more than 2%: no estimate. Run it again, or give --unanswered drop")
    tell(f"{found.subset}: {found.items:,} items, {found.method}{lacking}")


def _lines(found: Estimated) -> list[dict[str, object]]:
    from fathom.stats.outcomes import COUNTED, differ

    ties = any(one.group for one in found.models)
    several = len({one.items for one in found.models}) > 1
    ended = [name for name in COUNTED if any(one.ended.get(name) for one in found.models)]
    both = any(one.ended and differ(one.overall.value, one.other) for one in found.models)
    by_other = "drop" if found.unanswered == "zero" else "zero"
    return [
        {
            **({"tie group": one.group, "ranks": _ranks(one.ranks)} if ties else {}),
            "model": one.model,
            "estimate": _percent(one.overall.value),
            **({"95%": _interval(one.overall)} if ties else {}),
            **{name: _percent(value) for name, value in one.others.items()},
            **({"full": _percent(one.full)} if one.full is not None else {}),
            **({"items": one.items} if several else {}),
            **({by_other: "-" if one.other is None else _percent(one.other)} if both else {}),
            **{name: one.ended.get(name, 0) for name in ended},
        }
        for one in found.models
    ]


def _agreed(one: "RankCorrelation") -> dict[str, object]:
    return {
        "estimate": one.estimate,
        "models": one.models,
        "n": one.count,
        "Spearman": f"{one.spearman:.4f}",
        "error": _percent(one.error),
        "bias": f"{100 * one.bias:+.2f}",
    }


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.2f}"


def _interval(one: "Estimate") -> str:
    return "-" if one.low is None or one.high is None else f"{100 * one.low:.1f} to {100 * one.high:.1f}"


def _ranks(ranks: tuple[int, int] | None) -> str:
    return "-" if ranks is None else f"{ranks[0]} to {ranks[1]}" if ranks[0] < ranks[1] else str(ranks[0])
