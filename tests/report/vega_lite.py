"""Reads a chart with Altair, which takes half a second to load: only the tests that need it do."""

from __future__ import annotations

from typing import Any

from fathom.report.vegalite import specification


def read_by_altair(chart: Any) -> Any:
    """The chart as Altair reads it, which raises where it is no valid Vega-Lite."""
    import altair

    return altair.Chart.from_dict(specification(chart))
