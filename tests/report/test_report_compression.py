"""Figures of smaller benchmarks: valid, complete, and true to their tables."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from vega_lite import read_by_altair

from fathom.report.compression import ESTIMATES, GROUPS, MEASURES, SPLITS, STUDIES, study_chart, validation
from fathom.report.compression_marks import medians
from fathom.report.figure import FORMATS, save
from fathom.types import FathomError

pytestmark = pytest.mark.slow


def measured(settings: Sequence[str] = (), draws: int = 1) -> pl.DataFrame:
    """A table as the studies make it, with another correlation in every line."""
    lines = [
        {"setting": setting, "draw": draw, "models": group, "estimate": estimate, "category": category}
        for setting in settings or ("",)
        for draw in range(draws)
        for group in GROUPS
        for category in ("all", "few_shot", "code")
        for estimate in (*ESTIMATES, "weighted")
    ]
    table = pl.DataFrame(lines).with_row_index("spearman").with_columns(pl.col("spearman") / (2 * len(lines)) + 0.5)
    table = table.with_columns(error=pl.lit(0.01), bias=pl.lit(0.0))
    return table if settings else table.drop("setting", "draw")


def table_of(study: str) -> pl.DataFrame:
    if study == "redundancy":
        lines = [
            {"category": category, "ratio": ratio, "items": 9, "draw": draw, "spearman": 1 - draw / 40}
            for category in ("code", "few_shot")
            for ratio in (0.99, 0.95)
            for draw in range(20)
        ]
        return pl.DataFrame(lines)
    if study == "rankings":
        ranks = {"full": [1.0, 2.0, 3.0], "predicted": [1.0, 3.0, 2.0], "direct": [1.0, 2.5, 2.5]}
        one = pl.DataFrame({"model": ["steady", "up", "down"], **ranks})
        return pl.concat([one.select(pl.lit(draw).alias("draw"), pl.all()) for draw in range(3)])
    if study == "neighbours":
        places = {"x": [0.0, 3.0, 1.0], "y": [5.0, 1.0, 2.0], "chosen": [True, False, False]}
        return pl.DataFrame({"item": ["a", "b", "c"], "task": ["s", "s", "t"], "category": ["k"] * 3, **places})
    if study == "categories":
        return measured()
    if study == "choices":
        return measured(["4"], draws=5)
    names = ["5", "10", "20"] if study in ("dimensions", "numbers") else ["0.9", "0.95", "0.99"]
    return measured(names if study in ("dimensions", "numbers", "ratios") else ["none", "tfidf"], draws=3)


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_is_valid_vega_lite(study: str) -> None:
    chart = study_chart(study, table_of(study))
    assert read_by_altair(chart)


@pytest.mark.parametrize("study", ["dimensions", "bias", "choices"])
def test_every_draw_and_its_median_are_drawn(study: str) -> None:
    table = table_of(study)
    drawn = json.dumps(study_chart(study, table).to_dict(validate=False))
    whole = table.filter(category="all").filter(pl.col("estimate") != "weighted")
    for value in whole["spearman"]:
        assert f'"value": {value}' in drawn
    for value in table.filter(category="code")["spearman"]:
        assert f'"value": {value}' not in drawn
    for value in whole.group_by("setting", "models", "estimate").agg(pl.col("spearman").median())["spearman"]:
        assert f'"value": {value}' in drawn


def test_medians_of_places() -> None:
    records = [{"row": "a", "series": "s", "value": value} for value in (3.0, 1.0, 2.0)]
    assert medians([*records, {"row": "b", "series": "s", "value": 7.0}]) == [
        {"row": "a", "series": "s", "value": 2.0},
        {"row": "b", "series": "s", "value": 7.0},
    ]


def test_correlations_that_are_not_defined_are_left_out() -> None:
    table = measured(["a", "b"]).with_columns(
        spearman=pl.when(pl.col("models") == "new").then(math.nan).otherwise(pl.col("spearman"))
    )
    drawn = json.dumps(study_chart("bias", table).to_dict(validate=False))
    assert "new models" not in drawn
    assert "NaN" not in drawn
    with pytest.raises(FathomError, match="no rank correlation is defined"):
        study_chart("bias", table.filter(models="new"))
    with pytest.raises(FathomError, match="the study 'cooking' has no figure"):
        study_chart("cooking", table)


def test_models_that_keep_their_rank_are_grey() -> None:
    chart = study_chart("rankings", table_of("rankings")).to_dict(validate=False)
    still, moved = (chart["datasets"][chart["concat"][0]["layer"][place]["data"]["name"]] for place in (0, 2))
    assert {one["model"] for one in still} == {"steady"}
    assert {one["model"] for one in moved} == {"up", "down"}


def summarised(budgets: Sequence[int] = (12,)) -> pl.DataFrame:
    lines = [
        {"split": split, "budget": budget, "target": target, "method": method, "draws": 3, "spearman": 0.9 + place / 50}
        | {"error": 0.01 * (place + 1), "bias": 0.001 - 0.002 * place, "error_se": 0.002}
        | {"spearman_se": None if split == "published" else 0.01}
        for split in SPLITS
        for budget in budgets
        for target in ("overall", "code")
        for place, method in enumerate(("sampled", "random"))
    ]
    return pl.DataFrame(lines, infer_schema_length=None)


def test_methods_stand_from_the_least_error_down_with_standard_errors() -> None:
    frame = summarised().sort("error", descending=True)
    chart = validation(frame)
    assert read_by_altair(chart)
    drawn = chart.to_dict(validate=False)
    assert len(drawn["concat"]) == len(MEASURES)
    dots = drawn["concat"][0]["layer"][-1]["encoding"]
    assert dots["y"]["scale"]["domain"] == ["sampled", "random"]
    assert dots["color"]["scale"]["domain"] == list(SPLITS.values())
    records = [one for values in drawn["datasets"].values() for one in values]
    first = next(one for one in records if one["row"] == "sampled" and one["value"] == 0.9 and "low" in one)
    assert (first["low"], first["high"]) == pytest.approx((0.89, 0.91))
    several = validation(summarised((12, 24))).to_dict(validate=False)
    assert [one["title"]["text"] for one in several["concat"]][::3] == [
        "Spearman correlation, 12 items",
        "Spearman correlation, 24 items",
    ]
    with pytest.raises(FathomError, match="no method was validated on 'poems'"):
        validation(frame, "poems")


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_is_written(tmp_path: Path, suffix: str) -> None:
    starts = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".html": b"<!doctype html>", ".json": b"{"}
    path = save(validation(summarised()), tmp_path / f"figure{suffix}")
    assert path.read_bytes().startswith(starts[suffix])
    with pytest.raises(FathomError, match=r"a figure must end in one of .svg, .png, .pdf, .html, .json"):
        save(validation(summarised()), tmp_path / "figure.gif")
