"""Estimates and validations of smaller benchmarks as the records of tables."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fathom.compress.estimates import Estimate, Estimated
from fathom.stats.outcomes import COUNTED, differ

SPLITS = {
    "random": "Random halves of the models",
    "extrapolation": "The weakest half known, the strongest half new",
    "published": "The published split",
}
Records = list[dict[str, object]]


def estimate_records(estimated: Estimated) -> Records:
    """A record for each model, in percent; without the columns that say the same of all."""
    ties = any(model.group for model in estimated.models)
    several = len({model.items for model in estimated.models}) > 1
    ended = [name for name in COUNTED if any(model.ended.get(name) for model in estimated.models)]
    both = any(model.ended and differ(model.overall.value, model.other) for model in estimated.models)
    by_other = "drop" if estimated.unanswered == "zero" else "zero"
    return [
        {
            **({"tie group": model.group, "ranks": _ranks(model.ranks)} if ties else {}),
            "model": model.model,
            "estimate": _percent(model.overall.value),
            **({"95%": _interval(model.overall)} if ties else {}),
            **{name: _percent(value) for name, value in model.others.items()},
            **({"full": _percent(model.full)} if model.full is not None else {}),
            **({"items": model.items} if several else {}),
            **({by_other: _percent(model.other)} if both else {}),
            **{name: model.ended.get(name, 0) for name in ended},
        }
        for model in estimated.models
    ]


def agreement_records(estimated: Estimated) -> Records:
    """How each estimate agrees with the scores themselves, in points."""
    return [
        {
            "estimate": agreement.estimate,
            "models": agreement.models,
            "n": agreement.count,
            "Spearman": f"{agreement.spearman:.4f}",
            "error": _percent(agreement.error),
            "bias": f"{100 * agreement.bias:+.2f}",
        }
        for agreement in estimated.agreement
    ]


def validation_records(summary: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Records]]:
    """The title and the records of a table for each kind of split, budget and target; the least error first.

    Args:
        summary: Records of ``fathom.compress.summary``.
    """
    tables: dict[tuple[str, int, str], list[Mapping[str, Any]]] = {}
    for record in summary:
        tables.setdefault((record["split"], record["budget"], record["target"]), []).append(record)
    for (split, budget, target), part in tables.items():
        costs = {f"{record['cost_share']:.1%}" for record in part}
        of = ("" if target == "overall" else f", {target}") + (
            f", {costs.pop()} of the cost" if len(costs) == 1 else ""
        )
        ordered = sorted(part, key=lambda record: math.inf if record["error"] is None else record["error"])
        draws = max(record["draws"] for record in part)
        yield (
            f"{SPLITS[split]}, {budget:,} items{of}, {draws} draws",
            [_validated(record, cost=bool(costs)) for record in ordered],
        )


def _validated(record: Mapping[str, Any], *, cost: bool) -> dict[str, object]:
    spread = f"±{record['spearman_se']:.3f}" if record["spearman_se"] else ""
    return {
        "method": record["method"],
        "Spearman": _figure(record["spearman"], ".3f") + spread,
        "error": _figure(record["error"], ".4f"),
        "bias": _figure(record["bias"], "+.4f"),
        "coverage": _figure(record["coverage"], ".1%"),
        "half-width": _figure(record["half_width"], ".4f"),
        **({"cost": f"{record['cost_share']:.1%}"} if cost else {}),
        "seconds": f"{record['seconds']:.2f}",
    }


def reach_records(reach: Sequence[Mapping[str, Any]]) -> Records:
    """Means over the splits of one kind, for each method.

    Args:
        reach: Records of ``fathom.compress.validate.reach``.
    """
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in reach:
        grouped.setdefault((record["split"], record["method"]), []).append(record)
    return [
        {
            "split": split,
            "method": method,
            "items": _mean(part, "mean_items", ".0f"),
            "for most": _mean(part, "most_items", ".0f"),
            "coverage": _mean(part, "coverage", ".1%"),
            "error": _mean(part, "error", ".4f"),
            "bias": _mean(part, "bias", "+.4f"),
        }
        for (split, method), part in grouped.items()
    ]


def _mean(records: Sequence[Mapping[str, Any]], name: str, form: str) -> str:
    return f"{sum(float(record[name]) for record in records) / len(records):{form}}"


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def _percent(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.2f}"


def _interval(estimate: Estimate) -> str:
    return (
        "-"
        if estimate.low is None or estimate.high is None
        else f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}"
    )


def _ranks(ranks: tuple[int, int] | None) -> str:
    return "-" if ranks is None else f"{ranks[0]} to {ranks[1]}" if ranks[0] < ranks[1] else str(ranks[0])
