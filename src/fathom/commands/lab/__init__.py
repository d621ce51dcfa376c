"""Ways to make a model read beyond its window: what they compute, and how servers are told to."""

NAMES = ("methods", "frequencies", "positions", "flags", "published")
"""The commands, in the order of the help."""
