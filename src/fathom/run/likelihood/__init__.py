"""Perplexity evaluation: how likely a model finds texts, and which order of segments that makes it choose."""

from fathom.run.likelihood.asking import MOST_ORDERS, likelihood, ordering_of
from fathom.run.likelihood.client import METHODS, how_many

__all__ = ["METHODS", "MOST_ORDERS", "how_many", "likelihood", "ordering_of"]
