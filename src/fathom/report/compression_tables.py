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


def estimate_records(found: Estimated) -> Records:
    """A record for each model, in percent; without the columns that say the same of all."""
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
            **({by_other: _percent(one.other)} if both else {}),
            **{name: one.ended.get(name, 0) for name in ended},
        }
        for one in found.models
    ]


def agreement_records(found: Estimated) -> Records:
    """How each estimate agrees with the scores themselves, in points."""
    return [
        {
            "estimate": one.estimate,
            "models": one.models,
            "n": one.count,
            "Spearman": f"{one.spearman:.4f}",
            "error": _percent(one.error),
            "bias": f"{100 * one.bias:+.2f}",
        }
        for one in found.agreement
    ]


def validation_records(summary: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Records]]:
    """The title and the records of a table for each kind of split, budget and target; the least error first.

    Args:
        summary: Records of ``fathom.compress.summary``.
    """
    tables: dict[tuple[str, int, str], list[Mapping[str, Any]]] = {}
    for one in summary:
        tables.setdefault((one["split"], one["budget"], one["target"]), []).append(one)
    for (split, budget, target), part in tables.items():
        costs = {f"{one['cost_share']:.1%}" for one in part}
        of = ("" if target == "overall" else f", {target}") + (
            f", {costs.pop()} of the cost" if len(costs) == 1 else ""
        )
        ordered = sorted(part, key=lambda one: math.inf if one["error"] is None else one["error"])
        draws = max(one["draws"] for one in part)
        yield (
            f"{SPLITS[split]}, {budget:,} items{of}, {draws} draws",
            [_validated(one, cost=bool(costs)) for one in ordered],
        )


def _validated(one: Mapping[str, Any], *, cost: bool) -> dict[str, object]:
    spread = f"±{one['spearman_se']:.3f}" if one["spearman_se"] else ""
    return {
        "method": one["method"],
        "Spearman": _figure(one["spearman"], ".3f") + spread,
        "error": _figure(one["error"], ".4f"),
        "bias": _figure(one["bias"], "+.4f"),
        "coverage": _figure(one["coverage"], ".1%"),
        "half-width": _figure(one["half_width"], ".4f"),
        **({"cost": f"{one['cost_share']:.1%}"} if cost else {}),
        "seconds": f"{one['seconds']:.2f}",
    }


def reach_records(reach: Sequence[Mapping[str, Any]]) -> Records:
    """Means over the splits of one kind, for each method.

    Args:
        reach: Records of ``fathom.compress.validate.reach``.
    """
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in reach:
        grouped.setdefault((one["split"], one["method"]), []).append(one)
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
    return f"{sum(float(one[name]) for one in records) / len(records):{form}}"


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def _percent(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{100 * value:.2f}"


def _interval(one: Estimate) -> str:
    return "-" if one.low is None or one.high is None else f"{100 * one.low:.1f} to {100 * one.high:.1f}"


def _ranks(ranks: tuple[int, int] | None) -> str:
    return "-" if ranks is None else f"{ranks[0]} to {ranks[1]}" if ranks[0] < ranks[1] else str(ranks[0])
