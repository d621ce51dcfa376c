"""Finds data sets in local folders or downloads them from the hub; they are declared in ``fathom.benchmarks``."""

from fathom.documents.sources.finder import Found, read_sources
from fathom.documents.sources.source import HubFile, Shape, Source

__all__ = ["Found", "HubFile", "Shape", "Source", "read_sources"]
