"""Oolong: counts over a stream of records that the context holds."""
