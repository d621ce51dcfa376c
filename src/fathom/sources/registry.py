"""Data sources by name: those of ``fathom.benchmarks``, and those of other packages (``fathom.discovery``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from fathom.discovery import declared
from fathom.sources.source import Source


@cache
def sources() -> Mapping[str, Source]:
    """All data sources by name, in the order of these."""
    return MappingProxyType(dict(sorted(declared("sources", _name).items())))


def _name(source: Source) -> str:
    return source.name
