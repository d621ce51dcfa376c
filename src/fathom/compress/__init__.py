"""Smaller benchmarks from larger ones: score matrices -> subsets, and scores of a subset -> estimates of the whole."""
