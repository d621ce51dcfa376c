"""The plot of scores by length with the share of samples at each length and the mean over all."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from report_rows import make_rows

from fathom import api
from fathom.report.charts import LayerChart, Points, Rule
from fathom.report.measure import measure
from fathom.report.plot import chart_of, plot
from fathom.report.shares import AREA
from fathom.types import FathomError


@pytest.mark.slow
def test_markers_have_the_area_of_their_share_and_the_dashed_line_is_the_mean_over_samples(tmp_path: Path) -> None:
    rows = make_rows(models=1, tasks=1, items=20, failures=False).with_columns(pl.col("value").fill_null(0.0))
    shortest = rows["length"].min()
    rows = rows.filter((pl.col("length") != shortest) | (pl.int_range(pl.len()).over("length") < 5))
    chart = chart_of(measure(rows), "length-shares")
    assert isinstance(chart, LayerChart)
    (points,) = (layer.records for layer in chart.layers if isinstance(layer, Points))
    ((mean,),) = (layer.records for layer in chart.layers if isinstance(layer, Rule))
    counts = dict(rows.group_by("length").len().iter_rows())
    shares = {length: number / len(rows) for length, number in counts.items()}
    assert {point["length"]: point["share"] for point in points} == pytest.approx(shares)
    assert [point["area"] for point in points] == pytest.approx([AREA * shares[point["length"]] for point in points])
    assert mean["mean"] == pytest.approx(rows["value"].mean())
    assert "of the samples" in str(points[0]["says"])
    assert "<svg" in plot(rows, "length-shares", tmp_path / "shares.svg").read_text("utf-8")


def test_a_table_of_scores_has_no_shares(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("model,task,length,score\na,t,2k,0.5\na,t,8k,0.4\n", encoding="utf-8")
    with pytest.raises(FathomError, match="do not say how many samples"):
        api.plot([file], "length-shares", tmp_path / "x.svg")
