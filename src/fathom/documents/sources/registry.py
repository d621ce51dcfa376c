"""Data sources by name: those of ``fathom.benchmarks``, and those of other packages (``fathom.plugins.discovery``)."""

from collections.abc import Mapping

from fathom.documents.sources.source import Source
from fathom.plugins.discovery import declared


def sources() -> Mapping[str, Source]:
    """All data sources by name."""
    return declared("sources", lambda source: source.name, order=lambda source: source.name)
