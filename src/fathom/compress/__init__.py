"""Smaller benchmarks: subsets chosen from score matrices, and estimates of the whole score from scores on a subset."""

from fathom.compress.design import select
from fathom.compress.estimates import Estimate, ModelEstimate, estimate
from fathom.compress.matrix import ScoreMatrix, checked_matrix
from fathom.compress.tables import read_matrix, read_sampled, write_matrix, write_sampled
from fathom.compress.validate import splits_of, summary, validate

__all__ = [
    "Estimate",
    "ModelEstimate",
    "ScoreMatrix",
    "checked_matrix",
    "estimate",
    "read_matrix",
    "read_sampled",
    "select",
    "splits_of",
    "summary",
    "validate",
    "write_matrix",
    "write_sampled",
]
