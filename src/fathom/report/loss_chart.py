"""The loss of models by the tokens before: a line for each, with bands."""

from collections.abc import Sequence

from fathom.analysis.losses import Loss
from fathom.report.charts import Area, Layer, LayerChart, Line, Numbers, Points
from fathom.report.drawing import Size, length_axis, round_numbers, series_of
from fathom.report.words import tokens

SIZE = Size(620, 260)
BANDS = 4
"""With more models than this, bands hide each other."""


def loss_chart(losses: Sequence[Loss]) -> LayerChart:
    """The loss in each part of the texts, at its end.

    Args:
        losses: Of all models, in the order of their parts.
    """
    names = list(dict.fromkeys(loss.model for loss in losses))
    records: list[dict[str, object]] = [_record(loss) for loss in losses]
    known = [value for loss in losses for value in (loss.loss, loss.low, loss.high) if value is not None]
    least, most = min(known), max(known)
    room = (most - least or 1.0) * 0.05
    banded = len(names) <= BANDS and any(loss.low is not None for loss in losses)
    layers: list[Layer] = [Area(records=records, x="end", low="low", high="high")] if banded else []
    layers += [Line(records=records, x="end", y="loss"), Points(records=records, x="end", y="loss")]
    ticks = [(value, f"{value:g}") for value in round_numbers(least - room, most + room, 5)]
    return LayerChart(
        layers=layers,
        size=SIZE,
        x=length_axis(sorted({loss.end for loss in losses}), SIZE),
        y=Numbers(low=least - room, high=most + room, ticks=ticks, grid=True, title="loss per token, nats"),
        series=series_of(names, columns=min(2, len(names)), dashed=True),
    )


def _record(loss: Loss) -> dict[str, object]:
    low, high = (loss.loss, loss.loss) if loss.low is None or loss.high is None else (loss.low, loss.high)
    return {
        "system": loss.model,
        "end": loss.end,
        "loss": loss.loss,
        "low": low,
        "high": high,
        "says": f"{loss.model}, {tokens(loss.start)} to {tokens(loss.end)}: {loss.loss:.2f} [{low:.2f}, {high:.2f}]",
    }
