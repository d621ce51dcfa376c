"""Fetch and verify public data sets of suites; write transcripts as texts."""

NAMES = ("fetch", "verify", "transcripts")
"""The commands, in the order of the help."""
