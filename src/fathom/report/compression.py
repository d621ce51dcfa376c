"""Figures of smaller benchmarks: MiniLongBench's studies, and how methods compare.

They are drawn from the tables of ``fathom.compress``.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from fathom.report.charts import ConcatChart, LayerChart, Numbers, Size
from fathom.report.compression_marks import (
    SIDE,
    bounds,
    dots,
    lines,
    medians,
    plane,
    ranks,
    rows_height,
    together,
    value_axis,
)
from fathom.report.drawing import round_numbers
from fathom.types import FathomError

SP = "Spearman correlation with the scores on the whole benchmark"
ALL = "all"
GROUPS = {"known": "known models", "new": "new models", ALL: "all models"}
"""Groups of models in the order of their panels: items were chosen with the known ones."""
ESTIMATES = {"predicted": "predicted by item response theory", "direct": "direct: mean of the items' scores"}
STRONG, MODERATE = 0.8, 0.6  # thresholds of the paper's words for correlations
PANEL = Size(240, 190)
SPLITS = {
    "random": "random halves",
    "extrapolation": "known: weakest half, new: strongest half",
    "published": "the published split",
}
MEASURES: Mapping[str, tuple[float, str]] = {
    "spearman": (1.0, "Spearman correlation"),
    "error": (100.0, "Mean absolute error, points"),
    "bias": (100.0, "Bias (estimate − truth), points"),
}
"""Figures of a validation: factor of their unit, and heading."""


def study_chart(study: str, table: pl.DataFrame) -> ConcatChart:
    """The figure of one study.

    Args:
        study: Its name, one of ``STUDIES``.
        table: Result of ``fathom.api.compress_study``, with every draw.

    Returns:
        A chart, see ``fathom.report.figure``.

    Raises:
        FathomError: There is no such figure, or nothing to draw.
    """
    if study not in STUDIES:
        raise FathomError(f"the study {study!r} has no figure: choose one of {', '.join(STUDIES)}")
    known = table.with_columns(pl.col("spearman").fill_nan(None)) if "spearman" in table.columns else table
    known = known.drop_nulls("spearman") if "spearman" in table.columns else known
    if known.is_empty():
        raise FathomError(f"nothing to draw for {study!r}: no rank correlation is defined")
    return STUDIES[study](known)


def _redundancy(table: pl.DataFrame) -> ConcatChart:
    parts = {"low": 0.05, "inner": 0.25, "value": 0.5, "outer": 0.75, "high": 0.95}
    quantiles = table.group_by("category", "ratio", maintain_order=True).agg(
        *(pl.col("spearman").quantile(share, "linear").alias(name) for name, share in parts.items()),
        pl.len().alias("draws"),
    )
    records = [
        {"row": _words(line["category"]), "series": _ratio(line["ratio"]), **{name: line[name] for name in parts}}
        for line in quantiles.to_dicts()
    ]
    rows = list(dict.fromkeys(str(record["row"]) for record in records))
    series = [_ratio(value) for value in sorted(table["ratio"].unique(), reverse=True)]
    size = Size(460, rows_height(len(rows), len(series)))
    axis = value_axis([*records, {"value": MODERATE}])
    chart = dots(records, rows, series, size, axis, guides=(MODERATE, STRONG))
    subtitle = [
        f"{SP}, by category; {max(quantiles['draws'].to_list()):,} random subsets each",
        f"Dot: median; thick bar: middle 50%; thin bar: 90%; dashed: {MODERATE} (moderate) and {STRONG} (strong)",
    ]
    return together([chart], "Rank correlation of random subsets with the whole benchmark", subtitle)


def _categories(table: pl.DataFrame) -> ConcatChart:
    table = table.filter(pl.col("estimate").is_in(list(ESTIMATES)))
    rows = [_category(name) for name in table["category"].unique(maintain_order=True)]
    axis = value_axis(_records(table, "category"))
    panels: list[LayerChart] = []
    for group, title in _groups(table):
        own = table.filter(models=group)
        size = Size(SIDE, rows_height(len(rows), len(ESTIMATES)))
        records = [{**record, "row": _category(str(record["row"]))} for record in _records(own, "category")]
        panels.append(dots(records, rows, list(ESTIMATES.values()), size, axis, title=title, names=not panels))
    return together(panels, "Rank correlation of the subset with the whole benchmark, by category", [SP])


def _settings(table: pl.DataFrame, title: str) -> ConcatChart:
    table = _whole(table)
    rows = table["setting"].unique(maintain_order=True).to_list()
    axis = value_axis(_records(table, "setting"))
    panels: list[LayerChart] = []
    for group, heading in _groups(table):
        size = Size(SIDE, rows_height(len(rows), len(ESTIMATES)))
        draws = _records(table.filter(models=group), "setting")
        panels.append(_medians(draws, rows, size, axis, title=heading, names=not panels))
    return together(panels, title, _subtitle(table))


def _medians(
    draws: list[dict[str, object]],
    rows: Sequence[str],
    size: Size,
    axis: Numbers,
    *,
    title: str = "",
    names: bool = True,
) -> LayerChart:
    """Medians over draws, and all draws if there are several."""
    middle = medians(draws)
    several = draws if len(draws) > len(middle) else ()
    return dots(middle, rows, list(ESTIMATES.values()), size, axis, draws=several, title=title, names=names)


def _choices(table: pl.DataFrame) -> ConcatChart:
    table = _whole(table).with_columns(pl.col("models").replace_strict(GROUPS).alias("group"))
    rows = [title for _, title in _groups(table)]
    size = Size(460, rows_height(len(rows), len(ESTIMATES)))
    records = _records(table, "group")
    chart = _medians(records, rows, size, value_axis(records))
    subtitle = [SP, f"{table['setting'][0]} known models, drawn at random. {_one_mark(table)}"]
    return together([chart], "Choice of the known models", subtitle)


def _curves(
    table: pl.DataFrame, title: str, x_title: str, *, log: bool = False, percent: bool = False, related: bool = False
) -> ConcatChart:
    table = _whole(table).with_columns(pl.col("setting").cast(pl.Float64).alias("x"))
    values = sorted(table["x"].unique())
    records = [{**record, "x": x} for record, x in zip(_records(table, "setting"), table["x"], strict=True)]
    margin = 1.12 if log else 0.04 * (values[-1] - values[0] or 1)
    ends = (values[0] / margin, values[-1] * margin) if log else (values[0] - margin, values[-1] + margin)
    ticks = [(value, f"{value:.0%}" if percent else f"{value:.0f}") for value in values]
    x = Numbers(low=ends[0], high=ends[1], ticks=ticks, log=log, marks=True, title=x_title, font=10)
    low, high = bounds([float(str(record["value"])) for record in records])
    y = Numbers(low=low, high=high, ticks=[(at, f"{at:.2f}") for at in round_numbers(low, high, 6)], grid=True)
    panels: list[LayerChart] = []
    for group, heading in _groups(table):
        own = table["models"] == group
        inside = [record for record, kept in zip(records, own, strict=True) if kept]
        note = _relation(table.filter(models=group)) if related else ""
        panels.append(lines(inside, list(ESTIMATES.values()), PANEL, x, y, title=heading, note=note))
    return together(panels, title, _subtitle(table))


def _rankings(table: pl.DataFrame) -> ConcatChart:
    stages = {"direct": "direct", "full": "whole", "predicted": "predicted"}
    panels: list[LayerChart] = []
    for draw in table["draw"].unique(maintain_order=True):
        own = table.filter(draw=draw)
        records = [
            {
                "model": line["model"],
                "stage": name,
                "rank": line[key],
                "moved": len({line[stage] for stage in stages}) > 1,
            }
            for line in own.to_dicts()
            for key, name in stages.items()
        ]
        panels.append(ranks(records, list(stages.values()), Size(200, 24 * len(own)), title=f"Draw {draw + 1}"))
    subtitle = [
        "Rank 1 is the best of the models drawn. Middle: ranks by the whole benchmark. Left and right: ranks by the "
        "subset, from direct and from predicted scores",
        "Grey: models whose rank is the same in all three",
    ]
    return together(panels, "Ranks by the whole benchmark and by the subset", subtitle, columns=min(2, len(panels)))


def _neighbours(table: pl.DataFrame) -> ConcatChart:
    by = "task" if table["task"].n_unique() <= 6 else "category"
    spans = {}
    for name in ("x", "y"):
        low, high = table.select(low=pl.col(name).min(), high=pl.col(name).max()).row(0)
        spans[name] = (low - 0.05 * (high - low), high + 0.05 * (high - low))
    panels: list[LayerChart] = []
    for name in table[by].unique(maintain_order=True):
        own = table.filter(pl.col(by) == name)
        records = own.select(pl.col("x", "y").round(2), "chosen").to_dicts()
        note = f"{own['chosen'].sum():,} of {len(own):,} items chosen"
        panels.append(plane(records, Size(210, 190), spans, title=_words(name), note=note))
    subtitle = [
        "Discriminations and difficulty of each item, projected by t-SNE: near points are similar, axes have no unit",
        "Diamonds: items of the subset; dots: all others",
    ]
    return together(panels, "Items by their parameters in item response theory", subtitle, columns=min(3, len(panels)))


STUDIES: Mapping[str, Callable[[pl.DataFrame], ConcatChart]] = {
    "redundancy": _redundancy,
    "categories": _categories,
    "dimensions": lambda table: _curves(
        table, "The number of dimensions d", "d, dimensions of item response theory", log=True, related=True
    ),
    "ratios": lambda table: _curves(table, "The share p of items left out", "p, share of items left out", percent=True),
    "embeddings": lambda table: _settings(table, "Embeddings of the items' texts"),
    "components": lambda table: _settings(table, "Embeddings with and without PCA"),
    "bias": lambda table: _settings(table, "Start values of the difficulties, and models without difficulties"),
    "choices": _choices,
    "numbers": lambda table: _curves(table, "The number m of known models", "m, models used to choose items"),
    "rankings": _rankings,
    "neighbours": _neighbours,
}
"""Chart of each study."""


def _whole(table: pl.DataFrame) -> pl.DataFrame:
    """Predicted and direct estimates of the whole score."""
    return table.filter(category=ALL).filter(pl.col("estimate").is_in(list(ESTIMATES)))


def _records(table: pl.DataFrame, row: str) -> list[dict[str, object]]:
    lines = table.select(pl.col(row).alias("row"), pl.col("estimate").replace_strict(ESTIMATES), "spearman").rows()
    return [{"row": row, "series": series, "value": value} for row, series, value in lines]


def _subtitle(table: pl.DataFrame) -> list[str]:
    several = table["draw"].n_unique() > 1
    return [SP, _one_mark(table)] if several else [f"{SP}; one fit each"]


def _one_mark(table: pl.DataFrame) -> str:
    return f"Faint: each of {table['draw'].n_unique():,} draws; full: their median"


def _groups(table: pl.DataFrame) -> list[tuple[str, str]]:
    present = set(table["models"])
    return [(group, title) for group, title in GROUPS.items() if group in present]


def _relation(table: pl.DataFrame) -> str:
    """Pearson's r between the setting and the rank correlation of the predicted scores, as in the paper's figure 6."""
    own = table.filter(estimate="predicted")
    r = own.select(pl.corr("x", "spearman")).item() if len(own) > 2 else None
    return "" if r is None or math.isnan(r) else f"Pearson r of d and the predicted: {r:.2f}".replace("-", "−")


def _category(name: str) -> str:
    return "whole benchmark" if name == ALL else _words(name)


def _words(name: str) -> str:
    return name.removeprefix("longbench_").replace("_", " ") or "all items"


def _ratio(value: float) -> str:
    return f"{100 * value:g}% left out"


def validation(frame: pl.DataFrame, target: str = "overall") -> ConcatChart:
    """Compares methods: rank correlation, error and bias on held-out models.

    Args:
        frame: Result of ``fathom.compress.validate.summary``: ``split``, ``budget``, ``target``, ``method``,
            ``draws``, ``spearman``, ``error`` and ``bias`` with ``spearman_se`` and ``error_se``.
        target: The target to draw.

    Returns:
        A chart: a row of panels for each budget; kinds of split next to each other in each row, best method on top.
        Bars are plus and minus one standard error of the mean over draws.

    Raises:
        FathomError: No row has this target.
    """
    frame = frame.filter(target=target)
    if frame.is_empty():
        raise FathomError(f"nothing to draw: no method was validated on {target!r}")
    splits = [name for name in SPLITS if name in frame["split"].to_list()]
    panels: list[LayerChart] = []
    for budget in frame["budget"].unique(maintain_order=True):
        own = frame.filter(budget=budget)
        first = own.filter(pl.col("split") == splits[0]).sort("error", nulls_last=True)
        methods = list(dict.fromkeys([*first["method"], *own["method"]]))
        size = Size(SIDE, rows_height(len(methods), len(splits)))
        for place, (name, (scale, title)) in enumerate(MEASURES.items()):
            records = _method_records(own, name, scale)
            heading = f"{title}, {budget:,} items" if frame["budget"].n_unique() > 1 else title
            # One scale for all budgets, so that panels can be compared.
            axis = value_axis(_method_records(frame, name, scale), unit=scale == 1, signed=name == "bias")
            chart = dots(
                records, methods, [SPLITS[split] for split in splits], size, axis, title=heading, names=not place
            )
            panels.append(chart)
    single = frame["budget"].n_unique() == 1
    chosen = f"{frame['budget'][0]:,} items. " if single else ""
    subtitle = [f"{chosen}{_draws(frame)}; bars are ± one standard error of the mean"]
    estimated = "the whole benchmark" if target == "overall" else target
    return together(panels, f"Estimates of {estimated} for held-out models", subtitle, columns=len(MEASURES))


def _draws(frame: pl.DataFrame) -> str:
    most: int = max(frame["draws"].to_list())
    return "One draw" if most == 1 else f"Means over up to {most:,} draws"


def _method_records(frame: pl.DataFrame, name: str, scale: float) -> list[dict[str, object]]:
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
