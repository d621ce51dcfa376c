"""Public data sets that suites are made from: fetch them from the Hugging Face hub, and check them."""

NAMES = ("fetch", "verify")
"""The commands, in the order of the help."""
