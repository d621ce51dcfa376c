"""Ways to make a model read beyond its window: what they compute, how servers are told to, what they are worth."""

NAMES = ("methods", "frequencies", "positions", "flags", "compare", "diagnose", "loss", "published")
"""The commands, in the order of the help."""
