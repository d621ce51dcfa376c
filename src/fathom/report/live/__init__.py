"""A run as it grows: its scores by length, what it has used, and how long it will take."""

from fathom.report.live.panel import Panel, print_scores
from fathom.report.live.reading import LiveReader, read_live
from fathom.report.live.state import Live, LiveLength

__all__ = ["Live", "LiveLength", "LiveReader", "Panel", "print_scores", "read_live"]
