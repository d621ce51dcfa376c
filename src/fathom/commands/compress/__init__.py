"""Smaller benchmarks: some items of a larger one, and what their scores say of all of it."""

NAMES = ("select", "estimate", "validate", "adaptive", "study", "embed")
"""The commands, in the order of the help."""
