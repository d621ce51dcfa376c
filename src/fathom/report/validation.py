"""How methods of choosing items compare, as a figure."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import polars as pl

from fathom.report.compression_marks import SIDE, dots, rows_height, together, value_axis
from fathom.report.drawing import Size
from fathom.types import FathomError


def validation(frame: pl.DataFrame, target: str = "overall") -> alt.TopLevelMixin:
    """How methods compare: rank correlation, error and bias on models that they have not seen.

    Args:
        frame: What ``fathom.compress.validate.summary`` gave: ``split``, ``budget``, ``target``, ``method``,
            ``draws``, ``spearman``, ``error`` and ``bias`` with ``spearman_se`` and ``error_se``.
        target: Which target of those there is drawn.

    Returns:
        A chart: a line of panels for each budget; kinds of split side by side in each row, best method on top. Bars
        are one standard error of the mean over draws either way.

    Raises:
        FathomError: There is no line of this target.
    """
    frame = frame.filter(target=target)
    if frame.is_empty():
        raise FathomError(f"there is nothing to draw: no method was tried on {target!r}")
    splits = [name for name in SPLITS if name in frame["split"].to_list()]
    panels: list[alt.LayerChart] = []
    for budget in frame["budget"].unique(maintain_order=True):
        own = frame.filter(budget=budget)
        first = own.filter(pl.col("split") == splits[0]).sort("error", nulls_last=True)
        methods = list(dict.fromkeys([*first["method"], *own["method"]]))
        size = Size(SIDE, rows_height(len(methods), len(splits)))
        for place, (name, (scale, title)) in enumerate(MEASURES.items()):
            records = _records(own, name, scale)
            heading = f"{title}, {budget:,} items" if frame["budget"].n_unique() > 1 else title
            # One scale for all budgets, so that panels above each other can be compared.
            axis = value_axis(
                _records(frame, name, scale), one=scale == 1, zero=name != "spearman", signed=name == "bias"
            )
            chart = dots(records, methods, [SPLITS[one] for one in splits], size, axis, title=heading, names=not place)
            panels.append(chart)
    single = frame["budget"].n_unique() == 1
    chosen = f"{frame['budget'][0]:,} items. " if single else ""
    subtitle = f"{chosen}{_draws(frame)}; bars are one standard error of the mean either way"
    estimated = "the whole benchmark" if target == "overall" else target
    return together(panels, f"Estimates of {estimated} for unseen models", subtitle, columns=len(MEASURES))


SPLITS = {
    "random": "random halves",
    "extrapolation": "known: weakest half, new: strongest half",
    "published": "the published split",
}
MEASURES: Mapping[str, tuple[float, str]] = {
    "spearman": (1.0, "Spearman correlation"),
    "error": (100.0, "Mean absolute error, points"),
    "bias": (100.0, "Bias (estimate less truth), points"),
}
"""Figures of a validation: their unit as a multiple, and their headings."""


def _draws(frame: pl.DataFrame) -> str:
    most: int = max(frame["draws"].to_list())
    return "One draw" if most == 1 else f"Means over up to {most:,} draws"


def _records(frame: pl.DataFrame, name: str, scale: float) -> list[dict[str, object]]:
    return [
        {"row": line["method"], "series": SPLITS[line["split"]], **_spread(line, name, scale)}
        for line in frame.to_dicts()
        if line[name] is not None
    ]


def _spread(line: Mapping[str, object], name: str, scale: float) -> dict[str, object]:
    value = scale * float(str(line[name]))
    error = line.get(f"{name}_se")
    if error is None:
        return {"value": value}
    half = scale * float(str(error))
    return {"value": value, "low": value - half, "high": value + half}
