"""Scorers: pure functions from a reply to a verdict, under ``official`` and ``strict`` rules."""
