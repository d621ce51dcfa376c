"""Fetch and verify public data sets; write transcripts as texts; private families of the suite world."""

NAMES = ("fetch", "verify", "transcripts", "family")
"""The commands, in the order of the help."""
