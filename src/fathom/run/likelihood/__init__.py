"""Perplexity evaluation: the likelihood a model assigns to texts, and the order of segments that follows from it."""

from fathom.run.likelihood.asking import likelihood, ordering_of
from fathom.run.likelihood.client import METHODS, how_many

__all__ = ["METHODS", "how_many", "likelihood", "ordering_of"]
