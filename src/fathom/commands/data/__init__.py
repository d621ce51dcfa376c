"""Fetch the public data sets of suites from the Hugging Face hub, and verify them."""

NAMES = ("fetch", "verify")
"""The commands, in the order of the help."""
