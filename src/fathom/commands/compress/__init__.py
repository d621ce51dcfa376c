"""Select items from a benchmark, and estimate full scores from them."""

NAMES = ("select", "estimate", "validate", "adaptive", "study", "embed")
"""The commands, in the order of the help."""
